"""A run that is killed at any moment and recovered ends as the unbroken one.

AllenNLP saves no random states, so that dropout differs after `--recover`; writes checkpoints, weights
and archives in place, so that a kill can leave half a file; trusts `best.th` to be that of the
checkpoint; and trains a finished run anew, over its `metrics.json`. With this mend

- a checkpoint holds the random states, and training goes on with them;
- files appear whole or not at all;
- `best.th` is written again from a checkpoint that was the best;
- a run that was killed after its last epoch, be it for lack of patience, trains no more, and its
  `metrics.json` has the metrics of that epoch;
- a run with a whole `metrics.json` is finished, and stays as it is; an archive that is older, such as
  that of an interrupt, is made again.

Under `distributed` only the primary's random states are saved. Where a run goes on in the middle of an
epoch, that epoch's `training_loss` counts the batches from there on.
"""

import functools
import glob
import json
import logging
import os
import random
from contextlib import contextmanager
from typing import Any, ContextManager, Dict, Iterator, Optional, Set, Tuple

logger = logging.getLogger(__name__)


def random_states() -> Dict[str, Any]:
    """The states of all generators, in types that `torch.load` takes without running code."""
    import numpy
    import torch

    state: Any = numpy.random.get_state()
    name, keys, *rest = state
    return {
        "python": random.getstate(),
        "numpy": (name, torch.from_numpy(keys.astype("int64")), *rest),
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
    }


def set_random_states(states: Dict[str, Any]) -> None:
    """Sets the states of all generators to what `random_states` gave."""
    import numpy
    import torch

    version, numbers, gauss = states["python"]
    random.setstate((version, tuple(numbers), gauss))
    name, keys, *rest = states["numpy"]
    numpy.random.set_state((name, keys.numpy().astype("uint32"), *rest))
    torch.set_rng_state(states["torch"])
    if len(states["cuda"]) == torch.cuda.device_count():
        torch.cuda.set_rng_state_all(states["cuda"])


def is_finished(folder: str) -> bool:
    """Whether training in a folder has come to its end, and written its metrics."""
    try:
        with open(os.path.join(folder, "metrics.json"), encoding="utf-8") as file:
            json.load(file)
    except (OSError, ValueError):
        return False
    return True


class _TorchThatSavesWhole:
    """The module `torch`, whose `save` replaces a file only when the new one is whole."""

    def __getattr__(self, name: str) -> Any:
        import torch

        return getattr(torch, name)

    @staticmethod
    def save(value: Any, path: Any, **kwargs: Any) -> None:
        import torch

        _replace_when_whole(str(path), lambda unfinished: torch.save(value, unfinished, **kwargs))


def _replace_when_whole(path: str, write: Any) -> None:
    """Calls `write` with a name beside `path`, and moves there what it has written."""
    unfinished = f"{path}.{os.getpid()}.unfinished"
    try:
        write(unfinished)
        os.replace(unfinished, path)
    finally:
        if os.path.exists(unfinished):
            os.remove(unfinished)


def _remove_unfinished(folder: str) -> None:
    """Removes what a killed run has left of files that it was writing."""
    for path in glob.iglob(os.path.join(glob.escape(folder), "*.unfinished")):
        os.remove(path)


@contextmanager
def _with_whole_checkpoints(checkpointer: Any) -> Iterator[None]:
    """Mends `allennlp.training.checkpointer`."""
    yield
    checkpointer.torch = _TorchThatSavesWhole()
    find_all = checkpointer.Checkpointer._find_all_checkpoints

    @functools.wraps(find_all)
    def find_whole(self: Any) -> Set[Tuple[int, int]]:
        return {each for each in find_all(self) if os.path.isfile(self._training_state_path(*each))}

    checkpointer.Checkpointer._find_all_checkpoints = find_whole


@contextmanager
def _with_exact_recovery(trainer_module: Any) -> Iterator[None]:
    """Mends `allennlp.training.gradient_descent_trainer`."""
    yield
    trainer_class = trainer_module.GradientDescentTrainer
    get_state = trainer_class.get_checkpoint_state
    restore = trainer_class._maybe_restore_checkpoint
    try_train = trainer_class._try_train
    train_epoch = trainer_class._train_epoch
    batch_outputs = trainer_class.batch_outputs

    @functools.wraps(get_state)
    def get_state_with_randomness(self: Any) -> Any:
        state = get_state(self)
        if state is not None:
            # In the middle of an epoch the order of the data is that of its start.
            is_within = self._batches_in_epoch_completed > 0
            states = random_states()
            start = getattr(self, "_random_states_at_start", states) if is_within else states
            state.trainer_state["random_states"] = {"at_start": start, "now": states}
        return state

    @functools.wraps(restore)
    def restore_with_randomness(self: Any) -> None:
        self._saved_random_states = None
        checkpointer = self._checkpointer
        if checkpointer is None:
            return
        _remove_unfinished(self._serialization_dir)
        load = checkpointer.load_checkpoint
        loaded = []

        # The original keeps nothing of a state that it does not know.
        def load_and_keep() -> Any:
            loaded.append(load())
            return loaded[0]

        checkpointer.load_checkpoint = load_and_keep
        try:
            restore(self)
        finally:
            del checkpointer.load_checkpoint
        if not loaded or loaded[0] is None:
            return
        self._saved_random_states = loaded[0].trainer_state.get("random_states")
        is_at_end = self._start_after_batches_in_epoch_completed == 0
        if self._metric_tracker.is_best_so_far() and is_at_end and self._primary:
            self._best_model_filename = os.path.join(self._serialization_dir, "best.th")
            _save_average(self, self._best_model_filename)

    @functools.wraps(try_train)
    def train_the_rest(self: Any) -> Tuple[Dict[str, Any], int]:
        num_epochs = self._num_epochs
        if self._metric_tracker.should_stop_early():
            # The checkpoint is of the epoch that ran out of patience, which the original forgets.
            self._num_epochs = self._start_after_epochs_completed
        try:
            metrics, epoch = try_train(self)
        finally:
            self._num_epochs = num_epochs
        if "epoch" not in metrics and self._epochs_completed > 0:
            metrics = {**_saved_metrics(self._serialization_dir, epoch), **metrics}
        return metrics, epoch

    @functools.wraps(train_epoch)
    def train_epoch_with_randomness(self: Any, epoch: int) -> Dict[str, float]:
        saved = getattr(self, "_saved_random_states", None)
        if saved and self._epochs_completed == self._start_after_epochs_completed:
            set_random_states(saved["at_start"])
            if self._start_after_batches_in_epoch_completed == 0:
                self._saved_random_states = None
        self._random_states_at_start = random_states()
        metrics: Dict[str, float] = train_epoch(self, epoch)
        _use_saved_states(self)  # where all batches of the epoch were done already
        return metrics

    @functools.wraps(batch_outputs)
    def batch_outputs_with_randomness(self: Any, batch: Any, for_training: bool) -> Any:
        if for_training:
            _use_saved_states(self)
        return batch_outputs(self, batch, for_training)

    def save_model_state(self: Any, path: str) -> None:
        model = self.model if self._ddp_wrapped_model is None else self._ddp_wrapped_model
        _TorchThatSavesWhole.save(model.state_dict(), path)

    trainer_class.get_checkpoint_state = get_state_with_randomness
    trainer_class._maybe_restore_checkpoint = restore_with_randomness
    trainer_class._try_train = train_the_rest
    trainer_class._train_epoch = train_epoch_with_randomness
    trainer_class.batch_outputs = batch_outputs_with_randomness
    trainer_class._save_model_state = save_model_state


def _saved_metrics(folder: str, epoch: int) -> Dict[str, Any]:
    """What an epoch has written; nothing if it was killed before, or its file is gone."""
    try:
        with open(os.path.join(folder, f"metrics_epoch_{epoch}.json"), encoding="utf-8") as file:
            metrics: Dict[str, Any] = json.load(file)
    except (OSError, ValueError):
        return {}
    return metrics


def _use_saved_states(trainer: Any) -> None:
    """Goes on with the random states of a checkpoint, if training has come to where it was saved."""
    saved = getattr(trainer, "_saved_random_states", None)
    if saved and trainer._epochs_completed == trainer._start_after_epochs_completed:
        trainer._saved_random_states = None
        set_random_states(saved["now"])


def _save_average(trainer: Any, path: str) -> None:
    """Saves the weights, or their moving average where there is one, as training does."""
    if trainer._moving_average is None:
        trainer._save_model_state(path)
        return
    trainer._moving_average.assign_average_value()
    try:
        trainer._save_model_state(path)
    finally:
        trainer._moving_average.restore()


@contextmanager
def _with_finished_runs_kept(train: Any) -> Iterator[None]:
    """Mends `allennlp.commands.train`."""
    yield
    train_model = train.train_model

    @functools.wraps(train_model)
    def train_unless_finished(
        params: Any, serialization_dir: Any, recover: bool = False, *args: Any, **kwargs: Any
    ) -> Optional[Any]:
        folder = os.fspath(serialization_dir)
        if not (recover and is_finished(folder)):
            return train_model(params, serialization_dir, recover, *args, **kwargs)
        from allennlp.models.archival import archive_model, load_archive
        from allennlp.training.util import create_serialization_dir

        # It raises an error for another config.
        create_serialization_dir(params, folder, recover=True, force=False)
        logger.info("%s is finished: there is nothing to recover", folder)
        _remove_unfinished(folder)
        archive = os.path.join(folder, "model.tar.gz")
        if _is_missing_or_old(archive):
            archive_model(folder, include_in_archive=params.get("include_in_archive"))
        if kwargs.get("return_model") is False:
            return None
        return load_archive(archive).model

    train.train_model = train_unless_finished


def _is_missing_or_old(archive: str) -> bool:
    """Whether a finished run has no archive, or that of an interrupt before its end."""
    if not os.path.exists(archive):
        return True
    folder = os.path.dirname(archive)
    # Without the best weights there is none to make.
    return os.path.exists(os.path.join(folder, "best.th")) and (
        os.stat(archive).st_mtime_ns < os.stat(os.path.join(folder, "metrics.json")).st_mtime_ns
    )


@contextmanager
def _with_whole_archives(archival: Any) -> Iterator[None]:
    """Mends `allennlp.models.archival`."""
    yield
    archive_model = archival.archive_model

    @functools.wraps(archive_model)
    def archive_whole(
        serialization_dir: Any,
        weights: Any = "best.th",
        archive_path: Any = None,
        include_in_archive: Any = None,
    ) -> str:
        path = os.fspath(serialization_dir if archive_path is None else archive_path)
        if os.path.isdir(path):
            path = os.path.join(path, "model.tar.gz")
        _replace_when_whole(
            path,
            lambda unfinished: archive_model(
                serialization_dir, weights, unfinished, include_in_archive
            ),
        )
        return path

    archival.archive_model = archive_whole


_MENDS = {
    "allennlp.commands.train": _with_finished_runs_kept,
    "allennlp.models.archival": _with_whole_archives,
    "allennlp.training.checkpointer": _with_whole_checkpoints,
    "allennlp.training.gradient_descent_trainer": _with_exact_recovery,
}
MODULES = tuple(_MENDS)


def mended(module: Any) -> ContextManager[None]:
    """Mends one of `MODULES`."""
    return _MENDS[module.__name__](module)
