"""Adds labels to a saved tagger without its training data: see `add_labels`."""

import shutil
from collections import Counter
from os import PathLike
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union, cast

from allennlp.common import Params, logging as common_logging
from allennlp.common.checks import ConfigurationError
from allennlp.common.file_utils import cached_path
from allennlp.common.meta import META_NAME, Meta
from allennlp.common.params import parse_overrides, with_overrides
from allennlp.common.util import prepare_environment
from allennlp.data import DatasetReader, Field
from allennlp.models import Archive, Model, load_archive
from allennlp.models.archival import CONFIG_NAME, archive_model, extracted_archive

from tagger.common.console import say
from tagger.common.files import sha256_of_file
from tagger.data.fields.label_chains_field import LabelChainsField
from tagger.data.fields.tag_sets_field import TagSetsField
from tagger.models import SequenceTagger, SequenceTaggerEnsemble
from tagger.models.tagging_model import chain_of, spell_model
from tagger.predictors.calibrated_sets import SETS_NAME
from tagger.spans import AMBIGUOUS, labels_of_tags, labels_opened
from tagger.tools.labels.new_label_bias import PARTS_NAME, cross_validated_bias
from tagger.tools.labels.student import (
    NewSentences,
    Prepare,
    keep_what_is_known,
    make_student,
    only_new,
    open_outside,
    tags_in,
    train_student,
)
from tagger.tools.tuning.curves import CURVES_NAME
from tagger.tools.tuning.promise_record import PROMISES_NAME
from tagger.tools.tuning.tuned_archive import rewrite_archive
from tagger.training.run_folder import check_is_same_run, is_finished, take_folder
from tagger.training.run_inputs import record_inputs

#: Settings that only make sense for the old labels' training or decoding; left out of the new archive.
_OF_TRAINING = ("weighting", "distillation_weight")
_DROPPED_OF_HEAD = ("decode_bias", "entity_thresholds", "recalibration", *_OF_TRAINING)
_DROPPED_FILES = (PROMISES_NAME, CURVES_NAME, SETS_NAME)
_DROPPED_OF_CONFIG = ("validation_data_path", "test_data_path", "evaluate_on_test", "distributed")
#: The part of the config for the small encoder that reads the old tagger's states.
_EXTENSION = {
    "type": "bilstm",
    "hidden_size": 50,
    "variational": True,
    "input_dropout": 0.5,
    "output_dropout": 0.5,
}
#: How the encoder is trained. Weight decay would change weights without gradients.
_OPTIMIZATION = {
    "optimizer": {"type": "fused_adamw", "lr": 0.003, "betas": [0.9, 0.98], "weight_decay": 0},
    "learning_rate_scheduler": {"type": "slanted_triangular", "cut_frac": 0.05},
}
#: A file with what the run started from, and the archive before the bias is chosen.
_BASE_NAME, _TRAINED_NAME = "started.txt", "trained.tar.gz"
#: The default limit on how much F1 old labels may lose to new ones.
MOST_LOST = 0.005


def add_labels(
    archive_file: Union[str, PathLike],
    input_file: str,
    folder: Path,
    overrides: str = "",
    prepare: Prepare = keep_what_is_known,
    most_lost: Optional[float] = MOST_LOST,
) -> Path:
    """Adds labels to a tagger from a file that only has to be labelled for these labels.

    All weights of the old tagger are kept and frozen. Only a small new encoder of its states and the
    scores of the new tags are trained. Where the file has `O`, there is no new label; where it has `?`,
    the tag is unknown. Entities of known labels may be left out of the file. Finally, the new labels
    get a bias, so that they do not displace old labels: see `new_label_bias`. With the head
    `label_chains` a new label is one more chain. It displaces nothing and gets no bias, and the old
    labels keep their settings and learn nothing from the file.

    Repeat an interrupted call to resume it.

    `overrides` is JSON for the archive's config, such as `{"trainer.num_epochs": 40}`. `prepare` is
    called before training with the old tagger, the new tagger and the sentences. Old labels may lose an
    F1 of at most `most_lost`, from 0 to 1; None leaves out the bias. Returns the path of the new
    archive.
    """
    archive = load_archive(archive_file)
    model = _checked_tagger(archive.model, archive_file)
    config, dropped = _new_config(archive, input_file, overrides)
    is_new = _start_run(archive_file, most_lost, config, folder)
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
        # So that the command can be repeated with other settings.
        if is_new:
            shutil.rmtree(folder)
        raise
    _tell(sentences, dropped)
    common_logging.prepare_global_logging(str(folder))
    if model.head.describe().overlaps:
        most_lost = None
    bias = cross_validated_bias(model, sentences, reader, params, folder, most_lost)
    prepare_environment(params)
    student = make_student(model, sentences.new, params, folder)
    prepare(model, student, sentences.instances)
    train_student(student, sentences.instances, reader, params, folder)
    _archive(folder, new_archive, config, dict.fromkeys(sentences.new, bias) if bias else {})
    return new_archive


def _archive(
    folder: Path, path: Path, config: Dict[str, Any], decode_bias: Dict[str, float]
) -> None:
    """Writes the archive of a trained tagger and removes files that are no longer needed."""
    trained = folder / _TRAINED_NAME
    archive_model(folder, archive_path=trained, include_in_archive=config.get("include_in_archive"))
    settings = {"decode_bias": decode_bias} if decode_bias else {}
    rewrite_archive(trained, path, settings, overwrite=True)
    trained.unlink()
    shutil.rmtree(folder / PARTS_NAME, ignore_errors=True)


def _tell(sentences: NewSentences, dropped: Sequence[str]) -> None:
    counts = [f"{label} ({sentences.counts[label]} entities)" for label in sentences.new]
    say(f"New: {', '.join(counts)}")
    known = sorted(sentences.counts.keys() - set(sentences.new))
    if known and isinstance(sentences.instances[0]["tags"], LabelChainsField):
        say(f"Already known, and left as they are: {', '.join(known)}")
    elif known:
        say(f"Already known, and learnt from the file where it has them: {', '.join(known)}")
    if dropped:
        say(f"Left out, since it only applied to the old tagger: {', '.join(dropped)}")


def _checked_tagger(model: Model, archive_file: Union[str, PathLike]) -> SequenceTagger:
    is_tagger = isinstance(model, SequenceTagger) and model.head.describe().takes_new_labels
    chain = chain_of(model)
    if is_tagger and model.tag_encoding not in (None, *AMBIGUOUS):
        return cast(SequenceTagger, model)
    if isinstance(model, SequenceTaggerEnsemble):
        got, remedy = "an ensemble", "add them to each member, and make an ensemble of the results"
    elif is_tagger:
        got, remedy = "tags of another kind", "convert the tags and train it again"
    elif chain is not None and not chain.labels_of_rows:
        got = spell_model(model)
        remedy = "train a tagger with the head `crf` on what `allennlp soft-labels` makes of it"
    else:
        got, remedy = spell_model(model), "label its old labels too and train it again"
    raise ConfigurationError(
        f"{archive_file}: labels can only be added to a `sequence_tagger` with the head `crf` or "
        f"`label_chains`, and tags that spell entities in BIO, BIOUL, BMES or IOBES; got {got}; {remedy}"
    )


def _new_config(
    archive: Archive, input_file: str, overrides: str
) -> Tuple[Dict[str, Any], List[str]]:
    """Returns the config of the new archive, and the settings that were left out."""
    config = archive.config.as_dict(quiet=True)
    readers = [config.get(name, {}) for name in ("validation_dataset_reader", "dataset_reader")]
    reader = next((each for each in readers if each.get("type") == "column"), None)
    if reader is None:
        raise ConfigurationError(
            f"labels are added from files that the dataset reader `column` reads; the archive has "
            f"`{readers[1].get('type')}`; name `column` with --overrides"
        )
    config.pop("validation_dataset_reader", None)
    # What other files annotate.
    reader.pop("labels", None)
    for name in _DROPPED_OF_CONFIG:
        config.pop(name, None)
    head = config["model"].get("head", {})
    overlaps = cast(SequenceTagger, archive.model).head.describe().overlaps
    settings = _OF_TRAINING if overlaps else _DROPPED_OF_HEAD
    dropped = [name for name in settings if head.pop(name, None)]
    config.update(dataset_reader=reader, train_data_path=input_file)
    config["model"].setdefault("extensions", []).append(dict(_EXTENSION))
    config["trainer"].update(num_epochs=20, patience=None, **_OPTIMIZATION)
    if "batch_size" in config["data_loader"]:
        config["data_loader"]["batch_size"] = 8
    return with_overrides(config, parse_overrides(overrides)), dropped


def _start_run(
    archive_file: Union[str, PathLike],
    most_lost: Optional[float],
    config: Dict[str, Any],
    folder: Path,
) -> bool:
    """Makes the run's folder, or checks that it belongs to the same run; returns whether it is new."""
    take_folder(folder)
    files = (archive_file, config["train_data_path"])
    started = " ".join([*(sha256_of_file(cached_path(each)) for each in files), str(most_lost)])
    base = folder / _BASE_NAME
    if base.exists() and base.read_text() == started:
        check_is_same_run(Params(config).duplicate(), folder)
        return False
    if any(folder.iterdir()):
        raise ConfigurationError(
            f"`--serialization-dir` {folder} holds another run; name another folder, or add --force"
        )
    Params(config).duplicate().to_file(str(folder / CONFIG_NAME))
    Meta.new().to_file(folder / META_NAME)
    record_inputs(config, folder)
    base.write_text(started)
    return True


def _carry_files(archive_file: Union[str, PathLike], folder: Path) -> List[str]:
    """Copies the archive's other files, such as a transformer; returns the names of those left out."""
    own = (CONFIG_NAME, META_NAME, "weights.th", "vocabulary", *_DROPPED_FILES)
    with extracted_archive(cached_path(archive_file)) as unpacked:
        members = list(Path(unpacked).iterdir())
        for member in members:
            target = folder / member.name
            if member.name in own or target.exists():
                continue
            # So that a killed command leaves no partial copy.
            unfinished = target.with_name(f".{member.name}.unfinished")
            if member.is_dir():
                shutil.copytree(member, unfinished, dirs_exist_ok=True)
            else:
                shutil.copyfile(member, unfinished)
            unfinished.rename(target)
    return sorted({member.name for member in members} & set(_DROPPED_FILES))


def _reader(params: Params, folder: Path) -> DatasetReader:
    """Returns the archive's reader, with `?` as the unknown tag unless it already has one."""
    config = params["dataset_reader"].as_dict(quiet=True)
    config["unknown_tag"] = config.get("unknown_tag") or "?"
    return DatasetReader.from_params(Params(config), serialization_dir=str(folder))


def _read(reader: DatasetReader, input_file: str, model: SequenceTagger) -> NewSentences:
    """Reads the new file; raises an error if it has no new label."""
    encoding = cast(str, model.tag_encoding)
    instances = list(reader.read(input_file))
    tags = [tag for each in instances for tag in _known_tags(each["tags"])]
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
        field = each["tags"]
        if isinstance(field, LabelChainsField):
            each.fields["tags"] = only_new(field, new)
        else:
            each.fields["tags"] = open_outside(cast(TagSetsField, field), new, encoding)
    return NewSentences(instances, counts, new)


def _known_tags(field: Field) -> List[str]:
    if isinstance(field, LabelChainsField):
        return tags_in(field)
    return cast(TagSetsField, field).known_tags()
