"""Whatever places overlap in whatever text, no character of an entity survives its mask."""

import io
import json
import re
from itertools import pairwise
from unicodedata import normalize

import pytest
from allennlp.common.checks import ConfigurationError
from hypothesis import example, given, settings, strategies as st

from tagger.spans.places import merged
from tagger.spans.repeats import with_repeats
from tagger.tools.deidentification.masks import STYLES, MaskWriter, mask_text, with_probable

#: Letters with and without case and marks, characters that UTF-16 spells by two, line ends, and no
#: brackets, which masks have.
ALPHABET = (
    "aB é\u0301ßﬁİ9_'*-\r\n\t\u2028\x85\u200d\xad\ufeff田中ーサ\u3099한\u1112\u1161\u11ab"
    "สัก\u0644\u064eक\u093e👩\U0001f3fd𝔄"
)
INVISIBLE = re.compile(r"[\s\u200d\xad\ufeff]")
TEXTS = st.text(ALPHABET, max_size=24)
LABELS = st.sampled_from(["A", "B", "C-D"])
QUICK = settings(derandomize=True, deadline=None, database=None, max_examples=100)


def _characters(places):
    return {at for _, start, end in places for at in range(start, end)}


@st.composite
def texts_with_places(draw):
    """A text with nested, overlapping, touching, empty and repeated places."""
    text = draw(TEXTS)
    ends = st.integers(0, len(text))
    places = st.builds(lambda label, *span: (label, *sorted(span)), LABELS, ends, ends)
    return text, draw(st.lists(places, max_size=6))


@QUICK
@given(texts_with_places())
@example(("Bank of York Trust", [("ORG", 0, 18), ("LOC", 8, 12), ("LOC", 8, 12), ("X", 12, 12)]))
def test_the_union_of_places_is_masked_and_its_masks_are_where_they_say(text_and_places):
    text, places = text_and_places
    covered = _characters(places)
    union = merged(places)
    assert merged(reversed(union)) == union
    assert _characters(union) == covered
    longest = {place: place[2] - place[1] for place in places if place[1] < place[2]}
    for style in STYLES:
        masked, masks = mask_text(text, places, style)
        assert [mask[:3] for mask in masks] == union
        rest, end, masked_end = "", 0, 0
        for label, *span, masked_start, next_end in masks:
            assert end <= span[0] < span[1]
            assert masked_end <= masked_start < next_end
            rest += masked[masked_end:masked_start]
            mask = masked[masked_start:next_end]
            if style == "same-length":
                assert [masked_start, next_end] == span
                assert mask == re.sub(r"[^\r\n]", "*", text[slice(*span)])
            else:
                assert re.fullmatch(rf"\[{label}{'_[1-9]' * (style == 'surrogates')}\]", mask)
            inside = [p for p in longest if span[0] <= p[1] and p[2] <= span[1]]
            assert label in {p[0] for p in inside if longest[p] == max(map(longest.get, inside))}
            end, masked_end = span[1], next_end
        rest += masked[masked_end:]
        assert rest == "".join(each for at, each in enumerate(text) if at not in covered)


@QUICK
@given(texts_with_places(), st.sampled_from(["NFC", "NFD"]), st.booleans())
def test_repeats_of_what_is_masked_are_masked_in_any_case_and_normal_form(found, form, is_upper):
    text, places = found
    spelt = [text[start:end] for _, start, end in places]
    again = [normalize(form, each.upper() if is_upper else each) for each in spelt]
    whole = " . ".join([text, *again])
    union = with_repeats(whole, places)
    assert union == merged(union)
    assert with_repeats(whole, union) == union
    assert merged([*union, *places]) == union
    at = len(text)
    for string, other in zip(spelt, again):
        at += 3
        # `upper` changes some letters for good, such as ﬁ. A lone mark belongs to what is before it.
        folded, as_found = (normalize("NFC", each).casefold() for each in (other, string))
        if (
            folded == as_found
            and string[:1].isalnum()
            and len(normalize("NFC", string).strip()) > 2
        ):
            shown = [at for at, each in enumerate(other, at) if not INVISIBLE.fullmatch(each)]
            assert _characters(union).issuperset(shown)
        at += len(other)


@QUICK
@given(texts_with_places(), st.data())
def test_tokens_above_the_threshold_are_masked_whole(found, data):
    text, places = found
    borders = sorted(data.draw(st.sets(st.integers(0, len(text)))))
    tokens = list(pairwise(borders))
    chances = [data.draw(st.sampled_from([0.0, 0.4, 0.6])) for _ in tokens]
    by_tag = [{"O": 1 - each, "B-A": each / 2, "I-B": each / 2} for each in chances]
    masked = _characters(with_probable(places, tokens, by_tag, 0.5))
    wanted = [token for token, chance in zip(tokens, chances) if chance > 0.5]
    assert _characters(places) | _characters(("", *token) for token in wanted) == masked


@QUICK
@given(st.lists(texts_with_places(), max_size=3), st.sampled_from(STYLES), st.booleans())
def test_outputs_and_sidecars_have_a_line_for_each_text(texts, style, is_json):
    writer = MaskWriter(
        f"out.{'jsonl' if is_json else 'txt'}", style, False, None, "in.jsonl", None
    )
    names = "label", "start", "end"
    lines = [
        {
            "text": text,
            "tokens": [],
            "entities": [{**dict(zip(names, place)), "first": 0, "last": 0} for place in places],
        }
        for text, places in texts
    ]
    wanted = [mask_text(text, places, style) for text, places in texts]
    output, sidecar = io.BytesIO(), io.BytesIO()
    if not is_json and any(masked.splitlines() not in ([masked], []) for masked, _ in wanted):
        with pytest.raises(ConfigurationError, match="the text has line ends"):
            writer([json.dumps(line).encode() for line in lines], output, sidecar)
        return
    writer([json.dumps(line).encode() for line in lines], output, sidecar)
    written, records = (file.getvalue().decode().splitlines() for file in (output, sidecar))
    assert [json.loads(line)["text"] if is_json else line for line in written] == [
        masked for masked, _ in wanted
    ]
    assert [json.loads(record) for record in records] == [
        {"text": number, "masks": [mask._asdict() for mask in masks]}
        for number, (_, masks) in enumerate(wanted, start=1)
    ]
