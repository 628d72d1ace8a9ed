"""An archive is data, not a program: what keeps a stranger's archive from running or writing anything.

AllenNLP unpacks an archive wherever its members say, evaluates its config as Jsonnet, which can read any
file and the environment, and imports and calls whatever a `type` with a dot in it names. With this mend

- members are unpacked into the archive's own folder only, and up to a size;
- the config is read as JSON;
- a `type` must be a registered name, or name a class that the user has imported.

`TAGGER_TRUST_ARCHIVES=1` leaves archives to AllenNLP as before; `TAGGER_ARCHIVE_BYTES` sets the size.
"""

import json
import os
import re
import shutil
import sys
import tarfile
import tempfile
import zlib
from contextlib import contextmanager
from typing import Any, ContextManager, Dict, Iterator, NoReturn, Set, Tuple, Type, Union

#: How many bytes an archive may unpack to; a large transformer takes a few thousand million.
DEFAULT_SIZE_LIMIT = 16 * 2**30
#: How to let one's own archive pass.
REMEDY = "set TAGGER_TRUST_ARCHIVES=1 if the archive is your own"

_DOTTED_NAME = re.compile(r"[A-Za-z_]\w*(\.\w+)+")
#: Dotted names that configs of archives have brought into this process.
_names_in_archives: Set[str] = set()


def are_trusted() -> bool:
    """Whether the user has asked to leave archives unchecked."""
    return os.environ.get("TAGGER_TRUST_ARCHIVES", "0") not in ("", "0")


@contextmanager
def unpacked(archive_file: str, folder: str) -> Iterator[None]:
    """Unpacks an archive into `folder`, member by member.

    Args:
        archive_file: The `model.tar.gz`.
        folder: An empty folder.

    Raises:
        ConfigurationError: If a member would lie outside of the folder, is a device, or links to
            something outside; if the members are too large together; or if the file is no archive of a
            model, or is cut off.
    """
    size_limit = int(os.environ.get("TAGGER_ARCHIVE_BYTES", DEFAULT_SIZE_LIMIT))
    num_bytes = 0
    try:
        with tarfile.open(archive_file, "r:gz") as archive:
            for member in archive:
                reason = _reason_to_refuse(member, folder)
                if reason:
                    refuse(f"{archive_file}: the member `{member.name}` {reason}")
                num_bytes += member.size
                if num_bytes > size_limit:
                    refuse(
                        f"{archive_file}: the members take more than {size_limit} bytes",
                        "set TAGGER_ARCHIVE_BYTES to a larger number if the archive is your own",
                    )
                archive.extract(member, folder, **_FILTER)
    except _FILTER_ERRORS as error:
        refuse(f"{archive_file}: {error}")
    except (tarfile.ReadError, EOFError, zlib.error) as error:
        refuse(
            f"{archive_file} is not the archive of a model, or it is cut off ({error})",
            "make or copy it again",
        )
    if not os.path.isfile(os.path.join(folder, "config.json")):
        refuse(
            f"{archive_file} is not the archive of a model: it has no `config.json`",
            "name a `model.tar.gz` that training has made",
        )
    yield


_HAS_FILTER = hasattr(tarfile, "data_filter")
#: Refuses devices and links to the outside, and takes away owners and odd permissions (PEP 706).
_FILTER: Dict[str, Any] = {"filter": "data"} if _HAS_FILTER else {}
_FILTER_ERRORS: Tuple[Type[Exception], ...] = (tarfile.FilterError,) if _HAS_FILTER else ()


def _reason_to_refuse(member: tarfile.TarInfo, folder: str) -> str:
    """Says why a member must not be unpacked; empty if it may."""
    if not _HAS_FILTER and not (member.isfile() or member.isdir()):
        return "is neither a file nor a folder"
    target = os.path.realpath(os.path.join(folder, member.name))
    if os.path.isabs(member.name) or not _is_within(target, os.path.realpath(folder)):
        return "lies outside of the archive's own folder"
    return ""


def _is_within(path: str, folder: str) -> bool:
    return os.path.commonpath([path, folder]) == folder


def json_config(path: str) -> Dict[str, Any]:
    """Reads the config of an archive, and remembers which dotted names it brings along.

    Raises:
        ConfigurationError: If it is not a JSON object, or asks transformers to run code of a model.
    """
    with open(path, encoding="utf-8") as file:
        text = file.read()
    try:
        config = json.loads(text)
    except ValueError as error:
        refuse(f"the archive's `config.json` is not plain JSON ({error})")
    if not isinstance(config, dict):
        refuse(f"the archive's `config.json` must be a JSON object; got {text.strip()[:40]!r}")
    _examine(config)
    return config


def _examine(value: Any) -> None:
    if isinstance(value, dict):
        if value.get("trust_remote_code"):
            refuse("the archive's config sets `trust_remote_code`, which runs a model's own code")
        for each in value.values():
            _examine(each)
    elif isinstance(value, list):
        for each in value:
            _examine(each)
    elif isinstance(value, str) and _DOTTED_NAME.fullmatch(value):
        _names_in_archives.add(value)


def check_type(base: type, name: str) -> None:
    """Refuses a dotted name out of an archive, unless it is a class that has been imported.

    Args:
        base: The registrable class that is to be constructed.
        name: What the config names.

    Raises:
        ConfigurationError: If the name comes from an archive, and is neither registered nor the name of
            a subclass of `base` in a module that has been imported.
    """
    if name not in _names_in_archives or are_trusted():
        return
    module_name, _, class_name = name.rpartition(".")
    named = getattr(sys.modules.get(module_name), class_name, None)
    if isinstance(named, type) and issubclass(named, base):
        return
    refuse(
        f"the archive's config names `{name}` as a {base.__name__}, which is no registered name",
        f"name its package with --include-package, or {REMEDY}",
    )


def refuse(what: str, remedy: str = REMEDY) -> NoReturn:
    """Raises a `ConfigurationError` of one line.

    Args:
        what: What is refused, and why.
        remedy: What the user can do.
    """
    from allennlp.common.checks import ConfigurationError

    raise ConfigurationError(f"{what}; {remedy}") from None


@contextmanager
def _with_guarded_archives(archival: Any) -> Iterator[None]:
    """Mends `allennlp.models.archival`: archives are unpacked and configs read as above."""
    yield
    extracted_archive = archival.extracted_archive
    params_class = archival.Params

    @contextmanager
    def extracted_guarded(
        resolved_archive_file: Union[str, "os.PathLike[str]"], cleanup: bool = True
    ) -> Iterator[str]:
        if are_trusted():
            with extracted_archive(resolved_archive_file, cleanup) as folder:
                yield folder
            return
        folder = tempfile.mkdtemp()
        is_whole = False
        try:
            with unpacked(str(resolved_archive_file), folder):
                is_whole = True
                yield folder
        finally:
            if cleanup or not is_whole:
                shutil.rmtree(folder, ignore_errors=True)

    class ArchivedParams(params_class):  # type: ignore[misc, valid-type]
        """Reads the config of an archive."""

        @classmethod
        def from_file(cls, params_file: str, params_overrides: Any = "") -> Any:
            if are_trusted():
                return params_class.from_file(params_file, params_overrides)
            if not os.path.isfile(params_file):
                refuse(
                    f"{os.path.dirname(params_file)} is not the folder of a run: it has no "
                    f"`{os.path.basename(params_file)}`",
                    "name a `model.tar.gz`, or the folder that training has made",
                )
            config = json_config(params_file)
            if isinstance(params_overrides, dict):
                params_overrides = json.dumps(params_overrides)
            # The overrides are the user's own, and may be Jsonnet.
            overrides = params_module.parse_overrides(params_overrides)
            if overrides:
                config = params_module.with_overrides(config, overrides)
            return params_class(config)

    params_module = sys.modules[params_class.__module__]
    archival.extracted_archive = extracted_guarded
    archival.Params = ArchivedParams


@contextmanager
def _with_guarded_types(registrable: Any) -> Iterator[None]:
    """Mends `allennlp.common.registrable`: names out of archives are checked first."""
    yield
    registry = registrable.Registrable._registry
    resolve = registrable.Registrable.resolve_class_name.__func__

    def resolve_class_name(cls: type, name: str) -> Any:
        if name not in registry[cls]:
            check_type(cls, name)
        return resolve(cls, name)

    registrable.Registrable.resolve_class_name = classmethod(resolve_class_name)


_MENDS = {
    "allennlp.common.registrable": _with_guarded_types,
    "allennlp.models.archival": _with_guarded_archives,
}
MODULES = tuple(_MENDS)


def mended(module: Any) -> ContextManager[None]:
    """Mends one of `MODULES`."""
    return _MENDS[module.__name__](module)
