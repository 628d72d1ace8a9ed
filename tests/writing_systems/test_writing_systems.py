"""Text in any script keeps its words and its offsets, from a file to a tagger and back."""

import itertools
import json
import logging
from pathlib import Path
from typing import List, NamedTuple

import pytest
import regex
from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.models import load_archive

import tagger
import tagger_onnx
from tagger.data import DocumentDatasetReader
from tagger.data.formats import (
    FORMATS,
    AnnotatedText,
    convert_texts,
    read_texts,
    tokens_and_tags,
    write_texts,
)
from tagger.data.joined_text import join_tokens
from tagger.data.reading import Reading
from tagger.integrations.onnx.commands.export import export
from tagger.integrations.service.app import Served, create_app
from tagger.tools.start.start import start
from tagger.tools.start.tokenization import find_tokenization
from tests.integrations.service.test_app import ask
from tests.routes import check_spacy
from tests.tools.start.test_tokenization import text_of_tokens
from tests.writing_systems.corpora import BY_CHARACTERS, LANGUAGES, texts_in

#: A column file, and a Parquet-like list of tokens, do not keep how tokens are spaced.
WITHOUT_TEXT = ("columns", "huggingface")
SMALL = {
    "model.encoder": {"type": "bilstm", "hidden_size": 30},
    "trainer.optimizer.lr": 0.02,
    "trainer.num_epochs": 12,
}


def quotes(text):
    return [(label, text.text[start:end]) for label, start, end in text.entities]


def places(tagged):
    return [(each.label, each.start, each.end) for each in tagged.entities]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("format", FORMATS)
def test_texts_come_back_from_every_format(language, format, tmp_path):
    texts, path = texts_in(language), tmp_path / f"texts{FORMATS[format].suffixes[0]}"
    convert_texts(texts, path, format)
    for text, found in zip(texts, read_texts(path, Reading(format)), strict=True):
        assert quotes(found) == quotes(text)
        # There, Korean particles are separate tokens.
        if language != "Korean" or format not in WITHOUT_TEXT:
            assert (found.text, found.entities) == (text.text, text.entities)


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_token_begins_with_a_mark_and_words_between_blanks_stay_whole(language):
    for text in texts_in(language):
        tokens, _ = tokens_and_tags(text)
        assert "".join(tokens) == "".join(text.text.split())
        assert not any(regex.match(r"\p{M}", token) for token in tokens), tokens
        if language not in BY_CHARACTERS:
            words = [word.rstrip(".?;।؟") for word in text.text.split()]
            assert [token for token in tokens if regex.search(r"\p{L}", token)] == words


def test_documents_to_classify_keep_their_words():
    instance = DocumentDatasetReader().text_to_instance("हिन्दी 5mg a_b, 北京")
    words = [token.text for token in instance["tokens"]]
    assert words == ["हिन्दी", "5", "mg", "a", "_", "b", ",", "北", "京"]


#: What reproduces the tokens of a corpus, and its texts.
TOKENIZERS = {
    "Hindi": (None, None, "hi"),
    "Bengali": (None, None, "bn"),
    "Thai": ("characters", "words", "th"),
    "Arabic": ("punctuation", "punctuation", "ar"),
    "Hebrew": (None, None, "he"),
    "Chinese": ("words", "words", "zh"),
    "Japanese": ("words", "words", "ja"),
    "Korean": ("language_rules", "characters", "ko"),
    "Russian": (None, None, "ru"),
    "Vietnamese": ("punctuation", "punctuation", "vi"),
    "Greek": (None, None, "el"),
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_tokenizer_is_found_that_reproduces_the_corpus(language):
    texts, (*tokenizers, code) = texts_in(language), TOKENIZERS[language]
    of_tokens = find_tokenization([text_of_tokens(tokens_and_tags(text)[0]) for text in texts])
    for found, tokenizer in zip((of_tokens, find_tokenization(texts)), tokenizers):
        assert found.language == code
        assert (found.config or {}).get("type") == tokenizer
        assert next(iter(found.shares.values())) == 1
        assert found.has_blanks == (language not in ("Chinese", "Japanese", "Thai"))


def test_words_of_several_characters_without_blanks_are_reproduced_by_nothing_and_said():
    found = find_tokenization([text_of_tokens("我 喜欢 北京大学 的 图书馆 。".split())] * 3)
    topic, text = found.describe()[-1]
    assert topic == "warning"
    assert "convert" in text
    assert next(iter(found.shares.values())) < 0.5


@pytest.mark.parametrize(
    ("tokens", "text"),
    [
        ("他 在 Google Maps 工作 了 10 年 ， “ 好 ” 。", "他在Google Maps工作了10年，“好”。"),
        ("2 0 0 8 年 A 股", "2008年A股"),
        ("see 北京 today .", "see 北京 today."),
        ("東京 タワー へ 「 行く 」 。", "東京タワーへ「行く」。"),
        ("ผม ชื่อ John ครับ", "ผมชื่อ John ครับ"),
        ("한 국 은 행 에 갔 다 .", "한국은행에갔다."),
        ("한국 은행 .", "한국 은행."),
        ("क्या ? हाँ ।", "क्या? हाँ।"),
        ("نعم ، هل ؟", "نعم، هل؟"),
        ("བོད ་ ཡིག །", "བོད་ཡིག།"),
    ],
)
def test_tokens_are_joined_as_their_script_is_written(tokens, text):
    found = join_tokens(tokens.split())
    assert found.text == text
    assert [found.text[slice(*span)] for span in found.spans] == tokens.split()


class Run(NamedTuple):
    name: str
    archive: Path
    texts: List[AnnotatedText]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return {name: trained(name, tmp_path_factory.mktemp(name)) for name in ("characters", "words")}


def trained(name, folder):
    """Trains a tagger that `start` has proposed."""
    languages = [each for each in LANGUAGES if (each in BY_CHARACTERS) == (name == "characters")]
    texts = list(itertools.chain(*map(texts_in, languages)))
    file, config = folder / "texts.jsonl", folder / "mine.jsonnet"
    write_texts(texts, file, "doccano")
    with pytest.MonkeyPatch.context() as patch:
        # Without the pretrained transformers that may lie in the current folder.
        patch.chdir(folder)
        config.write_text(start([file, file], config).files[config])
    train_model(Params.from_file(config, json.dumps(SMALL)), str(folder / "run"))
    return Run(name, folder / "run" / "model.tar.gz", texts)


@pytest.fixture(params=["characters", "words"])
def run(request, runs):
    """A tagger for the scripts that are split into characters, or for the others."""
    return runs[request.param]


def test_a_sentence_as_people_write_it_has_its_entities(run):
    model = tagger.load(run.archive)
    assert str(model.tokenizer) in ("characters", "blanks and punctuation", "words in any script")
    assert (str(model.tokenizer) == "characters") == (run.name == "characters")
    found = [places(tagged) for tagged in model.tag([text.text for text in run.texts])]
    gold = [list(map(tuple, text.entities)) for text in run.texts]
    num_right = sum(len(set(own) & set(each)) for own, each in zip(found, gold))
    assert num_right > 0.9 * sum(map(len, gold))


def test_every_route_has_the_same_offsets(run, tmp_path):
    lines = [text.text for text in run.texts[::5]]
    model = tagger.load(run.archive)
    expected = model.tag(lines)
    for tagged in expected:
        for entity in tagged.entities:
            assert tagged.text[entity.start : entity.end] == entity.text
    export(load_archive(run.archive), tmp_path / "tagger.onnx")
    exported = tagger_onnx.load(tmp_path / "tagger.onnx").tag(lines)
    served = ask(create_app(Served(model, "it")), "POST", "/tag", json={"inputs": lines}).json()
    for tagged, by_onnx, by_service in zip(expected, exported, served["results"], strict=True):
        assert by_onnx.tokens == by_service["tokens"] == tagged.tokens
        own = [(each["label"], each["start"], each["end"]) for each in by_service["entities"]]
        assert places(tagged) == places(by_onnx) == own
    check_spacy(run.archive, lines)


def test_predictions_for_tokens_have_no_blanks_where_the_script_has_none(run, allennlp, tmp_path):
    convert_texts(run.texts, tmp_path / "in.conll", "columns")
    options = ["--input-format", "columns", "--format", "doccano"]
    output = tmp_path / "out.jsonl"
    allennlp("predict-file", run.archive, tmp_path / "in.conll", "-o", output, *options)
    for text, found in zip(run.texts, read_texts(output, Reading("doccano")), strict=True):
        if run.name == "characters" and " " not in text.text:
            assert found == text._replace(place=found.place)


def test_an_evaluation_from_text_fails_if_texts_are_split_otherwise(
    run, allennlp, tmp_path, caplog, capsys
):
    caplog.set_level(logging.WARNING)
    file, output = tmp_path / "in.conll", tmp_path / "metrics.json"
    texts = [each for each in run.texts if run.name == "words" or " " not in each.text]
    convert_texts(texts, file, "columns")
    metrics, said = [], []
    for override in ({}, {"dataset_reader.tokenizer": {"type": "blanks"}}):
        caplog.clear()
        options = ["--from-text", "-o", json.dumps(override), "--output-file", output]
        allennlp("evaluate", run.archive, file, *options)
        metrics.append(json.loads(output.read_text()))
        said.append(caplog.text)
    own, others = metrics
    assert others["f1-measure-overall"] < own["f1-measure-overall"] - 0.2
    for name in ("reproduced-tokens", "reproduced-borders"):
        assert others[name] < 0.9
        assert own[name] > 0.95
    assert "reproduces" not in said[0]
    assert "Splitting texts by blanks reproduces" in said[1]
    assert "of the borders of entities." in capsys.readouterr().out
