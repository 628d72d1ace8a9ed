"""Finds a pretrained transformer on this machine, names it by its content, and loads its parts."""

import functools
import hashlib
import json
import logging
import os
import shutil
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Callable, Iterable, Iterator, List, NamedTuple, Optional, Union

import torch
from allennlp.common.checks import ConfigurationError

from tagger.common.files import add_content, spell_bytes
from tagger_compat import archive_guard

logger = logging.getLogger(__name__)

#: The environment variable that names the folder of transformers that are not where a config says.
FOLDER_VARIABLE = "TAGGER_TRANSFORMERS"
#: Where an archive that carries its transformers has them.
ARCHIVED = "transformers"

_WEIGHTS = ("model*.safetensors", "pytorch_model*.bin")
_given: "ContextVar[Optional[Path]]" = ContextVar("given", default=None)
_OTHERS = ("config.json", "*token*.json", "vocab*", "merges.txt", "*.model")


class Transformer(NamedTuple):
    """A transformer's files.

    Attributes:
        folder: The folder of its weights, its config and its tokenizer, as `save_pretrained` writes it.
        digest: The SHA-256 of these files, in hexadecimal.
    """

    folder: Path
    digest: str

    def tokenizer(self) -> Any:
        """Loads the tokenizer; one that tells words by the blank before them takes words alone."""
        from transformers import AutoTokenizer

        tokenizer = self._loaded(AutoTokenizer.from_pretrained, add_prefix_space=True)
        _put_blank_before(tokenizer)
        return tokenizer

    def config(self) -> Any:
        """Loads the description of the model."""
        from transformers import AutoConfig

        return self._loaded(AutoConfig.from_pretrained)

    def model_without_weights(self) -> Any:
        """Makes the model in float32, with random weights."""
        from transformers import AutoModel

        may_run_code = archive_guard.may_run_code(self.folder)
        config = self.config()
        with archive_guard.transformer_loaded(self.folder):
            return AutoModel.from_config(config, trust_remote_code=may_run_code).float()

    def model(self) -> Any:
        """Loads the model in float32, in evaluation mode."""
        from transformers import AutoModel
        from transformers.utils import logging

        with_bars = logging.is_progress_bar_enabled()
        logging.disable_progress_bar()
        try:
            return self._loaded(AutoModel.from_pretrained, dtype=torch.float32).eval()
        finally:
            if with_bars:
                logging.enable_progress_bar()

    def _loaded(self, load: Callable[..., Any], **options: Any) -> Any:
        """Loads a part; code of the transformer's own runs only where its user allows it."""
        may_run_code = archive_guard.may_run_code(self.folder)
        with archive_guard.transformer_loaded(self.folder):
            return load(str(self.folder), trust_remote_code=may_run_code, **options)


@contextmanager
def transformer_given(folder: Optional[Union[str, Path]]) -> Iterator[None]:
    """Has a transformer that is loaded inside taken from a folder, which wins over all other places.

    Raises:
        ConfigurationError: If the folder holds no transformer.
    """
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

    The places are, in this order: the folder of `transformer_given`; the archive; the folder `name`;
    the folder that the environment variable TAGGER_TRANSFORMERS names, or one in it; the cache of the
    Hugging Face hub; a folder beside the archive's file, or beside its folder. A folder among others is
    known by the last part of `name`.

    Args:
        name: A folder, or a name on the hub.
        archive_folder: Where an archive is unpacked, or a training run is kept.

    Raises:
        ConfigurationError: If it is nowhere, or its weights or its config are missing.
    """
    given, last = _given.get(), Path(name).name
    if given is not None:
        return _transformer_in(given)
    carried = [] if archive_folder is None else [Path(archive_folder, ARCHIVED, last)]
    named, beside = [Path(name), *_in_folder_of_variable(last)], _beside_archive(last)
    for place in (*carried, *named):
        if place.is_dir():
            return _transformer_in(place)
    cached = archive_guard.in_hub_cache(name)
    if cached is not None:
        return _transformer_in(Path(cached))
    for place in beside:
        # A run may have this name too.
        if _weights_in(place):
            return _transformer_in(place)
    looked = ", ".join(dict.fromkeys(str(place.absolute()) for place in [*named, *beside]))
    raise ConfigurationError(
        f"`model_name` is {name!r}, but there is no such folder ({looked}), and it is not in the cache "
        f"of the Hugging Face hub; put the transformer there, or set {FOLDER_VARIABLE} to its folder, "
        f"or name another folder with --overrides, as `model_name` of the token indexer and of the "
        f"token embedder"
    )


def _transformer_in(folder: Path) -> Transformer:
    archive_guard.may_read(folder)
    return Transformer(folder, digest_of(folder))


def _in_folder_of_variable(last: str) -> List[Path]:
    if not os.environ.get(FOLDER_VARIABLE):
        return []
    folder = Path(os.environ[FOLDER_VARIABLE])
    return [folder / last, *([folder] if (folder / "config.json").is_file() else [])]


def _beside_archive(last: str) -> List[Path]:
    file = archive_guard.archive_file()
    if file is None:
        return []
    path = Path(file).absolute()
    folder = path if path.is_dir() else path.parent
    return [folder / last, folder.parent / last]


def digest_of(folder: Union[str, Path]) -> str:
    """Returns the SHA-256 of a transformer's weights, config and tokenizer, in hexadecimal.

    The digest does not depend on the folder's name, nor on files that are no part of the transformer.

    Raises:
        ConfigurationError: If the weights or the config are missing.
    """
    files = transformer_files(folder)
    # A file that has changed has another size or time.
    state = tuple((str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in files)
    return _digest_of_files(state)


def transformer_files(folder: Union[str, Path]) -> List[Path]:
    """Returns the files of a transformer, sorted by name.

    Raises:
        ConfigurationError: If the weights or the config are missing.
    """
    folder = Path(folder)
    weights = _weights_in(folder)
    if not weights or not (folder / "config.json").is_file():
        raise ConfigurationError(
            f"`model_name`: expected a transformer in {folder.absolute()}, `config.json` and "
            f"`model.safetensors` or `pytorch_model.bin`; got "
            f"{', '.join(sorted(each.name for each in folder.iterdir())[:10]) or 'an empty folder'}"
        )
    others = {file for each in _OTHERS for file in folder.glob(each)}
    return sorted({*weights, *others}, key=lambda file: file.name)


def _weights_in(folder: Path) -> List[Path]:
    return next(filter(None, (sorted(folder.glob(each)) for each in _WEIGHTS)), [])


def _carries_all(run_folder: str) -> bool:
    """Whether the config of a training run says `include_in_archive: ['transformers']`."""
    config = Path(run_folder, "config.json")
    if not config.is_file():
        return False
    return ARCHIVED in (json.loads(config.read_text()).get("include_in_archive") or [])


def carry_transformer(
    transformer: Transformer, name: str, run_folder: str, max_megabytes: float
) -> None:
    """Copies a transformer to the folder of a training run, whose archive takes it from there.

    Args:
        transformer: The transformer.
        name: The name by which a config knows it.
        run_folder: The folder of the training run; nothing is copied to that of an archive.
        max_megabytes: A larger transformer is not copied, which a warning says, unless the config says
            `include_in_archive: ['transformers']`; 0 for none.
    """
    target = Path(run_folder, ARCHIVED, Path(name).name)
    is_loaded = archive_guard.archive_file() is not None
    if is_loaded or target.resolve() == transformer.folder.resolve():
        return
    files = transformer_files(transformer.folder)
    num_bytes = sum(file.stat().st_size for file in files)
    if num_bytes <= max_megabytes * 1e6 or _carries_all(run_folder):
        copy_files(files, target)
    elif max_megabytes:
        logger.warning(
            "The archive does not carry the transformer, whose %s are more than `max_carried_mb` (%g); "
            "whoever loads it needs %s",
            *(spell_bytes(num_bytes), max_megabytes, transformer.folder),
        )


def copy_files(files: Iterable[Path], target: Path) -> None:
    """Copies files to a new folder, which is there when all of them are in it."""
    unfinished = target.with_name(f".{target.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    for file in files:
        shutil.copyfile(file, unfinished / file.name)
    unfinished.rename(target)


def _put_blank_before(tokenizer: Any) -> None:
    """Gives a text the blank before it that the general class for tokenizers of bytes leaves out."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        return
    settings = json.dumps(json.loads(backend.to_str())["pre_tokenizer"])
    if '"ByteLevel"' in settings and '"add_prefix_space": true' not in settings:
        from tokenizers import normalizers

        own = [backend.normalizer] if backend.normalizer else []
        backend.normalizer = normalizers.Sequence([*own, normalizers.Prepend(" ")])


@functools.lru_cache(maxsize=64)
def _digest_of_files(state: tuple) -> str:
    digest = hashlib.sha256()
    for name, size, _ in state:
        digest.update(f"{Path(name).name} {size}\n".encode())
        add_content(digest, name)
    return digest.hexdigest()
