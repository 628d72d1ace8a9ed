"""Tells the model how often each label occurs in the training data."""

from typing import Any, Iterable, List

import torch.distributed
from allennlp.common.checks import ConfigurationError
from allennlp.common.util import is_distributed
from allennlp.data import DataLoader, Instance
from allennlp.training import GradientDescentTrainer
from allennlp.training.callbacks import TrainerCallback

from tagger.common.training_counts import LabelCounts, count_labels


@TrainerCallback.register("training_counts")
class TrainingCountsCallback(TrainerCallback):
    """Counts the labels of the training data before training starts, for class weights by rule.

    The callback calls `use_training_counts(counts)` of every module of the model that has this method.
    The counts are `LabelCounts`: counts by namespace and label, and numbers of items. AllenNLP's
    vocabulary has counts too, but it counts development and test data as well, and does not save them.

    Raises:
        ConfigurationError: When training starts, if the data loader cannot list its instances.
    """

    def on_start(
        self, trainer: GradientDescentTrainer, is_primary: bool = True, **kwargs: Any
    ) -> None:
        super().on_start(trainer, is_primary, **kwargs)
        modules = [m for m in trainer.model.modules() if hasattr(m, "use_training_counts")]
        if modules:
            counts = _sum_over_workers(count_labels(_instances(trainer.data_loader)))
            for module in modules:
                module.use_training_counts(counts)  # type: ignore[operator]


def _instances(data_loader: DataLoader) -> Iterable[Instance]:
    try:
        return data_loader.iter_instances()
    except NotImplementedError as error:
        raise ConfigurationError(
            f"`training_counts` needs a data loader with `iter_instances`, which "
            f"{type(data_loader).__name__} lacks; use another `data_loader`, or give the weights "
            f"themselves instead of a rule"
        ) from error


def _sum_over_workers(counts: LabelCounts) -> LabelCounts:
    """Adds up the counts of all workers; each has read its share of the data."""
    if not is_distributed():
        return counts
    shares: List[Any] = [None] * torch.distributed.get_world_size()
    torch.distributed.all_gather_object(shares, counts)
    return sum(shares, LabelCounts())
