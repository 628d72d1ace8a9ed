"""A file of a random layout, with what it holds and what may be said about it."""

import bz2
import gzip
import lzma
from random import Random
from types import MappingProxyType
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Union

from tests.data.layouts.reading import Content


class Case(NamedTuple):
    """A file or folder.

    Attributes:
        kind: The kind of layout, for the table.
        name: The name of the file.
        content: Its bytes, or those of the files of a folder.
        truth: What it holds, text by text.
        traits: What is special about the layout, for messages.
        reading: The options that a user has to give, since no program can find them out.
        refusal: An expression for the words of a refusal; None if the documents promise to read it.
        document_of: The name of the document of each text, if the file marks documents.
        doubt: The number of a doubt that must be said.
    """

    kind: str
    name: str
    content: Union[bytes, Mapping[str, bytes]]
    truth: List[Content]
    traits: Dict[str, Any]
    reading: Mapping[str, Any] = MappingProxyType({})
    refusal: Optional[str] = None
    document_of: Optional[List[str]] = None
    doubt: Optional[int] = None


_COMPRESSIONS: Dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}


#: Old encodings of scripts, which users have to name.
_OLD_ENCODINGS = {
    "cyrillic": "cp1251",
    "chinese": "gb18030",
    "japanese": "euc_jp",
    "korean": "cp949",
}


def pick(rng: Random, *choices: Any, usual: float = 0.5) -> Any:
    """Returns the first choice in a share of all cases, otherwise any of them."""
    return choices[0] if rng.random() < usual else rng.choice(choices)


def _can_be(text: str, encoding: str) -> bool:
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


def with_bytes(rng: Random, case: Case, text: str, may_change_ends: bool = True) -> Case:
    """Returns a case with its text in a random encoding, with random line ends, perhaps compressed."""
    traits = dict(case.traits)
    if may_change_ends:
        traits["ends"] = pick(rng, "\n", "\r\n", "\r", usual=0.8)
        text = text.replace("\n", traits["ends"])
    traits["encoding"] = pick(rng, "utf-8", "utf-8-sig", "utf-16", usual=0.85)
    old = _OLD_ENCODINGS.get(traits["script"], "cp1252")
    if not text.isascii() and _can_be(text, old) and rng.random() < 0.3:
        traits["encoding"] = old
        if old != "cp1252":
            case = case._replace(reading={**case.reading, "text_encoding": old})
    content, suffix = text.encode(traits["encoding"]), pick(rng, "", *_COMPRESSIONS, usual=0.9)
    if suffix:
        content = _COMPRESSIONS[suffix](content)
    traits["compression"] = suffix
    return case._replace(content=content, name=case.name + suffix, traits=traits)
