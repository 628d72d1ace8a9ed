"""A sentence gets the same answer by every route; `tests/system` tries every kind of tagger."""

import json

import pytest

import tagger
from tagger.integrations.service.app import Served, create_app
from tests.integrations.service.test_app import ask
from tests.kinds import TOKENIZERS, sentences, train
from tests.routes import check_onnx, check_python_and_windows, check_spacy, plain


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["word vectors", "frozen", "fine-tuned"])
def test_windows_and_batches_change_nothing(kind, at_root, tmp_path):
    lines = sentences(30)
    answers = check_python_and_windows(train(kind, tmp_path), lines, tmp_path, (1, 7, 2048))
    assert len({tuple(tags) for _, tags, _ in answers if tags}) > 1


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*TOKENIZERS, "tuned"])
def test_every_route_uses_the_archives_settings(kind, trained, allennlp, at_root, tmp_path):
    archive, lines = train(kind, tmp_path, trained), sentences(40)
    wanted = check_python_and_windows(archive, lines, tmp_path, (7,))
    (tmp_path / "in.txt").write_text("".join(f"{line}\n" for line in lines))
    output = ["--predictor-args", '{"plain": true}', "--output-file", tmp_path / "out.jsonl"]
    allennlp("predict", archive, tmp_path / "in.txt", "--silent", *output)
    written = (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()
    assert [plain(json.loads(line)) for line in written] == wanted
    app = create_app(Served(tagger.load(archive), "toy"))
    served = ask(app, "POST", "/tag", json={"inputs": lines}).json()
    assert list(map(plain, served["results"])) == wanted
    check_spacy(archive, lines)
    if kind != "regular expression":
        check_onnx(archive, lines, tmp_path)
