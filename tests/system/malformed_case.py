"""Cases of malformed inputs: their files and the checks of the command's answer."""

import shutil
from typing import Callable, NamedTuple

from tests.allennlp_command import digests, run_command
from tests.conftest import CONFIGS as SHIPPED, ROOT
from tests.system.archives import CONFIGS, MEMBERS, write_archive

BIO = "Maria B-PER\nLindqvist I-PER\nvisited O\nLisbon B-LOC\n\nPaulo B-PER\nleft O\n"


class Case(NamedTuple):
    """One malformed input.

    Attributes:
        title: What is malformed.
        command: The arguments of `allennlp`.
        setup: Writes the input into the command's folder. May return a text for standard input.
        says: What the last line must contain, besides the file's name.
        is_legal: Whether the command accepts the input and gives a sensible result.
    """

    title: str
    command: str
    setup: Callable
    says: str
    is_legal: bool = False


def of(command, /, **defaults):
    """Makes cases of a command. Its words in braces are filled in order or by default."""

    def case(title, setup, says, *words, legal=False, **named):
        words = {**defaults, **dict(zip(defaults, words)), **named}
        return Case(title, command.format(**words).strip(), setup, says, legal)

    return case


def file(name, content):
    """Writes a file."""

    def write(folder):
        path = folder / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())

    return write


def given(text):
    """Passes a text on standard input."""
    return lambda folder: text if isinstance(text, bytes) else text.encode()


def nothing(folder):
    """Leaves the folder as it is."""


def both(*setups):
    """Runs setups one after the other."""

    def write(folder):
        for setup in setups:
            setup(folder)

    return write


def config(changes="", source_encoding="BIO", template="tagger/training/template.libsonnet"):
    """Writes a config `mine.jsonnet` that trains on `train.txt` for one epoch.

    Args:
        changes: Additional fields, which come last.
        source_encoding: The setting. None leaves it out.
        template: The imported template.
    """
    setting = "" if source_encoding is None else f"source_encoding:: '{source_encoding}',"
    fields = "train_data_path: 'train.txt', validation_data_path: 'dev.txt', num_epochs:: 1,"
    size = "word_dim:: 4, hidden_size:: 4,"
    return file(
        "mine.jsonnet",
        f"(import '{template}') + {{\n{setting}\n{fields}\n{size}\n}} + {{\n{changes}\n}}\n",
    )


def trained_on(content, source_encoding="BIO", name="train.txt", changes=""):
    """Writes a training file or another file, and a config that reads it."""
    return both(config(changes, source_encoding), file(name, content))


def cut(folder):
    """Writes the first half of an archive."""
    content = (folder / "model.tar.gz").read_bytes()
    (folder / "cut.tar.gz").write_bytes(content[: len(content) // 2])


def hostile(member="", config=""):
    """Writes a hostile archive made by `tests/system/archives.py`."""
    changes = MEMBERS.get(member), CONFIGS.get(config)
    return lambda folder: write_archive(
        folder / "model.tar.gz", folder / "hostile.tar.gz", *changes
    )


def prepare(folder, archive=None):
    """Writes what all cases start from: toy data and a model, trained unless one is given."""
    for name in ("train", "dev"):
        shutil.copy(ROOT / f"data/toy/{name}.txt", folder)
    run = folder / "run"
    if archive is None:
        toy = str(SHIPPED / "toy_bilstm_crf.jsonnet")
        outcome = run_command(["train", toy, "-s", str(run)], ROOT)
        assert outcome.status == 0, outcome.last_line
    shutil.copy(archive or run / "model.tar.gz", folder / "model.tar.gz")
    shutil.rmtree(run, ignore_errors=True)


def problems_of(case, prepared, folder, run=run_command):
    """Runs a case in a new folder and returns the problems of its answer."""
    shutil.copytree(prepared, folder)
    text = case.setup(folder) or b""
    before = digests(folder)
    outcome = run(case.command.split(), folder, text)
    after = digests(folder)
    problems = [f"{name} is gone or changed" for name in before if after.get(name) != before[name]]
    if outcome.has_traceback:
        problems.append("it ends with a traceback")
    if (outcome.status == 0) != case.is_legal:
        problems.append(f"the exit status is {outcome.status}")
    if case.says not in outcome.last_line:
        problems.append(f"the last line does not hold `{case.says}`")
    names_it = outcome.last_line.startswith(("allennlp", case.command.split()[0]))
    if not case.is_legal and not names_it:
        problems.append("the last line does not name the command")
    return [*problems, *outcome.errors] if problems else []
