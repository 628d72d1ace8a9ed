"""Patches AllenNLP where it has no extension point.

Trainers, subcommands, evaluators and all other components are classes of `tagger` that are registered
with AllenNLP. Each function here says what they cannot do.
"""

import importlib
import logging
import os
import re
import sys
import time
from contextlib import contextmanager, nullcontext
from functools import wraps
from importlib import metadata
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional

logger = logging.getLogger(__name__)

#: Our names for keys of AllenNLP's readers.
_NAMES_HERE = {"coding_scheme": "source_encoding", "convert_to_coding_scheme": "tag_encoding"}


def _ours(name: str) -> Any:
    """Imports a `tagger` module lazily, because `tagger` itself imports this package."""
    return importlib.import_module(f"tagger.{name}")


@contextmanager
def with_our_plugins(plugins: Any) -> Iterator[None]:
    """Makes AllenNLP find our package in any folder, and ignore plugins that belong to other users.

    If a plugin's requirements are missing, a message says how to install them.
    """
    yield
    logging.getLogger("allennlp.common.plugins").addFilter(_with_missing_requirements)
    # AllenNLP imports all submodules of these; most of our package is imported lazily.
    plugins.DEFAULT_PLUGINS += ("tagger.commands", *_commands_of_wings())
    plugins.import_module_and_submodules = _with_caches(plugins.import_module_and_submodules)
    discover_file_plugins = plugins.discover_file_plugins

    @wraps(discover_file_plugins)
    def discover(plugins_filename: str = plugins.LOCAL_PLUGINS_FILENAME) -> Iterator[str]:
        # Windows has no such owners.
        if hasattr(os, "getuid") and os.stat(plugins_filename).st_uid not in (0, os.getuid()):
            logger.warning("`%s` is not yours: its plugins are not run", plugins_filename)
            return
        for name in discover_file_plugins(plugins_filename):
            if plugins_filename == plugins.LOCAL_PLUGINS_FILENAME:
                logger.info("running the plugin `%s` of `%s`", name, plugins_filename)
            yield name

    plugins.discover_file_plugins = discover


def _with_caches(import_all: Callable[..., None]) -> Callable[..., None]:
    """Keeps Python's caches of folders, which AllenNLP would clear before each of 360 modules."""

    @wraps(import_all)
    def import_with_caches(*args: Any, **kwargs: Any) -> None:
        invalidate_caches = importlib.invalidate_caches
        invalidate_caches()
        importlib.invalidate_caches = lambda: None
        try:
            import_all(*args, **kwargs)
        finally:
            importlib.invalidate_caches = invalidate_caches

    return import_with_caches


def _commands_of_wings() -> List[str]:
    """Finds the packages of commands in `tagger.tools` and `tagger.integrations`."""
    root = Path(__file__).parents[1]
    found = root.glob("tagger/*/*/commands/__init__.py")
    return sorted(".".join(path.parent.relative_to(root).parts) for path in found)


#: What to install for modules with a name that differs from that of their package.
PROVIDERS = {"pkg_resources": "'setuptools<81'"}


def _with_missing_requirements(record: logging.LogRecord) -> bool:
    """Rewrites AllenNLP's message about a plugin with missing requirements."""
    found = re.match(r"Plugin (\w+) could not be loaded: No module named '(\w+)", str(record.msg))
    if found:
        plugin, module = found.groups()
        named = _missing_requirements(plugin)
        if module in PROVIDERS or not named:
            named.append(PROVIDERS.get(module, module))
        missing = " ".join(named)
        record.msg = (
            f"the plugin {plugin} is not loaded, because it needs `{module}`; run: "
            f"pip install {missing}"
        )
        record.levelno, record.levelname = logging.WARNING, "WARNING"
    return True


def _missing_requirements(plugin: str) -> List[str]:
    try:
        requirements = metadata.requires(plugin.replace("_", "-")) or []
    except metadata.PackageNotFoundError:
        return []
    named = (re.match(r"[\w.-]+", each) for each in requirements if "extra ==" not in each)
    names = [each.group() for each in named if each]
    return [name for name in names if not any(metadata.Distribution.discover(name=name))]


@contextmanager
def with_our_commands(commands: Any) -> Iterator[None]:
    """Registers our `train`, `evaluate` and `predict`, and reports the errors of all commands.

    AllenNLP adds subcommands to its parser before it imports plugins, and errors or interrupts may occur
    before a subcommand runs.
    """
    yield
    main = commands.main

    @wraps(main)
    def run(prog: Optional[str] = None) -> None:
        # The command passes its name; code that calls `main` does not, and expects exceptions.
        with _ours("commands.error_reporting").errors_reported(prog) if prog else nullcontext():
            for name in ("evaluate", "predict", "train"):
                _ours(f"commands.{name}")
            main(prog)

    commands.main = run


@contextmanager
def with_our_components(registrable: Any) -> Iterator[None]:
    """If `tagger` has been imported, registers each of our components when its name is asked for.

    `import tagger` imports neither AllenNLP nor modules that need it. Afterwards, looking up one of our
    names in AllenNLP's registry finds its component, and lists of names have ours too; registering a
    class under one of our names needs `exist_ok`.
    """
    yield
    # The functions behind these class methods accept any class.
    register = registrable.Registrable.register.__func__
    resolve = registrable.Registrable.resolve_class_name.__func__
    list_names = registrable.Registrable.list_available.__func__

    def register_ours(cls: type, name: Any) -> None:
        """Imports our component of this name, unless a class of others has taken the name."""
        if not isinstance(name, str) or "tagger" not in sys.modules:
            return
        registered = registrable.Registrable._registry[cls].get(name)
        if registered is None or registered[0].__module__.startswith("allennlp."):
            _ours("commands.components").import_component(cls.__name__, name)

    def resolve_class_name(cls: type, name: str) -> Any:
        register_ours(cls, name)
        return resolve(cls, name)

    def list_available(cls: Any) -> List[str]:
        # AllenNLP refuses to list a default that is not registered.
        register_ours(cls, cls.default_implementation)
        names: List[str] = list_names(cls)
        modules = _ours("commands.components").MODULES if "tagger" in sys.modules else {}
        return [*names, *(name for name in modules.get(cls.__name__, ()) if name not in names)]

    def register_after_ours(
        cls: type, name: str, constructor: Any = None, exist_ok: bool = False
    ) -> Callable[[Any], Any]:
        add_to_registry = register(cls, name, constructor, exist_ok)

        def add(subclass: Any) -> Any:
            if getattr(subclass, "__module__", "").partition(".")[0] not in ("allennlp", "tagger"):
                register_ours(cls, name)
            return add_to_registry(subclass)

        return add

    registrable.Registrable.resolve_class_name = classmethod(resolve_class_name)
    registrable.Registrable.list_available = classmethod(list_available)
    registrable.Registrable.register = classmethod(register_after_ours)


@contextmanager
def with_our_library(params: Any) -> Iterator[None]:
    """Lets `import 'tagger/training/template.libsonnet'` work in any folder, as in `jsonnet -J`.

    The search order is the config's folder, `JSONNET_PATH`, and this package. The Go implementation of
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
        return str(fastest(*args, jpathdir=[ours, *reversed(folders)], **kwargs))

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
        is_ours = constructor is cls.__init__ and cls.__module__.startswith("tagger.")  # type: ignore[misc]
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
            hint = _ours("common.did_you_mean").did_you_mean(_NAMES_HERE.get(given, given), names)
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
        if Path(serialization_dir, "transformers").is_dir():
            include_in_archive = sorted({*(include_in_archive or ()), "transformers"})
        with _ours("common.files").write_atomically(path, overwrite=True) as unfinished:
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
        _ours("common.console").quieten(logging.getLogger().handlers)

    common_logging.prepare_global_logging = prepare


@contextmanager
def with_named_bars(tqdm_module: Any) -> Iterator[None]:
    """Makes progress bars name the epoch, vanish, and show only on terminals; `out.log` keeps them."""
    yield
    from tqdm import tqdm

    def current_activity() -> str:
        console = sys.modules.get("tagger.common.console")
        return console.current_activity() if console else ""

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
