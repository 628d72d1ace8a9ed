"""Adding a label to a tagger from a file that annotates nothing else."""

import json
import re
import tarfile
from unittest.mock import Mock

import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.models import load_archive

import tagger
from tagger.modules.heads import SigmoidHead, SoftmaxHead
from tagger.tools.labels.addition import _checked_tagger
from tagger.tools.tuning.promise_record import PROMISES_NAME
from tagger.tools.tuning.tuned_archive import rewrite_archive
from tagger.training.recoverable_trainer import RecoverableTrainer
from tests.conftest import ROOT
from tests.documents import text_of_documents

TEXT = "Maria Lindqvist met Paulo Ferraz in Lisbon."
FEW = json.dumps({"trainer.num_epochs": 1})


def relabelled(path, **labels):
    """Writes the toy corpus with only these labels, under new names."""
    text = (ROOT / "data/toy/train.txt").read_text()
    kept = "|".join(labels)
    text = re.sub(rf" [BI]-(?!({kept})\n)\w+", " O", text)
    for label, name in labels.items():
        text = text.replace(f"-{label}\n", f"-{name}\n")
    path.write_text(text)
    return path


@pytest.fixture
def add_label(allennlp, trained):
    def run(*arguments, archive=trained / "model.tar.gz"):
        allennlp("add-label", archive, *arguments)

    return run


def test_a_run_on_other_sentences_is_not_resumed(add_label, tmp_path, monkeypatch):
    new = relabelled(tmp_path / "new.txt", LOC="CITY")
    options = ("-s", tmp_path / "run", "--no-bias")
    with monkeypatch.context() as killing:
        killed = Mock(side_effect=KeyboardInterrupt)
        killing.setattr("tagger.tools.labels.addition.train_student", killed)
        with pytest.raises(SystemExit):
            add_label(new, *options)
    relabelled(tmp_path / "new.txt", ORG="FIRM")
    with pytest.raises(SystemExit, match="run holds another run; name another folder, or add --f"):
        add_label(new, *options)


@pytest.mark.slow
def test_two_new_labels_are_found_beside_the_old_ones(add_label, trained, tmp_path, capsys):
    tuned = tmp_path / "tuned.tar.gz"
    settings = {"decode_bias": {"PER": 0.5}, "entity_thresholds": {"ORG": 0.1}}
    archive = trained / "model.tar.gz"
    rewrite_archive(archive, tuned, settings, added={PROMISES_NAME: "[]"})
    # The tagger predicts LOC and ORG for these.
    new = relabelled(tmp_path / "new.txt", LOC="CITY", ORG="FIRM")
    options = ("-s", tmp_path / "run", "-o", json.dumps({"trainer.num_epochs": 12}))
    add_label(new, *options, archive=tuned)
    said = capsys.readouterr().out
    assert "New: CITY (34 entities), FIRM (24 entities)\n" in said
    assert "only applied to the old tagger: decode_bias, entity_thresholds, promises.json\n" in said
    assert re.search(r"\nHolding out part 3 of 3 .*\nBias of the new labels: ", said, re.S)
    path = tmp_path / "run/model.tar.gz"
    found = tagger.load(path).tag(TEXT).entities
    assert [(each.label, each.text) for each in found] == [
        ("PER", "Maria Lindqvist"),
        ("PER", "Paulo Ferraz"),
        ("CITY", "Lisbon"),
    ]
    with tarfile.open(path) as members:
        assert PROMISES_NAME not in members.getnames()
    old, made = load_archive(archive), load_archive(path)
    num_old = len(old.model.tags)
    assert made.model.tags[:num_old] == old.model.tags
    # Bit for bit, so that all sequences of old tags keep their scores.
    kept = made.model.state_dict()
    for name, weights in old.model.state_dict().items():
        if not name.endswith("_constraint_mask"):
            own = kept[name][tuple(map(slice, weights.shape))]
            torch.testing.assert_close(own, weights, rtol=0, atol=0, msg=name)
    assert not kept["projection.weight"][:num_old, old.model.projection.in_features :].any()
    assert made.config["dataset_reader"].as_dict() == old.config["dataset_reader"].as_dict()
    before = path.stat().st_mtime_ns
    add_label(new, *options, archive=tuned)
    assert "is finished" in capsys.readouterr().out
    assert path.stat().st_mtime_ns == before
    with pytest.raises(SystemExit, match="holds another run"):
        add_label(new, *options, "--most-lost", 0.1, archive=tuned)


@pytest.mark.slow
def test_a_stopped_run_resumes_with_the_same_result(add_label, tmp_path, monkeypatch):
    new = relabelled(tmp_path / "new.txt", LOC="CITY")
    options = ("-o", json.dumps({"trainer.num_epochs": 3}))
    add_label(new, "-s", tmp_path / "unbroken", *options)
    train_epoch = RecoverableTrainer._train_epoch

    def stop(self, epoch):
        if epoch == 1:
            raise KeyboardInterrupt
        return train_epoch(self, epoch)

    with monkeypatch.context() as patched:
        patched.setattr(RecoverableTrainer, "_train_epoch", stop)
        with pytest.raises((KeyboardInterrupt, SystemExit)):
            add_label(new, "-s", tmp_path / "run", *options)
    add_label(new, "-s", tmp_path / "run", *options)
    losses = [
        json.loads((tmp_path / name / "metrics.json").read_text())["training_loss"]
        for name in ("unbroken", "run")
    ]
    assert losses[0] == losses[1]


def test_a_tagger_of_documents_gets_a_label(add_label, trained_on_documents, tmp_path):
    new = tmp_path / "new.txt"
    new.write_text(text_of_documents().replace("B-PER", "O").replace("B-LOC", "B-CITY"))
    archive = trained_on_documents / "model.tar.gz"
    add_label(new, "-s", tmp_path / "run", "-o", FEW, archive=archive)
    made = load_archive(tmp_path / "run/model.tar.gz")
    assert "U-CITY" in made.model.tags
    # Add a second label after the first.
    new.write_text(text_of_documents().replace("B-PER", "B-MAN").replace("B-LOC", "O"))
    path = tmp_path / "run/model.tar.gz"
    add_label(new, "-s", tmp_path / "again", "-o", FEW, "--no-bias", archive=path)
    made = load_archive(tmp_path / "again/model.tar.gz")
    assert {"U-CITY", "U-MAN"} <= set(made.model.tags)
    assert len(made.model.extensions) == 2


def test_user_errors_are_one_line(add_label, tmp_path, capsys):
    new = relabelled(tmp_path / "new.txt", LOC="CITY")
    known = relabelled(tmp_path / "known.txt", LOC="LOC")
    wrong, run = tmp_path / "wrong.txt", tmp_path / "run"
    wrong.write_text("Ada B-CITY\nleft I-PER\n")
    for file, options, message in (
        (known, [], ".*known.txt: expected entities of a label that"),
        (wrong, [], r".*wrong.txt:2: in 'left I-PER'"),
        (new, [], "`--serialization-dir` .* holds another run"),
        (new, ["--force"], "`--force` would remove .* not the folder of"),
    ):
        if file == new:
            run.mkdir(exist_ok=True)
            (run / "mine").write_text("mine")
        with pytest.raises(SystemExit, match=f"^add-label: {message}"):
            add_label(file, "-s", run, *options)
        # A folder created in vain is removed; any other stays.
        assert run.exists() == (run / "mine").exists() == (file == new)


@pytest.mark.parametrize(
    ("head", "message"),
    [
        (
            SoftmaxHead,
            "got a `sequence_tagger` with the head `softmax` and BIOUL tags; train a tagger with the",
        ),
        (SigmoidHead, "got .* `sigmoid` and .*; label its old labels too"),
    ],
)
def test_other_taggers_are_refused(archive, head, message):
    archive.model.head = head(archive.model.vocab)
    with pytest.raises(ConfigurationError, match=f"^mine: labels can only be added to .*{message}"):
        _checked_tagger(archive.model, "mine")
