"""What a case of malformed inputs is, and what writes its files."""

from pathlib import Path
from typing import Callable, NamedTuple, Optional

from tests.system.archives import CONFIGS, MEMBERS, write_archive

BIO = "Maria B-PER\nLindqvist I-PER\nvisited O\nLisbon B-LOC\n\nPaulo B-PER\nleft O\n"

#: Writes what is malformed; may return a text for standard input.
Setup = Callable[[Path], Optional[bytes]]


class Case(NamedTuple):
    """One malformed input.

    Attributes:
        title: What is malformed.
        command: What follows `allennlp` on the command line.
        setup: Writes the input into the current folder of the command.
        is_legal: Whether the command takes it, and gives a sensible result.
        says: What the last line must hold, besides the file's name.
    """

    title: str
    command: str
    setup: Setup
    says: str
    is_legal: bool = False


def file(name: str, content: "bytes | str") -> Setup:
    """Writes a file."""

    def write(folder: Path) -> None:
        path = folder / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())

    return write


def given(text: "bytes | str") -> Setup:
    """Gives a text on standard input."""
    return lambda folder: text if isinstance(text, bytes) else text.encode()


def nothing(folder: Path) -> None:
    """Leaves the folder as it is."""


def both(*setups: Setup) -> Setup:
    """Does one thing after the other."""

    def write(folder: Path) -> None:
        for setup in setups:
            setup(folder)

    return write


def config(
    changes: str = "",
    source_encoding: Optional[str] = "BIO",
    template: str = "tagger/training/template.libsonnet",
) -> Setup:
    """Writes a config `mine.jsonnet` that trains on `train.txt` for one epoch.

    Args:
        changes: Further fields, which come last.
        source_encoding: The setting; None leaves it out.
        template: What is imported.
    """
    setting = "" if source_encoding is None else f"source_encoding:: '{source_encoding}',"
    fields = "train_data_path: 'train.txt', validation_data_path: 'dev.txt', num_epochs:: 1,"
    size = "word_dim:: 4, hidden_size:: 4,"
    return file(
        "mine.jsonnet",
        f"(import '{template}') + {{\n{setting}\n{fields}\n{size}\n}} + {{\n{changes}\n}}\n",
    )


def trained_on(
    content: "bytes | str", source_encoding: str = "BIO", name: str = "train.txt", changes: str = ""
) -> Setup:
    """Writes a training file, or another, and a config that reads it."""
    return both(config(changes, source_encoding), file(name, content))


def cut(folder: Path) -> None:
    """Writes the first half of an archive."""
    content = (folder / "model.tar.gz").read_bytes()
    (folder / "cut.tar.gz").write_bytes(content[: len(content) // 2])


def hostile(**change: str) -> Setup:
    """Writes an archive of `tests/system/archives.py`."""

    def write(folder: Path) -> None:
        member = MEMBERS.get(change.get("member", ""))
        changed = CONFIGS.get(change.get("config", ""))
        write_archive(folder / "model.tar.gz", folder / "hostile.tar.gz", member, changed)

    return write
