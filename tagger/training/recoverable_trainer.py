"""AllenNLP's trainer with exact recovery and helpful errors."""

import functools
import inspect
import json
import random
from pathlib import Path
from typing import Any, Callable, Dict, Mapping, Optional, Tuple

import numpy
import torch
from allennlp.common import Lazy
from allennlp.common.checks import ConfigurationError
from allennlp.data import TensorDict
from allennlp.training import GradientDescentTrainer
from allennlp.training.callbacks import TrainerCallback
from allennlp.training.metric_tracker import MetricTracker
from allennlp.training.trainer import Trainer

from tagger.common.console import activity
from tagger.common.did_you_mean import did_you_mean
from tagger.common.training_counts import supply_training_counts
from tagger.models.measured_model import MeasuredModel
from tagger.training.callbacks import EpochLineCallback, EpochMetricsCallback
from tagger.training.config_checks import check_trainer
from tagger.training.run_folder import remove_files
from tagger.training.whole_checkpointer import WholeCheckpointer, save_whole

#: The most metrics that an error lists.
_MOST_LISTED = 12


@Trainer.register("recoverable", constructor="from_partial_objects")
@Trainer.register("gradient_descent", constructor="from_partial_objects", exist_ok=True)
class RecoverableTrainer(GradientDescentTrainer):
    """AllenNLP's trainer, except that a killed and recovered run ends like an unbroken one.

    AllenNLP saves no random states, so dropout differs after `--recover`; it writes weights in place, so
    a kill can leave half a file; and it assumes that `best.th` matches the checkpoint. Here,

    - checkpoints include the random states, and training resumes with them;
    - files are written atomically;
    - `best.th` is restored from the checkpoint if that was the best;
    - a run that was killed after its last epoch, including by early stopping, does not train further,
      and its `metrics.json` has the metrics of that epoch, including those of callbacks.

    In distributed training, only the primary's random states are saved. If a run resumes in the middle
    of an epoch, that epoch's `training_loss` covers only the remaining batches.

    The trainer also counts the training labels for weight rules, rejects unknown keys and an unknown
    `validation_metric`, logs one line per epoch, and reports the likely cause of a NaN loss. The
    arguments are AllenNLP's.

    Args:
        no_grad: Regular expressions; parameters with matching names are not trained.
        ddp_accelerator: How the processes of distributed training cooperate.
    """

    _serialization_dir: str

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        arguments = _bound(super().__init__, args, kwargs)
        self._metric_tracker = NamingMetricTracker(
            arguments.get("validation_metric", "-loss"), arguments.get("patience")
        )
        if arguments.get("enable_default_callbacks", True):
            self._callbacks.append(EpochLineCallback(self._serialization_dir))
        self._random_states = RandomStatesCallback(self._serialization_dir, self._states_to_save)
        self._callbacks.append(self._random_states)
        # Last, because checkpoints of earlier versions have no state for it.
        self._callbacks.append(EpochMetricsCallback(self._serialization_dir))
        self._states_at_start: Dict[str, Any] = {}
        #: The confusions of the last validation, named as in `TagMetrics.get_confusions`.
        self.validation_confusions: Dict[str, int] = {}

    # FromParams reads the arguments of the wrapped method.
    @classmethod
    @functools.wraps(GradientDescentTrainer.from_partial_objects.__func__)  # type: ignore[attr-defined]
    def from_partial_objects(  # type: ignore[override]
        cls, *args: Any, **kwargs: Any
    ) -> Trainer:
        construct = super().from_partial_objects
        _check_arguments(_bound(construct, args, kwargs), construct)
        if "checkpointer" not in _bound(construct, args, kwargs):
            kwargs["checkpointer"] = Lazy(WholeCheckpointer)
        return construct(*args, **kwargs)

    def _states_to_save(self) -> Dict[str, Any]:
        now = random_states()
        # In the middle of an epoch, the data keep the order from its start.
        is_within = self._batches_in_epoch_completed > 0
        return {"at_start": self._states_at_start or now if is_within else now, "now": now}

    def _maybe_restore_checkpoint(self) -> None:
        if self._checkpointer is None:
            return
        remove_files(self._serialization_dir)
        try:
            super()._maybe_restore_checkpoint()
        except (AttributeError, KeyError, RuntimeError, TypeError) as error:
            raise ConfigurationError(
                f"the newest checkpoint in {self._serialization_dir} does not fit this run "
                f"({error!r}); remove the files of this checkpoint to resume from an earlier state"
            ) from error
        is_at_end = (
            self._start_after_epochs_completed > 0
            and self._start_after_batches_in_epoch_completed == 0
        )
        if self._metric_tracker.is_best_so_far() and is_at_end and self._primary:
            self._best_model_filename = str(Path(self._serialization_dir, "best.th"))
            self._save_average(self._best_model_filename)

    def _save_average(self, path: str) -> None:
        """Saves the weights or, if there is one, their moving average, as training does."""
        if self._moving_average is None:
            self._save_model_state(path)
            return
        self._moving_average.assign_average_value()
        try:
            self._save_model_state(path)
        finally:
            self._moving_average.restore()

    def _save_model_state(self, path: str) -> None:
        model = self.model if self._ddp_wrapped_model is None else self._ddp_wrapped_model
        save_whole(model.state_dict(), path)

    def get_best_weights_path(self) -> Optional[str]:
        # AllenNLP sets the name before it writes the file, and may be interrupted in between.
        path = super().get_best_weights_path()
        return path if path is not None and Path(path).exists() else None

    def train(self) -> Dict[str, Any]:
        supply_training_counts(self.model, self.data_loader)
        if not isinstance(self.model, MeasuredModel):
            return super().train()
        self.model.is_in_training = True
        try:
            return super().train()
        finally:
            self.model.is_in_training = False

    def _try_train(self) -> Tuple[Dict[str, Any], int]:
        num_epochs = self._num_epochs
        if self._metric_tracker.should_stop_early():
            # The checkpoint's epoch ran out of patience, which AllenNLP does not remember.
            self._num_epochs = self._start_after_epochs_completed
        try:
            metrics, epoch = super()._try_train()
        finally:
            self._num_epochs = num_epochs
        if "epoch" not in metrics and self._epochs_completed > 0:
            metrics = {**_saved_metrics(self._serialization_dir, epoch), **metrics}
        return metrics, epoch

    def _train_epoch(self, epoch: int) -> Dict[str, float]:
        saved = self._random_states.loaded
        if saved and self._epochs_completed == self._start_after_epochs_completed:
            set_random_states(saved["at_start"])
            if self._start_after_batches_in_epoch_completed == 0:
                self._random_states.loaded = None
        self._states_at_start = random_states()
        with activity(f"epoch {epoch + 1} of {self._num_epochs}, training"):
            try:
                metrics = super()._train_epoch(epoch)
            except ValueError as error:
                if str(error) != "nan loss encountered":
                    raise
                raise ValueError(self._reason_of_nan(epoch)) from error
        self._use_loaded_states()  # if the checkpoint was at the end of the epoch
        return metrics

    def _validation_loss(self, epoch: int) -> Tuple[float, Optional[float], int]:
        with activity(f"epoch {epoch + 1} of {self._num_epochs}, validation"):
            losses = super()._validation_loss(epoch)
        if isinstance(self.model, MeasuredModel):
            self.validation_confusions = self.model.get_confusions()
        return losses

    def batch_outputs(self, batch: TensorDict, for_training: bool) -> Dict[str, torch.Tensor]:
        if for_training:
            self._use_loaded_states()
        return super().batch_outputs(batch, for_training)

    def _use_loaded_states(self) -> None:
        """Restores a checkpoint's random states once training reaches the point where it was saved."""
        saved = self._random_states.loaded
        if saved and self._epochs_completed == self._start_after_epochs_completed:
            self._random_states.loaded = None
            set_random_states(saved["now"])

    def _reason_of_nan(self, epoch: int) -> str:
        """Says in one sentence why a batch's loss is probably NaN."""
        what = f"the loss of a batch of epoch {epoch + 1} is not a number (NaN)"
        broken = {
            name: parameter.requires_grad
            for name, parameter in self.model.named_parameters()
            if not bool(torch.isfinite(parameter).all())
        }
        for name in (name for name, is_trained in broken.items() if not is_trained):
            return f"{what}: `{name}`, which is not trained, contains NaN; correct its file"
        for name in broken:
            return (
                f"{what}: the steps were too large for `{name}`, which is no longer finite; lower the "
                f"learning rate, or set `trainer.grad_norm`, to 5 for example"
            )
        return (
            f"{what}, though all weights are finite: look for NaN in the features of the data, such as "
            f"word vectors, and for scores that are too large; lower the learning rate if they are"
        )


class NamingMetricTracker(MetricTracker):
    """AllenNLP's tracker, with an error for unknown metrics that lists the known ones."""

    def combined_score(self, metrics: Dict[str, float]) -> float:
        unknown = [name for _, name in self.tracked_metrics if name not in metrics]
        if unknown:
            # Metrics of single labels come last.
            known = sorted(metrics, key=lambda each: ("overall" not in each, each.count("-"), each))
            more = ", ..." if len(known) > _MOST_LISTED else ""
            raise ConfigurationError(
                f"`validation_metric` names `{unknown[0]}`, which is no metric of this model "
                f"({', '.join(known[:_MOST_LISTED])}{more}){did_you_mean(unknown[0], known)}"
            )
        return super().combined_score(metrics)


def _bound(function: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Dict[str, Any]:
    """Returns a call's arguments by name, including those that the function does not declare."""
    bound = inspect.signature(function).bind_partial(*args, **kwargs).arguments
    unknown = bound.pop("kwargs", {})
    return {**bound, **unknown}


def _check_arguments(arguments: Mapping[str, Any], construct: Any) -> None:
    """Rejects keys of a config's `trainer` that AllenNLP would ignore, and numbers out of range."""
    known = [name for name in inspect.signature(construct).parameters if name != "kwargs"]
    # AllenNLP still accepts the old name of `run_confidence_checks`, and warns about it itself.
    for name in arguments:
        if name not in known and name != "run_sanity_checks":
            raise ConfigurationError(f"`trainer` has no key `{name}`{did_you_mean(name, known)}")
    check_trainer(arguments)


def _saved_metrics(folder: str, epoch: int) -> Dict[str, Any]:
    """Returns the metrics that an epoch wrote; empty if it was killed before or the file is gone."""
    try:
        text = Path(folder, f"metrics_epoch_{epoch}.json").read_text(encoding="utf-8")
        return dict(json.loads(text))
    except (OSError, ValueError):
        return {}


def random_states() -> Dict[str, Any]:
    """Returns the states of all generators, as types that `torch.load` reads without running code."""
    state: Any = numpy.random.get_state()
    name, keys, *rest = state
    return {
        "python": random.getstate(),
        "numpy": (name, torch.from_numpy(keys.astype("int64")), *rest),
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
    }


def set_random_states(states: Dict[str, Any]) -> None:
    """Restores the states of all generators from `random_states`."""
    version, numbers, gauss = states["python"]
    random.setstate((version, tuple(numbers), gauss))
    name, keys, *rest = states["numpy"]
    numpy.random.set_state((name, keys.numpy().astype("uint32"), *rest))
    torch.set_rng_state(states["torch"])
    if len(states["cuda"]) == torch.cuda.device_count():
        torch.cuda.set_rng_state_all(states["cuda"])


class RandomStatesCallback(TrainerCallback):
    """Saves random states in a trainer's checkpoints; `loaded` holds those to resume from."""

    def __init__(self, serialization_dir: str, get_states: Callable[[], Dict[str, Any]]) -> None:
        super().__init__(serialization_dir)
        self._get_states = get_states
        self.loaded: Optional[Dict[str, Any]] = None

    def state_dict(self) -> Dict[str, Any]:
        return self._get_states()

    def load_state_dict(self, state_dict: Dict[str, Any]) -> None:
        self.loaded = state_dict
