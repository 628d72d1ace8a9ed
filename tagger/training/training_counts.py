"""Counts the labels of the training data for the parts of a model that depend on them."""

from typing import Any, Iterable, List

import torch.distributed
from allennlp.common.checks import ConfigurationError
from allennlp.common.util import is_distributed
from allennlp.data import DataLoader, Instance
from allennlp.models import Model

from tagger.common.training_counts import LabelCounts, count_labels


def supply_training_counts(model: Model, data_loader: DataLoader) -> None:
    """Counts the labels of the training data, for class weights by rule and losses that need counts.

    The trainer of this package calls it before training. It calls `use_training_counts(counts)` of
    every module of the model that has this method, and reads no data if there is none. AllenNLP's
    vocabulary has counts too, but it counts development and test data as well, and does not save them.

    Args:
        model: The model to train.
        data_loader: Lists the training data.

    Raises:
        ConfigurationError: If the data loader cannot list its instances.
    """
    modules: List[Any] = [m for m in model.modules() if hasattr(m, "use_training_counts")]
    if modules:
        counts = _sum_over_workers(count_labels(_instances(data_loader)))
        for module in modules:
            module.use_training_counts(counts)


def _instances(data_loader: DataLoader) -> Iterable[Instance]:
    try:
        return data_loader.iter_instances()
    except NotImplementedError as error:
        raise ConfigurationError(
            "this model needs the counts of the training labels, and so a data loader with "
            f"`iter_instances`, which {type(data_loader).__name__} lacks; use another `data_loader`, or "
            "give the weights themselves instead of a rule"
        ) from error


def _sum_over_workers(counts: LabelCounts) -> LabelCounts:
    """Adds up the counts of all workers; each has read its share of the data."""
    if not is_distributed():
        return counts
    shares: List[Any] = [None] * torch.distributed.get_world_size()
    torch.distributed.all_gather_object(shares, counts)
    return sum(shares, LabelCounts())
