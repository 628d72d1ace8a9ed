"""Counts how often each label occurs in the training data, and supplies modules with the counts."""

import math
from collections import Counter
from itertools import repeat
from typing import (
    TYPE_CHECKING,
    Any,
    Dict,
    FrozenSet,
    Hashable,
    Iterable,
    List,
    Mapping,
    Optional,
    TypeVar,
)

import numpy as np
import torch

from tagger.common.from_allennlp import ConfigurationError, Vocabulary
from tagger.common.vocabulary import tags_in_order

# The CRF, which needs no AllenNLP, imports this module.
if TYPE_CHECKING:
    from allennlp.data import DataLoader, Instance
    from allennlp.models import Model

_UNKNOWN = -1
#: The field with the weight of each sentence of an instance, (N,), and the argument of models.
WEIGHTS = "weights"
#: For each element, how often it counts; None for once each.
Times = Optional[Iterable[float]]
T = TypeVar("T", bound=Hashable)


class LabelCounts(Dict[str, "Counter[str]"]):
    """How often each label occurs: `counts[namespace][label]`.

    An item is what carries labels: a token or a whole text.

    Attributes:
        num_items: By namespace, the number of items with known labels. An item may have several labels
            or none, so this may differ from the sum of the counts.
        label_sets: By namespace, how many items have each set of several labels. Items in which one
            label excludes the others are not in it.
        numbers: The parts of the data that are sequences of numbers, (T, D) each, NaN where missing.

    Example:
        >>> counts = LabelCounts({"labels": {"A": 2, "B": 1}}, {"labels": 10})
        >>> counts += LabelCounts({"labels": {"A": 1}}, {"labels": 5})
        >>> counts["labels"], counts.num_items
        (Counter({'A': 3, 'B': 1}), Counter({'labels': 15}))
    """

    def __init__(
        self,
        counts: Optional[Mapping[str, Mapping[str, int]]] = None,
        num_items: Optional[Mapping[str, int]] = None,
    ) -> None:
        super().__init__({name: Counter(by_label) for name, by_label in (counts or {}).items()})
        self.num_items = Counter(num_items or {})
        self.label_sets: Dict[str, Counter[FrozenSet[str]]] = {}
        self.numbers: List[np.ndarray] = []

    def add(self, namespace: str, labels: Iterable[str], times: Times = None) -> None:
        """Adds items with one known label each."""
        counted = _counted(labels, times)
        self.num_items[namespace] += counted.total()
        if counted:
            self.setdefault(namespace, Counter()).update(counted)

    def add_sets(self, namespace: str, sets: Iterable[Iterable[str]], times: Times = None) -> None:
        """Adds items that may have several labels: the known labels of each."""
        counted = _counted(map(frozenset, sets), times)
        self.num_items[namespace] += counted.total()
        self.label_sets.setdefault(namespace, Counter()).update(counted)
        for labels, number in counted.items():
            if labels:
                own = self.setdefault(namespace, Counter())
                own.update(dict.fromkeys(labels, number))

    def rounded(self) -> "LabelCounts":
        """Returns whole numbers, at least 1 where there is anything; weights make fractions."""
        found = LabelCounts({name: _rounded(each) for name, each in self.items()})
        found.num_items, found.numbers = _rounded(self.num_items), self.numbers
        found.label_sets = {name: _rounded(each) for name, each in self.label_sets.items()}
        return found

    def __add__(self, other: "LabelCounts") -> "LabelCounts":
        total = LabelCounts(self, self.num_items)
        total.numbers = [*self.numbers, *other.numbers]
        total.num_items.update(other.num_items)
        for namespace, by_label in other.items():
            total.setdefault(namespace, Counter()).update(by_label)
        for part in (self, other):
            for namespace, by_set in part.label_sets.items():
                total.label_sets.setdefault(namespace, Counter()).update(by_set)
        return total


def _counted(items: Iterable[T], times: Times) -> "Counter[T]":
    if times is None:
        return Counter(items)
    found: Counter[T] = Counter()
    for item, number in zip(items, times):
        if number:
            found[item] += number  # type: ignore[assignment]
    return found


def _rounded(counts: "Counter[T]") -> "Counter[T]":
    return Counter({each: max(1, round(n)) for each, n in counts.items() if n})


def sentence_weights(instance: "Instance") -> Iterable[float]:
    """Returns the weight of each sentence of an instance, 1 without end if it has none."""
    field: Any = instance.fields.get(WEIGHTS)
    return repeat(1.0) if field is None else field.tensor.tolist()


def _times(instance: "Instance") -> Times:
    """Returns the weight of the sentence of each token, or of all that there is."""
    if WEIGHTS not in instance.fields:
        return None
    weights, lengths = sentence_weights(instance), instance.fields.get("sentence_lengths")
    if lengths is None:
        return repeat(*weights)
    of_sentences = zip(weights, lengths.tensor.tolist())  # type: ignore[attr-defined]
    return [weight for weight, length in of_sentences for _ in range(length)]


def count_labels(instances: "Iterable[Instance]", weighted: bool = False) -> LabelCounts:
    """Counts the labels in AllenNLP's label fields and in fields with a method `count_labels`.

    If `weighted`, a sentence that weighs 2 counts as if it were there twice, and 0 as if it were not.
    """
    from allennlp.data.fields import LabelField, MultiLabelField, SequenceLabelField

    counts = LabelCounts()
    for instance in instances:
        times = _times(instance) if weighted else None
        for field in instance.fields.values():
            if hasattr(field, "count_labels"):
                field.count_labels(counts, times)
            # AllenNLP's fields count nothing themselves once they are indexed.
            elif isinstance(field, LabelField):
                counts.add(field._label_namespace, [str(field.label)], times)
            elif isinstance(field, MultiLabelField):
                counts.add_sets(field._label_namespace, [map(str, field.labels)], times)
            elif isinstance(field, SequenceLabelField):
                counts.add(field._label_namespace, map(str, field.labels), times)
    return counts


def supply_training_counts(model: "Model", data_loader: "DataLoader") -> None:
    """Counts the labels of the training data, for weight rules and for losses that need counts.

    Our trainer calls this before training. The counts go to every module of the model that has a method
    `use_training_counts(counts)`; if there is none, no data are read. AllenNLP's vocabulary counts
    labels too, but it includes development and test data, and does not save the counts.

    Raises:
        ConfigurationError: If the data loader cannot list its instances.
    """
    modules: List[Any] = [m for m in model.modules() if hasattr(m, "use_training_counts")]
    if not modules:
        return
    try:
        instances = data_loader.iter_instances()
    except NotImplementedError as error:
        raise ConfigurationError(
            "this model needs the counts of the training labels, and so a data loader with "
            f"`iter_instances`, which {type(data_loader).__name__} lacks; use another `data_loader`, or "
            "give explicit weights instead of a rule"
        ) from error
    # Each worker has read only its share of the data.
    of_workers = gather_from_workers(count_labels(instances, weighted=True))
    counts = sum(of_workers, LabelCounts()).rounded()
    for module in modules:
        module.use_training_counts(counts)


def gather_from_workers(value: Any) -> List[Any]:
    """Returns the values of all workers; outside distributed training, only this one's."""
    from allennlp.common.util import is_distributed

    if not is_distributed():
        return [value]
    values: List[Any] = [None] * torch.distributed.get_world_size()
    torch.distributed.all_gather_object(values, value)
    return values


class AwaitedCounts:
    """The training counts of labels that the trainer supplies to a module when training starts.

    Until then, or until trained weights are loaded, the buffer derived from them is negative or NaN.
    """

    def __init__(self, vocab: Vocabulary, label_namespace: str) -> None:
        self.labels = tags_in_order(vocab, label_namespace)
        self.label_namespace = label_namespace
        self._have_come = False

    def look_up(self, counts: LabelCounts) -> List[int]:
        """Returns the count of each label, in the order of their indices."""
        by_label: Counter[str] = counts.get(self.label_namespace, Counter())
        label_counts = [by_label[label] for label in self.labels]
        if not any(label_counts):
            raise ValueError(
                f"the training data have none of the labels {', '.join(self.labels)} of the namespace "
                f"`{self.label_namespace}`; check that they are labelled"
            )
        return label_counts

    def num_items(self, counts: LabelCounts) -> int:
        return counts.num_items[self.label_namespace]

    def have_come(self, buffer: torch.Tensor) -> bool:
        """Returns whether the buffer has been computed from the counts."""
        # Remember a positive answer: on a GPU, each check forces a sync.
        self._have_come = self._have_come or bool((buffer >= 0).all())
        return self._have_come

    def check_have_come(self, buffer: torch.Tensor) -> None:
        """Raises a `RuntimeError` with the remedy unless the counts have been supplied."""
        if not self.have_come(buffer):
            raise RuntimeError(
                "the training labels have not been counted, which `allennlp train` does; in your own "
                "training loop call `tagger.training.supply_training_counts(model, data_loader)`, or "
                "load trained weights"
            )


class CountedLabels(torch.nn.Module):
    """The counts of C labels among N training items, as buffers that are saved with the model.

    Pass either the counts, or `vocab`; then the trainer supplies the counts when training starts.
    """

    label_counts: torch.Tensor
    num_items: torch.Tensor

    def __init__(
        self,
        label_counts: Optional[List[int]] = None,
        num_items: Optional[int] = None,
        vocab: Optional[Vocabulary] = None,
        label_namespace: str = "labels",
    ) -> None:
        super().__init__()
        self._awaited: Optional[AwaitedCounts] = None
        if label_counts is None and num_items is None and vocab is not None:
            self._awaited = AwaitedCounts(vocab, label_namespace)
            label_counts, num_items = [_UNKNOWN] * len(self._awaited.labels), _UNKNOWN
        elif None in (label_counts, num_items) or not all(
            0 <= count <= (num_items or 0) for count in label_counts or ()
        ):
            raise ConfigurationError(
                f"give `label_counts`, one for each label, and `num_items`, at least as many, "
                f"together, or else `vocab`; got {label_counts} and {num_items}"
            )
        # Integers, because a model in half precision would round floats.
        self.register_buffer("label_counts", torch.tensor(label_counts))
        self.register_buffer("num_items", torch.tensor(num_items))

    def use_training_counts(self, counts: LabelCounts) -> None:
        """Stores the counts, unless the constructor was given some."""
        if self._awaited is not None:
            # In place, because `DistributedDataParallel` keeps references to the buffers.
            self.label_counts.copy_(torch.tensor(self._awaited.look_up(counts)))
            self.num_items.fill_(self._awaited.num_items(counts))

    def awaited_namespace(self) -> Optional[str]:
        """The namespace of the labels that the trainer counts; None if the counts were given."""
        return None if self._awaited is None else self._awaited.label_namespace

    def are_known(self) -> bool:
        return self._awaited is None or self._awaited.have_come(self.num_items)

    def check_known(self) -> None:
        """Raises a `RuntimeError` with the remedy unless the counts are known."""
        if self._awaited is not None:
            self._awaited.check_have_come(self.num_items)


def inverse_effective_number(counts: torch.Tensor, beta: float) -> torch.Tensor:
    """Returns `(1 - beta) / (1 - beta**n)`, the inverse of the effective number of `n` items.

    See Cui et al. 2019, equation 2. Counts `n` below 1 are taken as 1. `beta` is in [0, 1); integer
    counts give single precision.
    """
    log_beta = math.log(beta) if beta else -math.inf
    # `expm1`, because 1 - 0.9999^n would lose its digits in single precision.
    return (beta - 1) / torch.expm1(counts.clamp(min=1) * log_beta)
