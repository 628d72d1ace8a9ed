"""Folders of training runs: which may be deleted, which can be resumed, and which are finished."""

import json
import logging
import os
import shutil
from pathlib import Path

from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.models.archival import archive_model
from allennlp.training.util import create_serialization_dir

from tagger.common.lock import hold_folder
from tagger.training.run_inputs import Folder, check_inputs

logger = logging.getLogger(__name__)

#: The metrics on the text of the development data, which `train` writes last.
TEXT_METRICS_FILE = "metrics_on_text.json"
#: A run's folder has at least one of these files.
_FILES_OF_RUNS = ("config.json", "meta.json", "out.log", "model.tar.gz")


def check_is_run(folder: Folder) -> None:
    """Raises unless a folder may be deleted: it must hold a run and not be the current folder."""
    folder = Path(folder)
    if not folder.is_dir() or not os.listdir(folder):
        return
    if Path.cwd().is_relative_to(folder.resolve()):
        raise ConfigurationError(
            f"`--force` would remove {folder}, where you are; name another folder"
        )
    if not any((folder / name).exists() for name in _FILES_OF_RUNS):
        raise ConfigurationError(
            f"`--force` would remove {folder}, which is not the folder of a run: it has no "
            f"`config.json`, but `{sorted(os.listdir(folder))[0]}`; name another folder"
        )


def check_is_same_run(params: Params, folder: Folder) -> None:
    """Rejects resuming a run with another config or other data.

    Leaves runs without `config.json` to AllenNLP.
    """
    path = Path(folder, "config.json")
    if not path.is_file():
        return
    now, before = params.as_flat_dict(), Params.from_file(path).as_flat_dict()
    shown = {
        key: [repr(values[key]) if key in values else "missing" for values in (now, before)]
        for key in sorted(now.keys() | before.keys())
        if (key in now) != (key in before) or now.get(key) != before.get(key)
    }
    differences = [f"`{key}` is {new} and was {old}" for key, (new, old) in shown.items()]
    if differences:
        num_others = len(differences) - 3
        others = f"; and {num_others} others" if num_others > 0 else ""
        raise ConfigurationError(
            f"`--recover`: the config differs from that of the run in {os.fspath(folder)}: "
            f"{'; '.join(differences[:3])}{others}. Train with {path}, or into another folder"
        )
    check_inputs(params.as_dict(quiet=True), folder)


def check_has_vocabulary(params: Params, folder: Folder) -> None:
    """Rejects resuming distributed training that was killed before its first checkpoint.

    AllenNLP reads the vocabulary of such a run, which may be cut off. In one process it makes it again.
    """
    has_checkpoint = any(Path(folder).glob("training_state_*.th"))
    if params.get("distributed") and Path(folder, "config.json").is_file() and not has_checkpoint:
        raise ConfigurationError(
            f"`--recover`: the run in {os.fspath(folder)} has no checkpoint to continue from; start it "
            f"again with `--force`"
        )


def take_folder(folder: Folder, option: str = "--serialization-dir") -> None:
    """Creates a folder, which may exist, and holds it; if that fails, the error says why."""
    if Path(folder).exists() and not Path(folder).is_dir():
        raise ConfigurationError(f"`{option}` {os.fspath(folder)} is a file; name a folder")
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigurationError(
            f"`{option}` {os.fspath(folder)} cannot be made ({error.strerror}); name another folder"
        ) from None
    hold_folder(folder, option)


def is_finished(folder: Folder) -> bool:
    """Whether training in a folder has ended and written its metrics."""
    try:
        json.loads(Path(folder, "metrics.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return True


def keep_finished(params: Params, folder: Folder, force: bool = False) -> None:
    """Creates a finished run's archive if it is missing; rejects another config and `--force`."""
    create_serialization_dir(params, folder, recover=True, force=force)
    logger.info("%s is finished: there is nothing to recover", folder)
    remove_files(folder)
    if _is_archive_missing_or_old(folder):
        archive_model(folder, include_in_archive=params.get("include_in_archive"))


def remove_files(folder: Folder, pattern: str = ".*.unfinished") -> None:
    """Removes the files and folders with a name like `pattern`, by default what a killed run leaves."""
    for path in Path(folder).glob(pattern):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def _is_archive_missing_or_old(folder: Folder) -> bool:
    """Whether a finished run's archive is missing, or dates from an earlier interrupt."""
    archive, metrics = Path(folder, "model.tar.gz"), Path(folder, "metrics.json")
    # Without the best weights, no new archive can be created.
    return not archive.exists() or (
        Path(folder, "best.th").exists() and archive.stat().st_mtime_ns < metrics.stat().st_mtime_ns
    )
