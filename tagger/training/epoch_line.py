"""One line on the console for each epoch."""

import logging
from typing import Any, Dict

from allennlp.training import GradientDescentTrainer
from allennlp.training.callbacks import TrainerCallback

logger = logging.getLogger(__name__)


class EpochLineCallback(TrainerCallback):
    """Logs how each epoch went, in one line."""

    def on_epoch(
        self,
        trainer: GradientDescentTrainer,
        metrics: Dict[str, Any],
        epoch: int,
        is_primary: bool = True,
        **kwargs: Any,
    ) -> None:
        if is_primary:
            logger.info(epoch_line(metrics, epoch, trainer._num_epochs))


def epoch_line(metrics: Dict[str, Any], epoch: int, num_epochs: int) -> str:
    """Says in one line how an epoch went.

    Args:
        metrics: As AllenNLP's trainer gives them to callbacks.
        epoch: Counts from 0.
        num_epochs: How many there are at most.

    Example:
        >>> epoch_line({"training_loss": 2.5, "validation_loss": 1.25, "best_epoch": 0}, 0, 50)
        'epoch 1 of 50: training loss 2.500, validation loss 1.250, the best so far'
    """
    parts = []
    for kind in ("training", "validation"):
        names = ["loss"]
        if kind == "validation":
            names += ["accuracy", "f1-measure-overall", "f1-measure-macro"]
        for name in names:
            value = metrics.get(f"{kind}_{name}")
            if isinstance(value, (int, float)):
                parts.append(
                    f"{kind} {name} {value:.3f}" if name == "loss" else f"{name} {value:.4f}"
                )
    if metrics.get("best_epoch") == epoch:
        parts.append("the best so far")
    return f"epoch {epoch + 1} of {num_epochs}: {', '.join(parts)}"
