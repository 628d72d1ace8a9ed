"""Loads archives as data, not programs: an untrusted archive can neither run code nor write files.

AllenNLP unpacks members to any path they name, and evaluates the config as Jsonnet, which can read any
file and the environment. It imports and calls whatever a `type` with a dot names, opens any file or
address in the config, and does not notice changed files. With this patch,

- members are unpacked only into the archive's own folder, up to a number and a size, and a member that
  differs from its checksum is rejected, see `tagger_compat.archive_files` and `tagger_compat.tar_files`;
- the config is read as JSON;
- a `type` must be a registered name or a class that the user has imported;
- an archive cannot access anything outside itself, see `tagger_compat.archive_guard`;
- its memory is limited by the size of its files, see `tagger_compat.archive_contents` and
  `tagger_compat.archive_tensors`;
- only the user decides where transformer features are cached on this machine, and how many.

`TAGGER_TRUST_ARCHIVES=1` leaves archives to AllenNLP; `TAGGER_ARCHIVE_BYTES` sets the size limit.
"""

import functools
import json
import os
import re
import shutil
import sys
import tarfile
import tempfile
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, ContextManager, Dict, Iterable, Iterator, Set, Union

from tagger_compat import archive_guard, outside_transformers
from tagger_compat.archive_contents import check_numbers, read_json
from tagger_compat.archive_files import check_files, identifying, unpack
from tagger_compat.archive_guard import REMEDY, is_set, refuse, shortened
from tagger_compat.tar_files import new_archive

#: Keys that an archive's config may not set, because the user decides which data are read.
_DATA_KEYS = {"data_path", "reader"}
#: Keys that it may not set, because the user decides where a transformer's features are cached.
_CACHE_KEYS = {"cache_folder", "max_cache_gb"}
#: Strings from archives' configs in this process, except those that a config of the user's names, too.
_names_in_archives: Set[str] = set()


def are_trusted() -> bool:
    """Whether the user has turned off the checks of archives."""
    return is_set("TAGGER_TRUST_ARCHIVES")


def json_config(path: str) -> Dict[str, Any]:
    """Reads an archive's config; rejects one that names data to read or has excessive numbers."""
    config = read_json(path, "the archive's `config.json`")
    if not isinstance(config, dict):
        refuse(f"the archive's `config.json` must be a JSON object; got {str(config)[:40]!r}")
    for loader in ("data_loader", "validation_data_loader"):
        for key in _DATA_KEYS & set(config.get(loader) or ()):
            refuse(f"the archive's config sets `{loader}.{key}`, which its user names")
    check_numbers(config)
    return config


def _strings(value: Any, is_own: bool = False) -> Iterator[str]:
    """Yields all strings of a config, including keys; rejects remote code unless the config is own."""
    if isinstance(value, dict):
        if value.get("trust_remote_code") and not is_own:
            refuse("the archive's config sets `trust_remote_code`, which runs a model's own code")
        yield from value
        value = value.values()
    if isinstance(value, str):
        yield value
    elif isinstance(value, Iterable):
        for each in value:
            yield from _strings(each, is_own)


def _without_unused(config: Any) -> Any:
    """Removes the settings of the feature cache, which are up to the user, and initializers.

    AllenNLP removes the initializers of a saved model as well, but not those inside lists.
    """
    if isinstance(config, dict):
        dropped = {"initializer"} | (_CACHE_KEYS if "model_name" in config else set())
        return {k: _without_unused(v) for k, v in config.items() if k not in dropped}
    return [_without_unused(each) for each in config] if isinstance(config, list) else config


def check_type(base: type, name: Any) -> None:
    """Rejects a name from an archive unless it is registered or an imported subclass of `base`.

    AllenNLP is about to construct it. The name may not even be a string, because AllenNLP turns the text
    `None` into None.
    """
    state = archive_guard.current()
    text = str(name)
    is_own = state is not None and text in state.own
    if are_trusted() or is_own or (state is None and text not in _names_in_archives):
        return
    module_name, _, class_name = text.rpartition(".")
    named = getattr(sys.modules.get(module_name), class_name, None)
    if isinstance(named, type) and issubclass(named, base):
        return
    refuse(
        f"the archive's config names `{' '.join(text.split())[:80]}` as a {base.__name__}, which is no "
        f"registered name",
        f"name its package with --include-package, or {REMEDY}",
    )


@contextmanager
def _errors_in_one_sentence(archive_file: Any, has_overrides: bool) -> Iterator[None]:
    """Reports any error in loading an archive in one sentence."""
    from allennlp.common.checks import ConfigurationError
    from allennlp.common.util import SigTermReceived

    try:
        yield
    except SigTermReceived:
        raise
    except Exception as error:  # A damaged archive can fail in any library that reads it.
        text = shortened(str(error))
        if not isinstance(error, ConfigurationError):
            remedy = "correct the overrides, or " if has_overrides else ""
            text = (
                f"{archive_file} cannot be loaded as an archive ({type(error).__name__}: {text}); "
                f"{remedy}train it again, or copy it again if a copy was cut short"
            )
        raise ConfigurationError(text) from error


@contextmanager
def _with_guarded_archives(archival: Any) -> Iterator[None]:
    """Patches `allennlp.models.archival` to write, unpack and load archives as described above."""
    yield
    extracted_archive = archival.extracted_archive
    load_archive = identifying(archival.load_archive)

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
            unpack(str(resolved_archive_file), folder)
            is_whole = True
            yield folder
        finally:
            if cleanup or not is_whole:
                shutil.rmtree(folder, ignore_errors=True)

    @functools.wraps(load_archive)
    def load_guarded(
        archive_file: Any, cuda_device: int = -1, overrides: Any = "", weights_file: Any = None
    ) -> Any:
        outer = archive_guard.current()
        if outer is not None and str(archive_file) not in outer.own:
            refuse(f"the archive's config names another archive, {str(archive_file)[:80]!r}")
        # An address from the user may be on the network.
        path = archival.cached_path(archive_file)
        with _errors_in_one_sentence(archive_file, bool(overrides)):
            if are_trusted():
                return load_archive(path, cuda_device, overrides, weights_file)
            if os.path.isdir(path):
                check_files(path, archive_file, is_archive=False)
            from tagger_compat.archive_tensors import TensorLimit

            own = [] if weights_file is None else [os.fspath(weights_file)]
            with (
                archive_guard.loading(own) as state,
                TensorLimit(state.num_file_bytes, archive_file),
            ):
                state.file = os.fspath(path)
                archive = load_archive(path, cuda_device, overrides, weights_file)
                for attempt in state.trials:
                    attempt()
                return archive

    archival.Params = _archived_params(archival.Params)
    archival.extracted_archive = extracted_guarded
    archival.load_archive = load_guarded
    archival.shutil = SimpleNamespace(rmtree=_remove)
    archival.tarfile = SimpleNamespace(open=_open_tar)


def _remove(folder: str, **options: Any) -> None:
    # Removal uses relative names, which look like files elsewhere.
    with archive_guard.suspended():
        shutil.rmtree(folder, **options)


def _open_tar(path: Any, mode: str = "r") -> tarfile.TarFile:
    return new_archive(path) if mode == "w:gz" else tarfile.open(path, mode)  # type: ignore[call-overload]


def _archived_params(params_class: Any) -> type:
    """Returns the class that replaces `Params` to read an archive's config."""
    params_module = sys.modules[params_class.__module__]

    class ArchivedParams(params_class):
        """Reads an archive's config."""

        @classmethod
        def from_file(cls, params_file: str, params_overrides: Any = "") -> Any:
            if are_trusted():
                return params_class.from_file(params_file, params_overrides)
            folder, name = os.path.split(params_file)
            if not os.path.isfile(params_file):
                refuse(
                    f"{folder} is not the folder of a run: it has no `{name}`",
                    "name a `model.tar.gz`, or the folder that training has made",
                )
            config = _without_unused(json_config(params_file))
            if isinstance(params_overrides, dict):
                params_overrides = json.dumps(params_overrides)
            # The overrides come from the user, so they may be Jsonnet.
            try:
                overrides = params_module.parse_overrides(params_overrides)
            except RuntimeError as error:
                first = str(error).splitlines()[0]
                reason = first.partition(" ERROR: ")[2] or first
                refuse(f"`--overrides` cannot be read: {reason}", "they must be JSON or Jsonnet")
            names, own = set(_strings(config)), set(_strings(overrides, is_own=True))
            state = archive_guard.current()
            if state is not None:
                state.begin(folder, names, own)
            _names_in_archives.update(names - own)
            return params_class(params_module.with_overrides(config, overrides))

    return ArchivedParams


@contextmanager
def _with_guarded_types(registrable: Any) -> Iterator[None]:
    """Patches `allennlp.common.registrable` to check names from archives first."""
    yield
    registry = registrable.Registrable._registry
    resolve = registrable.Registrable.resolve_class_name.__func__

    def resolve_class_name(cls: type, name: str) -> Any:
        if not (isinstance(name, str) and name in registry[cls]):
            check_type(cls, name)
        return resolve(cls, name)

    registrable.Registrable.resolve_class_name = classmethod(resolve_class_name)


@contextmanager
def _with_own_configs(params: Any) -> Iterator[None]:
    """Patches `allennlp.common.params`: what the user's own config names is allowed from then on."""
    yield
    from_file = params.Params.from_file.__func__

    @functools.wraps(from_file)
    def read(cls: type, *args: Any, **kwargs: Any) -> Any:
        config = from_file(cls, *args, **kwargs)
        if archive_guard.current() is None and _names_in_archives:
            _names_in_archives.difference_update(_strings(config.as_dict(quiet=True), is_own=True))
        return config

    params.Params.from_file = classmethod(read)


@contextmanager
def _with_checksums(meta: Any) -> Iterator[None]:
    """Patches `allennlp.common.meta` to ignore the keys of `meta.json` that AllenNLP does not know."""
    yield

    def from_path(cls: Any, path: Any) -> Any:
        with open(path, encoding="utf-8") as file:
            version = json.load(file)["version"]
        # AllenNLP compares the version, and prints it if it differs.
        if not re.fullmatch(r"[\w.+-]{1,40}", str(version)):
            refuse(
                "the archive's `meta.json` gives a version that is none", "make or copy it again"
            )
        return cls(version=version)

    meta.Meta.from_path = classmethod(from_path)


@contextmanager
def _with_guarded_paths(file_utils: Any) -> Iterator[None]:
    """Patches `allennlp.common.file_utils` to check paths, because C libraries bypass audits."""
    yield
    cached_path = file_utils.cached_path

    @functools.wraps(cached_path)
    def find(url_or_filename: Any, *args: Any, **kwargs: Any) -> str:
        archive_guard.check_path(url_or_filename)
        path: str = cached_path(url_or_filename, *args, **kwargs)
        return path

    file_utils.cached_path = find


@contextmanager
def _with_guarded_vectors(embedding: Any) -> Iterator[None]:
    """Patches `allennlp.modules.token_embedders.embedding` to check HDF5 files, which C code opens."""
    yield
    read = embedding._read_embeddings_from_hdf5

    @functools.wraps(read)
    def read_guarded(embeddings_filename: str, *args: Any) -> Any:
        archive_guard.check_path(embeddings_filename)
        return read(embeddings_filename, *args)

    embedding._read_embeddings_from_hdf5 = read_guarded


@contextmanager
def _with_guarded_transformers(cached_transformers: Any) -> Iterator[None]:
    """Patches `allennlp.common.cached_transformers` to use no model's own code and no network."""
    yield
    outside_transformers.let_transformers_never_ask()

    def guarded(load: Any) -> Any:
        @functools.wraps(load)
        def load_guarded(model_name: str, *args: Any, **kwargs: Any) -> Any:
            if archive_guard.current() is not None:
                model_name = outside_transformers.transformer_on_this_machine(model_name)
            # If the user's own config sets it, that decides.
            kwargs.setdefault("trust_remote_code", outside_transformers.may_run_code())
            with outside_transformers.transformer_loaded(model_name):
                return load(model_name, *args, **kwargs)

        return load_guarded

    cached_transformers.get = guarded(cached_transformers.get)
    cached_transformers.get_tokenizer = guarded(cached_transformers.get_tokenizer)


_PATCHES = {
    "allennlp.common.cached_transformers": _with_guarded_transformers,
    "allennlp.common.file_utils": _with_guarded_paths,
    "allennlp.common.meta": _with_checksums,
    "allennlp.common.params": _with_own_configs,
    "allennlp.common.registrable": _with_guarded_types,
    "allennlp.modules.token_embedders.embedding": _with_guarded_vectors,
    "allennlp.models.archival": _with_guarded_archives,
}
MODULES = tuple(_PATCHES)


def patched(module: Any) -> ContextManager[None]:
    """Patches one of `MODULES`."""
    return _PATCHES[module.__name__](module)
