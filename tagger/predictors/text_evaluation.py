"""Evaluates a saved tagger on raw text, which it must split into tokens itself."""

import logging
from collections import Counter
from itertools import groupby
from operator import itemgetter
from typing import (
    Dict,
    Iterable,
    Iterator,
    List,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    Set,
    Tuple,
    Union,
    cast,
)

import numpy as np
from allennlp.common.checks import ConfigurationError
from allennlp.common.util import lazy_groups_of
from allennlp.data import DatasetReader, Field, Instance

from tagger.data import ColumnDatasetReader
from tagger.data.documents import DocumentTokens
from tagger.data.fields.label_chains_field import LabelChainsField
from tagger.data.fields.tag_field import TagField
from tagger.data.joined_text import JoinedText, join_tokens
from tagger.data.splitting.documents import TEXTS
from tagger.metrics.label_metrics import metrics_by_label, partial_metrics
from tagger.metrics.masking_metrics import masking_metrics
from tagger.predictors.saved_tagger import SavedTagger
from tagger.spans import Span, tags_to_spans
from tagger.spans.finding import Spans
from tagger.spans.matching import OUTCOMES, count_partial_matches, count_positions
from tagger.spans.overlapping import tags_by_label
from tagger.spans.places import Place
from tagger_texts.merging import joined_tags

logger = logging.getLogger(__name__)

#: A text with its gold and its predicted entities.
TextWithMasks = Tuple[str, Set[Place], Set[Place]]

#: Below these shares of gold tokens or entity borders, the tokenizer fits badly.
_LEAST_SHARES = {"reproduced-tokens": 0.75, "reproduced-borders": 0.9}
_NEEDS_TAGS = (
    "an evaluation from text needs a known gold tag for each token; leave out `unknown_tag`, and "
    "sentences without tags"
)
#: The tag of a token, or if entities may overlap its tags.
TagOrTags = Union[str, List[str]]
#: How many documents are tagged at a time.
_GROUP = 256


class GoldText(NamedTuple):
    r"""A document's sentences, or a single one; entities have offsets in `"\n".join(sentences)`."""

    sentences: List[str]
    entities: Set[Place]
    is_document: bool = False


def evaluate_file(tagger: SavedTagger, reader: DatasetReader, path: str) -> Dict[str, float]:
    """As `evaluate_joined_tokens`, on a file, with the masks of documents where it tells them."""
    documents = None
    if isinstance(reader, ColumnDatasetReader) and not reader.reads_documents:
        told = reader.documents_in(path) or reader.documents_in(path, TEXTS)
        documents = told and told.of_item
    return evaluate_joined_tokens(tagger, reader.read(path), documents)


def evaluate_joined_tokens(
    tagger: SavedTagger,
    instances: Iterable[Instance],
    documents: Optional[Sequence[int]] = None,
) -> Dict[str, float]:
    """Joins gold tokens into text, tags the text, and compares entities by their characters.

    If the file has no original text, `join_tokens` guesses the spacing. Only this evaluation shows the
    loss from splitting text differently than the training data; a warning is logged if the tagger
    reproduces few of the gold tokens. `instances` come from the dataset reader `column`, with the parts
    of a document in order. `documents` numbers the document of each sentence, for `masking_metrics`;
    without it, each is a separate text.

    Returns the metrics of `evaluate_texts`, and as `reproduced-tokens` and `reproduced-borders` the
    shares of gold tokens and of gold entity borders that the tagger's own tokens reproduce.
    """
    if not tagger.finds_entities:
        raise ConfigurationError("tags that spell no entities cannot be compared by characters")
    counts: Counter[str] = Counter()
    metrics = evaluate_texts(tagger, _gold_texts(tagger, instances, counts), documents)
    shares = {
        f"reproduced-{what}": counts[f"same {what}"] / counts[what] if counts[what] else 1.0
        for what in ("tokens", "borders")
    }
    if any(shares[name] < least for name, least in _LEAST_SHARES.items()):
        logger.warning(
            "%s; the others are missed in texts. `allennlp start` finds a better `tokenizer`",
            reproduction(tagger, shares),
        )
    return {**metrics, **shares}


def reproduction(tagger: SavedTagger, metrics: Mapping[str, float]) -> str:
    """Says how well a tagger's tokens fit, given the metrics of `evaluate_joined_tokens`."""
    tokens, borders = (metrics[f"reproduced-{what}"] for what in ("tokens", "borders"))
    return (
        f"Splitting texts by {tagger.tokenizer} reproduces {tokens:.1%} of the gold tokens and "
        f"{borders:.1%} of the borders of entities"
    )


def evaluate_texts(
    tagger: SavedTagger, texts: Iterable[GoldText], documents: Optional[Sequence[int]] = None
) -> Dict[str, float]:
    """Tags texts and compares entities by their characters.

    Gold entities may overlap if those of the tagger may. Then labels are compared each by itself, so an
    entity with a wrong label is one that is missed and a spurious one. `documents` numbers the document
    of each text.

    Returns the metrics of `metrics_by_label` for entities, the same for characters under names such as
    `character-recall-PER`, and those of `partial_metrics` and of `masking_metrics`.
    """
    tagged_texts: List[TextWithMasks] = [
        ("\n".join(text.sentences), text.entities, found)
        for group in lazy_groups_of(texts, _GROUP)
        for text, found in zip(group, _tagged(tagger, group))
    ]
    found = {place[0] for _, *both in tagged_texts for places in both for place in places}
    labels = sorted({*tagger.labels, *found})
    apart = labels if tagger.model.head.describe().overlaps else ()
    sides = (
        ((text, gold) for text, gold, _ in tagged_texts),
        ((text, predicted) for text, _, predicted in tagged_texts),
    )
    gold, predicted = (_spans(_end_to_end(side, apart), labels) for side in sides)
    matches = count_partial_matches(gold, predicted, len(labels))
    return {
        **metrics_by_label(labels, _counts(matches[0, :-1])),
        **{
            f"character-{name}": value
            for name, value in metrics_by_label(
                labels, count_positions(gold, predicted, len(labels))
            ).items()
        },
        **partial_metrics(labels, matches),
        **masking_metrics(_joined(tagged_texts, documents)),
    }


def _end_to_end(texts: Iterable[Tuple[str, Set[Place]]], apart: Sequence[str]) -> Iterator[Place]:
    """Yields places of texts end to end, in order; each label of `apart` has its own copy."""
    offset = 0
    for text, places in texts:
        size = len(text) + 1
        starts = {label: offset + number * size for number, label in enumerate(apart)}
        moved = [
            (label, starts.get(label, offset) + start, starts.get(label, offset) + end)
            for label, start, end in places
        ]
        yield from sorted(moved, key=lambda place: place[1:])
        offset += size * max(len(apart), 1)


def _joined(
    texts: Sequence[TextWithMasks], documents: Optional[Sequence[int]]
) -> Iterator[TextWithMasks]:
    """Joins the texts of a document; each is its own where their number is another one."""
    if documents is None or len(documents) != len(texts):
        documents = range(len(texts))
    for _, numbered in groupby(zip(documents, texts), key=itemgetter(0)):
        parts: List[str] = []
        sides: Tuple[Set[Place], Set[Place]] = (set(), set())
        offset = 0
        for _, (text, *of_text) in numbered:
            for side, places in zip(sides, of_text):
                side |= {(label, start + offset, end + offset) for label, start, end in places}
            parts.append(text)
            offset += len(text) + 1
        yield "\n".join(parts), *sides


def _spans(places: Iterable[Place], labels: Sequence[str]) -> Spans:
    index_of = {label: index for index, label in enumerate(labels)}
    rows = [(index_of[label], start, end - 1) for label, start, end in places]
    return Spans(*np.array(rows, dtype=np.int64).reshape(-1, 3).T)


def _counts(outcomes: np.ndarray) -> np.ndarray:
    """Turns strict outcomes (C, 5) into counts of correct, predicted and gold entities (3, C)."""
    correct, incorrect, _, missed, spurious = (outcomes[:, i] for i in range(len(OUTCOMES)))
    return np.stack([correct, correct + incorrect + spurious, correct + incorrect + missed])


def _tagged(tagger: SavedTagger, texts: List[GoldText]) -> Iterator[Set[Place]]:
    alone = iter(tagger.tag([each.sentences[0] for each in texts if not each.is_document]))
    for text in texts:
        tagged = tagger.tag_document(text.sentences) if text.is_document else next(alone)
        yield {(entity.label, entity.start, entity.end) for entity in tagged.entities}


def _gold_texts(
    tagger: SavedTagger, instances: Iterable[Instance], counts: "Counter[str]"
) -> Iterator[GoldText]:
    """Yields documents and single sentences, and counts the tokens that the tagger reproduces."""
    encoding = tagger.tag_encoding
    assert encoding is not None
    for whole, tags in _whole_documents(instances, tagger.labels):
        sentences: List[str] = []
        entities: Set[Place] = set()
        num_tokens = offset = 0
        for at, sentence in enumerate(whole.document):
            words = [token.text or "" for token in sentence]
            text, places = join_tokens(words) if whole.texts is None else _of_text(whole, at)
            own_tags = tags[num_tokens : num_tokens + len(words)]
            gold = [
                (label, places[first][0], places[last][1])
                for label, (first, last) in _spans_of(own_tags, encoding)
            ]
            _count_reproduced(counts, tagger.split(text).word_spans(), places, gold)
            entities |= {(label, offset + start, offset + end) for label, start, end in gold}
            sentences.append(text)
            num_tokens += len(words)
            offset += len(text) + 1
        yield GoldText(sentences, entities, len(sentences) > 1)


def _count_reproduced(
    counts: "Counter[str]",
    words: Sequence[Tuple[int, int]],
    gold_words: Sequence[Tuple[int, int]],
    entities: Sequence[Place],
) -> None:
    """Counts gold tokens and entity borders, and how many of them the tagger reproduces."""
    starts, ends = ({word[side] for word in words} for side in (0, 1))
    counts["tokens"] += len(gold_words)
    counts["same tokens"] += len(set(words).intersection(gold_words))
    counts["borders"] += 2 * len(entities)
    counts["same borders"] += sum((start in starts) + (end in ends) for _, start, end in entities)


def _of_text(tokens: DocumentTokens, at: int) -> JoinedText:
    """Returns a sentence's original text, and the places of its tokens."""
    assert tokens.texts is not None
    places = [(token.idx or 0, token.idx_end or 0) for token in tokens.document[at]]
    return JoinedText(tokens.texts[at], places)


def _spans_of(tags: Sequence[TagOrTags], tag_encoding: str) -> List[Span]:
    """Returns the spans that tags spell, or those of each label if a token has a list of tags."""
    if all(isinstance(each, str) for each in tags):
        return tags_to_spans(cast(Sequence[str], tags), tag_encoding)
    # Some label may have a bar.
    by_label = tags_by_label(
        [joined_tags(each, "\0") for each in tags], tag_encoding, separator="\0"
    )
    return [span for own in by_label.values() for span in tags_to_spans(own, tag_encoding)]


def _known_tags(field: Optional[Field], labels: Sequence[str]) -> Sequence[TagOrTags]:
    """Returns the gold tags of each token, which must all be known."""
    if isinstance(field, LabelChainsField):
        mark = field.unknown_tag
        named = (tag for tags in field.label_sets for tag in tags)
        if mark is not None and any(tag.startswith(mark) for tag in named):
            raise ConfigurationError(_NEEDS_TAGS)
        missing = set(labels).difference(labels if field.annotated is None else field.annotated)
        if missing:
            raise ConfigurationError(
                "an evaluation from text needs data that annotate all labels of the tagger; they do not "
                f"annotate {', '.join(sorted(missing))}"
            )
        return field.label_sets
    if not isinstance(field, TagField) or len(field.known_tags()) < len(field.labels):
        raise ConfigurationError(_NEEDS_TAGS)
    return field.labels


def _whole_documents(
    instances: Iterable[Instance], labels: Sequence[str]
) -> Iterator[Tuple[DocumentTokens, List[TagOrTags]]]:
    """Yields the last part of each document or sentence, with the tags of all its parts."""
    tags: List[TagOrTags] = []
    for instance in instances:
        tokens = getattr(instance["tokens"], "tokens", None)
        if not isinstance(tokens, DocumentTokens):
            raise ConfigurationError("an evaluation from text needs the dataset reader `column`")
        tags += _known_tags(instance.fields.get("tags"), labels)
        if tokens.last == len(tokens.document):
            yield tokens, tags
            tags = []
