"""Checkpoints that are written atomically, so that a kill never leaves half a file."""

import hashlib
from pathlib import Path
from typing import Any, Optional, Set, Tuple

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.training import Checkpointer
from allennlp.training.checkpointer import TrainerCheckpoint
from allennlp.training.trainer import Trainer

from tagger.common.files import sha256_of_file, write_atomically


@Checkpointer.register("whole")
@Checkpointer.register("default", exist_ok=True)
class WholeCheckpointer(Checkpointer):
    """AllenNLP's checkpointer, but files are written atomically.

    A checkpoint counts only if both of its files exist. The arguments are AllenNLP's.
    """

    def save_checkpoint(self, trainer: Trainer) -> None:
        """Saves the state of training and removes surplus or old checkpoints."""
        state = trainer.get_checkpoint_state()
        if state is not None:
            point = (
                state.trainer_state["epochs_completed"],
                state.trainer_state["batches_in_epoch_completed"],
            )
            state.trainer_state["vocabulary"] = self._digest_of_vocabulary()
            save_whole(state.model_state, self._model_state_path(*point), overwrite=False)
            save_whole(state.trainer_state, self._training_state_path(*point), overwrite=False)
        # AllenNLP leaves existing files unchanged.
        super().save_checkpoint(trainer)

    def load_checkpoint(self) -> Optional[TrainerCheckpoint]:
        """Returns the newest checkpoint, or None if there is none.

        Rejects a damaged one, and one of another vocabulary, in which words have other numbers.
        """
        try:
            found = super().load_checkpoint()
        # Zip files and pickles can raise many kinds of errors.
        except Exception as error:
            paths = " or ".join(self.find_latest_checkpoint() or ())
            raise ConfigurationError(
                f"{paths} is damaged ({type(error).__name__}); remove both to resume from an earlier "
                f"checkpoint, or from the start if there is none"
            ) from error
        now = self._digest_of_vocabulary()
        if found is not None and found.trainer_state.get("vocabulary", now) != now:
            raise ConfigurationError(
                f"{self._serialization_dir}/vocabulary has changed since the newest checkpoint; restore "
                "it to resume the run, or train into another folder"
            )
        return found

    def _digest_of_vocabulary(self) -> str:
        digest = hashlib.sha256()
        for path in sorted(Path(self._serialization_dir, "vocabulary").glob("[!.]*")):
            digest.update(f"{path.name} {sha256_of_file(path)}\n".encode())
        return digest.hexdigest()

    def _find_all_checkpoints(self) -> Set[Tuple[int, int]]:
        found = super()._find_all_checkpoints()
        return {each for each in found if Path(self._training_state_path(*each)).is_file()}


def save_whole(value: Any, path: str, overwrite: bool = True) -> None:
    """Like `torch.save`, but atomic, and equal values give equal bytes."""
    if overwrite or not Path(path).is_file():
        with (
            write_atomically(Path(path), overwrite=True) as unfinished,
            unfinished.open("wb") as file,
        ):
            try:
                # Given a path, PyTorch would write its name, here a random one, into the file.
                torch.save(value, file)
            except RuntimeError as error:
                # PyTorch's writer fails again on closing, which hides an interrupt or a full disk.
                if error.__context__ is None:
                    raise
                first = error.__context__
                if isinstance(first, OSError) and first.filename is None:
                    first.filename = path
                raise first from None
