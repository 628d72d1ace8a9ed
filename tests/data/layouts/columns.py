"""Column files and CSV files of tokens in random layouts."""

import csv
import io
from random import Random
from typing import Any, Dict, Iterator, List, NamedTuple, Sequence

from tagger.spans import spans_to_tags
from tests.data.layouts.cases import Case, pick, with_bytes
from tests.data.layouts.contents import Corpus, Sentence, random_corpus

_ENCODINGS = ("BIO", "IOB1", "BIOUL", "BMES", "IOBES", "IO")
_SEPARATORS = ("-", "_", ":", "/", ".", "–", "‐", "‑", "—", "−", "")
_OUTSIDE = ("O", "o", "0", "_", "-", "NULL", "B-O", "OTHER", "none")
_HEADERS = {
    "token": ("token", "Word", "words", "FORM", "Tokens"),
    "tag": ("tag", "NER", "ner_tags", "labels", "Tag", "entity"),
    "pos": ("pos", "POS", "upos"),
    "chunk": ("chunk", "Chunk"),
    "index": ("id", "idx", "index", "#"),
    "begin": ("begin", "start"),
    "end": ("end", "stop"),
    "sentence": ("sentence_id", "Sentence #", "sent_id"),
    "document": ("doc_id", "document"),
    "lemma": ("lemma",),
    "score": ("score", "conf"),
    "constant": ("x", "misc"),
}
_FOREIGN = {"token": "Wort", "tag": "Etikett", "pos": "Wortart", "sentence": "Satz"}


class Spelling(NamedTuple):
    """How tags are spelled."""

    encoding: str
    separator: str
    comes_last: bool
    is_lower: bool
    outside: str

    def tags(self, sentence: Sentence) -> List[str]:
        return [
            self._tag(tag)
            for tag in spans_to_tags(sentence.spans, len(sentence.tokens), self.encoding)
        ]

    def _tag(self, tag: str) -> str:
        if tag == "O" and (self.outside != "B-O" or self.encoding not in ("BIO", "BIOUL")):
            return self.outside.replace("B-O", "O")
        if tag == "O":
            tag = "B-O" if self.encoding == "BIO" else "U-O"
        if self.encoding == "IO":
            return tag.partition("-")[2] if tag[:2] == "I-" else tag
        prefix, label = tag[0], tag[2:]
        prefix = prefix.lower() if self.is_lower else prefix
        parts = (label, prefix) if self.comes_last else (prefix, label)
        return self.separator.join(parts)


def _spelling(rng: Random) -> Spelling:
    encoding = pick(rng, *_ENCODINGS, usual=0.6)
    separator = pick(rng, *_SEPARATORS, usual=0.6)
    return Spelling(
        encoding,
        separator,
        separator != "" and rng.random() < 0.15,
        rng.random() < 0.15,
        pick(rng, *_OUTSIDE, usual=0.6),
    )


def column_case(rng: Random) -> Case:
    """Makes a file with a token per line."""
    corpus = random_corpus(rng)
    spelling = _spelling(rng)
    is_ambiguous = spelling.encoding == "IO" or spelling.separator == ""
    while is_ambiguous and corpus.labels[0] == "B-side":  # nobody could read it
        corpus = random_corpus(rng)
    if (
        spelling.separator == ""
    ):  # prefixes can be told from labels only if some labels have several
        is_lower = spelling.is_lower and corpus.labels[0][0].isupper()
        spelling = spelling._replace(
            is_lower=is_lower, encoding=spelling.encoding.replace("IOB1", "BIO")
        )
    delimiter = pick(rng, "\t", " ", ",", ";", "|", "  ", usual=0.35)
    extras = rng.sample(
        [each for each in _HEADERS if each not in ("token", "tag", "begin", "end")],
        pick(rng, 0, 1, 2, 3),
    )
    if rng.random() < 0.08:
        extras += ["begin", "end"]
    order = ["token", *extras, "tag"]
    is_mixed = rng.random() < 0.3
    if is_mixed:
        rng.shuffle(order)
    header = pick(rng, None, "known", "foreign", usual=0.55)
    ends = pick(rng, "blank", "blanks", "spaces", "delimiters", "only_outside", "column", "index")
    if ends == "column" and "sentence" not in order:
        order.insert(0, "sentence")
    if ends == "index" and "index" not in order:
        order.insert(0, "index")
    if ends in ("delimiters", "only_outside") and delimiter not in (",", ";"):
        ends = "blank"
    documents = pick(rng, None, "docstart", "comments")
    traits = {
        "spelling": spelling,
        "delimiter": delimiter,
        "order": order,
        "header": header,
        "ends": ends,
        "documents": documents,
        "script": corpus.script,
        "labels": corpus.labels,
        "comments": rng.random() < 0.15 and ends not in ("column", "index"),
        "index_from": rng.choice((0, 1)),
        "sentence_name": rng.choice(("{}", "s{}", "Sentence: {}")),
    }
    if ends == "column":
        traits["documents"] = None
    if ends == "index":
        traits["documents"] = None
    lines = "\n".join(_lines(corpus, traits)) + rng.choice(("", "\n", "\n\n"))
    name = "file" + {",": ".csv", ";": ".csv", "\t": ".tsv"}.get(
        delimiter, rng.choice((".conll", ".txt"))
    )
    case = Case("columns", name, b"", [each.content for each in corpus.sentences], traits)
    return with_bytes(rng, _judged(case), lines)


def _judged(case: Case) -> Case:
    """Gives the options that a user has to give, and says what may be refused."""
    traits = case.traits
    spelling: Spelling = traits["spelling"]
    reading: Dict[str, Any] = {}
    kind = "columns"
    if traits["header"] == "foreign":
        reading["token_column"], reading["tag_column"] = _FOREIGN["token"], _FOREIGN["tag"]
        kind = "columns, foreign header"
    if spelling.separator == "" and spelling.encoding != "IO":
        kind = "columns, tags without separator"
    if spelling.outside in ("OTHER", "none", "NULL", "B-O"):
        kind = "columns, unusual outside"
    return case._replace(kind=kind, reading=reading)


def _lines(corpus: Corpus, traits: Dict[str, Any]) -> Iterator[str]:
    delimiter, order, spelling = traits["delimiter"], traits["order"], traits["spelling"]
    if traits["header"] == "known":
        yield _row([_HEADERS[each][len(order) % len(_HEADERS[each])] for each in order], delimiter)
    if traits["header"] == "foreign":
        yield _row([_FOREIGN.get(each, each[:3] + "x") for each in order], delimiter)
    place = number = 0
    for doc, document in enumerate(corpus.documents):
        if traits["documents"] == "docstart":
            cells = {"token": "-DOCSTART-", "tag": "O", "index": str(traits["index_from"])}
            yield _row([cells.get(each, "-X-") for each in order], delimiter)
            yield ""
        elif traits["documents"] == "comments":
            yield f"# newdoc id = d{doc}"
        for sentence in document:
            number += 1
            if traits["comments"]:
                yield f"# sent_id = {number}"
            for index, (token, tag) in enumerate(zip(sentence.tokens, spelling.tags(sentence))):
                cells = {
                    "token": token,
                    "tag": tag,
                    "pos": "NOUN" if token[0].isupper() else "VERB",
                    "chunk": "B-NP" if index % 2 == 0 else "I-NP",
                    "lemma": token.lower(),
                    "index": str(index + traits["index_from"]),
                    "begin": str(place),
                    "end": str(place + len(token)),
                    "sentence": traits["sentence_name"]
                    .format(number)
                    .replace(" ", "_" if delimiter.isspace() and delimiter != "\t" else " "),
                    "document": f"d{doc}",
                    "score": f"0.{len(token)}",
                    "constant": "_",
                }
                place += len(token) + 1
                yield _row([cells[each] for each in order], delimiter)
            if traits["ends"] not in ("column", "index"):
                yield _end(traits)


def _end(traits: Dict[str, Any]) -> str:
    order, delimiter = traits["order"], traits["delimiter"]
    if traits["ends"] == "blanks":
        return "\n"
    if traits["ends"] == "spaces":
        return "  "
    if traits["ends"] == "delimiters":
        return delimiter * (len(order) - 1)
    if traits["ends"] == "only_outside":
        return delimiter.join("O" if each == "tag" else "" for each in order)
    return ""


def _row(cells: Sequence[str], delimiter: str) -> str:
    if delimiter in (",", ";"):
        text = io.StringIO()
        csv.writer(text, delimiter=delimiter, lineterminator="").writerow(cells)
        return text.getvalue()
    return delimiter.join(cells)
