"""A text and its entities, as represented by the formats of annotation tools."""

import itertools
import re
from bisect import bisect_left, bisect_right
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple, Union

from tagger.data.joined_text import join_tokens
from tagger.data.survey.schemes import Scheme, spans_in
from tagger.spans import Span, spans_to_tags
from tagger.spans.overlapping import spans_to_joined_tags
from tagger_texts.segments import WORDS, splitter_at
from tagger_texts.sentences import sentence_lengths

#: This key of `properties` is true if each token has a plain label, such as a part of speech.
PLAIN_TAGS = "plain_tags"
#: The keys of `properties` with the parts of a text that annotators are or were asked about, and with
#: uncertain parts that nobody is asked about, as lists of starts and ends.
ASKED, OPEN = "tagger_asked", "tagger_open"
#: The key of `properties` with the name of the annotator or model that found a text's entities.
SOURCE = "tagger_source"
#: What to do with texts that several of them have annotated.
SEVERAL = "`allennlp agreement` compares them, and `allennlp merge-labels` makes one of them"
#: Keys of `properties` that may name the document of a text, best first.
DOCUMENT_KEYS = (
    *("document_id", "doc_id", "docid", "document", "doc", "newdoc_id", "group", "group_id"),
    *("file", "file_name", "filename", "file_id", "article_id", "paper_id", "note_id", "pmid"),
)
#: The one of them that texts get if their file marks documents in another way.
DOCUMENT = "document"
#: Keys of records that may contain one of `DOCUMENT_KEYS`.
OUTER_KEYS = ("meta", "metadata", "_meta")
#: The tag of tokens in an open part.
UNKNOWN_TAG = "?"


class Annotation(NamedTuple):
    """An entity of a text, from `start` to `end` (exclusive), in code points."""

    label: str
    start: int
    end: int


class AnnotatedText(NamedTuple):
    """A text with its entities.

    Attributes:
        entities: The entities, sorted by start and end.
        tokens: The start and end of each token, in order; None if the file has no tokens.
        sentence_lengths: The number of tokens in each sentence; None if the file marks no sentences.
        place: The origin of the text, such as `file.jsonl:3`, for messages.
        properties: The rest of the record.
        probabilities: The tagger's probability of each entity; None if they are not predictions.
    """

    text: str
    entities: List[Annotation]
    tokens: Optional[List[Tuple[int, int]]]
    sentence_lengths: Optional[List[int]]
    place: str
    properties: Dict[str, Any]
    probabilities: Optional[List[float]] = None


class FittedText(NamedTuple):
    """A text with entities that begin and end with tokens.

    `cut` are the places of tokens that were cut, and `moved` the original entities that were trimmed
    because they extended beyond tokens.
    """

    text: AnnotatedText
    cut: List[Tuple[int, int]]
    moved: List[Annotation]


def text_of_tokens(
    tokens: Sequence[str],
    tags: Sequence[str],
    place: str,
    text: Optional[str] = None,
    properties: Optional[Dict[str, Any]] = None,
    *,
    scheme: Scheme,
) -> AnnotatedText:
    """Makes a text from non-empty tokens and their tags, which `scheme` interprets.

    Tokens without a `text` are a sentence, and are joined with natural spacing.
    """
    if len(tokens) != len(tags):
        raise ValueError(
            f"{place}: expected a tag for each of {len(tokens)} tokens, got {len(tags)}"
        )
    if not all(tokens):
        raise ValueError(f"{place}: token {list(tokens).index('') + 1} is empty; remove it")
    lengths = [len(tokens)] if text is None else None
    if text is None:
        text, spans = join_tokens(tokens)
    else:
        spans = locate_tokens(text, tokens, place)
    properties = dict(properties or {})
    if scheme.source_encoding is None:
        properties[PLAIN_TAGS] = True
        entities = [Annotation(tag, *span) for tag, span in zip(tags, spans) if tag != "O"]
    else:
        try:
            found = spans_in([*map(scheme.canonical, tags)], scheme)
        except ValueError as error:
            raise ValueError(f"{place}: {error}") from None
        entities = [Annotation(label, spans[i][0], spans[j][1]) for label, (i, j) in found]
        unknown = [list(span) for tag, span in zip(tags, spans) if tag == scheme.unknown_tag]
        if unknown:
            properties[OPEN] = unknown
    return AnnotatedText(text, entities, spans, lengths, place, properties)


def locate_tokens(text: str, tokens: Sequence[str], place: str) -> List[Tuple[int, int]]:
    """Returns the start and end of each token in the text."""
    spans, end = [], 0
    for number, token in enumerate(tokens, start=1):
        start = text.find(token, end)
        if start < 0:
            raise ValueError(
                f"{place}: token {number}, {token!r}, is not in the rest of the text, "
                f"{text[end : end + 40]!r}; correct the text or the token"
            )
        end = start + len(token)
        spans.append((start, end))
    return spans


def document_property(text: AnnotatedText, key: str) -> Optional[Union[str, int]]:
    """Returns a property if it is a string or an integer; keys may be nested: `meta.doc_id`."""
    value: Any = text.properties
    for part in key.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value if isinstance(value, (str, int)) and value != "" else None


def document_of(text: AnnotatedText) -> Optional[Union[str, int]]:
    """Returns the name of a text's document, under one of `DOCUMENT_KEYS`, if it has one."""
    outer = (f"{each}.{key}" for each in OUTER_KEYS for key in DOCUMENT_KEYS)
    found = (document_property(text, key) for key in (*DOCUMENT_KEYS, *outer))
    return next((name for name in found if name is not None), None)


def scores_of(text: AnnotatedText) -> List[Dict[str, float]]:
    """Returns `{"score": ...}` for each predicted entity, and `{}` for others."""
    if text.probabilities is None:
        return [{} for _ in text.entities]
    return [{"score": probability} for probability in text.probabilities]


def fit_to_tokens(text: AnnotatedText) -> FittedText:
    """Cuts tokens where entities begin and end, and at white space, and trims entities to tokens.

    A text without tokens is first split by `WORDS`. An entity without a token raises a `ValueError`.
    """
    tokens = text.tokens
    if tokens is None:
        tokens = [(start, start + len(word)) for word, start in splitter_at(WORDS)(text.text)]
    borders = sorted({border for entity in text.entities for border in entity[1:]})
    pieces = [list(_pieces(text.text, token, borders)) for token in tokens]
    fitted = [piece for token in pieces for piece in token]
    starts, ends = [start for start, _ in fitted], [end for _, end in fitted]
    entities = []
    for entity in text.entities:
        first, last = bisect_left(starts, entity.start), bisect_right(ends, entity.end) - 1
        if first > last:
            raise ValueError(
                f"{text.place}: entity {entity.label} at {entity.start} to {entity.end}, "
                f"{text.text[entity.start : entity.end]!r}, holds no token; remove it"
            )
        entities.append(Annotation(entity.label, starts[first], ends[last]))
    lengths = text.sentence_lengths
    if lengths is not None:
        lengths = _sentence_lengths(fitted, [*map(len, pieces)], lengths, entities)
    return FittedText(
        text._replace(tokens=fitted, entities=entities, sentence_lengths=lengths),
        [token for token, parts in zip(tokens, pieces) if len(parts) > 1],
        [old for new, old in zip(entities, text.entities) if new != old],
    )


def _pieces(text: str, token: Tuple[int, int], borders: Sequence[int]) -> Iterator[Tuple[int, int]]:
    """Yields the parts of a token between borders and white space."""
    start, end = token
    inner = borders[bisect_right(borders, start) : bisect_left(borders, end)]
    for left, right in zip([start, *inner], [*inner, end]):
        for match in re.finditer(r"\S+", text[left:right]):
            yield left + match.start(), left + match.end()


def _sentence_lengths(
    tokens: Sequence[Tuple[int, int]],
    num_pieces: Sequence[int],
    lengths: Sequence[int],
    entities: Sequence[Annotation],
) -> List[int]:
    """Counts the new tokens in each sentence; an entity that spans sentences joins them."""
    position, total, starts = 0, 0, [0]
    for length in lengths:
        total += sum(num_pieces[position : position + length])
        position += length
        inside = total < len(tokens) and any(
            start < tokens[total][0] < end for _, start, end in entities
        )
        if not inside and total > starts[-1]:
            starts.append(total)
    return [end - start for start, end in itertools.pairwise(starts)]


def tokens_and_tags(text: AnnotatedText) -> Tuple[List[str], List[str]]:
    """Returns a text's tokens and their tags, in BIO unless they are plain labels."""
    fitted = fit_to_tokens(text).text
    return [fitted.text[start:end] for start, end in fitted.tokens or []], tags_of(fitted)


def label_sets_of(fitted: AnnotatedText) -> List[List[str]]:
    """Returns the sorted labels of each token in a text from `fit_to_tokens`."""
    labels: List[Set[str]] = [set() for _ in fitted.tokens or []]
    for label, (first, last) in _places(fitted):
        for position in range(first, last + 1):
            labels[position].add(label)
    return [sorted(each) for each in labels]


def tags_of(
    fitted: AnnotatedText,
    tag_encoding: str = "BIO",
    unknown_tag: Optional[str] = UNKNOWN_TAG,
    separator: Optional[str] = None,
) -> List[str]:
    """Returns the tags of a text from `fit_to_tokens`, in an encoding unless they are plain labels.

    Tokens in open parts get the `unknown_tag`; without one, open parts are an error. With a `separator`,
    entities of different labels may overlap, and it joins the tags of a token.
    """
    if fitted.properties.get(PLAIN_TAGS):
        return [labels[0] if labels else "O" for labels in label_sets_of(fitted)]
    try:
        places, num_tokens = _places(fitted), len(fitted.tokens or [])
        if separator is None:
            tags = list(spans_to_tags(places, num_tokens, tag_encoding))
        else:
            tags = spans_to_joined_tags(places, num_tokens, tag_encoding, separator)
    except ValueError:
        raise ValueError(
            f"{fitted.place}: entities overlap, and a token has one tag here; keep some of them with "
            f"`allennlp convert --overlapping longest` or `outermost`"
        ) from None
    parts = parts_of(fitted, OPEN)
    if parts and unknown_tag is None:
        raise ValueError(
            f"{fitted.place}: nobody was asked about some of it (`{OPEN}`); set `unknown_tag` of the "
            "dataset reader, such as to '?'"
        )
    for index, (start, end) in enumerate(fitted.tokens or []):
        if any(begin < end and start < stop for begin, stop in parts):
            tags[index] = unknown_tag or ""
    return tags


def parts_of(text: AnnotatedText, name: str) -> List[Tuple[int, int]]:
    """Returns the starts and ends in the property `ASKED` or `OPEN`; none if it is missing."""
    parts = text.properties.get(name, [])
    for part in parts:
        if not isinstance(part, (list, tuple)) or [type(each) for each in part] != [int, int]:
            raise ValueError(
                f"{text.place}: expected `{name}` to be a list of pairs such as [[0, 5]], got "
                f"{part!r}"
            )
    return [tuple(part) for part in parts]


def _places(fitted: AnnotatedText) -> List[Span]:
    """Returns the label, the first and the last token of each entity."""
    spans = fitted.tokens or []
    starts, ends = [start for start, _ in spans], [end for _, end in spans]
    return [
        (entity.label, (bisect_left(starts, entity.start), bisect_left(ends, entity.end)))
        for entity in fitted.entities
    ]


def lengths_of(fitted: AnnotatedText) -> List[int]:
    """Returns the sentence lengths, given or by rule, of a text from `fit_to_tokens`."""
    tokens = fitted.tokens or []
    if fitted.sentence_lengths is not None:
        return fitted.sentence_lengths
    by_rule = sentence_lengths(fitted.text, [start for start, _ in tokens])
    return _sentence_lengths(tokens, [1] * len(tokens), by_rule, fitted.entities)


def sentences(text: AnnotatedText) -> Iterator[Tuple[List[str], List[str]]]:
    """Yields the tokens and tags of each sentence of a text."""
    fitted = fit_to_tokens(text).text
    tokens, tags = map(iter, tokens_and_tags(fitted))
    for length in lengths_of(fitted):
        yield list(itertools.islice(tokens, length)), list(itertools.islice(tags, length))
