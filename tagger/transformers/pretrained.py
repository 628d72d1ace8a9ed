"""Finds a pretrained transformer on this machine, names it by its content, and loads its parts."""

import functools
import hashlib
import json
import os
import shutil
from pathlib import Path
from typing import Any, Callable, Iterable, List, NamedTuple, Optional, Union

import torch
from allennlp.common.checks import ConfigurationError

from tagger.common.files import add_content
from tagger_compat import archive_guard

#: The environment variable that names the folder of transformers that are not where a config says.
FOLDER_VARIABLE = "TAGGER_TRANSFORMERS"
#: Where an archive that carries its transformers has them.
ARCHIVED = "transformers"

_WEIGHTS = ("model*.safetensors", "pytorch_model*.bin")
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


def find_transformer(name: str, archive_folder: Optional[str] = None) -> Transformer:
    """Finds a transformer: carried by an archive, in a folder, or in the cache of the Hugging Face hub.

    Nothing is downloaded. If `name` is no folder, a folder with its last part as a name is looked for in
    the folder that the environment variable TAGGER_TRANSFORMERS names.

    Args:
        name: A folder, or a name on the hub.
        archive_folder: Where an archive is unpacked, or a training run is kept.

    Raises:
        ConfigurationError: If it is nowhere, or its weights or its config are missing.
    """
    last = Path(name).name
    places = [Path(name)]
    if archive_folder is not None:
        places.insert(0, Path(archive_folder, ARCHIVED, last))
    if os.environ.get(FOLDER_VARIABLE):
        places.append(Path(os.environ[FOLDER_VARIABLE], last))
    for place in places:
        if place.is_dir():
            archive_guard.may_read(place)
            return Transformer(place, digest_of(place))
    cached = archive_guard.in_hub_cache(name)
    if cached is not None:
        archive_guard.may_read(cached)
        return Transformer(Path(cached), digest_of(cached))
    looked = ", ".join(str(place.absolute()) for place in places[-2:])
    raise ConfigurationError(
        f"`model_name` is {name!r}, but there is no such folder ({looked}), and it is not in the cache "
        f"of the Hugging Face hub; put the transformer there, or set {FOLDER_VARIABLE} to the folder "
        f"that holds `{last}`, or name another folder with --overrides, as `model_name` of the token "
        f"indexer and of the token embedder"
    )


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
    weights = next(filter(None, (sorted(folder.glob(each)) for each in _WEIGHTS)), [])
    if not weights or not (folder / "config.json").is_file():
        raise ConfigurationError(
            f"`model_name`: expected a transformer in {folder.absolute()}, `config.json` and "
            f"`model.safetensors` or `pytorch_model.bin`; got "
            f"{', '.join(sorted(each.name for each in folder.iterdir())[:10]) or 'an empty folder'}"
        )
    others = {file for each in _OTHERS for file in folder.glob(each)}
    return sorted({*weights, *others}, key=lambda file: file.name)


def carries_transformers(run_folder: str) -> bool:
    """Whether the config of a training run puts its transformers into the archive.

    It does so by AllenNLP's `include_in_archive: ['transformers']`.

    Args:
        run_folder: The folder of the training run.
    """
    config = Path(run_folder, "config.json")
    if not config.is_file():
        return False
    return ARCHIVED in (json.loads(config.read_text()).get("include_in_archive") or [])


def copy_transformer(transformer: Transformer, name: str, run_folder: str) -> None:
    """Copies a transformer to where AllenNLP's `include_in_archive` takes it from.

    Args:
        transformer: The transformer.
        name: The name by which a config knows it.
        run_folder: The folder of the training run.
    """
    target = Path(run_folder, ARCHIVED, Path(name).name)
    if target.resolve() == transformer.folder.resolve():
        return
    copy_files(transformer_files(transformer.folder), target)


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
