"""The new tagger as it starts, what of it is not trained, and its training."""

import shutil
from pathlib import Path
from typing import Any, Callable, Iterable, Sequence, cast

import torch
from allennlp.common import Params
from allennlp.common.util import dump_metrics
from allennlp.data import DataLoader, DatasetReader, Instance
from allennlp.models import Model
from allennlp.models.model import remove_keys_from_params
from allennlp.training.trainer import Trainer

from tagger.models import SequenceTagger
from tagger.tools.labels.new_labels import with_new_rows, with_new_tags


class _Given(DatasetReader):
    """Reads instances that are there already."""

    def __init__(self, instances: Sequence[Instance], reader: DatasetReader) -> None:
        super().__init__()
        self._instances, self._reader = instances, reader

    def _read(self, file_path: Any) -> Iterable[Instance]:
        return iter(self._instances)

    def apply_token_indexers(self, instance: Instance) -> None:
        self._reader.apply_token_indexers(instance)


def make_student(
    teacher: SequenceTagger, labels: Sequence[str], params: Params, folder: Path
) -> SequenceTagger:
    """Returns a tagger with the teacher's weights, with new labels, and perhaps with more features.

    What the projection makes of features that the teacher lacks starts as zero.
    """
    namespace, encoding = teacher.label_namespace, cast(str, teacher.tag_encoding)
    vocab = with_new_tags(teacher.vocab, namespace, labels, encoding)
    shutil.rmtree(folder / "vocabulary", ignore_errors=True)
    vocab.save_to_files(str(folder / "vocabulary"))
    model_params = params.pop("model")
    remove_keys_from_params(model_params)
    student = cast(
        SequenceTagger,
        Model.from_params(vocab=vocab, params=model_params, serialization_dir=str(folder)),
    )
    own = student.state_dict()
    grown = with_new_rows(teacher.state_dict(), teacher.tags, student.tags)
    num_features = student.projection.in_features - teacher.projection.in_features
    grown["projection.weight"] = torch.nn.functional.pad(
        grown["projection.weight"], (0, num_features)
    )
    constraints = "head.crf._constraint_mask"
    student.load_state_dict({**own, **grown, constraints: own[constraints]})
    return student


def keep_what_is_known(
    teacher: SequenceTagger, student: SequenceTagger, _instances: Sequence[Instance]
) -> None:
    """Lets nothing be trained that the teacher has: its scores of sequences of old tags stay."""
    known = dict(teacher.named_parameters())
    num_old = len(teacher.tags)
    for name, weights in student.named_parameters():
        if name in known and weights.shape == known[name].shape:
            weights.requires_grad_(False)
        elif name in known and weights.requires_grad:
            is_new = torch.ones(weights.shape, dtype=torch.bool)
            # The features that the teacher lacks count nothing for old tags.
            old = (slice(num_old), slice(num_old))
            is_new[old if name == "head.crf.transitions" else old[:1]] = False
            weights.register_hook(_only(is_new))


def train_student(
    student: SequenceTagger,
    instances: Sequence[Instance],
    reader: DatasetReader,
    params: Params,
    folder: Path,
) -> None:
    """Trains a tagger on instances of a reader, or goes on with it, as `params` say."""
    loader_params = params.pop("data_loader")
    loader = DataLoader.from_params(
        loader_params.duplicate(),
        reader=_Given(instances, reader),
        data_path=params["train_data_path"],
    )
    loader.index_with(student.vocab)
    validation = params.pop("validation_data_path", None)
    validation_loader = None
    if validation is not None:
        plain = DatasetReader.from_params(
            params.pop("dataset_reader"), serialization_dir=str(folder)
        )
        validation_loader = DataLoader.from_params(
            params.pop("validation_data_loader", None) or loader_params,
            reader=plain,
            data_path=validation,
        )
        validation_loader.index_with(student.vocab)
    trainer = Trainer.from_params(
        params.pop("trainer"),
        model=student,
        serialization_dir=str(folder),
        data_loader=loader,
        validation_data_loader=validation_loader,
    )
    dump_metrics(str(folder / "metrics.json"), trainer.train(), log=True)


def _only(is_new: torch.Tensor) -> Callable[[torch.Tensor], torch.Tensor]:
    def restrict(gradient: torch.Tensor) -> torch.Tensor:
        return torch.where(is_new.to(gradient.device), gradient, 0)

    return restrict


#: The type of `keep_what_is_known`, which may also change the sentences' tags.
Prepare = Callable[[SequenceTagger, SequenceTagger, Sequence[Instance]], Any]
