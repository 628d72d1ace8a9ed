import json

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.metrics import f1_score

from scripts.experiments import measure_svm
from tests.configs import save_small_transformer

WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "wheat", "corn", "bank", "rates", "the")
TEXTS = {"wheat the corn": ["grain"], "bank rates the": ["money"], "corn bank": ["grain", "money"]}


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    transformer = tmp_path / "transformer"
    transformer.mkdir()
    save_small_transformer(transformer, WORDS, size=8)
    frozen = {"type": "frozen_transformer", "model_name": str(transformer)}
    config = {
        "dataset_reader": {
            "type": "document",
            "token_indexers": {"text": {**frozen, "unit": "text"}},
        },
        "model": {
            "text_field_embedder": {"token_embedders": {"text": {**frozen, "layers": [1, 2]}}}
        },
    }
    (tmp_path / "config.jsonnet").write_text(json.dumps(config))
    lines = [json.dumps({"text": text, "labels": labels}) + "\n" for text, labels in TEXTS.items()]
    (tmp_path / "train.jsonl").write_text("".join(lines * 4))
    other = json.dumps({"text": "wheat the corn", "labels": ["grain", "new"]})
    (tmp_path / "test.jsonl").write_text("".join([*lines, other]))
    return [f"--{part}={tmp_path / part}.jsonl" for part in ("train", "test")] + [
        f"--config={tmp_path / 'config.jsonnet'}"
    ]


def test_svms_on_words_and_features_are_measured(files, capsys):
    pytest.importorskip("sklearn", reason="needs scikit-learn")
    measure_svm.main(files)
    header, titles, *rows = capsys.readouterr().out.splitlines()
    assert header == "12 training documents, 4 test documents"
    assert titles.split() == ["micro", "macro", "head", "medium", "tail"]
    figures = {row[:33].strip(): [float(number) for number in row[33:].split()] for row in rows}
    assert list(figures) == [
        title
        for name in ("TF-IDF", "frozen features", "both")
        for title in (name, f"{name}, shifted", f"{name}, shifted together")
    ]
    for micro, macro, *_ in figures.values():
        # All labels except the one that no training document has.
        assert micro == pytest.approx(100 * 10 / 11, abs=0.1)
        assert macro == pytest.approx(100 * 2 / 3, abs=0.1)


def test_decisions_are_those_of_the_shifted_hyperplanes(files, capsys, monkeypatch):
    everything, nothing = np.full(3, -1e9), np.full(3, 1e9)
    monkeypatch.setattr(measure_svm, "_shifts", lambda *_: (nothing, everything))
    measure_svm.main([*files, "--only", "TF-IDF"])
    rows = capsys.readouterr().out.splitlines()[2:]
    figures = {row[:33].strip(): float(row[33:].split()[0]) for row in rows}
    assert figures["TF-IDF, shifted"] == 0
    # Of eight decisions five are right. No training document has the third label, of one document.
    assert figures["TF-IDF, shifted together"] == pytest.approx(100 * 10 / 14, abs=0.1)


def test_a_config_without_frozen_features_is_refused():
    embedders = {"token_embedders": {"tokens": {"type": "empty"}}}
    with pytest.raises(SystemExit, match="one token embedder of the type `frozen_transformer`"):
        measure_svm._embedder({"model": {"text_field_embedder": embedders}})


def test_a_hyperplane_is_shifted_to_the_best_f1_in_cross_validation():
    # Every twentieth document has the label, and lies above most others. Balanced machines predict
    # too many.
    random = np.random.default_rng(0)
    gold = np.zeros((300, 2), dtype=np.int64)
    gold[::20, 0] = 1
    rows = csr_matrix(random.normal(size=(300, 1)) + 2 * gold[:, :1])
    # The other label has one document: its hyperplane stays.
    gold[0, 1] = 1
    (shift, unmoved), common = measure_svm._shifts(rows, gold)
    distances = measure_svm._distances(rows, gold, rows)[:, 0]

    def f1(predicted):
        return f1_score(gold[:, 0], predicted)

    assert shift > 0 == unmoved
    # Nearly all decisions are about the first label.
    assert common[0] == common[1] == pytest.approx(shift, abs=0.5)
    assert f1(distances > shift) > f1(distances > 0) + 0.03
