"""Names files that are not read, by their first bytes or lines, with what to do about them."""

import re
from typing import Optional, Sequence

#: What files hold that begin with these bytes.
_BINARY = {
    b"PK\x03\x04": "a zip archive or an office document, such as .xlsx or .docx",
    b"\xd0\xcf\x11\xe0": "an office document, such as .xls or .doc",
    b"%PDF": "a PDF document",
    b"SQLite format 3": "an SQLite database",
    b"\x80\x03": "a pickle of Python",
    b"\x80\x04": "a pickle of Python",
    b"\x80\x05": "a pickle of Python",
    b"\x89HDF": "an HDF5 file",
    b"\x93NUMPY": "an array of NumPy",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"ORC": "an ORC file",
    b"{\\rtf": "an RTF document of a word processor",
    b"Obj\x01": "an Avro file",
    b"7z\xbc\xaf": "an archive of 7-Zip",
}
SPANS = 'write `{"text": "Ada left", "label": [[0, 3, "PER"]]}` on each line of a .jsonl file'
#: The share of lines that must have a form for the file to have it.
_SHARE, _LEAST_SHARE = 0.9, 0.5
#: What files hold if their first line begins like this, and what to do.
_OPENINGS = {
    re.compile(
        r"(HTTP\S* )?(40\d|50\d)\b:? ?\D*$|(Entry|Repository) not found|Access to .* restricted",
        re.I,
    ): "what a server answers in place of a file; download it again",
    re.compile(r"\d+\|[ta]\|"): f"PubTator, which is not read; {SPANS}",
    re.compile(r'c=".*" \d+:\d+ \d+:\d+\|\|'): (
        f"annotations of i2b2 without the texts, which are in other files; join both: {SPANS}"
    ),
    re.compile("File,Line,Begin Offset,End Offset,Type", re.IGNORECASE): (
        f"annotations of AWS Comprehend without the texts, which are in other files; join both: {SPANS}"
    ),
}
#: The end of a line in a column file with span tags.
_LAST_TAG = re.compile(r"[\s,;](O|[BIOESLUM]-\S+)\s*$")
#: A word with its label in texts that are marked inside.
_INLINE = {
    "<START:person> Ada <END>": re.compile(r"<START(:[^<>\s]+)?>.*<END>"),
    "[Ada](person)": re.compile(r"\[[^\[\]]+\](\([^()\s]+\)|\{\s*\"entity\".*\})"),
    "<person>Ada</person>": re.compile(r"<(\w+)(\s[^<>]*)?>[^<>]+</\1>"),
    '<b_enamex type="PERSON">Ada<e_enamex>': re.compile(r"<[be]_\w+(\s[^<>]*)?>"),
    "{{person:Ada}}": re.compile(r"\{\{?\w+:[^{}]+\}\}?"),
}
_PYTHON = re.compile(
    r"(import \w+|from [\w.]+ import |[A-Za-z_]\w*\s*=\s*[\[({]).*|.*\{\s*['\"]entities['\"]\s*:.*"
)
_YAML = re.compile(r"\s*(- )?[\w. #-]+:(\s[^\t]*)?|\s*- .*|---|\s*#.*")
_YAML_KEY = re.compile(r"---|[\w-]+:\s*(\".*\"|'.*'|[|>][+-]?|[\d.]+)?\s*$")


def binary_kind(head: bytes) -> Optional[str]:
    """Says what a binary file holds, given its first bytes; None if it may be text."""
    return next((kind for start, kind in _BINARY.items() if head.startswith(start)), None)


def named_text(lines: Sequence[str]) -> Optional[str]:
    """Says what lines of text hold that are not read, and what to do; None if they may be read.

    Example:
        >>> print(named_text(["9|t|Ann left", "9|a|Ann is in Rome."])[:28])
        PubTator, which is not read;
    """
    first = lines[0] if lines else ""
    named = next((said for opening, said in _OPENINGS.items() if opening.match(first)), None)
    if named is not None:
        return named
    if any(line.startswith("<<<<<<< ") for line in lines) and any(
        line.startswith(">>>>>>> ") for line in lines
    ):
        return "conflict marks of Git, such as `<<<<<<<`; resolve the conflicts"
    if sum(bool(_LAST_TAG.search(line)) for line in lines) >= _SHARE * len(lines):
        return None
    if sum(" " in line.strip() for line in lines) >= _LEAST_SHARE * len(lines):
        for example, mark in _INLINE.items():
            marked = next((found for line in lines if (found := mark.search(line))), None)
            if marked is not None:
                return (
                    f"texts with inline tags, such as {marked[0][:60]!r} (like `{example}`), which are "
                    f"not read; {SPANS}"
                )
    is_yaml = _YAML_KEY.match(first) and all(map(_YAML.fullmatch, lines))
    if any(_PYTHON.fullmatch(line.strip()) for line in lines[:20]):
        return f"Python, which is not run; save its list of texts with `json.dump`, or {SPANS}"
    return f"YAML, which is not read; {SPANS}" if is_yaml else None
