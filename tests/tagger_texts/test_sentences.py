import random
import re

import pytest

from tagger_texts.sentences import sentence_lengths
from tests.tagger_onnx.browser import of_page

#: Lines of a form, and a paragraph of two sentences.
LETTER = "Name: Ada\nBorn: 1815\n\nShe met Dr. Hill in Rome. They left at 3.5 p.m. and wrote."
#: A paragraph with a sentence that ends in a line, and one that ends with a line.
WRAPPED = """\
They had spoken for Five hours in front of all the People
Of Lima and Oslo. Seven more of them came. Bert and Carl,
Two of those who had spoken, went home and stayed there.
The others left."""


def cut(text, most_tokens):
    starts = [match.start() for match in re.finditer(r"\w+|[^\w\s]", text)]
    lengths = sentence_lengths(text, starts, most_tokens)
    assert sum(lengths) == len(starts)
    ends = [sum(lengths[: index + 1]) for index in range(len(lengths))]
    return [
        text[starts[end - length] : starts[end] if end < len(starts) else None].rstrip()
        for end, length in zip(ends, lengths)
    ]


@pytest.mark.parametrize(
    ("text", "most_tokens", "wanted"),
    [
        (LETTER, None, [LETTER]),
        (LETTER, 100, [LETTER]),
        (LETTER, 25, LETTER.split("\n\n")),
        (LETTER, 12, ["Name: Ada\nBorn: 1815", *re.split("(?<=Rome.) ", LETTER.split("\n\n")[1])]),
        (LETTER, 3, [*LETTER.split("\n")[:2], *re.split("(?<=Rome.) ", LETTER.split("\n\n")[1])]),
        # A wrapped paragraph is split where sentences end, not where lines do.
        (WRAPPED, 30, re.split(r"(?<=came\.) |(?<=there\.)\n", WRAPPED)),
        ("One two three four\nfive six", 4, ["One two three four\nfive six"]),
        (
            "One two three four\r\nFour five six\r\nSix",
            4,
            ["One two three four", "Four five six", "Six"],
        ),
        ('He said "No!" She went (at 5.) Then.', 6, ['He said "No!"', "She went (at 5.)", "Then."]),
        ("\u6771\u4eac\u3002\u5927\u962a\u3002", 2, ["\u6771\u4eac\u3002", "\u5927\u962a\u3002"]),
        ("no border " * 9, 4, [("no border " * 9).strip()]),
        ("", 1, []),
    ],
)
def test_long_texts_are_split_at_the_clearest_boundaries(text, most_tokens, wanted):
    assert cut(text, most_tokens) == wanted


@pytest.mark.parametrize(
    "text", ["." * 200_000, "a" * 200_000, "a.)" * 70_000, "\n" * 200_000, "A.\n" * 70_000]
)
def test_splitting_takes_linear_time(text):
    sentence_lengths(text, range(len(text)), 10)


def test_the_browser_page_splits_texts_in_the_same_way(tmp_path):
    draw = random.Random(0)
    pool = [
        *["Ada", "left", "Mr", "of", "naïve", "Łódź", "12"],
        *'.:!?"',
        ". ",
        ".\n",
        *"。」…½\u0301",
    ]
    pool += [*"   \n\u2028\u3000\x1c\x85\t\ufeff", "\n\n", "\r\n"]
    texts = ["".join(draw.choices(pool, k=draw.randint(1, 60))) for _ in range(600)]
    texts += [LETTER, WRAPPED, WRAPPED * 3]
    starts = [[each.start() for each in re.finditer(r"\w+|[^\w\s]", text)] for text in texts]
    given = [
        {"text": text, "starts": own, "most": draw.randint(1, 12)}
        for text, own in zip(texts, starts)
    ]
    expression = "given.map(({ text, starts, most }) => sentenceLengths(text, starts, most))"
    found = of_page("sentences.js", "sentenceLengths", expression, given, tmp_path)
    for each, lengths in zip(given, found, strict=True):
        assert sentence_lengths(each["text"], each["starts"], each["most"]) == lengths, each
