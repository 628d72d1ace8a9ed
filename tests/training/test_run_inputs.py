"""A run resumes only with the data that it has read, and with its own vocabulary."""

import json
import os
import shutil
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary

from tagger.data.dataset_readers.column import ColumnDatasetReader
from tagger.data.soft_labels import SoftLabels
from tagger.training.recoverable_trainer import RecoverableTrainer
from tagger.training.run_folder import check_is_same_run
from tagger.training.run_inputs import INPUTS_FILE, PACKAGE, digests_of_inputs
from tests.conftest import CONFIGS, ROOT
from tests.training.test_recoverable_trainer import BrokenOffError, results
from tests.transformers.small import save_word_pieces

#: Reads every kind of file.
CONFIG = f"""
(import '{CONFIGS / "toy_bilstm_crf.jsonnet"}') + {{
  num_epochs:: 3,
  glove_file:: 'vectors.txt',
  lexicons:: ['cities'],
  lexicon_folder:: 'lexicons',
  transformer:: 'encoder',
  transformer_dim:: 6,
  augmentation:: {{ type: 'augmentation', mention_replacement: 0.5, terms: {{ PER: 'names.txt' }} }},
  local reader = super.dataset_reader,
  dataset_reader: {{ type: 'soft_labelled', reader: reader, soft_labels: 's.npz', unlabelled: ['u.npz']
  }},
  validation_dataset_reader: reader,
  model+: {{ head+: {{ distillation_weight: 0.5 }} }},
  train_data_path: 'train.txt',
  validation_data_path: 'dev.files.json',
}}
"""
#: Files that the record names, or what it calls them.
READ = [
    *("dev.files.json", "dev.txt", "lexicons/cities.txt", "names.txt", "s.npz", "train.txt"),
    *("u.npz", "vectors.txt"),
]
TRANSFORMER = "the transformer encoder"

_opened = None


def _note(event, arguments):
    if _opened is not None and event == "open" and isinstance(arguments[0], (str, os.PathLike)):
        _opened.add(str(Path.cwd() / arguments[0]))


@contextmanager
def opened_files():
    """Collects the files that are opened inside."""
    global _opened
    if _note not in _hooks:
        sys.addaudithook(_note)
        _hooks.append(_note)
    _opened = found = set()
    try:
        yield found
    finally:
        _opened = None


_hooks = []


def save_soft_labels(path, sentences, tags):
    lengths = np.array([len(words) for words in sentences])
    size = len(tags)
    marginals = np.full((lengths.sum(), size), 1 / size)
    transitions = np.ones((len(lengths), size, size)) * (lengths[:, None, None] - 1) / size**2
    SoftLabels(tags, sentences, marginals, transitions).save(path)


def write_inputs(folder, tags):
    for name in ("train", "dev"):
        shutil.copy(ROOT / f"data/toy/{name}.txt", folder)
    (folder / "dev.files.json").write_text('{"files": [{"path": "dev.txt"}]}')
    (folder / "vectors.txt").write_text(
        "".join(f"{word} {'0.5 ' * 20}\n" for word in ("in", "met"))
    )
    (folder / "lexicons").mkdir()
    (folder / "lexicons/cities.txt").write_text("Lisbon\nSão Paulo\n")
    (folder / "names.txt").write_text("Ada Lovelace\n")
    save_word_pieces(folder / "encoder")
    reader = ColumnDatasetReader(source_encoding="BIO")
    sentences = [
        [token.text for token in each["tokens"].tokens]
        for each in reader.read(folder / "train.txt")
    ]
    save_soft_labels(folder / "s.npz", sentences, tags)
    save_soft_labels(folder / "u.npz", [["Maria", "sang"], ["Oslo", "said"]], tags)
    (folder / "config.jsonnet").write_text(CONFIG)


def train(name, recover=False):
    return train_model(Params.from_file("config.jsonnet"), name, recover=recover)


@pytest.fixture(scope="module")
def killed(trained, tmp_path_factory):
    """A folder with inputs, a whole run, and one that was killed after its first epoch."""
    folder = tmp_path_factory.mktemp("inputs")
    vocabulary = Vocabulary.from_files(trained / "vocabulary")
    tags = list(vocabulary.get_token_to_index_vocabulary("labels"))
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.chdir(folder)
        write_inputs(folder, tags)
        with opened_files() as opened:
            train("unbroken")
        (folder / "opened.json").write_text(json.dumps(sorted(opened)))
        one_epoch = RecoverableTrainer._train_epoch

        def broken(trainer, epoch):
            if epoch == 1:
                raise BrokenOffError
            return one_epoch(trainer, epoch)

        monkeypatch.setattr(RecoverableTrainer, "_train_epoch", broken)
        with pytest.raises(BrokenOffError):
            train("run")
    return folder


@pytest.fixture
def here(killed, tmp_path, monkeypatch):
    shutil.copytree(killed, tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


def recover(folder):
    check_is_same_run(Params.from_file("config.jsonnet"), folder / "run")
    train("run", recover=True)


def reverse_sentences(path):
    sentences = path.read_text().strip().split("\n\n")
    path.write_text("\n\n".join(reversed(sentences)) + "\n")


def test_every_file_that_training_reads_is_recorded(killed):
    recorded = json.loads((killed / "run" / INPUTS_FILE).read_text())
    assert sorted(recorded) == sorted([*READ, TRANSFORMER, PACKAGE])
    opened = {
        os.path.relpath(each, killed)
        for each in json.loads((killed / "opened.json").read_text())
        if each.startswith(str(killed))
    }
    inputs = {each for each in opened if not each.startswith(("unbroken", "encoder", "."))}
    # The config itself is compared, too.
    assert inputs - {"config.jsonnet"} == set(READ)


def test_unchanged_data_go_on_like_an_uninterrupted_run(here):
    recover(here)
    assert results(here / "run") == results(here / "unbroken")
    archives = [(here / name / "model.tar.gz").read_bytes() for name in ("run", "unbroken")]
    assert archives[0] == archives[1]


@pytest.mark.parametrize("name", READ)
def test_a_changed_file_is_refused_by_its_name(name, here):
    path = here / name
    if path.name == "train.txt":
        reverse_sentences(path)
    elif path.name == "dev.txt":
        path.write_text(path.read_text().rpartition("\n\n")[0])
    else:
        path.write_bytes(path.read_bytes() + b"\n")
    before = sorted((here / "run").rglob("*"))
    with pytest.raises(ConfigurationError, match=f"other data: {name} has changed since; restore"):
        recover(here)
    path.unlink()
    with pytest.raises(ConfigurationError, match=f"{name} is gone"):
        recover(here)
    assert sorted((here / "run").rglob("*")) == before


def test_a_changed_transformer_is_refused_and_the_runs_copy_replaces_a_lost_one(here):
    shutil.copytree(here / "encoder", here / "kept")
    save_word_pieces(here / "encoder", seed=1)
    with pytest.raises(ConfigurationError, match=f"{TRANSFORMER} has changed since"):
        recover(here)
    shutil.rmtree(here / "encoder")
    check_is_same_run(Params.from_file("config.jsonnet"), here / "run")


def test_a_finished_run_is_not_measured_on_other_data(here):
    params = Params.from_file("config.jsonnet")
    check_is_same_run(params.duplicate(), here / "unbroken")
    reverse_sentences(here / "dev.txt")
    with pytest.raises(ConfigurationError, match="dev.txt has changed"):
        check_is_same_run(params, here / "unbroken")


def test_a_run_without_a_record_keeps_its_vocabulary(here, caplog):
    (here / "run" / INPUTS_FILE).unlink()
    reverse_sentences(here / "train.txt")
    recover(here)
    assert "no record of its data" in caplog.text
    for path in (here / "unbroken/vocabulary").glob("*.txt"):
        read = sorted if path.name == "non_padded_namespaces.txt" else list  # AllenNLP writes a set
        lines = (here / "run/vocabulary" / path.name).read_text().splitlines()
        assert read(lines) == read(path.read_text().splitlines())
    assert not list((here / "run").glob(".*unfinished"))


def test_a_kill_while_the_vocabulary_is_written_again_leaves_it_whole(here, monkeypatch):
    labels = (here / "run/vocabulary/labels.txt").read_bytes()

    def half(vocabulary, directory):
        Path(directory).mkdir(exist_ok=True)
        Path(directory, "labels.txt").write_text("")
        raise BrokenOffError

    with monkeypatch.context() as killing:
        killing.setattr(Vocabulary, "save_to_files", half)
        with pytest.raises(BrokenOffError):
            recover(here)
    assert (here / "run/vocabulary/labels.txt").read_bytes() == labels
    recover(here)
    assert results(here / "run") == results(here / "unbroken")
    assert not list((here / "run").glob(".*unfinished"))


def write(folder, names):
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("a")


@pytest.mark.parametrize(
    ("config", "read"),
    [
        ({"train_data_path": "data"}, ["data/a.ann", "data/b/a.txt"]),
        ({"train_data_path": "data/a.ann"}, ["data/a.ann", "data/a.txt"]),
        ({"train_data_path": "data/*.ann"}, ["data/a.ann", "data/b.ann"]),
        ({"train_data_path": {"one": "data", "two": ["b.txt"]}}, ["data/a.txt", "b.txt"]),
        ({"train_data_path": "file://{}/a b.txt"}, ["a b.txt"]),
        ({"train_data_path": "a.parquet"}, ["a.parquet", "dataset_info.json"]),
        ({"x": {"pretrained_file": "(v.zip)#glove.txt"}}, ["v.zip"]),
        ({"x": {"pretrained_file": "v.zip!glove.txt"}}, ["v.zip"]),
        ({"vocabulary": {"directory": "old"}}, ["old/labels.txt"]),
        ({"model": {"archive_file": "run"}}, ["run/best.th", "run/config.json"]),
    ],
    ids=str,
)
def test_files_that_are_named_in_other_ways_are_found(config, read, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, read)
    config = json.loads(json.dumps(config).replace("{}", str(tmp_path)))
    found = digests_of_inputs(config)
    assert sorted(os.path.relpath(name) for name in found) == sorted(read)
    for name in read:
        (tmp_path / name).write_text("other")
    assert all(found[name] != digest for name, digest in digests_of_inputs(config).items())


def test_the_content_behind_an_address_counts():
    import fsspec

    config = {"train_data_path": "memory://inputs/train.txt"}
    assert digests_of_inputs(config) == {}
    digests = []
    for content in (b"a", b"b"):
        with fsspec.open(config["train_data_path"], "wb") as file:
            file.write(content)
        digests.append(digests_of_inputs(config)[config["train_data_path"]])
    assert digests[0] != digests[1]


def test_a_transformer_is_compared_wherever_it_is_found(tmp_path, monkeypatch):
    config = {"model_name": "some/encoder"}
    monkeypatch.chdir(tmp_path)
    assert digests_of_inputs(config) == {}
    (tmp_path / "all").mkdir()
    save_word_pieces(tmp_path / "all/encoder")
    monkeypatch.setenv("TAGGER_TRANSFORMERS", str(tmp_path / "all"))
    before = digests_of_inputs(config)
    assert list(before) == ["the transformer some/encoder"]
    save_word_pieces(tmp_path / "all/encoder", seed=1)
    assert digests_of_inputs(config) != before


def test_a_runs_own_files_are_not_its_inputs(tmp_path):
    write(tmp_path, ["data/train.txt", "data/run/best.th"])
    config = {"train_data_path": str(tmp_path / "data")}
    assert list(digests_of_inputs(config, tmp_path / "data/run")) == [
        str(tmp_path / "data/train.txt")
    ]
