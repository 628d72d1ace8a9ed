"""Evaluates taggers of overlapping entities.

Letters: `T` tokens of an instance, `C` labels.
"""

from typing import Iterator, Sequence

import numpy as np
import torch
from allennlp.data import Instance

from tagger.models import TaggingModel
from tagger.models.tagging_model import chain_of
from tagger.spans.finding import UNKNOWN, certain_tags
from tagger.spans.overlapping import tags_by_label
from tagger.tools.reports.evaluators import Result, TagEvaluator, gold_tensor, places
from tagger.tools.reports.tagged_sentences import Example, TaggedSentence, example_of_spans
from tagger_texts.prediction import Prediction


class ChainsEvaluator(TagEvaluator):
    """Evaluates a tagger with a chain for each label, on the labels that a file annotates."""

    def __init__(self, model: TaggingModel) -> None:
        super().__init__(model)
        chain = chain_of(model)
        assert chain is not None
        self._chain = chain

    def results(self, instance: Instance, found: Prediction) -> Iterator[Result]:
        gold_tags = torch.from_numpy(gold_tensor(instance, "tags")[np.newaxis])
        gold_tags = gold_tags.to(self._chain.decoder.bias.device)
        is_token = torch.ones_like(gold_tags[:, :, 0], dtype=torch.bool)
        # (C, T)
        all_gold = certain_tags(self._chain.gold_rows(gold_tags, is_token).cpu().numpy())
        for place in places(instance, found, all_gold.shape[1]):
            own = found.of_tokens(place.tokens)
            gold, tags = all_gold[:, place.tokens], own.tags or []
            by_label = tags_by_label(tags, self._encoding)
            outside = ["O"] * len(tags)
            predicted = [
                by_label.get(label.strip("_"), outside) for label in self._chain.labels_of_rows
            ]
            counts = self._count(
                np.array([[self._index_of[tag] for tag in row] for row in predicted]), gold
            )
            is_known = (gold != UNKNOWN).all(1)
            if not (is_known | (gold == UNKNOWN).all(1)).all():
                no_items = self._items([], [], [])
                yield Result(counts, len(tags), False, no_items, frozenset(), None)
                continue
            names = self.model.tags
            spans = [s for row in gold[is_known] for s in self._spans([names[k] for k in row])]
            known = {label for label, each in zip(self._chain.labels_of_rows, is_known) if each}
            entities = [each for each in own.entities or () if (each.label or "_") in known]
            sentence = TaggedSentence(
                own.tokens or [],
                sorted(spans, key=lambda span: (span[1][0], -span[1][1])),
                [(each.label, (each.first, each.last)) for each in entities],
                self._probabilities(entities),
            )
            yield self._result(counts, place, sentence)

    def _example(self, sentence: TaggedSentence, of_gold: Sequence[float]) -> Example:
        return example_of_spans(sentence, of_gold, by_label=True)
