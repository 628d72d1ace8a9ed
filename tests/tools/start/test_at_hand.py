"""The pretrained parts that the starter proposes."""

import pytest
from allennlp.common import Params

from tagger.tools.start.config import pretrained_at_hand
from tagger.tools.start.languages import is_in_english
from tagger.tools.start.start import start
from tests.transformers.small import save_word_pieces

MINE = "Ada B-PER\nlives O\nin O\nLima B-LOC\n\n" * 10


@pytest.fixture(autouse=True)
def _in_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TAGGER_TRANSFORMERS", raising=False)
    (tmp_path / "train.txt").write_text(MINE)


def put_all(folder):
    (folder / "data/glove").mkdir(parents=True)
    (folder / "data/glove/glove.6B.50d.txt").write_text("ada" + " 0.1" * 50 + "\n")
    save_word_pieces(folder / "data/all-MiniLM-L6-v2")


def begun(tmp_path):
    """Returns the written config and the messages."""
    started = start([tmp_path / "train.txt"], tmp_path / "mine.jsonnet")
    for path, text in started.files.items():
        path.write_text(text)
    return Params.from_file(tmp_path / "mine.jsonnet").as_dict(), "\n".join(started.said)


def test_available_parts_are_in_the_config_and_reported(tmp_path):
    put_all(tmp_path)
    config, said = begun(tmp_path)
    embedders = config["model"]["text_field_embedder"]["token_embedders"]
    assert embedders["transformer"]["model_name"] == "data/all-MiniLM-L6-v2"
    assert embedders["tokens"]["pretrained_file"] == "data/glove/glove.6B.50d.txt"
    assert config["dataset_reader"]["token_indexers"]["tokens"]["lowercase"] is True
    assert "  features of the transformer data/all-MiniLM-L6-v2, which help most" in said
    # English parts are not proposed for other languages, and a folder without weights is none.
    assert pretrained_at_hand(False).settings == {}
    (tmp_path / "data/all-MiniLM-L6-v2/model.safetensors").unlink()
    assert "transformer" not in pretrained_at_hand(True).settings


def test_missing_parts_are_reported_with_the_command_that_fetches_them(tmp_path):
    config, said = begun(tmp_path)
    assert "transformer" not in config["model"]["text_field_embedder"]["token_embedders"]
    assert "get it with `allennlp fetch-encoder all-MiniLM-L6-v2`" in said
    assert "get them with `allennlp fetch-encoder glove`" in said
    # The few words of this file tell no language.
    assert "; for another language than English, take multilingual-e5-small" in said
    # Small data stop early.
    assert (config["trainer"]["num_epochs"], config["trainer"]["patience"]) == (60, 15)
    assert "patience 15" in said


def test_the_folder_of_transformers_comes_first(tmp_path, monkeypatch):
    put_all(tmp_path)
    (tmp_path / "kept").mkdir()
    save_word_pieces(tmp_path / "kept/all-MiniLM-L6-v2")
    monkeypatch.setenv("TAGGER_TRANSFORMERS", "kept")
    assert pretrained_at_hand(True).settings["transformer"] == "kept/all-MiniLM-L6-v2"


GERMAN = "Ada B-PER\nwohnt O\nseit O\ndem O\nSommer O\nmit O\nihr O\nin O\nLima B-LOC\n\n"
ENGLISH = "Ada B-PER\nhas O\nbeen O\nwith O\nher O\nin O\nthe O\ntown O\n\n"
CHINESE = "我 O\n在 O\n北 B-LOC\n京 I-LOC\n\n"
HEBREW = "עדה B-PER\nגרה O\nבלימה B-LOC\n\n"
CORPORA = {
    "german": GERMAN * 10,
    "chinese": CHINESE * 10,
    "hebrew": HEBREW * 10,
    "mostly english": ENGLISH * 8 + GERMAN,
    "english and chinese": ENGLISH * 8 + CHINESE,
}


@pytest.mark.parametrize("corpus", CORPORA)
def test_other_languages_and_mixtures_get_the_multilingual_transformer(tmp_path, corpus):
    put_all(tmp_path)
    (tmp_path / "train.txt").write_text(CORPORA[corpus])
    config, said = begun(tmp_path)
    assert "transformer" not in config["model"]["text_field_embedder"]["token_embedders"]
    assert "no pretrained transformer, which would help most: there is none in " in said
    assert "get it with `allennlp fetch-encoder multilingual-e5-small`, since the texts are" in said
    save_word_pieces(tmp_path / "data/multilingual-e5-small", num_layers=12)
    config, said = begun(tmp_path)
    embedders = config["model"]["text_field_embedder"]["token_embedders"]
    assert embedders["transformer"]["model_name"] == "data/multilingual-e5-small"
    assert embedders["transformer"]["layers"] == [4, 6, 8, 10, 12]
    assert "pretrained_file" not in embedders["tokens"]
    assert "which help most, since the texts are not all in English" in said


def test_a_few_sentences_in_another_language_do_not_matter(tmp_path):
    put_all(tmp_path)
    save_word_pieces(tmp_path / "data/multilingual-e5-small", num_layers=12)
    (tmp_path / "train.txt").write_text(ENGLISH * 40 + GERMAN + CHINESE)
    config, said = begun(tmp_path)
    embedders = config["model"]["text_field_embedder"]["token_embedders"]
    assert embedders["transformer"]["model_name"] == "data/all-MiniLM-L6-v2"
    assert "multilingual" not in said


def test_short_sentences_are_clear_together():
    assert (
        is_in_english([[each] for each in "er war mit ihr in dem Haus und dann".split()]) is False
    )
    assert is_in_english([["Elm", "St"], ["12"]]) is None
