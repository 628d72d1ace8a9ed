"""CoNLL-U, the format of Universal Dependencies: ten columns, of which we read five.

https://universaldependencies.org/format.html
"""

import logging
import re
from collections import Counter
from itertools import accumulate, groupby
from pathlib import Path
from typing import Any, Dict, Iterable, Iterator, List, NamedTuple, Optional

from tagger.common.files import write_atomically
from tagger.common.inputs import PathOrAddress
from tagger.data.formats.annotated_text import (
    DOCUMENT_KEYS,
    PLAIN_TAGS,
    AnnotatedText,
    Annotation,
    document_of,
    fit_to_tokens,
    lengths_of,
    text_of_tokens,
    tokens_and_tags,
)
from tagger.data.reading import DETECTED, Reading
from tagger.data.survey.columns import key_of_spans
from tagger.data.survey.schemes import Scheme, find_scheme, marks_outside
from tagger.data.text_encodings import decoded_lines, open_text

logger = logging.getLogger(__name__)

#: The cells of the parts of speech.
_UPOS, _XPOS = 3, 4
#: How UDPipe spells white space in `SpacesAfter`.
_SPACES = {" ": "\\s", "\t": "\\t", "\n": "\\n", "\r": "\\r", "|": "\\p", "\\": "\\\\"}
_SPELLED = {escape[1]: character for character, escape in _SPACES.items()}
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

    def begins_document(self) -> bool:
        return any(comment.startswith("newdoc") for comment in self.comments)

    def tags(self, key: str) -> List[str]:
        return [token.misc.get(key, "O") for token in self.tokens]


def read_conllu(path: PathOrAddress, reading: Reading = DETECTED) -> Iterator[AnnotatedText]:
    """Reads a file's documents if it marks them by `# newdoc`, else its sentences.

    Entities come from MISC, for example `ner=B-PER`, under the key `tag_column` or else the key with
    the most entities; if there are none, each token gets its UPOS as a plain label, or its XPOS if the
    file has no UPOS. A token of several words, such as `1-2`, gets theirs, joined by `+`. Empty nodes
    are not tokens.
    """
    sentences = list(_sentences(path, reading.text_encoding))
    if not any({*token.upos} - {"_"} for each in sentences for token in each.tokens):
        sentences = list(_sentences(path, reading.text_encoding, _XPOS))
    key = reading.key or _key_of_entities(sentences, path)
    scheme = Scheme() if key is None else find_scheme([each.tags(key) for each in sentences])
    documents: List[List[_Sentence]] = []
    for sentence in sentences:
        has_documents = documents and documents[0][0].begins_document()
        if sentence.begins_document() or not has_documents:
            documents.append([])
        documents[-1].append(sentence)
    for document in documents:
        yield _text(document, key, scheme)


def _key_of_entities(sentences: List[_Sentence], path: PathOrAddress) -> Optional[str]:
    keys = sorted({key for each in sentences for token in each.tokens for key in token.misc})
    tags = {key: [each.tags(key) for each in sentences] for key in keys}
    found = key_of_spans(tags, f"{path}: several keys in MISC")
    if found is not None:
        return found
    # Otherwise a key with labels only, or only `O`.
    for key in keys:
        has_outside = any(token.misc.get(key) == "O" for each in sentences for token in each.tokens)
        numbers = Counter(tag for of_sentence in tags[key] for tag in of_sentence)
        if has_outside and (set(numbers) == {"O"} or marks_outside(numbers)):
            return key
    bracketed = [
        key
        for key in keys
        if any(t.misc.get(key, "")[:1] == "(" for s in sentences for t in s.tokens)
    ]
    if bracketed:
        logger.warning(
            "%s: MISC has entities in brackets (%s), which are not read, but UPOS; write tags such as "
            "`ner=B-PER` there",
            *(path, ", ".join(bracketed)),
        )
    return None


def _sentences(
    path: PathOrAddress, text_encoding: Optional[str], part_of_speech: int = _UPOS
) -> Iterator[_Sentence]:
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
                tokens[-1].upos.append(cells[part_of_speech])
                for key, value in _misc(cells[9]).items():
                    if not key.startswith("Space"):
                        tokens[-1].misc.setdefault(key, value)
            elif "." not in cells[0]:
                tokens.append(_Token(cells[1], [cells[part_of_speech]], _misc(cells[9])))


def _misc(cell: str) -> Dict[str, str]:
    pairs = (each.partition("=") for each in cell.split("|"))
    # A value without a key, such as `B-PER`, has the key "".
    return {key if equals else "": value if equals else key for key, equals, value in pairs}


def _text(document: List[_Sentence], key: Optional[str], scheme: Scheme) -> AnnotatedText:
    """Joins sentences, using their `# text` if given and else their tokens."""
    first, text = document[0], ""
    for sentence in document:
        given, built = sentence.comments.get("text"), _joined(sentence.tokens)
        text += built if given is None or given.strip() == built.strip() else given + " "
    tokens = [token for sentence in document for token in sentence.tokens]
    if key is None:
        tags = ["+".join(each for each in token.upos if each != "_") or "O" for token in tokens]
    else:
        tags = [tag for sentence in document for tag in sentence.tags(key)]
    if "SpacesAfter" not in tokens[-1].misc:
        text = text.removesuffix(" ")
    names = ("newdoc id", *DOCUMENT_KEYS, *(["sent_id"] if len(document) == 1 else []))
    properties: Dict[str, Any] = {
        name.replace(" ", "_"): first.comments[name] for name in names if name in first.comments
    }
    forms = [each.form for each in tokens]
    found = text_of_tokens(forms, tags, first.place, text, properties, scheme=scheme)
    return found._replace(sentence_lengths=[len(sentence.tokens) for sentence in document])


def _joined(tokens: Iterable[_Token]) -> str:
    text = ""
    for form, _, misc in tokens:
        after = "" if misc.get("SpaceAfter") == "No" else "\\s"
        before, after = misc.get("SpacesBefore", ""), misc.get("SpacesAfter", after)
        text += _unescaped(before) + form + _unescaped(after)
    return text


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(
        lambda match: chr(int(match[1], 16)) if match[1] else _SPELLED.get(match[2], match[0]), text
    )


def _escaped(text: str) -> str:
    return "".join(
        _SPACES.get(character, f"\\u{ord(character):04x}" if character.isspace() else character)
        for character in text
    )


def write_conllu(texts: Iterable[AnnotatedText], path: Path) -> None:
    """Writes documents, with entities in MISC, or plain labels in UPOS.

    Texts in a row that name the same document are one, and a text that names none is one by itself.
    """
    with write_atomically(path) as new, new.open("w", encoding="utf-8", newline="\n") as file:
        for number, text in enumerate(_whole_documents(texts), start=1):
            name = document_of(text)
            file.write(f"# newdoc id = {number if name is None else _escaped(str(name))}\n")
            for line in _lines(text):
                file.write(line + "\n")


def _whole_documents(texts: Iterable[AnnotatedText]) -> Iterator[AnnotatedText]:
    """Joins texts in a row that name the same document, by line feeds."""
    for name, group in groupby(texts, key=document_of):
        if name is None:
            yield from group
            continue
        first, *others = map(_with_sentences, group)
        for text in others:
            offset = len(first.text) + 1
            entities = [
                Annotation(e.label, e.start + offset, e.end + offset) for e in text.entities
            ]
            tokens = [(start + offset, end + offset) for start, end in text.tokens or []]
            first = first._replace(
                text=f"{first.text}\n{text.text}",
                entities=[*first.entities, *entities],
                tokens=[*(first.tokens or []), *tokens],
                sentence_lengths=[*(first.sentence_lengths or []), *(text.sentence_lengths or [])],
            )
        yield first


def _with_sentences(text: AnnotatedText) -> AnnotatedText:
    fitted = fit_to_tokens(text).text
    return fitted._replace(sentence_lengths=lengths_of(fitted))


def _lines(text: AnnotatedText) -> Iterator[str]:
    fitted = fit_to_tokens(text).text
    tokens, tags = tokens_and_tags(fitted)
    if not tokens:
        raise ValueError(f"{text.place}: CoNLL-U has no texts without tokens; leave this one out")
    spans = fitted.tokens or []
    is_plain = bool(text.properties.get(PLAIN_TAGS))
    sentence_ends = {*accumulate(lengths_of(fitted))}
    number, before = 0, text.text[: spans[0][0]]
    next_starts = [start for start, _ in spans[1:]]
    rows = zip(tokens, tags, spans, [*next_starts, len(text.text)])
    for position, (token, tag, (_, end), next_start) in enumerate(rows, start=1):
        number, is_last, gap = number + 1, position == len(tokens), text.text[end:next_start]
        misc = [] if is_plain else [f"ner={tag}"]
        misc += [f"SpacesBefore={_escaped(before)}"] if before else []
        if not gap:
            misc.append("SpacesAfter=" if is_last else "SpaceAfter=No")
        elif gap != " " or is_last:
            misc.append(f"SpacesAfter={_escaped(gap)}")
        cells = [str(number), token, "_", tag if is_plain else "_", *"_____", "|".join(misc) or "_"]
        yield "\t".join(cells)
        before = ""
        if position in sentence_ends:
            yield ""
            number = 0
