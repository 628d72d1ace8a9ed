import json
import subprocess
import sys

import numpy as np
import onnx
import pytest

import tagger
import tagger_onnx
from tests.conftest import ROOT

TEXT = "Maria Lindqvist met Paulo Ferraz in Lisbon."


@pytest.fixture(scope="module")
def run(path):
    return tagger_onnx.load(path)


@pytest.mark.slow
def test_a_trained_tagger_finds_the_same_entities(run, trained):
    saved = tagger.load(trained / "model.tar.gz")
    texts = [
        line.split()[0] for line in (ROOT / "data/toy/dev.txt").read_text().splitlines() if line
    ]
    texts = [" ".join(texts[first : first + 9]) for first in range(0, len(texts), 9)]
    wanted, found = saved.tag([TEXT, *texts]), run.tag([TEXT, *texts])
    assert [text[:4] for text in found] == [text[:4] for text in wanted]
    assert [e.text for e in found[0].entities] == ["Maria Lindqvist", "Paulo Ferraz", "Lisbon"]
    for want, have in zip(wanted, found):
        assert [entity[:-1] for entity in have.entities] == [
            entity[:-1] for entity in want.entities
        ]
        probabilities = [[entity.probability for entity in each.entities] for each in (want, have)]
        np.testing.assert_allclose(*probabilities, atol=1e-6)


def test_padding_changes_nothing(run):
    short, long = ["Lisbon"], ["Maria", "Lindqvist", "met", "Paulo", "Ferraz", "."]
    alone, together = run.run([short], ["LOC"]), run.run([long, short, long], ["LOC"])
    assert 0 < alone["leak_probability"][0] < 1
    for name, values in alone.items():
        own = together[name][1]
        np.testing.assert_allclose(own[:1] if own.ndim else own, values[0], atol=1e-6)
    assert (together["tags"][1, 1:] == 0).all()
    assert (together["entity_lasts"][1, 1:] == -1).all()


def test_the_runtime_imports_neither_torch_nor_allennlp(path):
    # Importing any of these names would fail.
    code = (
        "import sys\n"
        "for name in ('torch', 'allennlp', 'tagger', 'spacy', 'tokenizers', 'transformers', 'onnx'):\n"
        "    sys.modules[name] = None\n"
        "import tagger_onnx\n"
        f"print([e.text for e in tagger_onnx.load({str(path)!r}).tag({TEXT!r}).entities])"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "['Maria Lindqvist', 'Paulo Ferraz', 'Lisbon']\n"


def test_other_files_are_refused(run, path, tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no such file"):
        tagger_onnx.load(tmp_path / "none.onnx")
    (tmp_path / "text.onnx").write_text("no tagger")
    with pytest.raises(ValueError, match="expected a file of `allennlp export`; onnxruntime says"):
        tagger_onnx.load(tmp_path / "text.onnx")
    model = onnx.load(path)
    entry, _ = model.metadata_props
    del model.metadata_props[1]
    entry.value = entry.value.replace('"format": 4', '"format": 5')
    onnx.save(model, str(tmp_path / "newer.onnx"))
    with pytest.raises(ValueError, match="with format 4, got format 5; export the tagger again"):
        tagger_onnx.load(tmp_path / "newer.onnx")
    assert "texts split by the rules of `en`" in repr(run)


def test_a_changed_file_is_refused(path, tmp_path):
    model = onnx.load(path)
    assert [each.key for each in model.metadata_props] == ["tagger", "checksum"]
    content = path.read_bytes()
    description = json.loads(model.metadata_props[0].value)
    description["tags"].reverse()
    model.metadata_props[0].value = json.dumps(description)
    for changed in (
        model.SerializeToString(),
        content.replace(b"Lisbon", b"Lisbor", 1),
        content + content[-78:],
    ):
        (tmp_path / "changed.onnx").write_bytes(changed)
        with pytest.raises(ValueError, match="has been changed since"):
            tagger_onnx.load(tmp_path / "changed.onnx")
    # As earlier versions wrote them.
    (tmp_path / "old.onnx").write_bytes(content[: content.rindex(b"\x0a\x08checksum") - 2])
    assert tagger_onnx.load(tmp_path / "old.onnx").tag(TEXT) == tagger_onnx.load(path).tag(TEXT)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda description: [], "got format unknown"),
        (lambda description: {**description, "tags": None}, "metadata are not as"),
        (lambda description: {**description, "tags": ["O"]}, "differ in number"),
        (lambda description: {**description, "indexers": {"tokens": {}}}, "metadata are not as"),
        (lambda description: {**description, "splitting": 3}, "metadata are not as"),
    ],
)
def test_damaged_metadata_are_refused_in_one_sentence(change, says, path, tmp_path):
    model = onnx.load(path)
    model.metadata_props[0].value = json.dumps(change(json.loads(model.metadata_props[0].value)))
    del model.metadata_props[1]
    onnx.save(model, tmp_path / "damaged.onnx")
    with pytest.raises(ValueError, match=says) as refusal:
        tagger_onnx.load(tmp_path / "damaged.onnx")
    assert len(str(refusal.value).splitlines()) == 1
