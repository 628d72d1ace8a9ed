"""Patches AllenNLP where it has no extension point.

Trainers, subcommands, evaluators and all other components are classes that are registered with AllenNLP.
Each function here says what they cannot do. A package that builds on this one gives its `Extension` to
`tagger_compat.extend`, and names its subcommands in `commands/.allennlp_plugins`.
"""

import importlib
import logging
import os
import sys
import time
from contextlib import contextmanager, nullcontext
from functools import wraps
from pathlib import Path
from typing import Any, Callable, ContextManager, Dict, Iterable, Iterator, List, Optional, Protocol

import tagger_compat
from tagger_compat.plugins import installed_plugins, without_installed_plugins

logger = logging.getLogger(__name__)


#: Folders of a run that its archive holds without being told to: what it needs of its transformers.
_CARRIED = ("fine_tuned", "transformers")


class JsonnetError(RuntimeError):
    """A config that Jsonnet cannot evaluate."""


class Extension(Protocol):
    """What a package adds to AllenNLP's functions."""

    #: The modules of the components, by the name of the base class and the component's name.
    MODULES: Dict[str, Dict[str, str]]
    import_component: Callable[[str, str], None]
    #: Registers the subcommand of this name, or all if there is none; returns whether there is one.
    register_command: Callable[[str], bool]
    #: Reports the errors of a command.
    errors_reported: Callable[[str], ContextManager[None]]
    #: The end of a message about an unknown key.
    suggestion: Callable[[str, Iterable[str]], str]
    #: Filters the log handlers of the console.
    quieten: Callable[[List[logging.Handler]], None]
    #: What progress bars show.
    current_activity: Callable[[], str]
    #: Yields a new file that replaces a path in the end.
    write_atomically: Callable[[Path, bool], ContextManager[Path]]


def _extension() -> Optional[Extension]:
    """The extension, if its package has been imported."""
    if tagger_compat.extended_by is None:
        return None
    extension: Extension = tagger_compat.extended_by[1]()
    return extension


def _is_extending(module: str) -> bool:
    extended_by = tagger_compat.extended_by
    return extended_by is not None and module.partition(".")[0] == extended_by[0]


@contextmanager
def with_commands_on_demand(commands: Any) -> Iterator[None]:
    """Registers an extension's subcommand if it is asked for, and reports all commands' errors.

    AllenNLP adds subcommands to its parser before it imports plugins, and then imports all plugins. An
    extension may replace subcommands, and the others of its subcommands are not imported. Errors or
    interrupts may occur before a subcommand runs.
    """
    yield
    main = commands.main

    @wraps(main)
    def run(prog: Optional[str] = None) -> None:
        for package in {name.partition(".")[0] for name in installed_plugins()}:
            importlib.import_module(package)
        extension = _extension()
        # The command passes its name; code that calls `main` does not, and expects exceptions.
        with extension.errors_reported(prog) if extension and prog else nullcontext():
            is_found = extension is not None and extension.register_command("".join(sys.argv[1:2]))
            with without_installed_plugins() if is_found else nullcontext():
                main(prog)

    commands.main = run


@contextmanager
def with_components_on_demand(registrable: Any) -> Iterator[None]:
    """Registers each component of an extension when its name is asked for.

    Looking up one of these names in AllenNLP's registry finds its component, and lists of names have
    them too; registering a class of others under one of these names needs `exist_ok`.
    """
    yield
    # The functions behind these class methods accept any class.
    register = registrable.Registrable.register.__func__
    resolve = registrable.Registrable.resolve_class_name.__func__
    list_names = registrable.Registrable.list_available.__func__

    def register_ours(cls: type, name: Any) -> None:
        """Imports the component of this name, unless a class of others has taken the name."""
        extension = _extension()
        if not isinstance(name, str) or extension is None:
            return
        registered = registrable.Registrable._registry[cls].get(name)
        if registered is None or registered[0].__module__.startswith("allennlp."):
            extension.import_component(cls.__name__, name)

    def resolve_class_name(cls: type, name: str) -> Any:
        register_ours(cls, name)
        return resolve(cls, name)

    def list_available(cls: Any) -> List[str]:
        # AllenNLP refuses to list a default that is not registered.
        register_ours(cls, cls.default_implementation)
        names: List[str] = list_names(cls)
        extension = _extension()
        modules = extension.MODULES if extension else {}
        return [*names, *(name for name in modules.get(cls.__name__, ()) if name not in names)]

    def register_after_ours(
        cls: type, name: str, constructor: Any = None, exist_ok: bool = False
    ) -> Callable[[Any], Any]:
        add_to_registry = register(cls, name, constructor, exist_ok)

        def add(subclass: Any) -> Any:
            module = getattr(subclass, "__module__", "")
            if module.partition(".")[0] != "allennlp" and not _is_extending(module):
                register_ours(cls, name)
            return add_to_registry(subclass)

        return add

    registrable.Registrable.resolve_class_name = classmethod(resolve_class_name)
    registrable.Registrable.list_available = classmethod(list_available)
    registrable.Registrable.register = classmethod(register_after_ours)


@contextmanager
def with_installed_templates(params: Any) -> Iterator[None]:
    """Lets a config import the templates of installed packages in any folder, as in `jsonnet -J`.

    The search order is the config's folder, `JSONNET_PATH`, and the packages. The Go implementation of
    Jsonnet computes each field once, and evaluates the template fifty times as fast as that in C++.
    """
    yield
    for name in ("evaluate_file", "evaluate_snippet"):
        setattr(params, name, _with_library_path(name, getattr(params, name)))


def _with_library_path(name: str, evaluate: Callable[..., str]) -> Callable[..., str]:
    @wraps(evaluate)
    def evaluate_with_path(*args: Any, **kwargs: Any) -> str:
        # Jsonnet prefers the last folder that has the file, but in `JSONNET_PATH` the first one wins.
        folders = [each for each in os.environ.get("JSONNET_PATH", "").split(os.pathsep) if each]
        ours = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        fastest = evaluate if _has_lost_threads() else getattr(_in_go(), name)
        try:
            return str(fastest(*args, jpathdir=[ours, *reversed(folders)], **kwargs))
        except RuntimeError as error:
            raise JsonnetError(*error.args) from None

    return evaluate_with_path


#: The process in which Go runs threads.
_go_process: Optional[int] = None


def _in_go() -> Any:
    global _go_process
    _go_process = os.getpid()
    return importlib.import_module("_gojsonnet")


def _has_lost_threads() -> bool:
    """Whether this process was forked from one with Go's threads, and would wait for them forever."""
    return _go_process not in (None, os.getpid())


@contextmanager
def with_known_keys_named(from_params: Any) -> Iterator[None]:
    """Lists the valid keys in the error about an unknown key of a config.

    AllenNLP passes all keys to a class with `**kwargs`; our classes pass them to a base class without.
    """
    yield
    create_kwargs = from_params.create_kwargs

    @wraps(create_kwargs)
    def create(
        constructor: Callable[..., Any], cls: type, params: Any, **extras: Any
    ) -> Dict[str, Any]:
        from allennlp.common.checks import ConfigurationError

        known = from_params.infer_params(cls, constructor)
        is_ours = constructor is cls.__init__ and _is_extending(cls.__module__)  # type: ignore[misc]
        extra = f"Extra parameters passed to {cls.__name__}: "
        try:
            found: Dict[str, Any] = create_kwargs(constructor, cls, params, **extras)
            unknown = {name: found[name] for name in found if name not in known}
            if unknown and is_ours:
                raise ConfigurationError(f"{extra}{unknown}")
            return found
        except ConfigurationError as error:
            if not str(error).startswith(extra):
                raise
            names = sorted(known.keys() - {"self", "args", "kwargs", *extras})
            given = next(iter(params.params), "")
            extension = _extension()
            hint = extension.suggestion(given, names) if extension else ""
            raise ConfigurationError(
                f"{error}; it takes {', '.join(names) or 'none'}{hint}"
            ) from None

    from_params.create_kwargs = create


@contextmanager
def with_whole_archives(archival: Any) -> Iterator[None]:
    """Writes `model.tar.gz` atomically.

    The archive includes transformers that a run has put into its folder.
    """
    yield
    archive_model = archival.archive_model

    @wraps(archive_model)
    def archive_whole(
        serialization_dir: Any,
        weights: Any = "best.th",
        archive_path: Any = None,
        include_in_archive: Any = None,
    ) -> str:
        path = Path(serialization_dir if archive_path is None else archive_path)
        if path.is_dir():
            path = path / "model.tar.gz"
        carried = {name for name in _CARRIED if Path(serialization_dir, name).is_dir()}
        if carried:
            include_in_archive = sorted({*(include_in_archive or ()), *carried})
        extension = _extension()
        with (
            extension.write_atomically(path, True) if extension else nullcontext(path) as unfinished
        ):
            archive_model(serialization_dir, weights, unfinished, include_in_archive)
        return str(path)

    archival.archive_model = archive_whole


@contextmanager
def with_quiet_training(common_logging: Any) -> Iterator[None]:
    """Shows only important messages of a training run; `out.log` in its folder still has all."""
    yield
    prepare_global_logging = common_logging.prepare_global_logging

    @wraps(prepare_global_logging)
    def prepare(*args: Any, **kwargs: Any) -> None:
        prepare_global_logging(*args, **kwargs)
        extension = _extension()
        if extension:
            extension.quieten(logging.getLogger().handlers)

    common_logging.prepare_global_logging = prepare


@contextmanager
def with_named_bars(tqdm_module: Any) -> Iterator[None]:
    """Makes progress bars name the epoch, vanish, and show only on terminals; `out.log` keeps them."""
    yield
    from tqdm import tqdm

    def current_activity() -> str:
        extension = _extension()
        return extension.current_activity() if extension else ""

    def are_shown() -> bool:
        return sys.stderr.isatty() or tqdm_module.common_logging.FILE_FRIENDLY_LOGGING

    # Do not use its `_tqdm`, which in a notebook is a function and needs widgets.
    class EpochBar(tqdm):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            kwargs.setdefault("leave", not sys.stderr.isatty())
            super().__init__(*args, **kwargs)
            if current_activity() and not self.disable:
                self.set_description(refresh=False)

        def set_description(self, desc: Optional[str] = None, refresh: bool = True) -> None:
            parts = [part for part in (current_activity(), desc) if part]
            super().set_description(", ".join(parts), refresh)

    class Writer(tqdm_module.TqdmToLogsWriter):
        last_message_written_time: float

        def write(self, message: str) -> None:
            if are_shown():
                super().write(message)
            elif time.time() - self.last_message_written_time >= 10 or "100%" in message:
                line = tqdm_module.replace_cr_with_newline(message).strip()
                if line:
                    tqdm_module.logger.info(line)
                    self.last_message_written_time = time.time()

    tqdm_module._tqdm, tqdm_module.TqdmToLogsWriter = EpochBar, Writer
