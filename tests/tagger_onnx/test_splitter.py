import json
import random

import pytest
import spacy

from tagger.data.tokenizers import LanguageRulesTokenizer
from tagger.integrations.onnx.export import describe_splitting
from tagger_onnx.splitter import Splitter
from tests.integrations.onnx.taggers import WORDS

WHOLE = ["http://a.b.com/x?y=1", "me@b.org", "10km", "U.S.", "don't", "3.5%", "and/or", "12:30pm"]
CHARACTERS = (
    "abXYZ01 .,;:!?()[]{}'\"-_/@#$%&*+=<>|~`^é€£…—–’“”«»·°²\u00a0\t\n😀👍🏽中文한\u200bЖ\u2028"
)


def texts(exceptions, number):
    draw = random.Random(0)
    for _ in range(number):
        yield "".join(
            draw.choice(
                [
                    draw.choice(WORDS),
                    draw.choice(exceptions),
                    draw.choice(WHOLE),
                    "".join(draw.choices(CHARACTERS, k=draw.randint(1, 6))),
                    draw.choice(CHARACTERS),
                ]
            )
            + draw.choice(["", " ", " ", "  ", "\n"])
            for _ in range(draw.randint(1, 12))
        )


# Hungarian has a rule for whole tokens.
@pytest.mark.parametrize("language", ["en", "de", "hu", "xx"])
def test_texts_are_split_as_by_spacy(language):
    tokenizer = spacy.blank(language).tokenizer
    split = Splitter(json.loads(json.dumps(describe_splitting(LanguageRulesTokenizer(language)))))
    for text in texts([each for each in tokenizer.rules if not each.isspace()], 300):
        text = text.replace("🏽", "")  # spaCy cuts emoji; see tests/data/test_emoji.py.
        expected = [(token.text, token.idx) for token in tokenizer(text) if not token.is_space]
        assert [tuple(token) for token in split(text)] == expected, text


def test_exceptions_are_found_across_what_rules_split():
    split = Splitter(describe_splitting(LanguageRulesTokenizer("en")))
    for text in ("a ;-) b", "(x:-)", "ha;-)!", "(no:-)yes)"):
        expected = [token.text for token in spacy.blank("en").tokenizer(text)]
        assert [token.text for token in split(text)] == expected


def test_texts_without_tokens_have_none():
    split = Splitter(describe_splitting(LanguageRulesTokenizer("xx")))
    assert [split(text) for text in ("", " ", "\n\t\u3000")] == [[], [], []]
