"""Adds labels to a saved tagger whose training data may be gone: see `add_labels`."""

import itertools
import json
import logging
import shutil
from collections import Counter
from os import PathLike
from pathlib import Path
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple, Union, cast

import numpy as np
from allennlp.common import Params
from allennlp.common import logging as common_logging
from allennlp.common.checks import ConfigurationError
from allennlp.common.file_utils import cached_path
from allennlp.common.meta import META_NAME, Meta
from allennlp.common.params import parse_overrides, with_overrides
from allennlp.common.util import dump_metrics, prepare_environment
from allennlp.data import DataLoader, DatasetReader, Instance
from allennlp.models import Archive, Model, load_archive
from allennlp.models.archival import CONFIG_NAME, archive_model, extracted_archive
from allennlp.training.trainer import Trainer

from tagger.common.console import say
from tagger.common.files import sha256_of_file, write_atomically
from tagger.data.fields import TagSetsField
from tagger.labels.new_label_bias import (
    BIASES,
    choose_bias,
    counts_by_bias,
    f1_by_bias,
    with_old_entities,
)
from tagger.labels.new_labels import open_outside
from tagger.labels.student import Prepare, keep_what_is_known, make_student
from tagger.models import SequenceTagger, SequenceTaggerEnsemble
from tagger.modules.heads import ChainHead, CrfHead
from tagger.spans import labels_of_tags, labels_opened
from tagger.training.run_folder import (
    check_can_be_made,
    check_is_same_run,
    is_finished,
)
from tagger.tuning.curves import CURVES_NAME
from tagger.tuning.promise_record import PROMISES_NAME
from tagger.tuning.tuned_archive import rewrite_archive

logger = logging.getLogger(__name__)

#: What holds for the old labels' training or decoding alone, and is left out of the new archive.
_DROPPED_OF_HEAD = (
    *("decode_bias", "entity_thresholds", "recalibration"),
    *("weighting", "distillation_weight"),
)
_DROPPED_FILES = (PROMISES_NAME, CURVES_NAME)
_DROPPED_OF_CONFIG = ("validation_data_path", "test_data_path", "evaluate_on_test", "distributed")
#: What reads the old tagger's states for the new labels.
_EXTENSION = {
    "type": "bilstm",
    "hidden_size": 50,
    "variational": True,
    "input_dropout": 0.5,
    "output_dropout": 0.5,
}
#: How it is trained. Decay would change weights that get no gradients.
_OPTIMIZATION = {
    "optimizer": {"type": "fused_adamw", "lr": 0.003, "betas": [0.9, 0.98], "weight_decay": 0},
    "learning_rate_scheduler": {"type": "slanted_triangular", "cut_frac": 0.05},
}
#: The file with the checksum of the old archive, the archive without a bias, and the folder of taggers
#: that have not seen a part of the new file.
_BASE_NAME, _TRAINED_NAME, _PARTS_NAME = "base.sha256", "trained.tar.gz", "parts"
NUM_PARTS = 3
#: How much F1 old labels may lose to new ones.
MOST_LOST = 0.005


class _Sentences(NamedTuple):
    """What is in the new file.

    Attributes:
        instances: Its sentences, or documents. `tags` are the sets of tags that tokens may have.
        counts: The number of entities of each label.
        new: The labels that the tagger does not know, sorted.
    """

    instances: List[Instance]
    counts: Dict[str, int]
    new: List[str]


class _Given(DatasetReader):
    """Reads instances that are there already."""

    def __init__(self, instances: Sequence[Instance], reader: DatasetReader) -> None:
        super().__init__()
        self._instances, self._reader = instances, reader

    def _read(self, file_path: Any) -> Iterable[Instance]:
        return iter(self._instances)

    def apply_token_indexers(self, instance: Instance) -> None:
        self._reader.apply_token_indexers(instance)


def add_labels(
    archive_file: Union[str, PathLike],
    input_file: str,
    folder: Path,
    overrides: str = "",
    prepare: Prepare = keep_what_is_known,
    most_lost: Optional[float] = MOST_LOST,
) -> Path:
    """Adds the labels of a file, in which no others need to be labelled, to a tagger.

    The new tagger has all weights of the old one, which are not trained. What is new is a small encoder
    of the old one's states, and the scores of new tags. From these it learns the new labels. Where the
    file has `O`, it learns that there is none of them; where it has `?`, they stay open. Entities of
    known labels in the file may be there or not.

    Then new labels get a bias, so that they are not found at the expense of old ones: see
    `new_label_bias`. It is chosen by cross-validation, for which more taggers are trained.

    A call that was interrupted goes on when it is repeated.

    Args:
        archive_file: The old tagger, a `sequence_tagger` with the head `crf`.
        input_file: The labelled sentences, in a format that the archive's dataset reader reads.
        folder: The folder of the training run; it is made.
        overrides: JSON to override the archive's config, such as `{"trainer.num_epochs": 40}`.
        prepare: Gets the old and the new tagger and the sentences before training starts.
        most_lost: The F1 from 0 to 1 that old labels may lose to new ones at most; None for no bias.

    Returns:
        The path of the new archive.

    Raises:
        ConfigurationError: If the archive holds another model, the file has no new label, or the folder
            holds another run.
        ValueError: If the file cannot be read; the message says where.
    """
    archive = load_archive(archive_file)
    model = _checked_tagger(archive.model, archive_file)
    config, dropped = _new_config(archive, input_file, overrides)
    is_new = _start_run(archive_file, config, folder)
    new_archive = folder / "model.tar.gz"
    if is_finished(folder) and new_archive.exists():
        say(f"{folder} is finished")
        return new_archive
    params = Params(config).duplicate()
    try:
        dropped += _carry_files(archive_file, folder)
        reader = _reader(params, folder)
        sentences = _read(reader, input_file, model)
    except (ConfigurationError, OSError, ValueError):
        # So that the command can be given again with other settings.
        if is_new:
            shutil.rmtree(folder)
        raise
    _tell(sentences, dropped)
    common_logging.prepare_global_logging(str(folder))
    settings = {}
    if most_lost is not None:
        bias = _cross_validated_bias(model, sentences, reader, params, folder, most_lost)
        if bias:
            settings["decode_bias"] = dict.fromkeys(sentences.new, bias)
    prepare_environment(params)
    student = make_student(model, sentences.new, params, folder)
    prepare(model, student, sentences.instances)
    _train(student, _Given(sentences.instances, reader), params, folder)
    trained = folder / _TRAINED_NAME
    archive_model(folder, archive_path=trained, include_in_archive=config.get("include_in_archive"))
    rewrite_archive(trained, new_archive, settings, overwrite=True)
    trained.unlink()
    shutil.rmtree(folder / _PARTS_NAME, ignore_errors=True)
    return new_archive


def _cross_validated_bias(
    model: SequenceTagger,
    sentences: _Sentences,
    reader: DatasetReader,
    params: Params,
    folder: Path,
    most_lost: float,
) -> float:
    """Returns the bias of the new labels, 0 if there are too few sentences to tell.

    The counts of each part of the file are kept, for a call that goes on.
    """
    if len(sentences.instances) < NUM_PARTS:
        say("There are too few sentences to choose a bias of the new labels")
        return 0.0
    # Documents, whose sentences are neighbours, are hardly divided.
    bounds = np.linspace(0, len(sentences.instances), NUM_PARTS + 1).astype(int).tolist()
    counts = np.zeros((), np.int64)
    for number, (start, end) in enumerate(itertools.pairwise(bounds), start=1):
        place = folder / _PARTS_NAME / str(number)
        file = place / "counts.json"
        if not file.exists():
            say(f"Part {number} of {NUM_PARTS} is held out, to choose the bias of the new labels")
            place.mkdir(parents=True, exist_ok=True)
            own = params.duplicate()
            own.pop("validation_data_path", None)
            prepare_environment(own)
            # Its transformer lies in the folder of the run.
            student = make_student(model, sentences.new, own, folder)
            keep_what_is_known(model, student, sentences.instances)
            others = [*sentences.instances[:start], *sentences.instances[end:]]
            _train(student, _Given(others, reader), own, place)
            held_out = with_old_entities(model, sentences.instances[start:end])
            found = counts_by_bias(student, held_out, sentences.new)
            with write_atomically(file) as path:
                path.write_text(json.dumps(found.tolist()), encoding="utf-8")
        counts = counts + np.array(json.loads(file.read_text(encoding="utf-8")))
    bias = choose_bias(counts, most_lost)
    before, after = (100 * f1_by_bias(counts)[BIASES.index(each)] for each in (0.0, bias))
    say(
        f"Bias of the new labels: {bias:g}. On held-out parts, F1 of new labels is {after[0]:.1f} "
        f"({before[0]:.1f} without it), and of what the old tagger finds {after[1]:.1f} "
        f"({before[1]:.1f})"
    )
    return bias


def _tell(sentences: _Sentences, dropped: Sequence[str]) -> None:
    counts = [f"{label} ({sentences.counts[label]} entities)" for label in sentences.new]
    say(f"New: {', '.join(counts)}")
    known = sorted(sentences.counts.keys() - set(sentences.new))
    if known:
        say(f"Known already, and taken from the file where it has them: {', '.join(known)}")
    if dropped:
        say(f"Left out, since it held for the old tagger alone: {', '.join(dropped)}")


def _checked_tagger(model: Model, archive_file: Union[str, PathLike]) -> SequenceTagger:
    head = getattr(model, "head", None)
    is_tagger = isinstance(model, SequenceTagger) and isinstance(head, CrfHead)
    if is_tagger and model.tag_encoding not in (None, "IOB1"):
        return cast(SequenceTagger, model)
    if isinstance(model, SequenceTaggerEnsemble):
        got, remedy = "an ensemble", "add them to each member, and make an ensemble of the results"
    elif is_tagger:
        got, remedy = "tags of another kind", "convert the tags and train it again"
    elif isinstance(head, ChainHead):
        got = f"the head {type(head).__name__}"
        remedy = "train a tagger with the head `crf` on what `allennlp soft-labels` makes of it"
    else:
        got, remedy = f"a {type(model).__name__}", "label its old labels too and train it again"
    raise ConfigurationError(
        f"{archive_file}: labels can be added to a `sequence_tagger` with the head `crf`, whose tags "
        f"spell entities in BIO, BIOUL, BMES or IOBES; got {got}; {remedy}"
    )


def _new_config(
    archive: Archive, input_file: str, overrides: str
) -> Tuple[Dict[str, Any], List[str]]:
    """Returns the config of the new archive, and what it has no longer."""
    config = archive.config.as_dict(quiet=True)
    readers = [config.get(name, {}) for name in ("validation_dataset_reader", "dataset_reader")]
    reader = next((each for each in readers if each.get("type") == "column"), None)
    if reader is None:
        raise ConfigurationError(
            f"labels are added from files that the dataset reader `column` reads; the archive has "
            f"`{readers[1].get('type')}`; name `column` with --overrides"
        )
    config.pop("validation_dataset_reader", None)
    for name in _DROPPED_OF_CONFIG:
        config.pop(name, None)
    head = config["model"].get("head", {})
    dropped = [name for name in _DROPPED_OF_HEAD if head.pop(name, None)]
    config.update(dataset_reader=reader, train_data_path=input_file)
    config["model"].setdefault("extensions", []).append(dict(_EXTENSION))
    config["trainer"].update(num_epochs=20, patience=None, **_OPTIMIZATION)
    if "batch_size" in config["data_loader"]:
        config["data_loader"]["batch_size"] = 8
    return with_overrides(config, parse_overrides(overrides)), dropped


def _start_run(archive_file: Union[str, PathLike], config: Dict[str, Any], folder: Path) -> bool:
    """Makes the folder of a run, or checks that it is the same run's; returns whether it is new.

    Raises:
        ConfigurationError: If the folder holds another run, or anything else.
    """
    check_can_be_made(folder)
    digest = sha256_of_file(cached_path(archive_file))
    base = folder / _BASE_NAME
    if base.exists() and base.read_text() == digest:
        check_is_same_run(Params(config).duplicate(), folder)
        return False
    if any(folder.iterdir()):
        raise ConfigurationError(
            f"`--serialization-dir` {folder} holds another run; name another folder, or add --force"
        )
    Params(config).duplicate().to_file(str(folder / CONFIG_NAME))
    Meta.new().to_file(folder / META_NAME)
    base.write_text(digest)
    return True


def _carry_files(archive_file: Union[str, PathLike], folder: Path) -> List[str]:
    """Copies what else an archive carries, such as a transformer; returns what it leaves out."""
    own = (CONFIG_NAME, META_NAME, "weights.th", "vocabulary", *_DROPPED_FILES)
    with extracted_archive(cached_path(archive_file)) as unpacked:
        members = list(Path(unpacked).iterdir())
        for member in members:
            target = folder / member.name
            if member.name in own or target.exists():
                continue
            # A killed command leaves no half of it.
            unfinished = target.with_name(f".{member.name}.unfinished")
            if member.is_dir():
                shutil.copytree(member, unfinished, dirs_exist_ok=True)
            else:
                shutil.copyfile(member, unfinished)
            unfinished.rename(target)
    return sorted({member.name for member in members} & set(_DROPPED_FILES))


def _reader(params: Params, folder: Path) -> DatasetReader:
    """Returns the archive's reader, for which `?` is an unknown tag unless it has another."""
    config = params["dataset_reader"].as_dict(quiet=True)
    config["unknown_tag"] = config.get("unknown_tag") or "?"
    return DatasetReader.from_params(Params(config), serialization_dir=str(folder))


def _read(reader: DatasetReader, input_file: str, model: SequenceTagger) -> _Sentences:
    """Reads the new file.

    Raises:
        ConfigurationError: If it has no new label.
    """
    encoding = cast(str, model.tag_encoding)
    instances = list(reader.read(input_file))
    tags = [tag for each in instances for tag in cast(TagSetsField, each["tags"]).known_tags()]
    counts = Counter(label for label in labels_opened(tags, encoding) if label is not None)
    known = {label for label in labels_of_tags(model.tags) if label is not None}
    new = sorted(counts.keys() - known)
    if not new:
        raise ConfigurationError(
            f"{input_file}: expected entities of a label that the tagger does not know; it knows "
            f"{', '.join(sorted(known))}, and the file has {', '.join(sorted(counts)) or 'none'}; "
            "correct the labels, or train with this file as with any other"
        )
    for each in instances:
        each.fields["tags"] = open_outside(cast(TagSetsField, each["tags"]), new, encoding)
    return _Sentences(instances, counts, new)


def _train(student: SequenceTagger, reader: DatasetReader, params: Params, folder: Path) -> None:
    loader_params = params.pop("data_loader")
    loader = DataLoader.from_params(
        loader_params.duplicate(), reader=reader, data_path=params["train_data_path"]
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
