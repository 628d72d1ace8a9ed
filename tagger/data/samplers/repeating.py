"""The base class of batch samplers that show some sentences more often than others."""

import logging
from collections import Counter, defaultdict
from typing import Any, Dict, Iterable, List, NamedTuple, Sequence

import numpy as np
from allennlp.common.checks import ConfigurationError
from allennlp.data import Instance
from allennlp.data.samplers import BucketBatchSampler

from tagger.common.training_counts import WEIGHTS, LabelCounts, count_labels
from tagger.data.fields.tag_sets_field import TagSetsField
from tagger.spans import labels_of_tags
from tagger_texts.display import num_columns, padded

logger = logging.getLogger(__name__)


class SentenceLabels(NamedTuple):
    """The number of a sentence's tokens with each label, and of tokens with known tags.

    A text that is labelled as a whole counts as one token. A sentence with a weight of 2 counts like
    the sentence twice.
    """

    counts: Dict[str, int]
    num_tokens: int
    weight: float = 1.0


class RepeatingBatchSampler(BucketBatchSampler):
    """AllenNLP's bucket sampler, but some sentences are repeated and others left out.

    Subclasses implement `factors`, how often an epoch shows each sentence on average. In each epoch,
    systematic sampling rounds fractional factors up or down, so that all epochs have the same number of
    sentences, as learning rate schedules require. The generators are numpy's and Python's, which
    AllenNLP seeds.

    If instances have weights, labels are counted with these weights, and instances that weigh 0 are left
    out. How often an instance is shown does not depend on its own weight, which the loss applies.

    Labels are counted among the instances that the data loader passes: with `max_instances_in_memory`
    or several workers, separately in each part.

    Args:
        batch_size: The number of sentences in a batch.
        label_namespace: The namespace of the labels, or of the tags that spell them: `B-PER` and
            `I-PER` are the label `PER`, and `O` is none.
        **kwargs: The arguments of AllenNLP's `bucket`. Without `shuffle`, the order is fixed, but the
            choice of repeated sentences is still random.
    """

    def __init__(self, batch_size: int, label_namespace: str = "labels", **kwargs: Any) -> None:
        super().__init__(batch_size, **kwargs)
        self.label_namespace = label_namespace
        self._is_logged = False

    def factors(self, sentences: Sequence[SentenceLabels]) -> np.ndarray:
        """Returns how often an epoch shows each sentence, on average: (sentences,), at least 0."""
        raise NotImplementedError

    def get_batch_indices(self, instances: Sequence[Instance]) -> Iterable[List[int]]:
        sentences = _labelled_sentences(instances, self.label_namespace)
        factors = self._factors_of_weighted(sentences)
        if not self._is_logged:
            logger.info("Resampling:\n%s", format_shares(sentences, factors))
            self._is_logged = True
        drawn = np.repeat(np.arange(len(instances)), draw_repeats(factors)).tolist()
        for batch in super().get_batch_indices([instances[i] for i in drawn]):
            yield [drawn[i] for i in batch]

    def get_num_batches(self, instances: Sequence[Instance]) -> int:
        sentences = _labelled_sentences(instances, self.label_namespace)
        # AllenNLP's sampler uses only the length of its argument.
        num_drawn = _num_drawn(self._factors_of_weighted(sentences))
        return super().get_num_batches(range(num_drawn))  # type: ignore[arg-type]

    def _factors_of_weighted(self, sentences: Sequence[SentenceLabels]) -> np.ndarray:
        return np.where([each.weight > 0 for each in sentences], self.factors(sentences), 0.0)


def draw_repeats(factors: np.ndarray) -> np.ndarray:
    """Rounds each factor up or down at random, and their sum down.

    The probability of rounding up is the factor's fractional part, scaled so that these probabilities
    sum to an integer.
    """
    whole, num_drawn = np.floor(factors), _num_drawn(factors)
    num_up = num_drawn - int(whole.sum())
    if num_up == 0:
        return whole.astype(int)
    order = np.random.permutation(len(factors))
    # Lay the fractions end to end on a line in random order; round up those that an evenly spaced point
    # hits.
    ends = np.cumsum((factors - whole)[order])
    points_before = np.floor(ends * (num_up / ends[-1]) + np.random.random())
    whole[order] += np.diff(points_before, prepend=0)
    return whole.astype(int)


def shares_of_sentences(
    sentences: Sequence[SentenceLabels], factors: np.ndarray
) -> Dict[str, float]:
    """Returns each label's share of sentences by weight, each shown as often as its factor says."""
    weights = factors * [sentence.weight for sentence in sentences]
    totals: Dict[str, float] = defaultdict(float)
    for sentence, weight in zip(sentences, weights.tolist()):
        for label in sentence.counts:
            totals[label] += weight
    return {label: total / weights.sum() for label, total in totals.items()}


def format_shares(sentences: Sequence[SentenceLabels], factors: np.ndarray) -> str:
    """Returns a table of each label's share of sentences, before and after resampling."""
    before = shares_of_sentences(sentences, np.ones(len(factors)))
    after = shares_of_sentences(sentences, factors)
    width = max(map(num_columns, ["sentences", *before]))
    rows = [
        f"{padded(label, width)}  {before[label]:7.2%}  {after[label]:7.2%}"
        for label in sorted(before, key=before.__getitem__, reverse=True)
    ]
    total = f"{'sentences':{width}}  {len(factors):7}  {_num_drawn(factors):7}"
    return "\n".join([f"{'':{width}}   before    after", *rows, total])


def _num_drawn(factors: np.ndarray) -> int:
    # Rounding errors may put an integer sum just below the integer.
    return int(np.floor(factors.sum() + 1e-6))


def _labelled_sentences(
    instances: Sequence[Instance], label_namespace: str
) -> List[SentenceLabels]:
    counts = [_count_labels(instance) for instance in instances]
    # Use all tags, because those of one sentence may not reveal the encoding.
    tags = sorted({tag for of_instance in counts for tag in of_instance.get(label_namespace, {})})
    label_of = dict(zip(tags, labels_of_tags(tags)))
    sentences = []
    for of_instance, weight in zip(counts, map(_weight, instances)):
        of_labels: Counter = Counter()
        for tag, number in of_instance.get(label_namespace, {}).items():
            # What weighs nothing makes no label frequent.
            if label_of[tag] is not None and weight > 0:
                of_labels[label_of[tag]] += number
        num_tokens = of_instance.num_items.get(label_namespace, 0)
        sentences.append(SentenceLabels(dict(of_labels), num_tokens, weight))
    if counts and not any(sentence.counts for sentence in sentences):
        found = sorted(set().union(*counts))
        raise ConfigurationError(
            f"`label_namespace` is {label_namespace!r}, in which none of the {len(counts)} instances "
            f"has a label to over-sample and a weight above 0; there are labels in "
            f"{', '.join(found) or 'no namespace'}; correct it, or use the sampler `bucket`"
        )
    return sentences


def _count_labels(instance: Instance) -> LabelCounts:
    """Counts an instance's labels, including those of tokens with a known label but an unknown tag."""
    counts = count_labels([instance])
    for field in instance.fields.values():
        if isinstance(field, TagSetsField):
            # All possible tags share a label, so any of them will do.
            tags = [
                min(tags.tags)
                for tags in field.tag_sets
                if tags.only_tag is None and tags.only_label is not None
            ]
            counts.add(field._label_namespace, tags)
    return counts


def _weight(instance: Instance) -> float:
    """Returns the weight of an instance: the mean of its sentences' weights."""
    field = instance.fields.get(WEIGHTS)
    return 1.0 if field is None else float(field.tensor.mean())  # type: ignore[attr-defined]
