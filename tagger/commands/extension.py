"""What `tagger_compat` calls in AllenNLP's functions, registered by `import tagger`."""

import importlib
import re
from pathlib import Path
from typing import ContextManager, Iterable

from tagger.commands.components import MODULES, import_component
from tagger.common.console import current_activity, quieten
from tagger.common.did_you_mean import did_you_mean
from tagger.common.files import write_atomically

__all__ = [
    "MODULES",
    "current_activity",
    "errors_reported",
    "import_component",
    "quieten",
    "register_command",
    "suggestion",
    "write_atomically",
]

#: Our names for keys of AllenNLP's readers.
_NAMES_HERE = {"coding_scheme": "source_encoding", "convert_to_coding_scheme": "tag_encoding"}


def suggestion(key: str, known: Iterable[str]) -> str:
    """Returns the end of the message about an unknown key of a config; empty if none is similar."""
    return did_you_mean(_NAMES_HERE.get(key, key), known)


def errors_reported(prog: str) -> ContextManager[None]:
    """Reports the errors of a command, see `error_reporting`, which takes longer to import."""
    from tagger.commands import error_reporting

    return error_reporting.errors_reported(prog)


def register_command(name: str) -> bool:
    """Registers a subcommand, and returns whether there is one of this name; otherwise registers all.

    `find-lr` is in `find_lr.py` of a folder `commands`. What others add to `evaluate` is in their
    `commands/evaluate_with_....py`.
    """
    from allennlp.commands.subcommand import Subcommand

    stem = re.escape(name.replace("-", "_"))
    _import_commands(f"{stem}(_with_.*)?")
    is_found = name in Subcommand.list_available()
    if not is_found:
        _import_commands(".*")
    return is_found


def _import_commands(stem: str) -> None:
    root = Path(__file__).parents[2]
    for folder in [Path(__file__).parent, *sorted(root.glob("tagger/*/*/commands"))]:
        for path in sorted(folder.glob("*.py")):
            if re.fullmatch(stem, path.stem):
                importlib.import_module(".".join(path.with_suffix("").relative_to(root).parts))
