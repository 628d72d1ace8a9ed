"""A tagger over a frozen transformer trains, saves little, and needs its transformer to load."""

import json
import pickle
import shutil
import subprocess
import sys
import tarfile

import pytest
import torch
from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.models import load_archive

import tagger
from tagger.modules.token_embedders.frozen_transformer import FrozenTransformerEmbedder
from tagger.tools.runs import work
from tagger.transformers.pretrained import FOLDER_VARIABLE
from tagger.transformers.word_features import WordFeatures
from tests.conftest import CONFIGS
from tests.documents import text_of_documents
from tests.transformers.small import save_bpe, save_word_pieces

SENTENCES = [["Lima", ":"], ["in", "Lima", "rained"]]


def config_of(folder, transformer, carries=False):
    """A config that trains for one epoch on sentences of documents."""
    data = folder / "documents.txt"
    data.write_text(text_of_documents())
    own = folder / "own.jsonnet"
    own.write_text(
        f"""
        (import '{CONFIGS / "toy_bilstm_crf.jsonnet"}') + {{
          transformer:: '{transformer}',
          transformer_dim:: 6,
          {"" if carries else "carry_transformer:: false,"}
          num_epochs:: 1,
          train_data_path: '{data}',
          validation_data_path: '{data}',
          dataset_reader+: {{ documents: 'docstart', instances: 'sentences' }},
          model+: {{ text_field_embedder+: {{ token_embedders+: {{
            transformer+: {{ cache_folder: '{folder / "cache"}' }},
          }} }} }},
        }}
        """
    )
    return Params.from_file(own)


@pytest.fixture
def transformer(tmp_path):
    return save_word_pieces(tmp_path / "tiny")


@pytest.fixture
def train(tmp_path, transformer):
    def train_once(name="run", **arguments):
        train_model(config_of(tmp_path, transformer, **arguments), tmp_path / name)
        return tmp_path / name / "model.tar.gz"

    return train_once


def in_archive(path):
    with tarfile.open(path) as archive:
        return archive.getnames()


def test_a_tagger_trains_and_its_archive_needs_the_transformer(
    train, transformer, tmp_path, monkeypatch, caplog
):
    path = train()
    assert not any("transformers" in name for name in in_archive(path))
    weights = torch.load(path.parent / "best.th", weights_only=True)
    names = [name for name in weights if "token_embedder_transformer" in name]
    own = {name.rpartition("token_embedder_transformer.")[2] for name in names}
    assert own == {"digest", "layer_scores", "scale", "projection.weight", "projection.bias"}
    before = tagger.load(path)
    document = before.tag_document(SENTENCES, probabilities=True)
    alone = before.tag(SENTENCES, probabilities=True)
    # Each sentence sees the other one in the document.
    assert document.probabilities[:2] != alone[0].probabilities

    moved = tmp_path / "elsewhere"
    moved.mkdir()
    shutil.move(transformer, moved / "tiny")
    with pytest.raises(ConfigurationError, match=f"{transformer}.*{FOLDER_VARIABLE}"):
        tagger.load(path)
    overrides = {
        "dataset_reader.token_indexers.transformer.model_name": str(moved / "tiny"),
        "model.text_field_embedder.token_embedders.transformer.model_name": str(moved / "tiny"),
    }
    load_archive(path, overrides=json.dumps(overrides))
    monkeypatch.setenv(FOLDER_VARIABLE, str(moved))
    assert tagger.load(path).tag_document(SENTENCES, probabilities=True) == document

    shutil.rmtree(moved / "tiny")
    save_word_pieces(moved / "tiny", seed=5)
    with pytest.raises(ConfigurationError, match="but the model was trained over"):
        tagger.load(path)


def test_a_transformer_that_moved_is_given_or_lies_beside_the_archive(train, transformer, tmp_path):
    path = train()
    wanted = tagger.load(path).tag(SENTENCES, probabilities=True)
    given = tmp_path / "renamed"
    shutil.move(transformer, given)
    with pytest.raises(ConfigurationError) as nowhere:
        tagger.load(path)
    # The archive is unpacked there, and it is gone when the message is read.
    assert f"({transformer}, {tmp_path / 'run/tiny'})" in str(nowhere.value)
    assert "transformers/tiny" not in str(nowhere.value)
    assert tagger.load(path, transformer=given).tag(SENTENCES, probabilities=True) == wanted
    # A run may have the transformer's name.
    (path.parent / "tiny").mkdir()
    for place in (path.parent.parent / "tiny", path.parent / "tiny"):
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(given, place)
        assert tagger.load(path).tag(SENTENCES, probabilities=True) == wanted
        shutil.rmtree(place)


def test_a_given_folder_must_hold_the_transformer_of_training(train, tmp_path):
    path = train()
    for folder, message in [
        (tmp_path / "nowhere", "`transformer`: expected a folder, got '.*nowhere'"),
        (path.parent, "`model_name`: expected a transformer in"),
        (save_word_pieces(tmp_path / "other", seed=5), "but the model was trained over"),
    ]:
        with pytest.raises(ConfigurationError, match=message):
            tagger.load(path, transformer=folder)


def test_features_are_computed_once_for_all_runs_of_a_study(tmp_path, transformer, monkeypatch):
    computed = []
    compute = WordFeatures.compute

    def count(self, passages, *rest, **options):
        computed.append(len(passages))
        return compute(self, passages, *rest, **options)

    monkeypatch.setattr(WordFeatures, "compute", count)
    config = config_of(tmp_path, transformer).as_dict(quiet=True)
    test_file = tmp_path / "test.txt"
    test_file.write_text("-DOCSTART- O\n\nXylografia B-LOC\nlies O\n")
    config["test_data_path"] = str(test_file)
    work.train(config, tmp_path / "first")
    # Names have two documents each, and training and validation data are the same.
    assert computed == [16, 1]
    work.train(config, tmp_path / "second")
    assert computed == [16, 1]


def test_an_archive_carries_the_transformer_unless_the_config_says_otherwise(train, transformer):
    path = train(carries=True)
    assert "transformers/tiny/model.safetensors" in in_archive(path)
    wanted = tagger.load(path).tag(SENTENCES, probabilities=True)
    shutil.rmtree(transformer)
    assert tagger.load(path).tag(SENTENCES, probabilities=True) == wanted
    with tarfile.open(path) as archive:
        checksums = json.load(archive.extractfile("meta.json"))
    assert "transformers/tiny/model.safetensors" in str(checksums)


@pytest.mark.slow
@pytest.mark.usefixtures("warm_python")
def test_a_pickled_tagger_tags_in_another_process(train, tmp_path):
    loaded, pickled = tagger.load(train()), tmp_path / "tagger.pickle"
    pickled.write_bytes(pickle.dumps(loaded))
    code = (
        "import pickle, sys; tagger = pickle.load(open(sys.argv[1], 'rb')); "
        f"print([each.probabilities for each in tagger.tag({SENTENCES!r}, probabilities=True)])"
    )
    command = [sys.executable, "-c", code, str(pickled)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    wanted = loaded.tag(SENTENCES, probabilities=True)
    assert done.stdout.splitlines()[-1] == str([each.probabilities for each in wanted])


def test_pack_puts_the_transformer_into_an_archive(train, transformer, allennlp, tmp_path, capsys):
    path, packed = train(), tmp_path / "packed.tar.gz"
    wanted = tagger.load(path).tag(SENTENCES, probabilities=True)
    # Files of the cache of the Hugging Face hub are links.
    given = tmp_path / "renamed"
    given.mkdir()
    shutil.move(transformer, tmp_path / "blobs")
    for file in (tmp_path / "blobs").iterdir():
        (given / file.name).symlink_to(file)
    allennlp("pack", path, "-o", packed, "--transformer", given)
    assert f"\nWrote {packed}: " in capsys.readouterr().out
    shutil.rmtree(given)
    assert tagger.load(packed).tag(SENTENCES, probabilities=True) == wanted


def test_pack_says_that_an_archive_is_whole_already(train, trained, allennlp, tmp_path):
    for path in (trained / "model.tar.gz", train(carries=True)):
        with pytest.raises(SystemExit, match="needs no other transformer"):
            allennlp("pack", path, "-o", tmp_path / "packed.tar.gz")


def test_the_transformer_may_have_pieces_of_bytes(tmp_path):
    folder = tmp_path / "run"
    train_model(config_of(tmp_path, save_bpe(tmp_path / "bpe")), folder)
    assert len(tagger.load(folder / "model.tar.gz").tag("Lima rained").tags) == 2


def test_users_of_an_archive_choose_where_features_are_stored(
    train, transformer, tmp_path, monkeypatch
):
    path = train()
    kept, mine = tmp_path / "cache", tmp_path / "mine"
    shutil.rmtree(kept)
    monkeypatch.setenv("XDG_CACHE_HOME", str(mine))
    config = config_of(tmp_path, transformer).as_dict(quiet=True)
    config["model"] = {"type": "from_archive", "archive_file": str(path)}
    config["vocabulary"] = {"type": "from_files", "directory": str(path.parent / "vocabulary")}
    train_model(Params(config), tmp_path / "second")
    assert any(mine.rglob("*"))
    assert not kept.exists()
    key = "model.text_field_embedder.token_embedders.transformer.cache_folder"
    model = load_archive(path, overrides=json.dumps({key: str(kept)})).model
    (embedder,) = (each for each in model.modules() if isinstance(each, FrozenTransformerEmbedder))
    assert embedder._cache_folder == kept
