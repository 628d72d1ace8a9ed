"""Finds a pretrained transformer on this machine, and names it by its content."""

import functools
import hashlib
import json
import logging
import os
import shutil
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Iterable, Iterator, List, Optional, Union

from allennlp.common.checks import ConfigurationError

from tagger.common.files import add_content, spell_bytes
from tagger.transformers.carried import (
    CONFIG,
    TOKENIZER,
    WEIGHTS,
    CarriedTransformer,
    num_bytes_in_archive,
    write_carried,
)
from tagger.transformers.transformer import Transformer
from tagger_compat import archive_guard, outside_transformers

logger = logging.getLogger(__name__)

#: The environment variable with the folder of transformers that are not where a config says.
FOLDER_VARIABLE = "TAGGER_TRANSFORMERS"
#: The folder in an archive for the transformers that it carries.
ARCHIVED = "transformers"

_WEIGHTS = ("model*.safetensors", "pytorch_model*.bin")
_given: "ContextVar[Optional[Path]]" = ContextVar("given", default=None)
_OTHERS = ("config.json", "*token*.json", "vocab*", "merges.txt", "*.model")


@contextmanager
def transformer_given(folder: Optional[Union[str, Path]]) -> Iterator[None]:
    """Makes a transformer that is loaded inside come from this folder, before all other places."""
    if folder is not None:
        if not Path(folder).is_dir():
            raise ConfigurationError(f"`transformer`: expected a folder, got {str(folder)!r}")
        transformer_files(folder)
    token = _given.set(None if folder is None else Path(folder).absolute())
    try:
        yield
    finally:
        _given.reset(token)


def find_transformer(name: str, archive_folder: Optional[str] = None) -> Transformer:
    """Finds a transformer on this machine; nothing is downloaded.

    It looks in these places, in this order: the folder of `transformer_given`; the archive; the folder
    `name`; the folder that the environment variable TAGGER_TRANSFORMERS names, or one in it; the cache
    of the Hugging Face hub; a folder beside the archive's file, or beside its folder. A folder in
    another is found by the last part of `name`.

    `archive_folder` is where an archive is unpacked, or a training run is kept.
    """
    given, last = _given.get(), Path(name).name
    if given is not None:
        return _transformer_in(given)
    carried = None if archive_folder is None else Path(archive_folder, ARCHIVED, last)
    if carried is None or not carried.is_dir():
        return _outside_archive(name)
    copy = _carried_in(carried)
    if archive_guard.archive_file() is None:
        # A resumed run has features of the original, which have another name.
        with suppress(ConfigurationError):
            original = _outside_archive(name)
            if original.digest == copy.source:
                return original
    return copy


def _outside_archive(name: str) -> Transformer:
    last = Path(name).name
    named, beside = [Path(name)], _beside_archive(last)
    if os.environ.get(FOLDER_VARIABLE):
        folder = Path(os.environ[FOLDER_VARIABLE])
        named += [folder / last, *([folder] if (folder / "config.json").is_file() else [])]
    for place in named:
        if place.is_dir():
            return _transformer_in(place)
    cached = outside_transformers.in_hub_cache(name)
    if cached is not None:
        return _transformer_in(Path(cached))
    for place in beside:
        # A run may have this name too.
        with archive_guard.suspended():
            is_transformer = bool(weights_in(place))
        if is_transformer:
            return _transformer_in(place)
    looked = ", ".join(dict.fromkeys(str(place.absolute()) for place in [*named, *beside]))
    raise ConfigurationError(
        f"`model_name` is {name!r}, but there is no such folder ({looked}), and it is not in the cache "
        f"of the Hugging Face hub; put the transformer there, or set {FOLDER_VARIABLE} to its folder, "
        f"or name another folder with --overrides, as `model_name` of the token indexer and of the "
        f"token embedder"
    )


def _transformer_in(folder: Path) -> Transformer:
    state = archive_guard.current()
    if state is not None and state.holds(folder):
        return _carried_in(folder)
    # The folder is one that an archive may have named, so it must not be any other.
    with archive_guard.suspended():
        digest = digest_of(folder)
    archive_guard.may_read(folder)
    return Transformer(folder, digest)


def _beside_archive(last: str) -> List[Path]:
    file = archive_guard.archive_file()
    if file is None:
        return []
    path = Path(file).absolute()
    folder = path if path.is_dir() else path.parent
    return [folder / last, folder.parent / last]


def digest_of(folder: Union[str, Path]) -> str:
    """Returns the SHA-256 of a transformer's weights, config and tokenizer, in hexadecimal.

    The digest does not depend on the folder's name, or on files that are not part of the transformer.
    """
    return _digest(transformer_files(folder))


def _carried_in(folder: Path) -> CarriedTransformer:
    files = [folder / name for name in (CONFIG, TOKENIZER, WEIGHTS)]
    return CarriedTransformer(folder, _digest(each for each in files if each.is_file()))


def transformer_files(folder: Union[str, Path]) -> List[Path]:
    """Returns the files of a transformer, sorted by name, or raises a `ConfigurationError`."""
    folder = Path(folder)
    weights = weights_in(folder)
    if not weights or not (folder / "config.json").is_file():
        raise ConfigurationError(
            f"`model_name`: expected a transformer in {folder.absolute()}, `config.json` and "
            f"`model.safetensors` or `pytorch_model.bin`; got "
            f"{', '.join(sorted(each.name for each in folder.iterdir())[:10]) or 'an empty folder'}"
        )
    others = {file for each in _OTHERS for file in folder.glob(each)}
    return sorted({*weights, *others}, key=lambda file: file.name)


def weights_in(folder: Path) -> List[Path]:
    """Returns the files of weights in a folder; none if it holds no transformer."""
    return next(filter(None, (sorted(folder.glob(each)) for each in _WEIGHTS)), [])


def _carries_all(run_folder: str) -> bool:
    config = Path(run_folder, "config.json")
    settings = json.loads(config.read_text()) if config.is_file() else {}
    return ARCHIVED in (settings.get("include_in_archive") or [])


def carry_transformer(
    transformer: Transformer, name: str, run_folder: str, max_megabytes: float
) -> None:
    """Copies a transformer to the folder of a training run, from where the archive takes it.

    A transformer of more than `max_megabytes` is not copied, with a warning, unless the run's config
    has `include_in_archive: ['transformers']`; 0 copies none. Matrices of four bits count as stored in
    the archive. Nothing is copied to an archive.
    """
    target = Path(run_folder, ARCHIVED, Path(name).name)
    is_loaded = archive_guard.archive_file() is not None
    if is_loaded or target.resolve() == transformer.folder.resolve():
        return
    if target.is_dir():  # The run was resumed.
        if CarriedTransformer(target, "").source == transformer.source:
            return
        shutil.rmtree(target)
    files = transformer_files(transformer.folder)
    num_bytes = sum(file.stat().st_size for file in files)
    if max_megabytes and num_bytes > max_megabytes * 1e6:
        num_bytes = min(num_bytes, num_bytes_in_archive(transformer))
    if num_bytes <= max_megabytes * 1e6 or _carries_all(run_folder):
        write_carried(transformer, target, with_weights=True)
    elif max_megabytes:
        logger.warning(
            "The archive does not carry the transformer: its %s are more than `max_carried_mb` (%g); "
            "whoever loads the archive needs %s",
            *(spell_bytes(num_bytes), max_megabytes, transformer.folder),
        )


def _digest(files: Iterable[Path]) -> str:
    # A changed file has a different size or time.
    return _digest_of(tuple((str(f), f.stat().st_size, f.stat().st_mtime_ns) for f in files))


@functools.lru_cache(maxsize=64)
def _digest_of(state: tuple) -> str:
    digest = hashlib.sha256()
    for name, size, _ in state:
        digest.update(f"{Path(name).name} {size}\n".encode())
        add_content(digest, name)
    return digest.hexdigest()
