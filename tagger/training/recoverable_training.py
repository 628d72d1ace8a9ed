"""AllenNLP's training from a config; a resumed run keeps its data and its vocabulary."""

import functools
import inspect
import os
import shutil
from pathlib import Path
from typing import Any, Union

from allennlp.commands.train import TrainModel
from allennlp.common import Lazy, Params
from allennlp.data import Vocabulary
from allennlp.models.archival import CONFIG_NAME

from tagger.training.run_inputs import record_inputs


@TrainModel.register("recoverable", constructor="from_partial_objects")
@TrainModel.register("default", constructor="from_partial_objects", exist_ok=True)
class RecoverableTraining(TrainModel):
    """AllenNLP's, except that a run records what it reads, and has one vocabulary.

    AllenNLP makes the vocabulary again when a run is resumed, so that weights and words may differ.
    """

    # FromParams reads the arguments of the wrapped method.
    @classmethod
    @functools.wraps(TrainModel.from_partial_objects.__func__)  # type: ignore[attr-defined]
    def from_partial_objects(cls, *args: Any, **kwargs: Any) -> TrainModel:  # type: ignore[override]
        construct = super().from_partial_objects
        arguments = inspect.signature(construct).bind(*args, **kwargs)
        arguments.apply_defaults()
        given = arguments.arguments
        folder = Path(given["serialization_dir"])
        if given["local_rank"] == 0 and (folder / CONFIG_NAME).is_file():
            record_inputs(Params.from_file(folder / CONFIG_NAME).as_dict(quiet=True), folder)
        # A checkpoint comes after the vocabulary, so that it is whole.
        if any(folder.glob("training_state_*.th")):
            own = _own_vocabulary(given["vocabulary"], folder / "vocabulary")
            given["vocabulary"] = Lazy(own)
        return construct(*arguments.args, **arguments.kwargs)


def _own_vocabulary(configured: "Lazy[Vocabulary]", directory: Path) -> Any:
    """Returns what reads a run's vocabulary, with the padding that its config names."""
    names = {name: configured._params.get(name, None) for name in ("padding_token", "oov_token")}
    return lambda **_: KeptVocabulary.from_files(directory, **names)


class KeptVocabulary(Vocabulary):
    """A vocabulary of a resumed run; a kill while it is written again leaves no half of it."""

    def save_to_files(self, directory: Union[str, "os.PathLike[str]"]) -> None:
        path = Path(directory)
        new = path.with_name(f".{path.name}.unfinished")
        shutil.rmtree(new, ignore_errors=True)
        super().save_to_files(str(new))
        path.mkdir(exist_ok=True)
        for file in new.glob("[!.]*"):
            file.replace(path / file.name)
        shutil.rmtree(new)
