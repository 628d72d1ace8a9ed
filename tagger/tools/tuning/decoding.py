"""Fits the settings of a `ChainDecoder` to labelled data without training.

Letters: `B` sentences, `T` tokens, `N` tokens of all sentences, `K` tags, `C` labels, `S` spans.
"""

import itertools
from typing import Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np
import torch
from allennlp.common.checks import ConfigurationError

from tagger.common.vocabulary import check_is_label
from tagger.modules.chain_decoder import ChainDecoder
from tagger.modules.heads import Chain
from tagger.spans.finding import lay_end_to_end, num_before, rows_and_tokens, tag_tables
from tagger.spans.matching import match_spans
from tagger.tools.tuning.goals import Goal

#: Whether a goal is met, and two numbers for comparison: see `Goal.merit`.
Merit = Tuple[bool, float, float]
#: Predicted tags of a batch, (B, T), and the probabilities of entities at their first tokens, or NaN.
Output = Tuple[torch.Tensor, torch.Tensor]

#: The settings to tune: a label's bias, which finds more or fewer of its entities, or its threshold,
#: which only drops some.
MEANS = ("bias", "threshold")

#: The biases to try, in nats: coarse steps from -12 to 12, then fine steps around the best.
COARSE_STEP, FINE_STEP, LARGEST_BIAS = 0.5, 0.0625, 12.0
#: Labels with fewer entities are not tuned for the macro F1: the best setting for one or two entities
#: may predict the label everywhere in other data.
LEAST_TUNED = 5
#: Labels are refitted up to this many times, because the bias of one changes the spans of others.
MAX_PASSES = 5


class Settings(NamedTuple):
    """Settings of a `ChainDecoder`, by label."""

    decode_bias: Dict[str, float]  # In nats
    entity_thresholds: Dict[str, float]  # Probabilities

    def changed(
        self, label: str, bias: Optional[float] = None, threshold: Optional[float] = None
    ) -> "Settings":
        """Returns settings with this bias and threshold for a label; None removes one."""
        return Settings(
            _replaced(self.decode_bias, label, bias),
            _replaced(self.entity_thresholds, label, threshold),
        )


class RowBatch(NamedTuple):
    """Sentences to decode repeatedly."""

    emissions: torch.Tensor  # (B, T, K)
    gold_tags: torch.Tensor  # (B, T) int64, -1 where unknown
    mask: torch.Tensor  # (B, T) bool, right-padded


class FoundEntities(NamedTuple):
    """Predicted entities under some settings, or gold entities."""

    labels: np.ndarray  # (S,) int64, indices of labels
    sentences: np.ndarray  # (S,) int64, the sentence of each, numbered across batches
    is_right: np.ndarray  # (S,) bool
    probabilities: np.ndarray  # (S,) float32; NaN if they were not requested

    def take(self, chosen: np.ndarray) -> "FoundEntities":
        """Selects entities by a mask or by indices."""
        return FoundEntities(*(each[chosen] for each in self))


class Masking(NamedTuple):
    """What is masked: predicted entities, and tokens that probably lie in one, whatever the label.

    The second are tokens with a total probability of entity tags above a threshold.
    """

    of_gold: np.ndarray  # (S,) bool, whether all tokens of each gold entity are masked
    of_tokens: np.ndarray  # (N,) bool, whether each token is, in the order of the batches


class DecodingTuner:
    """Tries settings of a head's decoder on labelled sentences.

    Each trial replaces the head's decoder. The sentences are on the head's device. Each sentence is one
    row of a batch, or `rows_per_sentence` of them.
    """

    def __init__(
        self,
        head: Chain,
        tags: Sequence[str],
        tag_encoding: str,
        batches: Sequence[RowBatch],
        rows_per_sentence: int = 1,
    ) -> None:
        self.head = head
        self.batches = batches
        self._tags = tags
        self._rows_per_sentence = rows_per_sentence
        self._tag_encoding = tag_encoding
        self._tables = tag_tables(tags, tag_encoding)
        self.labels: List[str] = self._tables.labels
        *self._first_sentences, self.num_sentences = itertools.accumulate(
            (len(batch.mask) // rows_per_sentence for batch in batches), initial=0
        )
        self._gold = self._found(
            [(batch.gold_tags, torch.full(batch.mask.shape, torch.nan)) for batch in batches]
        )

    def counts(self, settings: Settings) -> np.ndarray:
        """Returns true positives, predicted and gold entities of each label, (3, C) int64."""
        return self._counts(self._decode(settings))[:, :, 0]

    def counts_by_group(self, settings: Settings, groups: np.ndarray) -> np.ndarray:
        """Like `counts`, by group, (3, C, groups); `groups` has the group of each sentence."""
        return self._counts(self._decode(settings), groups)

    def masks(self, settings: Settings, thresholds: Sequence[float]) -> Iterator[Masking]:
        """Yields the masking at each threshold; at 1, only predicted entities are masked."""
        is_inside = torch.from_numpy(self._tables.label_of[:-1] >= 0)
        with torch.no_grad():
            marginals = (self.head.marginals(each.emissions, each.mask) for each in self.batches)
            probabilities = [each[:, :, is_inside].sum(2).cpu().numpy() for each in marginals]
        is_predicted = [self._is_inside(tags) for tags, _ in self._outputs(settings)]
        for threshold in thresholds:
            masks = (p > threshold for p in probabilities)
            yield self._masking([own | each for own, each in zip(is_predicted, masks)])

    def masks_by_group(self, masking: Masking, groups: np.ndarray) -> np.ndarray:
        """Counts masked and all gold entities, (2, C, groups)."""
        masked = self._counts(self._gold.take(masking.of_gold), groups)
        return np.stack([masked[1], masked[2]])

    def sensitive_tokens(self) -> np.ndarray:
        """Returns which tokens are in gold entities, (N,) bool, in the order of the batches."""
        return self._masking([self._is_inside(each.gold_tags) for each in self.batches]).of_tokens

    def counts_by_threshold(
        self, settings: Settings, label: int, thresholds: Sequence[float], groups: np.ndarray
    ) -> np.ndarray:
        """Returns a label's true positives and predicted entities, (2, thresholds, groups) int64."""
        found = self._decode(settings, with_probabilities=True)
        # In float32, like the comparison in the decoder.
        kept = (found.take(found.probabilities >= np.float32(each)) for each in thresholds)
        return np.stack([self._counts(each, groups)[:2, label] for each in kept], axis=1)

    def macro_f1_goals(self) -> List[Goal]:
        """Returns goals for all labels with at least `LEAST_TUNED` entities."""
        num_gold = self._counts(self._gold)[2, :, 0]
        enough = zip(self.labels, num_gold >= LEAST_TUNED)
        return [Goal((label,), "macro_f1") for label, is_enough in enough if is_enough]

    def tune(
        self, goals: Sequence[Goal], start: Settings, means: Optional[Sequence[str]] = None
    ) -> Settings:
        """Searches for the best settings for these goals.

        Labels are fitted one at a time, with the settings of the others fixed, until nothing changes.
        If several goals cannot be met together, the result may not be the best compromise. All
        thresholds that make a difference are tried, but biases only in coarse steps, and in fine steps
        around the best of these.

        Each label can have one goal, which must not be a leak. `means` are some of `MEANS`; given both,
        each label gets the better one. By default both are tuned, but only the bias for the macro F1.
        """
        self._check(goals)
        settings = start
        for _ in range(MAX_PASSES if len(goals) > 1 else 1):
            before = settings
            for goal in goals:
                settings = self._fit(goal, settings, means)
            if settings == before:
                break
        return settings

    def _fit(self, goal: Goal, settings: Settings, means: Optional[Sequence[str]]) -> Settings:
        means = means or (MEANS[:1] if goal.measure == "macro_f1" else MEANS)
        # Thresholds of other labels do not affect the entities of this label.
        others = settings if goal.measure == "macro_f1" else Settings(settings.decode_bias, {})

        def merit_of(bias: float) -> Merit:
            return goal.merit(self.counts(others.changed(goal.label, bias=bias)), self.labels)

        found = []
        if "bias" in means:
            bias = max(_by_size(0.0, LARGEST_BIAS, COARSE_STEP), key=merit_of)
            bias = max(_by_size(bias, COARSE_STEP, FINE_STEP), key=merit_of)
            found.append((merit_of(bias), settings.changed(goal.label, bias=bias)))
        if "threshold" in means:
            cuts = self._cuts(goal, others.changed(goal.label))
            merit, threshold = max(cuts, key=lambda cut: cut[0])
            found.append((merit, settings.changed(goal.label, threshold=threshold)))
        return max(found, key=lambda each: each[0])[1]

    def _cuts(self, goal: Goal, settings: Settings) -> Iterator[Tuple[Merit, float]]:
        """Yields the merit of each of a label's thresholds that makes a difference, lowest first."""
        label = self.labels.index(goal.label)
        found = self._decode(settings, with_probabilities=True)
        counts = self._counts(found)[:, :, 0]
        yield goal.merit(counts, self.labels), 0.0
        found = found.take(found.labels == label)
        found = found.take(found.probabilities.argsort())
        next_higher = [*found.probabilities[1:], np.float32(1)]
        for is_right, low, high in zip(found.is_right, found.probabilities, next_higher):
            counts[:2, label] -= is_right, 1
            middle = (low + high) / 2
            if middle > low:
                yield goal.merit(counts, self.labels), float(middle)

    def _decode(self, settings: Settings, with_probabilities: bool = False) -> FoundEntities:
        return self._found(self._outputs(settings, with_probabilities))

    def _is_inside(self, tags: torch.Tensor) -> np.ndarray:
        """Whether each tag, (B, T), belongs to an entity."""
        return self._tables.label_of[tags.cpu().numpy()] >= 0

    def _outputs(self, settings: Settings, with_probabilities: bool = False) -> List[Output]:
        head = self.head
        decoding = head.decoder.decoding
        decoder = ChainDecoder(self._tags, self._tag_encoding, *settings, decoding)
        head.decoder = decoder.to(head.decoder.bias.device)
        outputs = []
        for batch in self.batches:
            if with_probabilities:
                output = head.predict(batch.emissions, batch.mask)
                outputs.append((output["predicted_tags"], output["entity_probabilities"]))
            else:
                tags = head.decode(batch.emissions, batch.mask)
                outputs.append((tags, torch.full(tags.shape, torch.nan)))
        return outputs

    def _found(self, outputs: Sequence[Output]) -> FoundEntities:
        """Finds the entities spelled by the batches' tags; each batch also has probabilities."""
        parts = []
        for first, batch, (tags, probabilities) in zip(
            self._first_sentences, self.batches, outputs
        ):
            mask = batch.mask.cpu().numpy()
            predicted, gold = (
                lay_end_to_end(each.cpu().numpy(), mask, len(self._tags))
                for each in (tags, batch.gold_tags)
            )
            matches = match_spans(self._tables, predicted, gold)
            rows, tokens = rows_and_tokens(matches.predicted.starts, tags.size(1))
            sentences = rows // self._rows_per_sentence
            of_spans = probabilities.cpu().numpy()[rows, tokens]
            parts.append(
                (matches.predicted.labels, first + sentences, matches.is_right(), of_spans)
            )
        return FoundEntities(*map(np.concatenate, zip(*parts)))

    def _masking(self, masks: Sequence[np.ndarray]) -> Masking:
        """`masks` has the masked tokens of each batch, (B, T) bool, with any value in the padding.

        A token that is masked in one row of a sentence is masked in all.
        """
        parts = []
        each = self._rows_per_sentence
        for batch, of_rows in zip(self.batches, masks):
            is_token = batch.mask.cpu().numpy()
            of_sentences = np.asarray(of_rows.reshape(-1, each, of_rows.shape[1]).any(1))
            is_masked = of_sentences.repeat(each, 0)
            num_masked = num_before(lay_end_to_end(is_masked, is_token, False))
            gold_tags = lay_end_to_end(batch.gold_tags.cpu().numpy(), is_token, len(self._tags))
            gold = match_spans(self._tables, gold_tags, gold_tags).gold
            ends = gold.ends + 1
            of_gold = num_masked[ends] - num_masked[gold.starts] == ends - gold.starts
            parts.append((of_gold, of_sentences[is_token[::each]]))
        return Masking(*map(np.concatenate, zip(*parts)))

    def _counts(self, found: FoundEntities, groups: Optional[np.ndarray] = None) -> np.ndarray:
        """Counts by label and group, (3, C, groups); without `groups`, all sentences are one."""
        if groups is None:
            groups = np.zeros(self.num_sentences, dtype=np.int64)
        shape = len(self.labels), int(groups.max()) + 1
        counts = np.zeros((3, *shape), dtype=np.int64)
        for of_kind, each in zip(counts, (found.take(found.is_right), found, self._gold)):
            np.add.at(of_kind, (each.labels, groups[each.sentences]), 1)
        return counts

    def _check(self, goals: Sequence[Goal]) -> None:
        seen = set()
        for goal in goals:
            label, measure = goal.label, goal.measure
            check_is_label(measure, label, self.labels, of="model")
            if label in seen:
                raise ConfigurationError(
                    f"`{measure}` names `{label}`, which has a target already; give one for each label"
                )
            seen.add(label)
            value, most = (goal.beta, np.inf) if measure == "f_beta" else (goal.level, 1)
            if measure != "macro_f1" and not (0 < value <= most and np.isfinite(value)):
                raise ConfigurationError(
                    f"`{measure}` gives `{label}` {value:g}; it must be above 0"
                    + (" and at most 1" if most == 1 else " and finite")
                )


def _by_size(middle: float, reach: float, step: float) -> List[float]:
    """Returns numbers from `middle - reach` to `middle + reach`, those nearest to 0 first.

    `max` returns the first of equally good numbers, so this order prefers small biases.
    """
    num_steps = round(reach / step)
    return sorted((middle + k * step for k in range(-num_steps, num_steps + 1)), key=abs)


def _replaced(values: Dict[str, float], label: str, value: Optional[float]) -> Dict[str, float]:
    others = {name: each for name, each in values.items() if name != label}
    return {**others, label: value} if value else others
