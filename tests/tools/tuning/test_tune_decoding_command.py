import hashlib
import io
import json
import re
import shlex
import tarfile
from pathlib import Path

import pytest
from allennlp.commands.evaluate import evaluate_from_archive
from allennlp.common.checks import ConfigurationError
from allennlp.models import load_archive

import tagger
from tagger.data import ColumnDatasetReader
from tagger.tools.tuning.curves import saved_curves
from tagger.tools.tuning.decoding import Settings
from tagger.tools.tuning.goals import Goal
from tagger.tools.tuning.labelled_file import encoded, read_instances
from tagger.tools.tuning.promise_record import (
    PROMISES_NAME,
    Promise,
    promises_to_json,
    saved_promises,
)
from tagger.tools.tuning.tuned_archive import rewrite_archive, write_settings
from tests.conftest import ROOT

DEV = str(ROOT / "data/toy/dev.txt")


@pytest.fixture
def detuned(trained, tmp_path):
    """The toy archive, perfect on its development data, made to take every word for a person."""
    path = tmp_path / "detuned.tar.gz"
    write_settings(trained / "model.tar.gz", path, Settings({"PER": 100.0, "ORG": 0.25}, {}))
    return path


@pytest.fixture
def run(detuned, allennlp, capsys):
    """Runs the subcommand on that archive, and returns what it prints."""

    def run(*arguments):
        allennlp("tune-decoding", detuned, DEV, *arguments)
        return capsys.readouterr().out

    return run


def evaluate(archive, overrides=""):
    return evaluate_from_archive(str(archive), DEV, cmd_overrides=overrides)


@pytest.mark.slow
def test_targets_that_are_met_give_an_archive_that_meets_them(run, detuned, tmp_path):
    output = tmp_path / "tuned.tar.gz"
    printed = run("-o", output, "--precision", "PER=0.9", "--recall", "LOC=0.9")
    before, after = evaluate(detuned), evaluate(output)
    assert before["precision-PER"] < 0.9 <= after["precision-PER"]
    assert before["recall-LOC"] < 0.9 <= after["recall-LOC"]
    tables = printed.split("After")
    for table, metrics in zip(tables, (before, after)):
        (line,) = (line for line in table.splitlines() if line.startswith("PER "))
        assert line.split()[1] == f"{metrics['precision-PER']:.4f}"
    # Labels without a target have a row only if they change.
    shown = set(re.findall(r"^(ORG|EVENT) ", printed, re.MULTILINE))
    assert shown == {
        label
        for label in ("ORG", "EVENT")
        if any(before[key] != after[key] for key in before if key.endswith(f"-{label}"))
    }
    assert f"Labels not shown, which are unchanged: {2 - len(shown)}" in printed
    # What a few entities of a toy corpus show may be luck.
    assert re.search(r"PER: precision .* of \d+ predicted \(95 % interval [\d. to]+\);", printed)
    assert re.search(
        r"Warning: fewer than 50 entities \(`PER`: \d predicted, `LOC`: 7 gold\)", printed
    )
    with tarfile.open(detuned) as old, tarfile.open(output) as new:
        assert new.getnames() == old.getnames()
        weights = [each.extractfile("weights.th").read() for each in (old, new)]
        assert weights[0] == weights[1]
    settings = load_archive(output).config["model"]["head"].as_dict()
    assert settings["decode_bias"]["ORG"] == 0.25
    assert f"decode_bias: {json.dumps(settings['decode_bias'], sort_keys=True)}" in printed


@pytest.mark.slow
def test_settings_can_be_overridden(trained):
    archive = trained / "model.tar.gz"
    before = evaluate(archive)
    biased = evaluate(archive, '{"model.head.decode_bias": {"PER": 100}}')
    assert biased["precision-PER"] < before["precision-PER"]
    none = evaluate(archive, '{"model.head.entity_thresholds": {"PER": 1.0}}')
    assert none["recall-PER"] == 0
    assert none["recall-LOC"] == before["recall-LOC"]
    assert evaluate(archive, '{"model.head.decoding": "minimum_risk"}')["loss"] == before["loss"]
    assert 0 < before["calibration-error"] < 1


@pytest.mark.slow
def test_what_is_out_of_reach_writes_nothing_and_says_what_is_in_reach(
    allennlp, trained, tmp_path, capsys
):
    archive, output, dev = (tmp_path / name for name in ("shy.tar.gz", "new.tar.gz", "dev.txt"))
    write_settings(trained / "model.tar.gz", archive, Settings({"PER": 8.0}, {}))
    # No setting finds both.
    texts = ("It B-LOC\nwas I-LOC\nfirm O\n", "It O\nwas B-LOC\nfirm I-LOC\n")
    dev.write_text("\n".join([Path(DEV).read_text(), *texts]))
    # By a threshold no more entities are found.
    for data, by in ((DEV, "threshold"), (dev, "bias")):
        command = ("tune-decoding", archive, data, "-o", output, "--recall", "LOC=1", "--by", by)
        capsys.readouterr()
        with pytest.raises(SystemExit) as error:
            allennlp(*command)
        assert "a recall of 1 for `LOC` is out of reach; the best settings found" in str(
            error.value
        )
        assert capsys.readouterr().out == ""
        assert not output.exists()
        remedy = str(error.value).split("nothing is written; this command succeeds: allennlp ")[1]
        assert ("--recall LOC=1" in remedy) == (by == "threshold")
        allennlp(*shlex.split(remedy))
        assert "Wrote" in capsys.readouterr().out
        output.unlink()


@pytest.mark.slow
def test_archives_are_overwritten_only_on_demand(run, tmp_path):
    output = tmp_path / "tuned.tar.gz"
    output.write_text("mine")
    with pytest.raises(SystemExit, match="already exists.*--force"):
        run("-o", output, "--macro-f1")
    assert output.read_text() == "mine"
    neighbour = tmp_path / "tuned.tar.gz.unfinished"
    neighbour.write_text("mine too")
    run("-o", output, "--f-beta", "PER=1", "--by", "threshold", "--force")
    assert tarfile.is_tarfile(output)
    assert neighbour.read_text() == "mine too"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "no target is given; add --precision"),
        (["--recall", "PRE=0.5"], "names `PRE`.*did you mean `PER`"),
        (["--recall", "PER"], "expected a label and a number, such as PER=0.97; got 'PER'"),
        (["--recall", "0.5"], "expected a label and a number, such as PER=0.97; got '0.5'"),
    ],
)
def test_targets_that_do_not_fit_are_refused(arguments, message, run, tmp_path, capsys):
    with pytest.raises(SystemExit) as error:
        run("-o", tmp_path / "tuned.tar.gz", *arguments)
    assert re.search(message, f"{capsys.readouterr().err}{error.value}")


@pytest.mark.slow
def test_macro_f1_names_the_labels_that_it_does_not_tune(run, tmp_path):
    printed = run("-o", tmp_path / "tuned.tar.gz", "--macro-f1")
    assert (
        f"Not tuned, because {DEV} has fewer than 5 of their entities: EVENT (1); label more texts"
        in printed
    )


@pytest.mark.slow
def test_macro_f1_needs_a_label_that_the_data_show_often(allennlp, trained, tmp_path):
    few, output = tmp_path / "few.txt", tmp_path / "tuned.tar.gz"
    few.write_text("Maria B-PER\nlives O\n")
    message = "needs a label with at least 5 entities, and .*few.txt has none; give more sentences"
    with pytest.raises(SystemExit, match=message):
        allennlp("tune-decoding", trained / "model.tar.gz", few, "-o", output, "--macro-f1")
    assert not output.exists()


def test_tags_that_are_known_in_part_do_not_count(archive, tmp_path):
    (tmp_path / "dev.txt").write_text("Ada B-PER\nLovelace ?\nleft O\n")
    reader = ColumnDatasetReader(unknown_tag="?")
    reader._token_indexers = archive.dataset_reader._token_indexers
    instances = read_instances(reader, str(tmp_path / "dev.txt"))
    ((batch, *_),) = encoded(archive.model, instances, batch_size=2)
    tags = [archive.model.vocab.get_token_index(tag, "labels") for tag in ("B-PER", "O")]
    assert batch.gold_tags.tolist() == [[tags[0], -1, tags[1]]]


@pytest.mark.slow
def test_a_target_that_is_met_already_is_said_to_change_nothing(
    allennlp, trained, tmp_path, capsys
):
    arguments = ("-o", tmp_path / "same.tar.gz", "--precision", "PER=0.5")
    allennlp("tune-decoding", trained / "model.tar.gz", DEV, *arguments)
    printed = capsys.readouterr().out
    assert "The tagger meets all targets as it is; its settings are unchanged" in printed
    assert "Labels not shown, which are unchanged: 3" in printed


@pytest.mark.slow
def test_curves_are_added_without_a_target_and_leave_the_rest(run, detuned, tmp_path):
    output = tmp_path / "curves.tar.gz"
    printed = run("-o", output, "--curves")
    assert "Before" not in printed
    curves = saved_curves(output)
    assert curves.data == "dev.txt"
    assert curves.labels.keys() == {"EVENT", "LOC", "ORG", "PER"}
    assert saved_curves(detuned) is None
    with tarfile.open(detuned) as old, tarfile.open(output) as new:
        assert sorted(new.getnames()) == sorted([*old.getnames(), "decoding_curves.json"])
    before, after = (load_archive(path).config["model"].as_dict() for path in (detuned, output))
    assert before["head"]["decode_bias"] == after["head"]["decode_bias"]
    # At the settings of the archive itself, the curve is what `evaluate` says.
    (at,) = (i for i, bias in enumerate(curves.labels["LOC"].biases) if bias == 0)
    assert curves.labels["LOC"].recalls[at] == pytest.approx(
        evaluate(output)["recall-LOC"], abs=1e-4
    )
    # Those of other settings would mislead.
    write_settings(output, tmp_path / "other.tar.gz", Settings({}, {}))
    assert saved_curves(tmp_path / "other.tar.gz") is None


@pytest.fixture
def many(tmp_path):
    """The toy development data 40 times, each time a document."""
    path = tmp_path / "many.txt"
    path.write_text("\n\n".join([f"-DOCSTART- O\n\n{Path(DEV).read_text()}"] * 40))
    return path


@pytest.fixture
def promise(trained, many, tmp_path, allennlp, capsys):
    """Makes promises, and returns the archive, the promises and what was printed."""
    output = tmp_path / "promised.tar.gz"

    def promise(*arguments, data=many):
        arguments = (trained / "model.tar.gz", data, "-o", output, "--force", *arguments)
        allennlp("tune-decoding", *arguments, "--confidence", "0.9")
        return output, saved_promises(output), capsys.readouterr().out

    return promise


@pytest.mark.slow
def test_promises_are_kept_in_the_archive(promise, allennlp, many, tmp_path, capsys):
    output, (person, place), printed = promise("--precision", "PER=0.8", "--precision", "LOC=0.8")
    assert f"Promised: {person}" in printed
    assert "\nPER: as the tagger is, " in printed
    assert printed.count(" with 90 % confidence; its settings stay as they are\n") == 2
    assert person.goal.labels == ("PER",)
    assert str(place).startswith("precision of LOC at least 0.8, with 90 % confidence (")
    assert (person.unit, person.num_units, person.data) == ("document", 40, "many.txt")
    assert person.num_right == person.num_total > 40
    assert person.sha256 == hashlib.sha256(many.read_bytes()).hexdigest()
    allennlp("evaluate", output, many)
    printed = capsys.readouterr().out
    line = "precision of LOC at least 0.8: 280 of 280 in 40 documents; not contradicted (p = "
    assert line in printed
    wrong = tmp_path / "wrong.txt"
    wrong.write_text(many.read_text().replace("-LOC", "-ORG"))
    allennlp("evaluate", output, wrong)
    printed = capsys.readouterr().out
    assert "precision of LOC at least 0.8: 0 of 280 in 40 documents; contradicted (p = 0" in printed
    assert re.search(r"precision of PER .*; not contradicted", printed)
    # Other settings keep no promise.
    allennlp("tune-decoding", output, DEV, "-o", tmp_path / "new.tar.gz", "--macro-f1")
    assert saved_promises(tmp_path / "new.tar.gz") == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "promised"),
    [
        (["--recall", "LOC=0.8", "--recall", "PER=0.8"], ["recall of LOC", "recall of PER"]),
        (["--recall", "LOC=0.8", "--precision", "LOC=0.8"], ["precision of LOC", "recall of LOC"]),
        (["--recall", "LOC=0.8", "--precision", "PER=0.8"], ["recall of LOC", "precision of PER"]),
        (["--f-beta", "LOC=2:0.8"], ["F2 of LOC at least 0.8, with"]),
        (["--leak", "LOC,PER=0.1"], ["a share of at most 0.1 that misses any LOC, PER, with"]),
        (
            ["--unmasked", "PER=0.1", "--masked", "LOC,PER=0.9"],
            [
                "a share of at most 0.1 that leaves a token of any PER unmasked where tokens above 1 ",
                "a share of at least 0.9 of all LOC, PER masked where tokens above 1 are masked, too,",
            ],
        ),
        (
            ["--precision", "LOC=0.8", "--for-next", "500"],
            ["precision of LOC at least 0.8 in the next 500 documents, with"],
        ),
    ],
)
def test_promises_of_every_kind(arguments, promised, promise, allennlp, many, capsys):
    output, promises, _ = promise(*arguments)
    assert len(promises) == len(promised)
    for each, start in zip(promises, promised):
        assert str(each).startswith(start)
        assert each.num_right >= 0.8 * each.num_total > 0
    allennlp("evaluate", output, many)
    assert capsys.readouterr().out.count("; not contradicted (p = ") == len(promises)


@pytest.mark.slow
def test_masks_of_all_labels_and_what_they_cost(promise):
    _, (masked,), printed = promise("--masked", "all=0.9")
    assert masked.goal.labels == ("EVENT", "LOC", "ORG", "PER")
    assert "EVENT, LOC, ORG, PER: as the tagger is, it masks " in printed
    assert masked.mask_threshold == 1
    assert re.search(r"of 1,000 tokens, \d+\.\d lie in predicted entities; 0\.0 more", printed)


@pytest.mark.slow
def test_a_column_names_the_unit(promise, tmp_path, allennlp, capsys):
    data = tmp_path / "columns.txt"
    sentences = Path(DEV).read_text().strip().split("\n\n")
    numbered = [
        "\n".join(line.replace(" ", f" writer{n % 30} ") for line in sentence.splitlines())
        for n, sentence in enumerate(sentences * 30)
    ]
    data.write_text("\n\n".join(numbered))
    output, (place,), _ = promise("--precision", "LOC=0.7", "--unit", "1", data=data)
    assert (place.unit, place.num_units) == ("1", 30)
    assert "in 30 groups by `1` of columns.txt" in str(place)
    allennlp("evaluate", output, data)
    assert "in 30 groups by `1`; not contradicted" in capsys.readouterr().out
    plain = tmp_path / "plain.txt"
    plain.write_text("\n\n".join(sentences * 30))
    for unit, message, file in [
        ("document", "does not mark documents", plain),
        ("4", "has 3 columns", data),
    ]:
        with pytest.raises(SystemExit, match=message):
            promise("--precision", "LOC=0.7", "--unit", unit, data=file)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--confidence", "95", "--recall", "LOC=0.8"], "above 0 and below 1; got 95"),
        (["--confidence", "0.9", "--macro-f1"], "goes with neither `--by` nor `--macro-f1`"),
        (["--confidence", "0.9", "--curves"], "promises a precision, a recall, an F score or"),
        (["--confidence", "0.9", "--recall", "PRE=0.8"], "names `PRE`.*did you mean `PER`"),
        (["--confidence", "0.9", "--precision", "PER=1"], "PER at least 1: the target must be"),
        (["--confidence", "0.9", "--f-beta", "PER=1"], "add it after a colon: PER=1:0.9"),
        (["--confidence", "0.9", "--recall", "PER=0.8:0.7"], "gives `PER` two numbers"),
        (["--confidence", "0.9", *["--recall", "PER=0.8"] * 2], "names `PER` twice"),
        (["--confidence", "0.9", "--recall", "PER=0.8", "--for-next", "0"], "at least 1; got 0"),
        (["--confidence", "0.9", "--recall", "PER=0.8", "--unit", "text"], "got 'text'"),
        (["--leak", "PER=0.1"], "`--leak` is part of a promise; add --confidence"),
        (["--masked", "all=0.9"], "`--masked` is part of a promise; add --confidence"),
        (
            ["--confidence", "0.9", "--masked", "all=0.9", "--recall", "PER=0.8"],
            "`--masked` and `--unmasked` go with no other target",
        ),
        (
            ["--confidence", "0.9", "--precision", "LOC=0.98"],
            r"the 40 documents do not support `precision of LOC at least 0.98`; they do support "
            r"`precision of LOC at least 0\.9\d+`; about \d+ more documents like these, with \d+ "
            r"entities, would be enough; LOC: as the tagger is, \d+ of the \d+ entities that it "
            r"predicts are right; by themselves, they show a precision of at least 0\.9\d+ with 90 % "
            r"confidence; nothing is written",
        ),
    ],
)
def test_promises_that_cannot_be_made_are_refused(
    arguments, message, allennlp, trained, many, tmp_path
):
    output = tmp_path / "tuned.tar.gz"
    with pytest.raises(SystemExit, match=message):
        allennlp("tune-decoding", trained / "model.tar.gz", many, "-o", output, *arguments)
    assert not output.exists()


GOAL = Goal(("PER",), "precision", 0.5)
PROMISE = Promise(GOAL, 0.8, "sentence", 15, 8, 8, "dev.txt", "", "2026-01-31")


@pytest.mark.parametrize(
    "content",
    [
        b"{",
        b"null",
        b"[]",
        b'["x"]',
        b"[" * 100_000,
        b"\xff",
        *(
            json.dumps([{**PROMISE._asdict(), "goal": GOAL._asdict(), **change}]).encode()
            for change in (
                {"unknown": 1},
                {"confidence": 2.0},
                {"num_total": "8"},
                {"num_right": 10**400},
                {"for_next": 0},
                *(
                    {"goal": {**GOAL._asdict(), **of_goal}}
                    for of_goal in (
                        {"level": None},
                        {"level": 10**400},
                        {"level": float("nan")},
                        {"measure": "f1"},
                        {"labels": ["PER\x1b[2J"]},
                        {"labels": []},
                        {"beta": -1},
                        {"beta": 10**400},
                    )
                ),
            )
        ),
    ],
)
def test_promises_of_others_are_checked(content, tmp_path):
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as archive:
        member = tarfile.TarInfo("promises.json")
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    with pytest.raises(ConfigurationError, match=r"a.tar.gz: `promises.json` must hold what"):
        saved_promises(tmp_path / "a.tar.gz")


@pytest.mark.parametrize("command", ["evaluate {archive} {file}", "serve {archive} --port 0"])
def test_promises_about_unknown_labels_are_refused(
    command, allennlp, trained, tmp_path, capsys, monkeypatch
):
    # What does not refuse them would serve for ever.
    monkeypatch.setattr("tagger.integrations.service.server.run", lambda *_: None)
    promise = PROMISE._replace(goal=GOAL._replace(labels=("PRE",)))
    archive, file = tmp_path / "a.tar.gz", ROOT / "data/toy/dev.txt"
    text = promises_to_json([promise])
    rewrite_archive(trained / "model.tar.gz", archive, {}, added={PROMISES_NAME: text})
    with pytest.raises(SystemExit) as end:
        allennlp(*command.format(archive=archive, file=file).split())
    said = f"{end.value}\n{capsys.readouterr().err}"
    assert "`promises.json` names `PRE`, which is no label of this model" in said


@pytest.mark.slow
def test_recalibration_changes_probabilities_and_nothing_else(
    allennlp, trained, many, tmp_path, capsys
):
    promised, output = tmp_path / "promised.tar.gz", tmp_path / "recalibrated.tar.gz"
    tuned = ("tune-decoding", trained / "model.tar.gz", many, "-o", promised, "--confidence", "0.9")
    allennlp(*tuned, "--precision", "PER=0.8")
    # Half of what the tagger takes for places are none.
    few = tmp_path / "few.txt"
    text = many.read_text()
    few.write_text(f"{text}\n\n{text.replace('-LOC', '-ORG')}")
    capsys.readouterr()
    allennlp("tune-decoding", promised, few, "-o", output, "--recalibrate")
    printed = capsys.readouterr().out
    (before, after) = re.search(r"error (0.\d+) before, (0.\d+) after", printed).groups()
    assert float(after) < float(before) / 2
    assert saved_promises(output) == saved_promises(promised)
    heads = [load_archive(path).config["model"]["head"].as_dict() for path in (promised, output)]
    recalibration = heads[1].pop("recalibration")
    assert heads[0] == heads[1]
    assert f"recalibration: {json.dumps(recalibration)}" in printed
    old, new = (tagger.load(path) for path in (promised, output))
    places = []
    for sentence in Path(DEV).read_text().split("\n\n"):
        words = [line.split()[0] for line in sentence.splitlines()]
        one, other = (each.tag([words])[0].entities for each in (old, new))
        assert [each[:-1] for each in one] == [each[:-1] for each in other]
        places += [each.probability for each in other if each.label == "LOC"]
    assert max(places) < 0.7
    # Another promise does not see the correction.
    again = tmp_path / "again.tar.gz"
    allennlp(*tuned[:1], output, *tuned[2:4], again, *tuned[5:], "--precision", "PER=0.8")
    assert saved_promises(again) == saved_promises(promised)
    assert load_archive(again).config["model"]["head"]["recalibration"].as_dict() == recalibration


def test_recalibration_comes_alone_and_needs_tags(allennlp, trained, tmp_path):
    arguments = ("tune-decoding", trained / "model.tar.gz", DEV, "-o", tmp_path / "new.tar.gz")
    with pytest.raises(SystemExit, match="`--recalibrate` cannot be combined with targets"):
        allennlp(*arguments, "--recalibrate", "--macro-f1")
