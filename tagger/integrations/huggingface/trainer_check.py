"""Checks that `transformers.Trainer` leaves the loss of a CRF alone."""

from typing import Any

from transformers.trainer import DEFAULT_CALLBACKS
from transformers.trainer_callback import TrainerCallback

from tagger.common.from_allennlp import ConfigurationError
from tagger.integrations.huggingface.crf_for_token_classification import crf_model_in


class LabelSmoothingCheck(TrainerCallback):
    """Refuses `label_smoothing_factor`, which would make the trainer bypass the model's own loss."""

    def on_init_end(
        self, args: Any, state: Any, control: Any, model: Any = None, **kwargs: Any
    ) -> None:
        """Raises an error if the arguments ask for label smoothing and the model has a CRF."""
        if args.label_smoothing_factor and model is not None and crf_model_in(model) is not None:
            raise ConfigurationError(
                f"`label_smoothing_factor` must be 0 for a CRF, because it would replace the CRF's loss "
                f"by one of single word pieces; got {args.label_smoothing_factor}; leave it out"
            )


DEFAULT_CALLBACKS.append(LabelSmoothingCheck)
