"""Evaluates models that give tokens or documents any number of labels, for the report on a run.

Letters: `C` labels, `M` items that may have labels: tokens or documents.
"""

from typing import Any, Iterator, List, Mapping, Sequence, Union

import numpy as np
from allennlp.data import Instance

from tagger.models import DocumentClassifier, TaggingModel
from tagger.modules.label_thresholds import thresholds_of
from tagger.tools.reports.results import Items, Place, Result, gold_tensor, places
from tagger.tools.reports.tagged_sentences import (
    RIGHT,
    Example,
    Segment,
    cut_into_segments,
    notes_on_labels,
)

#: The characters of a document that are shown.
MAX_CHARACTERS = 600


class LabelEvaluator:
    """Evaluates a model that gives each token or document any number of labels."""

    def __init__(self, model: Union[TaggingModel, DocumentClassifier]) -> None:
        self.model = model
        self._is_tagger = isinstance(model, TaggingModel)
        self.kind = "token labels" if self._is_tagger else "documents"
        self.field = "tags" if self._is_tagger else "labels"
        (decider,) = thresholds_of(model).values()
        self.labels: List[str] = decider.labels
        self.thresholds = dict(zip(self.labels, decider.thresholds.tolist()))

    def results(self, instance: Instance, output: Mapping[str, Any]) -> Iterator[Result]:
        """Yields a result for each sentence of an instance, or for a document as a whole."""
        # A document is one item.
        of_items, predicted = output["probabilities"], output["labels"]
        if not self._is_tagger:
            of_items, predicted = [of_items], [predicted]
        # (M, C) each
        all_gold = np.atleast_2d(gold_tensor(instance, self.field))
        all_probabilities = np.array([list(each.values()) for each in of_items], dtype=np.float32)
        are_predicted = np.array([[c in each for c in self.labels] for each in predicted])
        for place in places(instance, output, len(all_gold)):
            own = place.tokens
            gold, is_predicted, probabilities = (
                all_gold[own],
                are_predicted[own],
                all_probabilities[own],
            )
            is_gold, is_known = gold > 0, gold >= 0
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
                num_gold=counts[2],
                errors=example.errors(),
                example=example,
            )

    def examples(self, drawn: Sequence[Example]) -> List[Example]:
        """Returns what to show of some wrong results."""
        return list(drawn)

    def _example(self, place: Place, *of_items: np.ndarray) -> Example:
        notes = [notes_on_labels(self.labels, *columns) for columns in zip(*of_items)]
        metadata: Any = place.instance["metadata"]
        if self._is_tagger:
            wrong = [i for i, each in enumerate(notes) if any(n.verdict != RIGHT for n in each)]
            words = metadata["words"][place.tokens]
            segments = cut_into_segments(words, [(i, i) for i in wrong], [notes[i] for i in wrong])
            return Example({"": segments})
        text = " ".join(metadata["text"].split())
        if len(text) > MAX_CHARACTERS:
            text = f"{text[:MAX_CHARACTERS]} …"
        return Example({"": [Segment(text, [])], "labels": [Segment("", notes[0])]})
