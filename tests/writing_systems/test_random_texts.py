"""Whatever characters a text is made of, each entity is the part of the text that its offsets say."""

import html
import json
import random
import re

import pytest
from allennlp.models import load_archive

from tagger.data.formats import FORMATS, AnnotatedText, Annotation, convert_texts, read_texts
from tagger.data.reading import Reading
from tagger.integrations.service.app import Served, create_app
from tagger.predictors.saved_tagger import SavedTagger
from tagger.tools.deidentification.masks import mask_text
from tests.integrations.service.test_app import ask

#: Pieces of texts: words of many scripts, and what troubles offsets.
PIECES = (
    *("Maria", "Oslo", "naïve", "nai\u0308ve", "\u1e9b\u0323", "Å", "A\u030a", "ﬁn", "İ", "ß"),
    *("محمد", "مُحَمَّدٌ", "مـحـمـد", "القاهرة", "שָׁלוֹם", 'רמב"ם', "می\u200cخواهم", "١٢٣"),
    *("हिन्दी", "क्\u200dष", "र्\u200cक", "বাংলা", "ภาษาไทย", "น้ำ", "ខ្មែរ", "བོད་ཡིག"),
    *("北京大学", "𠮷野家", "東京タワー", "か\u3099", "ガ", "ｶﾞ", "２０２４年",
      "Ｇｏｏｇｌｅ", "한국", "\u1112\u1161\u11ab"),
    *("👩🏽\u200d🚀", "🇳🇴", "🏴\U000e0067\U000e0062\U000e007f", "👍", "1️⃣", "𝔄", "e\u0301\u0323\u0301"),
    *("\u202bאב\u202c", "\u2067ab\u2069", "\u200e", "\u200f", "\ufeff", "\u00ad", "\u2060"),
    *(" ", " ", "  ", "\t", "\u00a0", "\u3000", "\u2028"),
    *(".", "。", "，", "،", "؟", "（", "）", "<b>", "&", "-"),
)  # fmt: skip
TOKENIZERS = ("characters", "words", "words_and_numbers", "punctuation", "blanks", "language_rules")
#: A column file, and a list of tokens, do not keep how tokens are spaced.
WITH_TEXT = [name for name in FORMATS if name not in ("columns", "huggingface")]


def texts_of(seed, number=60):
    rng = random.Random(seed)
    return ["".join(rng.choices(PIECES, k=rng.randint(1, 12))) for _ in range(number)]


@pytest.fixture(scope="module")
def taggers(trained):
    """By tokenizer, a tagger that finds something nearly everywhere."""

    def tagger_with(name):
        overrides = json.dumps({"dataset_reader.tokenizer": {"type": name}})
        archive = load_archive(trained / "model.tar.gz", overrides=overrides)
        return SavedTagger.of(archive, name).with_bias(PER=3.0, LOC=4.0, ORG=3.0)

    return {name: tagger_with(name) for name in TOKENIZERS}


@pytest.mark.parametrize("name", TOKENIZERS)
def test_the_text_of_an_entity_is_where_its_offsets_are(name, taggers):
    texts, num_found = texts_of(name), 0
    for text, tagged in zip(texts, taggers[name].tag(texts, candidates=0.05), strict=True):
        assert tagged.text == text
        end = 0
        for token in tagged.tokens:
            assert not text[end:].isspace()
            end = text.index(token, end) + len(token)
        for entity in (*tagged.entities, *tagged.candidates):
            assert entity.text == text[entity.start : entity.end] != ""
            assert entity.text.startswith(tagged.tokens[entity.first])
            assert entity.text.endswith(tagged.tokens[entity.last])
        shown = re.sub(" <small.*?</small>|<[^>]*>", "", tagged._repr_html_())
        assert html.unescape(shown) == text
        masked, masks = mask_text(
            text, [each[:1] + each[2:4] for each in tagged.entities], "labels"
        )
        rest = re.sub(r"\[(PER|LOC|ORG)\]", "", masked)
        outside = set(range(len(text))).difference(*(range(m.start, m.end) for m in masks))
        assert rest == "".join(text[at] for at in sorted(outside))
        num_found += len(tagged.entities)
    assert num_found > 30


def test_the_service_and_the_predictor_say_the_same(taggers):
    model, texts = taggers["words"], texts_of("service")
    answer = ask(create_app(Served(model, "it")), "POST", "/tag", json={"inputs": texts}).json()
    lines = model.predictor.predict_batch_json([{"sentence": text} for text in texts])
    for text, served, line in zip(texts, answer["results"], lines, strict=True):
        for entity in (*served["entities"], *line["entities"]):
            assert entity["text"] == text[entity["start"] : entity["end"]]


@pytest.mark.parametrize("format", WITH_TEXT)
def test_predictions_come_back_from_every_format(format, taggers, tmp_path):
    path = tmp_path / f"texts{FORMATS[format].suffixes[0]}"
    tagged = taggers["words"].tag([text for text in texts_of(format) if text.strip()])
    texts = [
        AnnotatedText(
            each.text,
            [Annotation(e.label, e.start, e.end) for e in each.entities],
            None,
            None,
            str(number),
            {},
        )
        for number, each in enumerate(tagged)
    ]
    convert_texts(texts, path, format)
    for text, found in zip(texts, read_texts(path, Reading(format)), strict=True):
        assert (found.text, found.entities) == (text.text, text.entities)
