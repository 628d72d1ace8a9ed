"""The pages of the docs: their blocks of code, and what runs these and compares what they print."""

import contextlib
import doctest
import io
import os
import re
import shlex
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import NamedTuple

from tests.conftest import ROOT

PATHS = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "data/README.md"]
PATHS += [ROOT / "tagger/linear_chain/README.md"]
PAGES = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in PATHS}
#: The pages of `docs/`, whichever folder they are in.
DOCS = {Path(name).stem: text for name, text in PAGES.items() if name.startswith("docs/")}
README = PAGES["README.md"]

BLOCK = re.compile(r"^ *```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(
    r"(?:\w+=\w+ )*(?:allennlp [\w-]+|python (?:(?:scripts|examples)/[\w/]+\.py|-m scripts[\w.]+)) \S"
)
NUMBER = re.compile(r"[<>]?\b(\d+(?:\.\d+)?(?:e-\d+)?)\b")
DIGITS = re.compile(r"\d+(?:\.\d+)?")
#: The tolerance for probabilities: numbers and trained weights differ slightly between processors.
TOLERANCE = 0.15


class Block(NamedTuple):
    page: str
    number: int
    language: str
    code: str

    @property
    def id(self):
        return f"{self.page}:{self.number}"


BLOCKS = [
    Block(page, number, language, textwrap.dedent(code))
    for page, text in PAGES.items()
    for number, (language, code) in enumerate(BLOCK.findall(text))
]


def blocks(language=None, page=None, having=""):
    """The blocks of a language that have this text; of one page, named without `.md`, or of all."""
    return [
        block
        for block in BLOCKS
        if language in (None, block.language)
        and (page is None or block.page.endswith(f"/{page}.md"))
        and having in block.code
    ]


def shown_commands():
    """Our own commands in blocks and sentences, each with the first page that has it."""
    found = {}
    for page, text in PAGES.items():
        code = "".join(each.code for each in BLOCKS if (each.page, each.language) == (page, "bash"))
        lines = [line.split(" | ")[-1] for line in code.replace("\\\n", "").splitlines()]
        for line in lines + re.findall(r"`([^`\n]+)`", BLOCK.sub("", text)):
            if COMMAND.match(line) and "..." not in line:
                found.setdefault(line, page)
    return found


def run(code, language="bash", names=None, allennlp=None):
    """Runs a block in the current folder and returns what it prints.

    With `allennlp`, the fixture, the commands run in this process. Python has the names `names`, and
    leaves its own there.
    """
    if language == "bash" and not allennlp:
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        command = ["bash", "-euo", "pipefail", "-c", code]
        environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-2_000:]
        return done.stdout
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        if language == "bash":
            for line in code.replace("\\\n", "").splitlines():
                program, *arguments = shlex.split(line)
                assert program == "allennlp"
                allennlp(*arguments)
        else:
            names = {"__name__": "block"} if names is None else names
            exec(compile(code, "block", "exec"), names)
    return printed.getvalue()


def check_page(page, digits=True, leave_out=()):
    """Runs a page in the current folder, without the code that has a text of `leave_out`.

    Below its code, the page shows lines that it prints; `digits` says whether their digits are equal on
    every processor. Returns what the last block printed.
    """
    names, printed = {"__name__": "__main__"}, ""
    for block in blocks(page=page):
        if block.language in ("bash", "py", "python"):
            is_run = not any(each in block.code for each in leave_out)
            printed = run(block.code, block.language, names) if is_run else None
        elif not block.language and "B-" not in block.code and printed is not None:
            for line in set(block.code.splitlines()) - {"..."}:
                texts = line, printed
                line, given = texts if digits else (DIGITS.sub("#", each) for each in texts)
                assert line in given
    return printed


def assert_alike(shown, given, scale=1.0):
    """Asserts that texts have the same words and similar numbers up to `scale`."""
    assert NUMBER.sub("#", shown) == NUMBER.sub("#", given)
    numbers = zip(NUMBER.findall(shown), NUMBER.findall(given))
    assert all(abs(float(one) - float(other)) <= scale * TOLERANCE for one, other in numbers)


class Alike(doctest.OutputChecker):
    """Compares what a console shows with what was printed, as `assert_alike` does."""

    def check_output(self, want, got, optionflags):
        assert_alike(want, got)
        return True


def run_console(block):
    """Runs a block with prompts and compares its results; returns the names that it leaves."""
    names = {}
    test = doctest.DocTestParser().get_doctest(block.code, names, block.id, None, 0)
    failed, _ = doctest.DocTestRunner(Alike()).run(test, clear_globs=False)
    assert failed == 0
    return test.globs
