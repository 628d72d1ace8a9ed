"""How well a saved tagger does on text, which it must split into tokens itself."""

import logging
from collections import Counter
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
    cast,
)

import numpy as np
from allennlp.common.checks import ConfigurationError
from allennlp.common.util import lazy_groups_of
from allennlp.data import Instance
from allennlp.data.fields import TextField

from tagger.data.documents import DocumentTokens
from tagger.data.fields import TagField
from tagger.data.joined_text import JoinedText, join_tokens
from tagger.metrics.label_metrics import metrics_by_label, partial_metrics
from tagger.predictors.saved_tagger import SavedTagger
from tagger.spans import Span, tags_to_spans
from tagger.spans.finding import Spans
from tagger.spans.matching import OUTCOMES, count_partial_matches, count_positions

logger = logging.getLogger(__name__)

#: An entity in a text: its label, its first character, and the one behind its last.
Place = Tuple[str, int, int]

#: A tokenizer that reproduces a smaller share of the gold tokens, or of the borders, fits badly.
_LEAST_SHARES = {"reproduced-tokens": 0.75, "reproduced-borders": 0.9}
#: How many documents are tagged at a time.
_GROUP = 256


class GoldTokens(NamedTuple):
    """The gold tokens and tags of an instance.

    Attributes:
        tokens: The tokens, which know their document.
        tags: Their tags.
        found: The spans that the tagger has found in these tokens, if that is known.
    """

    tokens: DocumentTokens
    tags: Sequence[str]
    found: Optional[List[Span]] = None


class Reproduction:
    """How many of the gold tokens, and of the borders of gold entities, a tokenizer reproduces."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def add(
        self,
        words: Sequence[Tuple[int, int]],
        gold: Sequence[Tuple[int, int]],
        spans: Sequence[Span],
    ) -> None:
        """Counts those of a sentence.

        Args:
            words: The start and end of each word that the tokenizer has made.
            gold: The start and end of each gold token.
            spans: The gold entities, by the tokens.
        """
        starts, ends = ({word[side] for word in words} for side in (0, 1))
        borders = [(gold[first][0], gold[last][1]) for _, (first, last) in spans]
        self.counts["tokens"] += len(gold)
        self.counts["same tokens"] += len(set(words).intersection(gold))
        self.counts["borders"] += 2 * len(borders)
        self.counts["same borders"] += sum(
            (start in starts) + (end in ends) for start, end in borders
        )

    def metrics(self) -> Dict[str, float]:
        """Returns both shares, 1 where nothing had to be reproduced."""
        return {
            f"reproduced-{what}": self.counts[f"same {what}"] / self.counts[what]
            if self.counts[what]
            else 1.0
            for what in ("tokens", "borders")
        }


class GoldText(NamedTuple):
    """A document as it was before it was split into tokens, or a sentence by itself.

    Attributes:
        sentences: The text of each sentence.
        entities: The gold entities; offsets are those of the sentences, joined by line feeds.
        is_document: Whether the sentences belong together.
        found: What the tagger finds in it, if that is known already.
    """

    sentences: List[str]
    entities: Set[Place]
    is_document: bool = False
    found: Optional[Set[Place]] = None


def gold_tokens(instance: Instance, found: Optional[List[Span]] = None) -> GoldTokens:
    """Takes gold tokens and tags from an instance of the dataset reader `column`.

    Raises:
        ConfigurationError: If a gold tag is unknown, or it is an instance of another reader.
    """
    tokens = cast(TextField, instance["tokens"]).tokens
    if not isinstance(tokens, DocumentTokens):
        raise ConfigurationError("an evaluation from text needs the dataset reader `column`")
    field = instance.fields.get("tags")
    if not isinstance(field, TagField) or len(field.known_tags()) < len(field.labels):
        raise ConfigurationError(
            "an evaluation from text needs a known gold tag for each token; leave `unknown_tag` out"
        )
    return GoldTokens(tokens, field.labels, found)


def evaluate_joined_tokens(tagger: SavedTagger, data: Iterable[GoldTokens]) -> Dict[str, float]:
    """Joins gold tokens into text, tags the text, and compares entities by their characters.

    The sentences of a document follow each other.

    The text is the file's own where the file has one, else it has the likely spacing of
    `join_tokens`. A tagger that splits text in another way than its training data loses here, and
    only here; a warning says how many of the tokens it reproduces, if there are few. If it splits a
    text into the gold tokens, and its entities in these are known already, they are used.

    Returns:
        The metrics of `evaluate_texts`, and as `reproduced-tokens` and `reproduced-borders` the share of
        the gold tokens, and of the borders of gold entities, that are those of the tagger's tokens.

    Raises:
        ConfigurationError: If the tagger's tags spell no entities.
    """
    if not tagger.finds_entities:
        raise ConfigurationError("tags that spell no entities cannot be compared by characters")
    fit = Reproduction()
    metrics = evaluate_texts(tagger, _gold_texts(tagger, data, fit))
    shares = fit.metrics()
    if any(shares[name] < least for name, least in _LEAST_SHARES.items()):
        logger.warning(
            "%s; the others are missed in texts. `allennlp start` finds the `tokenizer` that fits",
            reproduction(tagger, shares),
        )
    return {**metrics, **shares}


def reproduction(tagger: SavedTagger, metrics: Mapping[str, float]) -> str:
    """Says how well a tagger's tokens fit, of the metrics of `evaluate_joined_tokens`."""
    tokens, borders = (metrics[f"reproduced-{what}"] for what in ("tokens", "borders"))
    return (
        f"Splitting texts by {tagger.tokenizer} reproduces {tokens:.1%} of the gold tokens and "
        f"{borders:.1%} of the borders of entities"
    )


def evaluate_texts(tagger: SavedTagger, texts: Iterable[GoldText]) -> Dict[str, float]:
    """Tags texts, and compares entities by their characters, whatever the tokens.

    Args:
        tagger: The tagger.
        texts: The texts, with their gold entities, none of which overlaps another.

    Returns:
        For entities `precision-`, `recall-`, `f1-measure-`, `num-gold-` and `num-predicted-` by label,
        `overall`, and without the numbers `macro`; the same for characters, such as
        `character-recall-PER`; and the metrics of `partial_metrics`.
    """
    sides: Tuple[List[Place], List[Place]] = ([], [])
    offset = 0
    for group in lazy_groups_of(texts, _GROUP):
        for text, found in zip(group, _tagged(tagger, group)):
            for side, places in zip(sides, (text.entities, found)):
                in_order = sorted(places, key=lambda place: place[1:])
                side += [(label, offset + start, offset + end) for label, start, end in in_order]
            offset += sum(map(len, text.sentences)) + len(text.sentences)
    labels = sorted({*tagger.labels, *(label for side in sides for label, _, _ in side)})
    gold, predicted = (_spans(side, labels) for side in sides)
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
    }


def _spans(places: Sequence[Place], labels: Sequence[str]) -> Spans:
    index_of = {label: index for index, label in enumerate(labels)}
    rows = [(index_of[label], start, end - 1) for label, start, end in places]
    return Spans(*np.array(rows, dtype=np.int64).reshape(-1, 3).T)


def _counts(outcomes: np.ndarray) -> np.ndarray:
    """Returns right, predicted and gold entities, (3, C), of strict outcomes, (C, 5)."""
    correct, incorrect, _, missed, spurious = (outcomes[:, i] for i in range(len(OUTCOMES)))
    return np.stack([correct, correct + incorrect + spurious, correct + incorrect + missed])


def _tagged(tagger: SavedTagger, texts: List[GoldText]) -> Iterator[Set[Place]]:
    alone = iter(
        tagger.tag(
            [each.sentences[0] for each in texts if each.found is None and not each.is_document]
        )
    )
    for text in texts:
        if text.found is not None:
            yield text.found
            continue
        tagged = tagger.tag_document(text.sentences) if text.is_document else next(alone)
        yield {(entity.label, entity.start, entity.end) for entity in tagged.entities}


def _gold_texts(
    tagger: SavedTagger, data: Iterable[GoldTokens], fit: Reproduction
) -> Iterator[GoldText]:
    """Yields sentences, or documents, of which an instance may be a sentence."""
    encoding = tagger.tag_encoding
    assert encoding is not None
    for whole, tags, found in _whole_documents(data):
        sentences: List[str] = []
        entities: Set[Place] = set()
        places: List[Tuple[int, int]] = []
        are_alike, offset = found is not None, 0
        for at, sentence in enumerate(whole.document):
            words = [token.text or "" for token in sentence]
            text, spans = join_tokens(words) if whole.texts is None else _of_text(whole, at)
            own = tagger.split(text)
            # A sentence by itself is cut by rule if it is long; those of a document stay whole.
            is_whole = len(whole.document) > 1 or len(own.sentence_lengths) == 1
            are_alike = are_alike and is_whole and own.words == words
            gold = tags_to_spans(tags[len(places) :][: len(words)], encoding)
            fit.add(own.word_spans(), spans, gold)
            for label, (first, last) in gold:
                entities.add((label, offset + spans[first][0], offset + spans[last][1]))
            sentences.append(text)
            places += [(offset + start, offset + end) for start, end in spans]
            offset += len(text) + 1
        known = {(label, places[first][0], places[last][1]) for label, (first, last) in found or ()}
        yield GoldText(sentences, entities, len(sentences) > 1, known if are_alike else None)


def _of_text(tokens: DocumentTokens, at: int) -> JoinedText:
    """Returns the text of a sentence in its own spacing, and where its tokens are."""
    assert tokens.texts is not None
    spans = [(token.idx or 0, token.idx_end or 0) for token in tokens.document[at]]
    return JoinedText(tokens.texts[at], spans)


def _whole_documents(
    data: Iterable[GoldTokens],
) -> Iterator[Tuple[DocumentTokens, List[str], Optional[List[Span]]]]:
    """Yields documents, or sentences, by the last of their parts, with all tags and what was found."""
    tags: List[str] = []
    found: Optional[List[Span]] = []
    for tokens, of_tokens, found_in_tokens in data:
        if found is not None and found_in_tokens is not None:
            at = len(tags)
            found += [(label, (at + first, at + last)) for label, (first, last) in found_in_tokens]
        else:
            found = None
        tags += of_tokens
        if tokens.last == len(tokens.document):
            yield tokens, tags, found
            tags, found = [], []
