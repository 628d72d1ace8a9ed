"""Logs how often the clipping of gradients acts."""

import logging
from statistics import median
from typing import Any, Dict, List, Optional

from allennlp.data.data_loaders import TensorDict
from allennlp.training import GradientDescentTrainer
from allennlp.training.callbacks import TrainerCallback

logger = logging.getLogger(__name__)


@TrainerCallback.register("log_clipping")
class LogClippingCallback(TrainerCallback):
    """Logs for each epoch in how many of its steps the trainer's `grad_norm` scaled gradients down.

    A training whose gradients are clipped at most steps has no learning rate of its own any more. The
    share, a number from 0 to 1, is also the metric `training_share-clipped`. Without a `grad_norm` there
    is neither.
    """

    def __init__(self, serialization_dir: str) -> None:
        super().__init__(serialization_dir)
        self._norms: List[float] = []

    def on_batch(
        self,
        trainer: GradientDescentTrainer,
        batch_inputs: List[TensorDict],
        batch_outputs: List[Dict[str, Any]],
        batch_metrics: Dict[str, Any],
        epoch: int,
        batch_number: int,
        is_training: bool,
        is_primary: bool = True,
        batch_grad_norm: Optional[float] = None,
        **kwargs: Any,
    ) -> None:
        if is_training and batch_grad_norm is not None:
            self._norms.append(batch_grad_norm)

    def on_epoch(
        self,
        trainer: GradientDescentTrainer,
        metrics: Dict[str, Any],
        epoch: int,
        is_primary: bool = True,
        **kwargs: Any,
    ) -> None:
        limit, norms = trainer._grad_norm, self._norms
        self._norms = []
        # `True` asks for the norms alone.
        if isinstance(limit, bool) or not norms:
            return
        share = sum(norm > limit for norm in norms) / len(norms)
        metrics["training_share-clipped"] = share
        if is_primary:
            logger.info(
                "epoch %d: `grad_norm` %g clipped %.1f %% of %d steps; the median norm is %.3g",
                epoch + 1,
                limit,
                100 * share,
                len(norms),
                median(norms),
            )
