"""Phrases that colleagues would not say to each other, each with what they say."""

import re
import subprocess

import pytest

from tests.conftest import ROOT

#: Each row: a pattern, without regard to case, and the remedy.
PHRASES = """
need not -> does not have to
lest -> so that ... not
be (it|they)( a| an| in| of) -> whether
anew -> again, recreated, retrained
may not be like -> limits on, must not
for the sake of -> for, because of
of (its|their) own -> own, separate
whose -> with; or split the sentence
a stranger's -> untrusted
whence|thereof|whereby|wherein -> from which, so
sights? -> features
ladders? -> candidates
mends?|mended -> patch, fix
last words -> error reporting
sole writer -> lock
in doubt -> uncertain
judges? -> classifier
the host -> the CPU, a sync
(is|are) to be -> must
"""
REMEDIES = {
    re.compile(rf"\b(?:{phrase})\b", re.IGNORECASE): remedy
    for phrase, remedy in (row.split(" -> ") for row in PHRASES.strip().splitlines())
}
#: A number below 1 without a leading zero, as opposed to versions and file extensions.
NUMBER = re.compile(r"(?<![\w.)\]*/'\"`:-])-?\.\d")
#: A number that begins an item of a list, though it was meant to end a sentence.
ITEM = re.compile(r"\s*(\d+)\. ")
KINDS = ["*.md", "*.py", "*.sh", "*.jsonnet", "*.libsonnet", "*.html"]
FILES = subprocess.check_output(["git", "ls-files", *KINDS], cwd=ROOT, text=True).splitlines()


def findings(name, text):
    for number, line in enumerate(text.splitlines(), 1):
        for pattern, remedy in REMEDIES.items():
            if found := pattern.search(line):
                yield f"{name}:{number}: {found.group()!r}: say {remedy}"
        if name.endswith(".md") and NUMBER.search(re.sub(r"`[^`]*`", "``", line)):
            yield f"{name}:{number}: a number below 1 has a leading zero: {line.strip()}"


def accidental_items(name, text):
    """Lines that begin with the number at the end of a sentence, which Markdown takes for a list."""
    code = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
    lines = code.sub(lambda block: "\n" * block.group().count("\n"), text)
    before, last = "", 0
    for number, line in enumerate(lines.splitlines(), 1):
        if item := ITEM.match(line):
            if int(item[1]) != last + 1 or (last == 0 and before):
                yield f"{name}:{number}: begins a list: {line.strip():.40}; break the line elsewhere"
            last = int(item[1])
        elif line and line == line.lstrip() and not before:
            last = 0
        before = line.strip()


@pytest.mark.parametrize("folder", sorted({name.partition("/")[0] for name in FILES}))
def test_prose_is_what_a_colleague_would_say(folder):
    own = [name for name in FILES if name.partition("/")[0] == folder and (ROOT / name).exists()]
    texts = {name: (ROOT / name).read_text() for name in own if name != "tests/test_prose.py"}
    found = [finding for name, text in texts.items() for finding in findings(name, text)]
    pages = [name for name in texts if name.endswith(".md")]
    found += [finding for name in pages for finding in accidental_items(name, texts[name])]
    assert not found, "\n" + "\n".join(found)


def test_the_phrases_are_found():
    text = "It need not wait.\nA gain of .5 points.\nversion 1.5 of `a.5`\n"
    assert [line.split(": ")[0] for line in findings("page.md", text)] == ["page.md:1", "page.md:2"]


def test_numbers_at_the_start_of_a_line_are_lists_on_purpose():
    lists = "First:\n\n1. one,\n   still one\n2. two\n\nText.\n\n1. again\n"
    assert not [*accidental_items("page.md", lists)]
    for text in ("from 0 to\n1. Then more.\n", "- at most\n  1. Then\n", "An F1 of\n93. For\n"):
        assert len([*accidental_items("page.md", text)]) == 1, text
