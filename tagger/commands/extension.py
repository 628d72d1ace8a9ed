"""What `tagger_compat` calls in AllenNLP's functions, registered by `import tagger`."""

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
    "register_commands",
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


def register_commands() -> None:
    """Registers our `evaluate`, `predict` and `train` in place of AllenNLP's."""
    from tagger.commands import evaluate, predict, train  # noqa: F401
