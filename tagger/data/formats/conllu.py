"""CoNLL-U, the format of Universal Dependencies: ten columns, of which we read five.

https://universaldependencies.org/format.html
"""

import logging
import re
from collections import Counter
from pathlib import Path
from typing import Any, Dict, Iterable, Iterator, List, NamedTuple, Optional, Tuple

from tagger.common.files import write_atomically
from tagger.common.inputs import PathOrAddress
from tagger.data.decoded_lines import decoded_lines
from tagger.data.formats.annotated_text import (
    PLAIN_TAGS,
    AnnotatedText,
    fit_to_tokens,
    lengths_of,
    text_of_tokens,
    tokens_and_tags,
)
from tagger.data.survey.columns import count_spans
from tagger.data.survey.schemes import Scheme, find_scheme, marks_outside
from tagger.data.survey.text_encodings import open_text

logger = logging.getLogger(__name__)

#: How UDPipe spells white space in `SpacesAfter`.
_SPACES = {" ": "\\s", "\t": "\\t", "\n": "\\n", "\r": "\\r", "|": "\\p", "\\": "\\\\"}
_ESCAPE = re.compile(r"\\u([0-9a-f]{4})|\\(.)")


class _Token(NamedTuple):
    """A token of the text: a word, or the range of words that one token stands for."""

    form: str
    upos: List[str]
    misc: Dict[str, str]


class _Sentence(NamedTuple):
    place: str
    comments: Dict[str, str]
    tokens: List[_Token]


def read_conllu(
    path: PathOrAddress, text_encoding: Optional[str] = None, tag_column: Optional[str] = None
) -> Iterator[AnnotatedText]:
    """Reads the documents of a file that marks them by `# newdoc`, else its sentences.

    Entities are those that MISC spells, such as `ner=B-PER`, under the key with the most of them;
    without any, each token has its UPOS as a plain label. A token of several words, such as `1-2`, has
    theirs, joined by `+`. Empty nodes are no tokens.

    Args:
        path: The file.
        text_encoding: How its bytes spell text, if it is known.
        tag_column: The key in MISC of the entities, if it is known.

    Raises:
        ValueError: If a line is not as expected; the message says where.
    """
    all_sentences = list(_sentences(path, text_encoding))
    key = tag_column or _key_of_spans(all_sentences, path)
    scheme = Scheme()
    if key is not None:
        scheme = find_scheme([_tags(each.tokens, key) for each in all_sentences])
    documents: List[List[_Sentence]] = []
    for sentence in all_sentences:
        starts = any(comment.startswith("newdoc") for comment in sentence.comments)
        has_documents = documents and any(
            key.startswith("newdoc") for key in documents[0][0].comments
        )
        if starts or not has_documents:
            documents.append([])
        documents[-1].append(sentence)
    for document in documents:
        yield _text(document, key, scheme)


def _key_of_spans(sentences: List[_Sentence], path: PathOrAddress) -> Optional[str]:
    """Returns the key of MISC that spells the most spans, and logs the others; None without any."""
    keys = sorted({key for each in sentences for token in each.tokens for key in token.misc})
    cells = [[_tags(each.tokens, key) for each in sentences] for key in keys]
    found = {keys[i]: number for i, number in count_spans(cells, range(len(keys))).items()}
    if len(found) > 1:
        counts = ", ".join(f"{key} {number:,}" for key, number in found.items())
        logger.warning(
            "%s: several keys in MISC spell spans (%s); `tag_column` (`--tag-column`) takes another "
            "than the one with the most",
            path,
            counts,
        )
    if found:
        return max(found, key=found.__getitem__)
    # A key that spells labels alone, or no entity at all, beside an `O`.
    for key, tags in zip(keys, cells):
        numbers = Counter(tag for of_sentence in tags for tag in of_sentence)
        if _has_outside(sentences, key) and (set(numbers) == {"O"} or marks_outside(numbers)):
            return key
    return None


def _has_outside(sentences: List[_Sentence], key: str) -> bool:
    return any(token.misc.get(key) == "O" for each in sentences for token in each.tokens)


def _tags(tokens: Iterable[_Token], key: str) -> List[str]:
    return [token.misc.get(key, "O") for token in tokens]


def _sentences(path: PathOrAddress, text_encoding: Optional[str]) -> Iterator[_Sentence]:
    place, covered = "", 0
    comments: Dict[str, str] = {}
    tokens: List[_Token] = []
    with open_text(path, text_encoding) as (file, _):
        lines = ((f"{path}:{number}", line) for number, line in decoded_lines(file, path))
        for line_place, line in (*lines, ("", "")):
            if line.startswith("#"):
                key, _, value = line[1:].partition("=")
                comments[key.strip()] = value.removeprefix(" ")
                continue
            if not line.strip():
                if tokens:
                    yield _Sentence(place, comments, tokens)
                    comments, tokens, covered = {}, [], 0
                continue
            place = place if tokens else line_place
            cells = line.split("\t")
            number = re.fullmatch(r"(\d+)(?:-(\d+)|\.\d+)?", cells[0])
            if len(cells) != 10 or number is None or not cells[1]:
                raise ValueError(
                    f"{line_place}: expected ten columns separated by tabs, first a number, got {line!r}"
                )
            if number[2] is not None:
                covered = int(number[2])
                tokens.append(_Token(cells[1], [], _misc(cells[9])))
            elif "." not in cells[0] and int(number[1]) <= covered:
                tokens[-1].upos.append(cells[3])
                for key, value in _misc(cells[9]).items():
                    if not key.startswith("Space"):
                        tokens[-1].misc.setdefault(key, value)
            elif "." not in cells[0]:
                tokens.append(_Token(cells[1], [cells[3]], _misc(cells[9])))


def _misc(cell: str) -> Dict[str, str]:
    pairs = (each.partition("=") for each in cell.split("|"))
    # A value without a key, such as `B-PER`, has the key "".
    return {key if equals else "": value if equals else key for key, equals, value in pairs}


def _text(document: List[_Sentence], key: Optional[str], scheme: Scheme) -> AnnotatedText:
    """Joins sentences, each as its `# text` says, or else as its tokens say."""
    text = ""
    for sentence in document:
        given, built = sentence.comments.get("text"), _joined(sentence.tokens)
        if given is None or given.strip() == built.strip():
            text += built
        else:
            text += given + " "
    tokens = [token for sentence in document for token in sentence.tokens]
    plain = ["+".join(each for each in token.upos if each != "_") or "O" for token in tokens]
    tags = plain if key is None else _tags(tokens, key)
    if "SpacesAfter" not in tokens[-1].misc:
        text = text.removesuffix(" ")
    properties: Dict[str, Any] = {}
    for name in ("newdoc id", "sent_id"):
        if name in document[0].comments and (name != "sent_id" or len(document) == 1):
            properties[name.replace(" ", "_")] = document[0].comments[name]
    forms = [each.form for each in tokens]
    found = text_of_tokens(forms, tags, document[0].place, text, properties, scheme=scheme)
    lengths = [len(sentence.tokens) for sentence in document]
    return found._replace(sentence_lengths=lengths)


def _joined(tokens: Iterable[_Token]) -> str:
    return "".join(
        _unescaped(token.misc.get("SpacesBefore", "")) + token.form + _spaces_after(token.misc)
        for token in tokens
    )


def _spaces_after(misc: Dict[str, str]) -> str:
    if "SpacesAfter" in misc:
        return _unescaped(misc["SpacesAfter"])
    return "" if misc.get("SpaceAfter") == "No" else " "


def _unescaped(text: str) -> str:
    known = {escape[1]: character for character, escape in _SPACES.items()}
    return _ESCAPE.sub(
        lambda match: chr(int(match[1], 16)) if match[1] else known.get(match[2], match[0]), text
    )


def _escaped(text: str) -> str:
    return "".join(
        _SPACES.get(character, f"\\u{ord(character):04x}" if character.isspace() else character)
        for character in text
    )


def write_conllu(texts: Iterable[AnnotatedText], path: Path) -> None:
    """Writes each text as a document, with entities in MISC, or plain labels in UPOS.

    Raises:
        ValueError: If a text has no token, or if entities overlap.
    """
    with write_atomically(path) as new, new.open("w", encoding="utf-8", newline="\n") as file:
        for number, text in enumerate(texts, start=1):
            file.write(f"# newdoc id = {text.properties.get('newdoc_id', number)}\n")
            for line in _lines(text):
                file.write(line + "\n")


def _lines(text: AnnotatedText) -> Iterator[str]:
    fitted = fit_to_tokens(text).text
    tokens, tags = tokens_and_tags(fitted)
    if not tokens:
        raise ValueError(f"{text.place}: CoNLL-U has no texts without tokens; leave this one out")
    spans = fitted.tokens or []
    ends, first = set(), 0
    for length in lengths_of(fitted):
        first += length
        ends.add(first)
    number = 0
    for position, (token, tag) in enumerate(zip(tokens, tags)):
        number += 1
        before = text.text[: spans[0][0]] if position == 0 else ""
        following: Optional[Tuple[int, int]] = (
            spans[position + 1] if position + 1 < len(spans) else None
        )
        gap = text.text[spans[position][1] : following[0] if following else None]
        is_plain = bool(text.properties.get(PLAIN_TAGS))
        misc = [] if is_plain else [f"ner={tag}"]
        misc += [f"SpacesBefore={_escaped(before)}"] if before else []
        if not gap:
            misc.append("SpaceAfter=No" if following else "SpacesAfter=")
        elif gap != " " or not following:
            misc.append(f"SpacesAfter={_escaped(gap)}")
        cells = [str(number), token, "_", tag if is_plain else "_", *"_____", "|".join(misc) or "_"]
        yield "\t".join(cells)
        if position + 1 in ends:
            yield ""
            number = 0
