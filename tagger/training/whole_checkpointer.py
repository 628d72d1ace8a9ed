"""Checkpoints of which a kill never leaves half a file."""

import os
from pathlib import Path
from typing import Any, Set, Tuple

import torch
from allennlp.training import Checkpointer
from allennlp.training.trainer import Trainer

from tagger.common.files import write_atomically


@Checkpointer.register("whole")
@Checkpointer.register("default", exist_ok=True)
class WholeCheckpointer(Checkpointer):
    """AllenNLP's checkpointer, whose files appear whole or not at all.

    A checkpoint counts when both of its files are there. The arguments are AllenNLP's.
    """

    def save_checkpoint(self, trainer: Trainer) -> None:
        """Saves the state of training, and removes checkpoints that are too many or too old."""
        state = trainer.get_checkpoint_state()
        if state is not None:
            point = (
                state.trainer_state["epochs_completed"],
                state.trainer_state["batches_in_epoch_completed"],
            )
            save_whole(state.model_state, self._model_state_path(*point), overwrite=False)
            save_whole(state.trainer_state, self._training_state_path(*point), overwrite=False)
        # It leaves files that are there as they are.
        super().save_checkpoint(trainer)

    def _find_all_checkpoints(self) -> Set[Tuple[int, int]]:
        found = super()._find_all_checkpoints()
        return {each for each in found if os.path.isfile(self._training_state_path(*each))}


def save_whole(value: Any, path: str, overwrite: bool = True) -> None:
    """Does what `torch.save` does, but a reader of the file sees all or nothing.

    Args:
        value: What to save.
        path: The file.
        overwrite: Whether a file that is there is replaced; otherwise it stays.
    """
    if overwrite or not os.path.isfile(path):
        with write_atomically(Path(path), overwrite=True) as unfinished:
            torch.save(value, unfinished)
