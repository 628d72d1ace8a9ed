"""Phrases that colleagues would not say to each other, each with what they say."""

import re
import subprocess
import tokenize

import pytest

from tests.conftest import ROOT

#: By pattern, the remedy. Case does not matter.
PHRASES = {
    r"need not": "does not have to",
    r"lest": "so that ... not",
    r"be (it|they)( a| an| in| of)": "whether",
    r"anew": "again, recreated, retrained",
    r"may not be like": "limits on, must not",
    r"for the sake of": "for, because of",
    r"of (its|their) own": "own, separate",
    r"whose": "with; or split the sentence",
    r"a stranger's": "untrusted",
    r"whence|thereof|whereby|wherein": "from which, so",
    r"sights?": "features",
    r"ladders?": "candidates",
    r"mends?|mended": "patch, fix",
    r"last words": "error reporting",
    r"sole writer": "lock",
    r"in doubt": "uncertain",
    r"judges?": "classifier",
    r"the host": "the CPU, a sync",
    r"(is|are) to be": "must",
}
WORDS = {re.compile(rf"\b(?:{phrase})\b", re.IGNORECASE): say for phrase, say in PHRASES.items()}
#: A number below 1 without a leading zero, as opposed to versions and file extensions.
NUMBER = re.compile(r"(?<![\w.)\]*/'\"`:-])-?\.\d")

#: Text that may stand, by file: what is quoted from elsewhere, or has another meaning there.
ALLOWED: dict[str, list[str]] = {}

FILES = sorted(
    ROOT / name
    for name in subprocess.run(
        ["git", "ls-files", "*.md", "*.py", "*.sh", "*.jsonnet", "*.libsonnet", "*.html"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split("\n")
    if name and name != "tests/test_prose.py" and (ROOT / name).exists()
)


def prose(path):
    """The prose of a file by line: comments and strings of Python, all else of other files."""
    if path.suffix != ".py":
        return list(enumerate(path.read_text().split("\n"), 1))
    lines = []
    with open(path, "rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type in (tokenize.COMMENT, tokenize.STRING):
                lines += enumerate(token.string.split("\n"), token.start[0])
    return lines


def findings(path):
    name = str(path.relative_to(ROOT))
    for number, line in prose(path):
        for allowed in ALLOWED.get(name, ()):
            line = line.replace(allowed, "")
        for pattern, say in WORDS.items():
            if found := pattern.search(line):
                yield f"{name}:{number}: {found.group()!r}: say {say}"
        if path.suffix == ".md" and NUMBER.search(re.sub(r"`[^`]*`", "``", line)):
            yield f"{name}:{number}: a number below 1 has a leading zero: {line.strip()}"


@pytest.mark.parametrize("folder", sorted({path.relative_to(ROOT).parts[0] for path in FILES}))
def test_prose_is_what_a_colleague_would_say(folder):
    files = [path for path in FILES if path.relative_to(ROOT).parts[0] == folder]
    found = [line for path in files for line in findings(path)]
    assert not found, "\n" + "\n".join(found)


def test_the_phrases_are_found(tmp_path, monkeypatch):
    monkeypatch.setattr("tests.test_prose.ROOT", tmp_path)
    page = tmp_path / "page.md"
    page.write_text("It need not wait.\nA gain of .5 points.\nversion 1.5 of `a.5`\n")
    assert [line.split(": ")[0] for line in findings(page)] == ["page.md:1", "page.md:2"]
