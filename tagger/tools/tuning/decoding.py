"""Settings of a `ChainDecoder`, fitted to labelled data without training.

Letters: `B` sentences, `T` tokens, `K` tags, `C` labels, `S` spans.
"""

from typing import Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np
import torch
from allennlp.common.checks import ConfigurationError

from tagger.common.vocabulary import check_is_label
from tagger.metrics.label_metrics import macro_average, precision_recall_f1
from tagger.modules.chain_decoder import ChainDecoder
from tagger.modules.heads import ChainHead
from tagger.spans.finding import lay_end_to_end, rows_and_tokens, tag_tables
from tagger.spans.matching import SpanMatches, match_spans

#: The goals that a label can be tuned to: see `Target`.
MEASURES = ("precision", "recall", "f_beta", "macro_f1")
#: The settings to tune: a label's bias, which finds more or less of it, or its threshold, which only
#: drops entities.
MEANS = ("bias", "threshold")

#: The biases to try, in nats: from -12 to 12 in coarse steps, then in fine steps around the best.
COARSE_STEP, FINE_STEP, LARGEST_BIAS = 0.5, 0.0625, 12.0
#: Fewer entities of a label say too little to tune it to the macro F1: what is best for one or two may
#: predict the label everywhere in other data.
LEAST_ENTITIES = 5
#: The bias of one label changes the spans of others, so all labels are fitted up to this many times.
MAX_PASSES = 5


class Settings(NamedTuple):
    """Settings of a `ChainDecoder`, by label.

    Attributes:
        decode_bias: Numbers of nats.
        entity_thresholds: Probabilities.
    """

    decode_bias: Dict[str, float]
    entity_thresholds: Dict[str, float]

    def changed(
        self, label: str, bias: Optional[float] = None, threshold: Optional[float] = None
    ) -> "Settings":
        """Returns settings in which this label has this bias and threshold, or none."""
        return Settings(
            _replaced(self.decode_bias, label, bias),
            _replaced(self.entity_thresholds, label, threshold),
        )


class Target(NamedTuple):
    """The goal of tuning a label.

    Attributes:
        label: The label to tune.
        measure: `"precision"`: the highest recall at a precision of at least `value`. `"recall"`: the
            highest precision at a recall of at least `value`. `"f_beta"`: the highest F score, in which
            recall counts `value` times as much as precision (van Rijsbergen 1979, chapter 7).
            `"macro_f1"`: the highest mean F1 of all labels.
        value: The number that `measure` needs; `"macro_f1"` needs none.
    """

    label: str
    measure: str
    value: float = 0.0

    def merit(self, counts: np.ndarray, label: int) -> Tuple[bool, float, float]:
        """Returns whether the target is met, and two numbers to compare: higher is better.

        Args:
            counts: (3, C), true positives, predicted and gold.
            label: The index of the label.
        """
        precision, recall, _ = precision_recall_f1(counts[:, label]).tolist()
        if self.measure == "precision":
            is_met = precision >= self.value
            return (is_met, recall, precision) if is_met else (is_met, precision, recall)
        if self.measure == "recall":
            is_met = recall >= self.value
            return (is_met, precision, recall) if is_met else (is_met, recall, precision)
        if self.measure == "macro_f1":
            return True, macro_average(counts)[2], precision
        true_positives, num_predicted, num_gold = counts[:, label].tolist()
        weight = self.value**2
        total = weight * num_gold + num_predicted
        return True, (1 + weight) * true_positives / max(total, 1e-9), precision


class Batch(NamedTuple):
    """Sentences to decode repeatedly.

    Attributes:
        emissions: (B, T, K).
        gold_tags: (B, T) int64, -1 where unknown.
        mask: (B, T) bool, right-padded.
    """

    emissions: torch.Tensor
    gold_tags: torch.Tensor
    mask: torch.Tensor


class DecodedEntities(NamedTuple):
    """The S entities that are predicted under some settings and count.

    Attributes:
        labels: (S,) int64, indices of labels.
        is_right: (S,) bool.
        probabilities: (S,) float32; NaN if they were not requested.
        sentences: (S,) int64, the sentence of each, counted through all batches.
    """

    labels: np.ndarray
    is_right: np.ndarray
    probabilities: np.ndarray
    sentences: np.ndarray


class DecodingTuner:
    """Tries settings of a head's decoder on labelled sentences.

    Args:
        head: The head with the decoder to tune. Its decoder is replaced by each one that is tried.
        tags: All tags, in the order of their indices.
        tag_encoding: How the tags spell spans.
        batches: The sentences, on the head's device.
    """

    def __init__(
        self, head: ChainHead, tags: Sequence[str], tag_encoding: str, batches: Sequence[Batch]
    ) -> None:
        self.head = head
        self._tags = tags
        self._tag_encoding = tag_encoding
        self.batches = batches
        self._tables = tag_tables(tags, tag_encoding)
        self.labels: List[str] = self._tables.labels
        sizes = [len(batch.mask) for batch in batches]
        self._first_sentences = np.cumsum([0, *sizes])[:-1].tolist()
        self.num_sentences = sum(sizes)
        gold = [self._match(batch, batch.gold_tags).gold for batch in batches]
        self._gold_labels = np.concatenate([spans.labels for spans in gold])
        self._gold_sentences = np.concatenate(
            [
                self._sentences_of(index, batch, spans.starts)
                for index, (batch, spans) in enumerate(zip(batches, gold))
            ]
        )
        self._num_gold = self._count(self._gold_labels)

    def counts(self, settings: Settings) -> np.ndarray:
        """Returns true positives, predicted and gold entities of each label, (3, C) int64."""
        return self._counts(self._decode(settings, with_probabilities=False))

    def counts_by_unit(self, settings: Settings, units: np.ndarray) -> np.ndarray:
        """Returns true positives, predicted and gold entities by label and unit, (3, C, units) int64.

        Args:
            settings: The settings to decode with.
            units: (sentences,) int64, the unit of each sentence of the batches, from 0 on.
        """
        entities = self._decode(settings, with_probabilities=False)
        shape = len(self.labels), int(units.max()) + 1
        groups = (
            (entities.labels[entities.is_right], entities.sentences[entities.is_right]),
            (entities.labels, entities.sentences),
            (self._gold_labels, self._gold_sentences),
        )
        counts = np.zeros((3, *shape), np.int64)
        for of_kind, (labels, sentences) in zip(counts, groups):
            np.add.at(of_kind, (labels, units[sentences]), 1)
        return counts

    def counts_by_threshold(
        self, settings: Settings, label: int, thresholds: Sequence[float], units: np.ndarray
    ) -> Tuple[np.ndarray, np.ndarray]:
        """Returns a label's true positives and predicted entities, (thresholds, units) int64 each.

        Args:
            settings: The settings of all else; the label has no threshold in them.
            label: The index of the label.
            thresholds: The thresholds to try.
            units: (sentences,) int64, the unit of each sentence of the batches, from 0 on.
        """
        entities = self._decode(settings, with_probabilities=True)
        is_of_label, num_units = entities.labels == label, int(units.max()) + 1
        right: List[np.ndarray] = []
        predicted: List[np.ndarray] = []
        for threshold in thresholds:
            # As the decoder compares: in float32.
            is_kept = is_of_label & (entities.probabilities >= np.float32(threshold))
            for counts, chosen in ((right, is_kept & entities.is_right), (predicted, is_kept)):
                counts.append(np.bincount(units[entities.sentences[chosen]], minlength=num_units))
        return np.stack(right), np.stack(predicted)

    def macro_f1_targets(self) -> List[Target]:
        """Returns targets for all labels with enough entities, `LEAST_ENTITIES`."""
        enough = zip(self.labels, self._num_gold >= LEAST_ENTITIES)
        return [Target(label, "macro_f1") for label, is_enough in enough if is_enough]

    def tune(
        self, targets: Sequence[Target], start: Settings, means: Optional[Sequence[str]] = None
    ) -> Settings:
        """Searches for the best settings for these targets.

        The labels are fitted one at a time, while the settings of the others are fixed, until nothing
        changes. If several targets cannot be met together, the result is not the best compromise. All
        thresholds that make a difference are tried, but biases only in coarse steps, and in fine steps
        around the best of these.

        Args:
            targets: At most one for each label.
            start: The settings to start from. Settings of labels without a target are kept.
            means: The settings to tune, some of `MEANS`. Given both, each label gets the better one of
                the two. By default both, but only the bias for the macro F1.

        Raises:
            ConfigurationError: If a target's label is unknown or has another target, or its number is
                out of range.
        """
        self.check(targets)
        settings = start
        for _ in range(MAX_PASSES if len(targets) > 1 else 1):
            before = settings
            for target in targets:
                settings = self._fit(target, settings, means)
            if settings == before:
                break
        return settings

    def _fit(self, target: Target, settings: Settings, means: Optional[Sequence[str]]) -> Settings:
        means = means or (MEANS[:1] if target.measure == "macro_f1" else MEANS)
        label = self.labels.index(target.label)
        # The thresholds of other labels do not affect the entities of this one.
        others = settings if target.measure == "macro_f1" else Settings(settings.decode_bias, {})

        def merit_of(bias: float) -> Tuple[bool, float, float]:
            return target.merit(self.counts(others.changed(target.label, bias=bias)), label)

        found = []
        if "bias" in means:
            bias = max(_by_size(0.0, LARGEST_BIAS, COARSE_STEP), key=merit_of)
            bias = max(_by_size(bias, COARSE_STEP, FINE_STEP), key=merit_of)
            found.append((merit_of(bias), settings.changed(target.label, bias=bias)))
        if "threshold" in means:
            merit, threshold = max(
                self._cuts(target, others.changed(target.label)), key=lambda cut: cut[0]
            )
            found.append((merit, settings.changed(target.label, threshold=threshold)))
        return max(found, key=lambda each: each[0])[1]

    def _cuts(
        self, target: Target, settings: Settings
    ) -> Iterator[Tuple[Tuple[bool, float, float], float]]:
        """Yields the merit of each threshold of a label that makes a difference, the lowest first."""
        label = self.labels.index(target.label)
        entities = self._decode(settings, with_probabilities=True)
        counts = self._counts(entities)
        is_of_label = entities.labels == label
        order = entities.probabilities[is_of_label].argsort()
        probabilities = entities.probabilities[is_of_label][order]
        yield target.merit(counts, label), 0.0
        for is_right, low, high in zip(
            entities.is_right[is_of_label][order],
            probabilities,
            [*probabilities[1:], np.float32(1)],
        ):
            counts[:2, label] -= is_right, 1
            middle = (low + high) / 2
            if middle > low:
                yield target.merit(counts, label), float(middle)

    def _decode(self, settings: Settings, with_probabilities: bool) -> DecodedEntities:
        head = self.head
        decoding = head.decoder.decoding
        decoder = ChainDecoder(self._tags, self._tag_encoding, *settings, decoding)
        head.decoder = decoder.to(head.decoder.bias.device)
        parts = []
        for index, batch in enumerate(self.batches):
            if with_probabilities:
                predictions = head.predict(batch.emissions, batch.mask)
                tags = predictions["predicted_tags"]
                probabilities = predictions["entity_probabilities"]
            else:
                tags = head.decode(batch.emissions, batch.mask)
                probabilities = torch.full(tags.shape, torch.nan)
            matches = self._match(batch, tags)
            spans, is_right = matches.predicted, matches.is_right()
            of_spans = probabilities.cpu().numpy()[rows_and_tokens(spans.starts, tags.size(1))]
            sentences = self._sentences_of(index, batch, spans.starts)
            parts.append((spans.labels, is_right, of_spans, sentences))
        return DecodedEntities(*map(np.concatenate, zip(*parts)))

    def _sentences_of(self, index: int, batch: Batch, starts: np.ndarray) -> np.ndarray:
        rows, _ = rows_and_tokens(starts, batch.mask.size(1))
        return rows + self._first_sentences[index]

    def _match(self, batch: Batch, tags: torch.Tensor) -> SpanMatches:
        predicted, gold = (
            lay_end_to_end(each.cpu().numpy(), batch.mask.cpu().numpy(), len(self._tags))
            for each in (tags, batch.gold_tags)
        )
        return match_spans(self._tables, predicted, gold)

    def _counts(self, entities: DecodedEntities) -> np.ndarray:
        right, predicted = entities.labels[entities.is_right], entities.labels
        return np.stack([self._count(right), self._count(predicted), self._num_gold])

    def _count(self, labels: np.ndarray) -> np.ndarray:
        return np.bincount(labels, minlength=len(self.labels))

    def check(self, targets: Sequence[Target]) -> None:
        """Checks targets.

        Raises:
            ConfigurationError: As `tune`.
        """
        seen = set()
        for label, measure, value in targets:
            check_is_label(measure, label, self.labels, of="model")
            if label in seen:
                raise ConfigurationError(
                    f"`{measure}` names `{label}`, which has a target already; give one for each label"
                )
            seen.add(label)
            most = 1 if measure in ("precision", "recall") else np.inf
            if measure != "macro_f1" and not (0 < value <= most and np.isfinite(value)):
                raise ConfigurationError(
                    f"`{measure}` gives `{label}` {value:g}; it must be above 0"
                    + (" and at most 1" if most == 1 else " and finite")
                )


def _by_size(middle: float, reach: float, step: float) -> List[float]:
    """Returns numbers from `middle - reach` to `middle + reach`, the nearest to 0 first.

    `max` returns the first of equally good numbers, so a small bias is preferred.
    """
    num_steps = round(reach / step)
    return sorted((middle + k * step for k in range(-num_steps, num_steps + 1)), key=abs)


def _replaced(values: Dict[str, float], label: str, value: Optional[float]) -> Dict[str, float]:
    others = {name: each for name, each in values.items() if name != label}
    return {**others, label: value} if value else others
