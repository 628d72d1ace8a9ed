"""Finds plugins of AllenNLP, and says what they need."""

import importlib
import logging
import os
import re
from contextlib import contextmanager
from functools import wraps
from importlib import metadata
from pathlib import Path
from typing import Any, Callable, Iterator, List

logger = logging.getLogger(__name__)


@contextmanager
def with_installed_plugins(plugins: Any) -> Iterator[None]:
    """Makes AllenNLP find plugins beside this package in any folder, and ignore those of other users.

    If a plugin's requirements are missing, a message says how to install them.
    """
    yield
    logging.getLogger("allennlp.common.plugins").addFilter(_with_missing_requirements)
    # AllenNLP imports all submodules of these.
    plugins.DEFAULT_PLUGINS += tuple(installed_plugins())
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


@contextmanager
def without_installed_plugins() -> Iterator[None]:
    """Makes AllenNLP import only the plugins of others."""
    plugins: Any = importlib.import_module("allennlp.common.plugins")
    before, installed = plugins.DEFAULT_PLUGINS, installed_plugins()
    plugins.DEFAULT_PLUGINS = tuple(name for name in before if name not in installed)
    try:
        yield
    finally:
        plugins.DEFAULT_PLUGINS = before


def _with_caches(import_all: Callable[..., None]) -> Callable[..., None]:
    """Keeps Python's caches of folders, which AllenNLP would clear before each of 300 modules."""

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


def installed_plugins() -> List[str]:
    """Finds plugins in the packages beside this one, which name them in `commands/.allennlp_plugins`.

    All other folders `commands` of such a package are plugins, too.
    """
    root, found = Path(__file__).parents[1], []
    for package in sorted(os.listdir(root)):
        names = os.path.join(root, package, "commands", ".allennlp_plugins")
        if os.path.isfile(names):
            wings = root.glob(f"{package}/*/*/commands/__init__.py")
            found += Path(names).read_text(encoding="utf-8").split()
            found += sorted(".".join(each.parent.relative_to(root).parts) for each in wings)
    return found


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
