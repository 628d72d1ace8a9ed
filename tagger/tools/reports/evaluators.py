"""Evaluates models that assign one tag to each token, or any number of labels to tokens or documents.

Letters: `T` tokens of a sentence, `C` labels, `N` items with a probability, `M` items that may have
labels: tokens or documents.
"""

from typing import (
    Any,
    Dict,
    FrozenSet,
    Iterator,
    List,
    NamedTuple,
    Sequence,
    Tuple,
    Union,
)

import numpy as np
import torch
from allennlp.data import Instance

from tagger.models import ClassifyingModel, TaggingModel
from tagger.models.tagging_model import chain_of
from tagger.modules.label_thresholds import thresholds_of
from tagger.spans import AMBIGUOUS, Span, tags_to_spans
from tagger.spans.entities import Entities, EntityFinder
from tagger.spans.finding import (
    UNKNOWN,
    lay_end_to_end,
    tag_tables,
    without_open_labels,
)
from tagger.spans.matching import match_spans
from tagger.tools.reports.tagged_sentences import (
    RIGHT,
    Example,
    MarkedText,
    TaggedSentence,
    example_of_spans,
    marked_texts,
    notes_on_labels,
)
from tagger.tools.tuning.labelled_file import encoded
from tagger_texts.prediction import Entity, Prediction

BATCH_SIZE = 64
#: The number of characters of a document that are shown.
MAX_CHARACTERS = 600


class Place(NamedTuple):
    """The position of a sentence: some tokens of an instance, which may be a document."""

    instance: Instance
    tokens: slice


class Items(NamedTuple):
    """N items with a probability, such as predicted entities."""

    labels: np.ndarray  # (N,) int64, indices of labels
    probabilities: np.ndarray  # (N,)
    is_right: np.ndarray  # (N,) bool
    is_predicted: np.ndarray  # (N,) bool


class Result(NamedTuple):
    """The results of a model in a sentence or document."""

    counts: np.ndarray  # (3, C) int64, true positives, predicted and gold
    num_words: int  # The number of tokens; 0 for documents
    is_shown: bool  # Whether its errors can be shown, because none of its tags is unknown
    items: Items  # The items with a probability
    errors: FrozenSet[Tuple[str, str]]  # Pairs of a label and its kind of error
    example: Any  # The data from which an example of the errors is made


def places(instance: Instance, found: Prediction, num_tokens: int) -> Iterator[Place]:
    """Yields the sentences of an instance, which may be a document."""
    whole = [(0, num_tokens - 1)]
    for first, last in whole if found.sentences is None else found.sentences:
        yield Place(instance, slice(first, last + 1))


def gold_tensor(instance: Instance, field: str) -> np.ndarray:
    """Returns the indices of an instance's gold tags, or its gold labels, without padding."""
    gold = instance.fields[field]
    return gold.as_tensor(gold.get_padding_lengths()).numpy()


class LabelEvaluator:
    """Evaluates a model that assigns any number of labels to tokens or documents."""

    def __init__(self, model: Union[TaggingModel, ClassifyingModel]) -> None:
        self.model = model
        self._is_tagger = isinstance(model, TaggingModel)
        self.kind = "token labels" if self._is_tagger else "documents"
        self.field = "tags" if self._is_tagger else "labels"
        # Those of an ensemble come before its members'.
        decider, *_ = thresholds_of(model).values()
        self.labels: List[str] = decider.labels
        self.thresholds = dict(zip(self.labels, decider.thresholds.tolist()))
        #: (C, C) int64, how many of the items so far have both labels.
        self.together = np.zeros((len(self.labels),) * 2, dtype=np.int64)

    def results(self, instance: Instance, found: Prediction) -> Iterator[Result]:
        """Yields a result for each sentence of an instance, or for a document as a whole."""
        of_items, predicted = found.probabilities or (), found.labels or ()
        # (M, C) each
        all_gold = np.atleast_2d(gold_tensor(instance, self.field))
        all_probabilities = np.array([list(each.values()) for each in of_items], dtype=np.float32)
        are_predicted = np.array([[c in each for c in self.labels] for each in predicted])
        for place in places(instance, found, len(all_gold)):
            own = place.tokens
            gold, is_predicted = all_gold[own], are_predicted[own]
            probabilities = all_probabilities[own]
            is_gold, is_known = gold > 0, gold >= 0
            self.together += is_gold.T.astype(np.int64) @ is_gold
            counted = (is_predicted & is_gold, is_predicted & is_known, is_gold)
            counts = np.stack([each.sum(0) for each in counted])
            columns = np.broadcast_to(np.arange(len(self.labels)), gold.shape)
            items = (columns, probabilities, is_gold, is_predicted)
            example = self._example(place, gold, is_predicted, probabilities)
            yield Result(
                counts,
                num_words=len(gold) if self._is_tagger else 0,
                is_shown=True,
                items=Items(*(each[is_known] for each in items)),
                errors=example.errors(),
                example=example,
            )

    def examples(self, drawn: Sequence[Example]) -> List[Example]:
        """Returns examples of some wrong results."""
        return list(drawn)

    def _example(self, place: Place, *of_items: np.ndarray) -> Example:
        notes = [notes_on_labels(self.labels, *columns) for columns in zip(*of_items)]
        metadata: Any = place.instance["metadata"]
        if self._is_tagger:
            wrong = [i for i, each in enumerate(notes) if any(n.verdict != RIGHT for n in each)]
            words = metadata["words"][place.tokens]
            parts = marked_texts(words, [(i, i) for i in wrong], [notes[i] for i in wrong])
            return Example({"": parts})
        text = " ".join(metadata["text"].split())
        if len(text) > MAX_CHARACTERS:
            text = f"{text[:MAX_CHARACTERS]} …"
        return Example({"": [MarkedText(text, [])], "labels": [MarkedText("", notes[0])]})


#: A sentence with errors, and its position.
Wrong = Tuple[Place, TaggedSentence]


class TagEvaluator:
    """Evaluates a tagger that assigns one tag to each token."""

    field = "tags"

    def __init__(self, model: TaggingModel) -> None:
        self.model = model
        self._encoding = model.tag_encoding
        self._tables = tag_tables(model.tags, model.tag_encoding)
        self._index_of = {tag: index for index, tag in enumerate(model.tags)}
        self.kind = "tokens" if model.tag_encoding is None else "entities"
        self.labels = self._tables.labels
        chain = chain_of(model)
        self.thresholds: Dict[str, float] = dict(chain.decoder.entity_thresholds) if chain else {}

    def results(self, instance: Instance, found: Prediction) -> Iterator[Result]:
        """Yields a result for each sentence of an instance, which may be a document."""
        all_gold = gold_tensor(instance, "tags")
        for place in places(instance, found, len(all_gold)):
            own = found.of_tokens(place.tokens)
            tags = own.tags or []
            gold_tags = instance["tags"].labels[place.tokens]  # type: ignore[attr-defined]
            predicted = np.array([[self._index_of[tag] for tag in tags]])
            counts = self._count(predicted, all_gold[np.newaxis, place.tokens])
            if not self._index_of.keys() >= set(gold_tags):
                no_items = self._items([], [], [])
                yield Result(counts, len(tags), False, no_items, frozenset(), None)
                continue
            gold, spans = self._spans(gold_tags), self._spans(tags)
            probabilities = self._probabilities(own.entities or ())
            sentence = TaggedSentence(own.tokens or [], gold, spans, probabilities)
            yield self._result(counts, place, sentence)

    def _result(self, counts: np.ndarray, place: Place, sentence: TaggedSentence) -> Result:
        """Returns the result of a sentence that can be shown."""
        return Result(
            counts,
            len(sentence.words),
            True,
            self._items(sentence.predicted, sentence.probabilities, sentence.gold),
            self._example(sentence, ()).errors(),
            (place, sentence),
        )

    def _probabilities(self, entities: Sequence[Entity]) -> List[float]:
        return [each.probability for each in entities if each.probability is not None]

    def examples(self, drawn: Sequence[Wrong]) -> List[Example]:
        """Returns examples with the model's probabilities of the gold labels."""
        if not drawn:
            return []
        if self._encoding is None:
            drawn, of_gold = self._probabilities_of_tags(drawn)
        elif all(sentence.probabilities or not sentence.predicted for _, sentence in drawn):
            of_gold = span_probabilities(
                self.model,
                [place.instance for place, _ in drawn],
                [
                    [
                        (label, (place.tokens.start + first, place.tokens.start + last))
                        for label, (first, last) in sentence.gold
                    ]
                    for place, sentence in drawn
                ],
            )
        else:
            of_gold = [[] for _ in drawn]
        return [self._example(sentence, each) for (_, sentence), each in zip(drawn, of_gold)]

    def _example(self, sentence: TaggedSentence, of_gold: Sequence[float]) -> Example:
        return example_of_spans(sentence, of_gold, only_errors=self._encoding is None)

    def _items(
        self, spans: Sequence[Span], probabilities: Sequence[float], gold: Sequence[Span]
    ) -> Items:
        # A model without probabilities has no items.
        spans = spans[: len(probabilities)]
        return Items(
            np.array([self.labels.index(label) for label, _ in spans], dtype=np.int64),
            np.array(probabilities, dtype=np.float64),
            np.array([span in gold for span in spans], dtype=bool),
            np.ones(len(spans), dtype=bool),
        )

    def _spans(self, tags: Sequence[str]) -> List[Span]:
        """Returns the spans spelled by tags; for plain tags, every token that is not `O`."""
        if self._encoding is not None:
            return tags_to_spans(tags, self._encoding)
        return [(tag, (i, i)) for i, tag in enumerate(tags) if tag != "O"]

    def _count(self, predicted: np.ndarray, gold: np.ndarray) -> np.ndarray:
        """Counts right, predicted and gold spans, (3, C), or tokens if the tags spell no spans.

        Rows of predicted and gold tags are (R, T), or (R, T, K) for sets of gold tags.
        """
        predicted, gold_of_spans, gold = without_open_labels(self._tables, predicted, gold)
        if self._encoding is None:
            is_known = gold != UNKNOWN
            of_predicted, of_gold = self._tables.label_of[predicted], self._tables.label_of[gold]
            found = [of_gold[predicted == gold], of_predicted[is_known], of_gold[is_known]]
        else:
            num_tags, is_token = len(self._index_of), np.ones(predicted.shape, dtype=bool)
            predicted, gold = (
                lay_end_to_end(tags, is_token, num_tags) for tags in (predicted, gold_of_spans)
            )
            matches = match_spans(self._tables, predicted, gold)
            right = matches.predicted.labels[matches.is_right()]
            found = [right, matches.predicted.labels, matches.gold.labels]
        return np.stack(
            [np.bincount(each[each >= 0], minlength=len(self.labels)) for each in found]
        )

    def _probabilities_of_tags(
        self, drawn: Sequence[Wrong]
    ) -> Tuple[List[Wrong], List[List[float]]]:
        """Returns sentences with the probabilities of their predicted tags and of their gold tags."""
        chain = chain_of(self.model)
        assert chain is not None
        instances = [place.instance for place, _ in drawn]
        marginals: List[Any] = []
        for batch, rows, _ in encoded(self.model, instances, len(instances)):
            with torch.no_grad():
                marginals += rows.join(chain.marginals(batch.emissions, batch.mask)).tolist()
        measured, of_gold = [], []
        for (place, sentence), of_tokens in zip(drawn, marginals):
            own = of_tokens[place.tokens]
            gold, predicted = (
                [own[first][self._index_of[label]] for label, (first, _) in spans]
                for spans in (sentence.gold, sentence.predicted)
            )
            measured.append((place, sentence._replace(probabilities=predicted)))
            of_gold.append(gold)
        return measured, of_gold


@torch.no_grad()
def span_probabilities(
    model: TaggingModel, instances: Sequence[Instance], spans: Sequence[Sequence[Span]]
) -> List[List[float]]:
    """Returns the model's probabilities of any spans; empty for a model without probabilities."""
    encoding = model.tag_encoding
    chain = chain_of(model)
    if chain is None or encoding in (None, *AMBIGUOUS):
        return [[] for _ in spans]
    num_chains = chain.rows_per_sentence
    finder = EntityFinder(model.tags, encoding)
    found: List[List[float]] = []
    for batch, rows, _ in encoded(model, instances, BATCH_SIZE):
        # For each token of an instance, its sentence's row and its position there.
        row_of, place_in = (
            rows.join(
                torch.arange(size, device=rows.mask.device).view(shape).expand(rows.mask.shape)
            )
            for size, shape in zip(rows.mask.shape, ((-1, 1), (1, -1)))
        )
        of_batch = spans[len(found) : len(found) + len(row_of)]
        columns = [
            (
                finder.labels.index(label or "_"),
                # The chains of a sentence are in the order of their labels.
                int(row_of[i, first]) * num_chains + finder.labels.index(label or "_") % num_chains,
                int(place_in[i, first]),
                int(place_in[i, last]),
            )
            for i, of_instance in enumerate(of_batch)
            for label, (first, last) in of_instance
        ]
        entities = Entities(*np.array(columns, dtype=np.int64).reshape(-1, 4).T)
        scores = chain.chain_scores(batch.emissions)
        numbers = iter(finder.probabilities(scores, entities, batch.mask).tolist())
        found += [[next(numbers) for _ in of_instance] for of_instance in of_batch]
    return found
