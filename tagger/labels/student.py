"""The new tagger as it starts, and what of it is not trained."""

import shutil
from pathlib import Path
from typing import Any, Callable, Sequence, cast

import torch
from allennlp.common import Params
from allennlp.data import Instance
from allennlp.models import Model
from allennlp.models.model import remove_keys_from_params

from tagger.labels.new_labels import with_new_rows, with_new_tags
from tagger.models import SequenceTagger


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


def _only(is_new: torch.Tensor) -> Callable[[torch.Tensor], torch.Tensor]:
    def restrict(gradient: torch.Tensor) -> torch.Tensor:
        return torch.where(is_new.to(gradient.device), gradient, 0)

    return restrict


#: The type of `keep_what_is_known`, which may also change the sentences' tags.
Prepare = Callable[[SequenceTagger, SequenceTagger, Sequence[Instance]], Any]
