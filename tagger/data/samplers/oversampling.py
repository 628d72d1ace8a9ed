"""A batch sampler that shows sentences with rare labels more often."""

import logging
from collections import defaultdict
from typing import Any, Dict, Iterable, List, Sequence, Set

import numpy as np
from allennlp.common.checks import ConfigurationError
from allennlp.data import Instance
from allennlp.data.samplers import BatchSampler, BucketBatchSampler

from tagger.common.training_counts import LabelCounts, count_labels
from tagger.data.fields import TagSetsField
from tagger.spans import labels_of_tags

logger = logging.getLogger(__name__)


@BatchSampler.register("oversampling")
class OversamplingBatchSampler(BucketBatchSampler):
    """AllenNLP's bucket sampler; it repeats sentences with rare labels and drops some without labels.

    This is repeat factor sampling (Gupta, Dollar & Girshick 2019, section 4). A label in the share f of
    the sentences asks to be seen `max(1, sqrt(threshold / f))` times an epoch. A sentence is seen as
    often as the most demanding of its labels asks. Each epoch draws the fractional part of that number
    anew, so the number holds on average. Unlike in that paper, a sentence without a label is seen
    `empty_rate` times.

    All epochs have the same number of sentences, which learning rate schedules need. For this, the
    fractional parts are drawn together by systematic sampling, not sentence by sentence, and the number
    is rounded down. AllenNLP seeds all draws: they are numpy's and Python's.

    The shares are of the instances that the data loader passes: with `max_instances_in_memory`, or
    on several workers, each part has its own.

    Args:
        batch_size: The number of sentences in a batch.
        threshold: The share of sentences, above 0 and at most 1, below which a label counts as rare.
        empty_rate: How often an epoch shows a sentence without a known label, above 0 and at most 1.
        label_namespace: The namespace of the labels, or of the tags that spell them: `B-PER` and
            `I-PER` are the label `PER`, and `O` is none.
        **kwargs: The arguments of AllenNLP's `bucket`. Without `shuffle` the order is fixed, but not
            which sentences are repeated.

    Raises:
        ConfigurationError: If `threshold` or `empty_rate` is out of range, or, once there are instances,
            none of them has a label.
    """

    def __init__(
        self,
        batch_size: int,
        threshold: float,
        empty_rate: float = 1.0,
        label_namespace: str = "labels",
        **kwargs: Any,
    ) -> None:
        super().__init__(batch_size, **kwargs)
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
        # AllenNLP's sampler looks at the length alone.
        return super().get_num_batches(range(_num_drawn(factors)))  # type: ignore[arg-type]


def repeat_factors(
    label_sets: Sequence[Set[str]], threshold: float, empty_rate: float = 1.0
) -> np.ndarray:
    """Returns how often an epoch shows each sentence, on average; see `OversamplingBatchSampler`.

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
    """Rounds each factor up or down at random, with numpy's generator.

    The probability of rounding up is the factor's fraction, scaled so that all sum to a whole number.

    Returns:
        Whole numbers. Their sum is the sum of the factors, rounded down.
    """
    whole, num_drawn = np.floor(factors), _num_drawn(factors)
    num_up = num_drawn - int(whole.sum())
    if num_up == 0:
        return whole.astype(int)
    order = np.random.permutation(len(factors))
    # The fractions are lengths on a line, in random order. Those that hold an evenly spaced point go up.
    ends = np.cumsum((factors - whole)[order])
    points_before = np.floor(ends * (num_up / ends[-1]) + np.random.random())
    whole[order] += np.diff(points_before, prepend=0)
    return whole.astype(int)


def format_shares(label_sets: Sequence[Set[str]], factors: np.ndarray) -> str:
    """Returns a table of the share of sentences that have each label, before and after."""
    before, after = _shares(label_sets, np.ones(len(factors))), _shares(label_sets, factors)
    width = max(map(len, ["sentences", *before]))
    rows = [f"{'':{width}}   before    after"]
    rows += [
        f"{label:{width}}  {share:7.2%}  {after[label]:7.2%}"
        for label, share in sorted(before.items(), key=lambda item: -item[1])
    ]
    return "\n".join([*rows, f"{'sentences':{width}}  {len(factors):7}  {_num_drawn(factors):7}"])


def _num_drawn(factors: np.ndarray) -> int:
    # A sum of fractions that is a whole number may come out just below it.
    return int(np.floor(factors.sum() + 1e-6))


def _shares(label_sets: Sequence[Set[str]], weights: np.ndarray) -> Dict[str, float]:
    """Returns the share of the sentences that have each label; the sentences are weighted."""
    totals: Dict[str, float] = defaultdict(float)
    for labels, weight in zip(label_sets, weights.tolist()):
        for label in labels:
            totals[label] += weight
    return {label: total / weights.sum() for label, total in totals.items()}


def _label_sets(instances: Iterable[Instance], label_namespace: str) -> List[Set[str]]:
    """Returns the labels of each instance."""
    counts = [_count_labels(instance) for instance in instances]
    tag_sets = [set(of_instance.get(label_namespace, {})) for of_instance in counts]
    # All tags at once, because the tags of one sentence may not show their encoding.
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


def _count_labels(instance: Instance) -> LabelCounts:
    """Counts the labels of an instance, also those of tokens whose label is known, but not their tag."""
    counts = count_labels([instance])
    for field in instance.fields.values():
        if isinstance(field, TagSetsField):
            counts.add(field._label_namespace, field.tags_of_known_labels(), num_items=0)
    return counts
