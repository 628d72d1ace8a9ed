"""Copies archives with other decoding settings, other weights, or additional files."""

import json
import tarfile
import tempfile
from io import BytesIO
from pathlib import Path
from typing import IO, Any, Mapping, Optional, Sequence, Union, cast

import torch
from allennlp.common.file_utils import cached_path
from allennlp.models.archival import _WEIGHTS_NAME, CONFIG_NAME

from tagger.common.files import write_atomically
from tagger.tools.tuning.curves import CURVES_NAME, DecodingCurves
from tagger.tools.tuning.decoding import Settings
from tagger.tools.tuning.promise_record import PROMISES_NAME, Promise, promises_to_json
from tagger_compat.tar_files import new_archive


def write_settings(
    archive_file: Path,
    output: Path,
    settings: Settings,
    overwrite: bool = False,
    curves: Optional[DecodingCurves] = None,
    promises: Sequence[Promise] = (),
) -> None:
    """Copies an archive and replaces the decoding settings in its config.

    All members of an ensemble get them. Old curves and promises no longer apply and are left out.
    """
    added = {} if curves is None else {CURVES_NAME: curves.to_json()}
    if promises:
        added[PROMISES_NAME] = promises_to_json(promises)
    dropped = CURVES_NAME, PROMISES_NAME
    rewrite_archive(archive_file, output, settings._asdict(), overwrite, dropped, added)


def write_weights(
    archive_file: Path, output: Path, changed: Mapping[str, torch.Tensor], overwrite: bool = False
) -> None:
    """Copies an archive and replaces some of its weights, by name in the model's state dict."""
    with tarfile.open(cached_path(archive_file)) as old:
        file = cast(IO[bytes], old.extractfile(_WEIGHTS_NAME))
        weights = torch.load(BytesIO(file.read()), map_location="cpu", weights_only=True)
    weights.update({name: value.cpu() for name, value in changed.items()})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / _WEIGHTS_NAME
        torch.save(weights, path)
        dropped, added = (_WEIGHTS_NAME,), {_WEIGHTS_NAME: path}
        rewrite_archive(archive_file, output, {}, overwrite, dropped, added)


def rewrite_archive(
    archive_file: Path,
    output: Path,
    head: Mapping[str, Any],
    overwrite: bool = False,
    dropped: Sequence[str] = (),
    added: Optional[Mapping[str, Union[str, Path]]] = None,
) -> None:
    """Copies an archive and changes arguments of its heads.

    `head` has the arguments to replace in the head, or in the heads of all members of an ensemble.
    Files in `dropped` are left out; `added` maps names in the archive to texts or paths.
    """
    with (
        write_atomically(output, overwrite) as path,
        tarfile.open(cached_path(archive_file)) as old,
        new_archive(path) as new,
    ):
        for member in old:
            if member.name in dropped:
                continue
            content = old.extractfile(member) if member.isfile() else None
            if head and member.name == CONFIG_NAME and content is not None:
                config = json.load(content)
                model = config["model"]
                for tagger in model.get("members", [model]):
                    tagger.setdefault("head", {}).update(head)
                text = json.dumps(config, indent=2).encode()
                member.size, content = len(text), BytesIO(text)
            new.addfile(member, content)
        # The Hugging Face hub's cache consists of links, which an archive must not have.
        new.dereference = True
        for name, text_or_path in (added or {}).items():
            if isinstance(text_or_path, Path):
                new.add(text_or_path, name)
            else:
                text = text_or_path.encode()
                member = tarfile.TarInfo(name)
                member.size = len(text)
                new.addfile(member, BytesIO(text))
