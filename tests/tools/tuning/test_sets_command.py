"""`tune-decoding --sets` writes thresholds, and `predict-file --sets` and `tag` use them."""

import json
import re
import shutil
from pathlib import Path

import pytest
from allennlp.common.checks import ConfigurationError
from allennlp.models import load_archive

import tagger
import tagger_onnx
from tagger.integrations.onnx.commands.export import export
from tagger.integrations.service.app import Served, create_app
from tagger.integrations.service.schemas import AnswerSet, SequenceSet
from tagger.predictors.calibrated_sets import SETS_NAME, CalibratedSets, saved_sets
from tagger.tools.tuning.decoding import Settings
from tagger.tools.tuning.tuned_archive import rewrite_archive, write_settings
from tests.conftest import ROOT
from tests.integrations.service.test_app import ask

DEV, TEST = (str(ROOT / f"data/toy/{name}.txt") for name in ("dev", "test"))
TEXTS = ["Grace Mwangi met Paulo Ferraz in Oslo Harbour.", "The Bank of York Trust closed."]


#: Not very sure, so that something is uncertain.
SETS = CalibratedSets(0.9, "document", 19, 0.02, 0.95, 7, 9, "test.txt", "0" * 64, "2026-01-31")


@pytest.fixture
def calibrated(trained, tmp_path):
    path = tmp_path / "calibrated.tar.gz"
    rewrite_archive(trained / "model.tar.gz", path, {}, added={SETS_NAME: SETS.to_json()})
    return path


def test_the_command_shows_and_stores_what_it_calibrated(trained, allennlp, tmp_path, capsys):
    output = tmp_path / "sets.tar.gz"
    allennlp("tune-decoding", trained / "model.tar.gz", TEST, "--sets", "0.8", "-o", output)
    printed = capsys.readouterr().out
    assert f"{TEST} does not mark its documents, so each sentence counts as one" in printed
    assert f"Sets at 80 % from 15 sentences of {TEST}" in printed
    rows = dict(re.findall(r"^(entities|sentences) +\S+ +(\S+) ", printed, re.MULTILINE))
    assert float(rows["entities"]) >= 0.8
    assert float(rows["sentences"]) >= 0.8
    found = saved_sets(output)
    assert (found.confidence, found.unit, found.num_units) == (0.8, "sentence", 15)
    assert (found.num_entities, found.num_sentences, found.data) == (27, 15, "test.txt")
    assert 0 < found.least_probability <= 1
    # Other decoding settings change no probability, so sets stay.
    write_settings(output, tmp_path / "tuned.tar.gz", Settings({"PER": 1.0}, {}))
    assert saved_sets(tmp_path / "tuned.tar.gz") == found
    # Sets that are calibrated once more replace the old ones.
    allennlp("tune-decoding", output, TEST, "--sets", "0.5", "-o", tmp_path / "again.tar.gz")
    assert saved_sets(tmp_path / "again.tar.gz").confidence == 0.5


def test_documents_count_and_need_no_warning(trained, allennlp, tmp_path, capsys):
    sentences = Path(TEST).read_text().strip().split("\n\n")
    parts = (f"-DOCSTART- O\n\n{a}\n\n{b}\n" for a, b in zip(sentences[::2], sentences[1::2]))
    (tmp_path / "test.txt").write_text("\n".join(parts))
    arguments = (trained / "model.tar.gz", tmp_path / "test.txt", "--sets", "0.8")
    allennlp("tune-decoding", *arguments, "-o", tmp_path / "sets.tar.gz")
    printed = capsys.readouterr().out
    assert "does not mark" not in printed
    assert "from 7 documents" in printed
    assert saved_sets(tmp_path / "sets.tar.gz").unit == "document"
    allennlp("tune-decoding", *arguments, "--unit", "sentence", "-o", tmp_path / "s.tar.gz")
    assert "does not mark" not in capsys.readouterr().out
    assert saved_sets(tmp_path / "s.tar.gz").num_units == 14


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            ["--sets", "0.99"],
            "need 99 sentences with gold tags, and .* has 15; give more, or a lower",
        ),
        (["--sets", "1"], "`--sets` must be above 0 and below 1; got 1"),
        (["--sets", "nan"], "`--sets` must be above 0 and below 1; got nan"),
        (["--sets", "0.9", "--macro-f1"], "`--sets` cannot be combined with targets"),
        (["--sets", "0.9", "--confidence", "0.9"], "`--sets` cannot be combined"),
        (["--sets", "0.9", "--recalibrate"], "`--recalibrate` cannot be combined"),
        (["--sets", "0.9", "--target", "micro"], "`--sets` cannot be combined"),
        (["--sets", "0.9", "--unit", "document"], "does not mark documents"),
        (["--sets", "0.9", "--for-next", "9"], "`--for-next` is part of a promise"),
    ],
)
def test_what_cannot_be_calibrated_is_refused_in_one_sentence(
    options, words, trained, allennlp, tmp_path
):
    output = tmp_path / "sets.tar.gz"
    with pytest.raises(SystemExit, match=words) as raised:
        allennlp("tune-decoding", trained / "model.tar.gz", TEST, *options, "-o", output)
    assert "\n" not in str(raised.value)
    assert not output.exists()


def test_what_the_tagger_thinks_impossible_is_in_no_set(trained, allennlp, tmp_path):
    wrong = Path(TEST).read_text().replace(" O", " B-EVENT")
    (tmp_path / "wrong.txt").write_text(wrong)
    arguments = (trained / "model.tar.gz", tmp_path / "wrong.txt", "--sets", "0.9")
    words = "sets of entities cannot hold the truth with 90 %, .* they can with --sets 0\\.\\d+; sets of"
    with pytest.raises(SystemExit, match=words):
        allennlp("tune-decoding", *arguments, "-o", tmp_path / "sets.tar.gz")


def test_predictions_and_python_give_the_same_answers(calibrated, allennlp, tmp_path):
    (tmp_path / "in.txt").write_text("".join(f"{text}\n" for text in TEXTS))
    for name, options in (("out.jsonl", []), ("out.parquet", ["--nested"])):
        arguments = (calibrated, tmp_path / "in.txt", "-o", tmp_path / name)
        allennlp("predict-file", *arguments, "--sets", *options)
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    model = tagger.load(calibrated)
    places = 0
    for line, tagged in zip(lines, model.tag(TEXTS, sets=True), strict=True):
        assert [each["token"] for each in line["sets"]] == [each.token for each in tagged.sets]
        for each, own in zip(line["sets"], tagged.sets):
            assert each["alternatives"] == [e.to_json() for e in own.alternatives]
            for entity in own.alternatives:
                assert tagged.text[entity.start : entity.end] == entity.text
                assert entity.first <= own.token <= entity.last
            total = own.none + sum(entity.probability for entity in own.alternatives)
            assert 0 <= own.none <= total <= 1 + 1e-5
            places += 1
        for each in tagged.sequences:
            assert (each.first, each.last) == (0, len(tagged.tokens) - 1)
            probabilities = [p for _, p in each.sequences]
            assert probabilities == sorted(probabilities, reverse=True)
            assert tagged.tags in [tags for tags, _ in each.sequences]
    assert places > 0
    import pyarrow.parquet

    column = pyarrow.parquet.read_table(tmp_path / "out.parquet")["prediction"].to_pylist()
    for row, line in zip(column, lines, strict=True):
        assert [each["token"] for each in row["sets"]] == [each["token"] for each in line["sets"]]
        assert len(row["sequences"]) == len(line["sequences"])
    # A tagger with other settings has the same sets, and a document, too.
    biased = model.with_bias(PER=9.0).tag(TEXTS[0], sets=True)
    assert biased.sequences == model.tag(TEXTS[0], sets=True).sequences
    assert model.tag_document(TEXTS[0], sets=True).sets == model.tag(TEXTS[0], sets=True).sets
    assert list(model.stream(TEXTS, sets=True))[1].sets == model.tag(TEXTS[1], sets=True).sets
    assert model.tag("", sets=True).sets == []
    assert model.tag(TEXTS[0]).sets == []


def test_the_service_gives_the_same_answers(calibrated, trained):
    def ask_for_sets(archive):
        app = create_app(Served(tagger.load(archive), "it"))
        return ask(app, "POST", "/tag", json={"inputs": TEXTS, "sets": True})

    answer = ask_for_sets(calibrated).json()
    places = 0
    for found, tagged in zip(
        answer["results"], tagger.load(calibrated).tag(TEXTS, sets=True), strict=True
    ):
        for each in found["sets"]:
            AnswerSet.model_validate(each)
        for each in found["sequences"]:
            SequenceSet.model_validate(each)
        entities = [e["text"] for each in found["sets"] for e in each["alternatives"]]
        assert entities == [e.text for each in tagged.sets for e in each.alternatives]
        assert [each["none"] for each in found["sets"]] == pytest.approx(
            [each.none for each in tagged.sets], abs=1e-5
        )
        tags = [[s["tags"] for s in each["sequences"]] for each in found["sequences"]]
        assert tags == [[own for own, _ in each.sequences] for each in tagged.sequences]
        places += len(found["sets"])
    assert places > 0
    refused = ask_for_sets(trained / "model.tar.gz")
    assert refused.status_code == 422
    assert refused.json()["error"]["code"] == "no_sets"
    assert "was not calibrated for them" in refused.json()["error"]["message"]


def test_an_archive_without_sets_names_the_command(trained, allennlp, tmp_path):
    archive = trained / "model.tar.gz"
    expected = f"has no calibrated sets; run `allennlp tune-decoding {archive} HELD_OUT_FILE --sets"
    with pytest.raises(ConfigurationError, match=re.escape(expected)):
        tagger.load(archive).tag(TEXTS, sets=True)
    with pytest.raises(ConfigurationError, match="has no calibrated sets"):
        tagger.load(trained).tag(TEXTS, sets=True)
    (tmp_path / "in.txt").write_text(TEXTS[0])
    arguments = (archive, tmp_path / "in.txt", "-o", tmp_path / "out.jsonl")
    with pytest.raises(SystemExit, match=re.escape(expected)):
        allennlp("predict-file", *arguments, "--sets")
    assert not (tmp_path / "out.jsonl").exists()


@pytest.mark.parametrize("options", [("--format", "doccano"), ("--mask", "labels")])
def test_outputs_that_cannot_hold_sets_refuse_them(options, calibrated, allennlp, tmp_path):
    (tmp_path / "in.txt").write_text(TEXTS[0])
    arguments = (calibrated, tmp_path / "in.txt", "-o", tmp_path / "out.jsonl", "--sets")
    words = f"`--sets` adds to predictions, which `{options[0]}` {options[1]} cannot hold; write"
    with pytest.raises(SystemExit, match=re.escape(words)):
        allennlp("predict-file", *arguments, *options)


def test_exported_taggers_refuse_sets(calibrated, tmp_path):
    export(load_archive(calibrated), tmp_path / "tagger.onnx")
    with pytest.raises(ValueError, match="this tagger gives no `sets`; load an archive that"):
        tagger_onnx.load(tmp_path / "tagger.onnx").tag(TEXTS, sets=True)


@pytest.mark.parametrize(
    "change",
    [
        {"confidence": None},
        {"least_probability": 0},
        {"least_probability": float("nan")},
        {"most_before": 1.5},
        {"least_probability": None, "most_before": None},
        {"unit": "\x1b[31m"},
        {"num_units": "7"},
        {"other": 1},
    ],
)
def test_damaged_sets_are_refused(change, calibrated, tmp_path):
    record = {**saved_sets(calibrated)._asdict(), **change}
    damaged = tmp_path / "damaged.tar.gz"
    for text in (json.dumps(record), "[]", "{"):
        rewrite_archive(calibrated, damaged, {}, True, added={SETS_NAME: text}, dropped=[SETS_NAME])
        with pytest.raises(ConfigurationError, match="calibrate the tagger again"):
            saved_sets(damaged)


def test_new_labels_and_ensembles_do_not_keep_sets(calibrated, allennlp, tmp_path):
    copied, output = tmp_path / "copy.tar.gz", tmp_path / "both.tar.gz"
    shutil.copy(calibrated, copied)
    allennlp("ensemble", calibrated, copied, "-o", output)
    assert saved_sets(output) is None
