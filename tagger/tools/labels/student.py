"""Creates and trains a tagger with new labels from new sentences.

Letters: `J` tags of the old tagger, `K` tags of the new one. The first `J` of these are the old tags.
"""

import copy
import shutil
from functools import partial
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, List, Mapping, NamedTuple, Sequence, cast

import torch
from allennlp.common import Params
from allennlp.common.util import dump_metrics
from allennlp.data import DataLoader, DatasetReader, Instance, Vocabulary
from allennlp.models import Model
from allennlp.models.model import remove_keys_from_params
from allennlp.training.trainer import Trainer

from tagger.data.fields.label_chains_field import LabelChainsField
from tagger.data.fields.tag_sets_field import TagSetsField
from tagger.models import SequenceTagger
from tagger.spans import TagSet, complete_tags, split_tag
from tagger.spans.encodings import join_tag, rules_of

#: How much less probable than `O` a new tag is at the start, in nats.
_DISCOUNT = 1.0


class NewSentences(NamedTuple):
    """The contents of the new file."""

    # Its sentences or documents. `tags` holds the set of possible tags for each token, or for the head
    # `label_chains` the tags of the new labels.
    instances: List[Instance]
    counts: Dict[str, int]  # The number of entities of each label
    new: List[str]  # The labels that the tagger does not know, sorted


def open_outside(field: TagSetsField, labels: Sequence[str], tag_encoding: str) -> TagSetsField:
    """Returns the possible tags of tokens if annotators have looked for these labels only.

    A token without a label may be outside or part of an entity of any other label. A token that nobody
    looked at may have any tag.
    """
    rules = rules_of(tag_encoding)
    prefixes = frozenset(rules.places + rules.opening)
    outside, unknown = (TagSet(frozenset("O"), frozenset(each), prefixes) for each in (labels, ()))
    opened = [
        tags if "O" not in tags.tags else outside if tags.only_tag else unknown
        for tags in field.tag_sets
    ]
    return TagSetsField(opened, field.sequence_field, field._label_namespace)


def only_new(field: LabelChainsField, labels: Sequence[str]) -> LabelChainsField:
    """Returns the tags of these labels; all others are unknown, because nobody looked for them."""
    return LabelChainsField(
        field.label_sets, field.sequence_field, field.label_namespace, field.unknown_tag, labels
    )


def tags_in(field: LabelChainsField) -> List[str]:
    """Returns the known tags."""
    unknown = field.unknown_tag
    tags = [tag for tags in field.label_sets for tag in tags]
    return [tag for tag in tags if unknown is None or not tag.startswith(unknown)]


def make_student(
    teacher: SequenceTagger, labels: Sequence[str], params: Params, folder: Path
) -> SequenceTagger:
    """Returns a tagger with the teacher's weights, new labels, and possibly more features.

    The projection's weights for features that the teacher lacks start at zero.
    """
    namespace, encoding = teacher.label_namespace, cast(str, teacher.tag_encoding)
    vocab = with_new_tags(teacher.vocab, namespace, labels, encoding)
    shutil.rmtree(folder / "vocabulary", ignore_errors=True)
    vocab.save_to_files(str(folder / "vocabulary"))
    model_params = params.pop("model")
    remove_keys_from_params(model_params)
    made = Model.from_params(vocab=vocab, params=model_params, serialization_dir=str(folder))
    student = cast(SequenceTagger, made)
    own, weights = student.state_dict(), _outside_head(teacher.state_dict())
    of_head = student.head.grown_weights(teacher.head)
    weights |= {f"head.{name}": each for name, each in of_head.items()}
    grown = with_new_rows(weights, teacher.tags, student.tags)
    num_features = student.projection.in_features - teacher.projection.in_features
    projection = grown["projection.weight"]
    grown["projection.weight"] = torch.nn.functional.pad(projection, (0, num_features))
    constraints = {name: own[name] for name in own if name.endswith("._constraint_mask")}
    student.load_state_dict({**own, **grown, **constraints})
    return student


def with_new_tags(
    vocab: Vocabulary, namespace: str, labels: Sequence[str], tag_encoding: str
) -> Vocabulary:
    """Returns a copy of a vocabulary with the tags of new labels added at the end."""
    extended = copy.deepcopy(vocab)
    rules = rules_of(tag_encoding)
    tags = extended.get_token_to_index_vocabulary(namespace)
    first_tags = [join_tag(rules.places[0], label) for label in labels]
    for tag in complete_tags([*tags, *first_tags], tag_encoding):
        extended.add_token_to_namespace(tag, namespace)
    return extended


def with_new_rows(
    weights: Dict[str, torch.Tensor], old: Sequence[str], new: Sequence[str]
) -> Dict[str, torch.Tensor]:
    """Returns a tagger's weights by name, with rows for new tags: K instead of J.

    To the old tagger, entities of a new label are outside. So the emissions of new tags start slightly
    below those of `O`. Transition scores start at the mean over the old labels.
    """
    places = {tag: k for k, tag in enumerate(old)}
    analogies = []
    for label in sorted({split_tag(tag)[1] or "" for tag in old if tag != "O"}):
        analogous = [join_tag(split_tag(tag)[0], label) for tag in new[len(old) :]]
        analogies.append([*range(len(old)), *(places[tag] for tag in analogous)])
    grown = dict(weights)
    for name in map("head.crf.{}transitions".format, ("", "start_", "end_")):
        if name in weights:
            each = [weights[name][rows] for rows in analogies]
            if weights[name].dim() == 2:
                each = [values[:, rows] for values, rows in zip(each, analogies)]
            grown[name] = torch.stack(each).mean(0)
    as_outside = [*range(len(old)), *[places["O"]] * (len(new) - len(old))]
    for name in ("projection.weight", "projection.bias"):
        grown[name] = weights[name][as_outside]
    grown["projection.bias"][len(old) :] -= _DISCOUNT
    return grown


def keep_what_is_known(
    teacher: SequenceTagger, student: SequenceTagger, _instances: Sequence[Instance]
) -> None:
    """Freezes everything that the teacher has, so that its scores of old tag sequences do not change."""
    old = dict(teacher.named_parameters())
    names = student.head.known_weights(teacher.head).items()
    of_head = {f"head.{name}": f"head.{before}" for name, before in names}
    known = _outside_head(old)
    known |= {name: old[before] for name, before in of_head.items() if before in old}
    num_old = len(teacher.tags)
    for name, weights in student.named_parameters():
        if name in known and weights.shape == known[name].shape:
            weights.requires_grad_(False)
        elif name in known and weights.requires_grad:
            is_new = torch.ones(weights.shape, dtype=torch.bool)
            # Features that the teacher lacks do not affect old tags.
            places = (slice(num_old), slice(num_old))
            is_new[places if name == "head.crf.transitions" else places[:1]] = False
            weights.register_hook(partial(_restricted, is_new))


def _outside_head(named: Mapping[str, torch.Tensor]) -> Dict[str, torch.Tensor]:
    return {name: each for name, each in named.items() if not name.startswith("head.")}


def _restricted(is_new: torch.Tensor, gradient: torch.Tensor) -> torch.Tensor:
    return torch.where(is_new.to(gradient.device), gradient, 0)


class _Given(DatasetReader):
    """Reads instances that already exist."""

    def __init__(self, instances: Sequence[Instance], reader: DatasetReader) -> None:
        super().__init__()
        self._instances, self._reader = instances, reader

    def _read(self, file_path: Any) -> Iterable[Instance]:
        return iter(self._instances)

    def apply_token_indexers(self, instance: Instance) -> None:
        self._reader.apply_token_indexers(instance)


def train_student(
    student: SequenceTagger,
    instances: Sequence[Instance],
    reader: DatasetReader,
    params: Params,
    folder: Path,
) -> None:
    """Trains a tagger on instances of a reader, or resumes training, as `params` say."""

    def loader_of(settings: Params, its_reader: DatasetReader, path: str) -> DataLoader:
        loader = DataLoader.from_params(settings, reader=its_reader, data_path=path)
        loader.index_with(student.vocab)
        return loader

    settings = params.pop("data_loader")
    loader = loader_of(settings.duplicate(), _Given(instances, reader), params["train_data_path"])
    validation = params.pop("validation_data_path", None)
    validation_loader = None
    if validation is not None:
        plain = DatasetReader.from_params(
            params.pop("dataset_reader"), serialization_dir=str(folder)
        )
        settings = params.pop("validation_data_loader", None) or settings
        validation_loader = loader_of(settings, plain, validation)
    trainer = Trainer.from_params(
        params.pop("trainer"),
        model=student,
        serialization_dir=str(folder),
        data_loader=loader,
        validation_data_loader=validation_loader,
    )
    dump_metrics(str(folder / "metrics.json"), trainer.train(), log=True)


#: The type of `keep_what_is_known`, which may also modify the sentences' tags.
Prepare = Callable[[SequenceTagger, SequenceTagger, Sequence[Instance]], Any]
