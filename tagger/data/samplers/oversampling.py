"""A batch sampler that shows sentences with rare labels more often."""

import logging
from collections import defaultdict
from typing import Dict, Iterable, List, Optional, Sequence, Set

import numpy as np
from allennlp.common.checks import ConfigurationError
from allennlp.data import Instance
from allennlp.data.samplers import BatchSampler, BucketBatchSampler

from tagger.data.label_counts import count_labels
from tagger.spans import labels_of_tags

logger = logging.getLogger(__name__)


@BatchSampler.register("oversampling")
class OversamplingBatchSampler(BucketBatchSampler):
    """AllenNLP's bucket sampler, repeating sentences with rare labels and thinning those without any.

    Repeat factor sampling (Gupta, Dollar & Girshick 2019, section 4): a label that the share f of the
    sentences has asks to be seen `max(1, sqrt(threshold / f))` times an epoch, and a sentence is seen
    as often as the most demanding of its labels asks. The fractional part of that number is drawn
    anew in each epoch, so that it holds on average. Beyond that paper, a sentence without a label is
    seen `empty_rate` times.

    All epochs have the same number of sentences, so that learning rate schedules know it: the fractional
    parts are drawn together, by systematic sampling, not sentence by sentence. Rounding that number
    down costs less than one sentence an epoch. All draws are numpy's and Python's, which
    AllenNLP seeds.

    Shares are those of the instances that the data loader hands over: with `max_instances_in_memory`,
    or on several workers, of each part by itself.

    Args:
        batch_size: how many sentences a batch has.
        threshold: the share of sentences, above 0 and at most 1, below which a label counts as rare.
        empty_rate: how often in an epoch, above 0 and at most 1, a sentence without a known label is
            seen.
        label_namespace: the namespace of the labels, or of the tags that spell them: `B-PER` and
            `I-PER` are the label `PER`, and `O` is none.
        sorting_keys: as for AllenNLP's `bucket`, like the others below.
        padding_noise: as there.
        drop_last: as there.
        shuffle: as there; without it the order is fixed, but not which sentences are repeated.

    Raises:
        ConfigurationError: if `threshold` or `empty_rate` is out of range; once there are instances, if
            none of them has a label.
    """

    def __init__(
        self,
        batch_size: int,
        threshold: float,
        empty_rate: float = 1.0,
        label_namespace: str = "labels",
        sorting_keys: Optional[List[str]] = None,
        padding_noise: float = 0.1,
        drop_last: bool = False,
        shuffle: bool = True,
    ) -> None:
        super().__init__(batch_size, sorting_keys, padding_noise, drop_last, shuffle)  # type: ignore[arg-type]
        for name, value in {"threshold": threshold, "empty_rate": empty_rate}.items():
            if not 0 < value <= 1:
                raise ConfigurationError(f"`{name}` must be above 0 and at most 1; got {value!r}")
        self.threshold = threshold
        self.empty_rate = empty_rate
        self.label_namespace = label_namespace
        self._is_logged = False

    def get_batch_indices(self, instances: Sequence[Instance]) -> Iterable[List[int]]:
        label_sets = _label_sets(instances, self.label_namespace)
        factors = repeat_factors(label_sets, self.threshold, self.empty_rate)
        if not self._is_logged:
            logger.info("Over-sampling:\n%s", format_shares(label_sets, factors))
            self._is_logged = True
        drawn = np.repeat(np.arange(len(instances)), draw_repeats(factors)).tolist()
        for batch in super().get_batch_indices([instances[i] for i in drawn]):
            yield [drawn[i] for i in batch]

    def get_num_batches(self, instances: Sequence[Instance]) -> int:
        label_sets = _label_sets(instances, self.label_namespace)
        factors = repeat_factors(label_sets, self.threshold, self.empty_rate)
        # Only the length of what it is given counts.
        return super().get_num_batches(range(_num_drawn(factors)))  # type: ignore[arg-type]


def repeat_factors(
    label_sets: Sequence[Set[str]], threshold: float, empty_rate: float = 1.0
) -> np.ndarray:
    """Returns how often each sentence is to be seen in an epoch, on average.

    Args:
        label_sets: the labels of each sentence.
        threshold: the share of sentences below which a label counts as rare.
        empty_rate: how often to see a sentence without a label.

    Example:
        >>> repeat_factors([{"PER"}, {"PER"}, {"PER", "LOC"}, set()], 1.0, empty_rate=0.5).round(2)
        array([1.15, 1.15, 2.  , 0.5 ])
    """
    shares = _shares(label_sets, np.ones(len(label_sets)))
    factors = {label: max(1.0, (threshold / share) ** 0.5) for label, share in shares.items()}
    return np.array(
        [max((factors[label] for label in labels), default=empty_rate) for labels in label_sets]
    )


def draw_repeats(factors: np.ndarray) -> np.ndarray:
    """Rounds each factor up or down at random, by numpy's generator.

    The chance to be rounded up is the factor's fraction, scaled to sum to a whole number.

    Returns:
        Whole numbers, whose sum is the factors' sum, rounded down.
    """
    whole, num_drawn = np.floor(factors), _num_drawn(factors)
    num_up = num_drawn - int(whole.sum())
    if num_up == 0:
        return whole.astype(int)
    order = np.random.permutation(len(factors))
    # Fractions as lengths on a line, in random order; who holds one of the evenly spaced points goes up.
    ends = np.cumsum((factors - whole)[order])
    points_before = np.floor(ends * (num_up / ends[-1]) + np.random.random())
    whole[order] += np.diff(points_before, prepend=0)
    return whole.astype(int)


def format_shares(label_sets: Sequence[Set[str]], factors: np.ndarray) -> str:
    """Returns a table of the share of sentences that have each label, before and after.

    Args:
        label_sets: the labels of each sentence.
        factors: how often each sentence is seen in an epoch.
    """
    before, after = _shares(label_sets, np.ones(len(factors))), _shares(label_sets, factors)
    width = max(map(len, ["sentences", *before]))
    rows = [f"{'':{width}}   before    after"]
    rows += [
        f"{label:{width}}  {share:7.2%}  {after[label]:7.2%}"
        for label, share in sorted(before.items(), key=lambda item: -item[1])
    ]
    return "\n".join([*rows, f"{'sentences':{width}}  {len(factors):7}  {_num_drawn(factors):7}"])


def _num_drawn(factors: np.ndarray) -> int:
    # Sums of fractions that make a whole number may come out just below it.
    return int(np.floor(factors.sum() + 1e-6))


def _shares(label_sets: Sequence[Set[str]], weights: np.ndarray) -> Dict[str, float]:
    """Returns the share of the weight that the sentences with each label have."""
    totals: Dict[str, float] = defaultdict(float)
    for labels, weight in zip(label_sets, weights.tolist()):
        for label in labels:
            totals[label] += weight
    return {label: total / weights.sum() for label, total in totals.items()}


def _label_sets(instances: Iterable[Instance], label_namespace: str) -> List[Set[str]]:
    """Returns the labels of each instance.

    Raises:
        ConfigurationError: if there are none at all.
    """
    counts = [count_labels([instance]) for instance in instances]
    tag_sets = [set(of_instance.get(label_namespace, {})) for of_instance in counts]
    # Of all tags at once: those of one sentence may not tell their encoding.
    tags = sorted(set().union(*tag_sets))
    label_of = dict(zip(tags, labels_of_tags(tags)))
    label_sets = [
        {label for label in map(label_of.get, tags) if label is not None} for tags in tag_sets
    ]
    if counts and not any(label_sets):
        found = sorted(set().union(*counts))
        raise ConfigurationError(
            f"`label_namespace` is {label_namespace!r}, where none of the {len(counts)} instances has "
            f"a label to over-sample; there are labels in {', '.join(found) or 'no namespace'}; correct "
            f"it, or use the sampler `bucket`"
        )
    return label_sets
