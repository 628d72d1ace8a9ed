"""Column files and CSV files of tokens in random layouts."""

import csv
import io
from random import Random
from typing import Any, Dict, Iterator, List, NamedTuple, Sequence

from tagger.spans import spans_to_tags
from tests.data.layouts.cases import Case, pick, with_bytes
from tests.data.layouts.contents import Corpus, Sentence, random_corpus

_ENCODINGS = ("BIO", "IOB1", "BIOUL", "BMES", "IOBES", "IO")
_SEPARATORS = ("-", "_", ":", "/", ".", *"–‐‑‒—―−﹣－", "")
_OUTSIDE = ("O", "o", "0", "_", "-", "NULL", "B-O", "OTHER", "none", "Other", "NIL", "out")
#: Delimiters between which cells may be empty.
_MARKED = ("\t", ",", ";", "|")
#: Strings between the tags of nested entities.
_JOINTS = ("|", "+", ";", "#")
_HEADERS = {
    "token": ("token", "Word", "words", "FORM", "Tokens"),
    "tag": ("tag", "NER", "ner_tags", "labels", "Tag", "entity"),
    "pos": ("pos", "POS", "upos"),
    "chunk": ("chunk", "Chunk"),
    "index": ("id", "idx", "index", "#"),
    "begin": ("begin", "start"),
    "end": ("end", "stop"),
    "sentence": ("sentence_id", "Sentence #", "sent_id"),
    "document": ("doc_id", "document", "file", "article_id", "pmid"),
    "lemma": ("lemma",),
    "score": ("score", "conf"),
    "constant": ("x", "misc"),
    "gloss": ("gloss", "translation"),
}
_FOREIGN = (
    {"token": "Wort", "tag": "Etikett", "pos": "Wortart", "sentence": "Satz"},
    {"token": "mot", "tag": "étiquette", "pos": "nature", "sentence": "phrase"},
    {"token": "palabra", "tag": "etiqueta", "lemma": "lema", "document": "archivo"},
    {"token": "词", "tag": "标签", "sentence": "句子", "score": "分数"},
)
#: How documents are marked, and whether with names.
_MARKS = {
    "docstart": False, "docstart named": True, "docstart and comment": True, "newdoc": False,
    "newdoc id": True, "doc_id": True, "begin": True, "double blank": False,
}  # fmt: skip


class Spelling(NamedTuple):
    """How tags are spelled."""

    encoding: str
    separator: str
    comes_last: bool
    is_lower: bool
    outside: str
    joint: str = ""

    def tags(self, sentence: Sentence) -> List[str]:
        """Spells the tags of a sentence; those of nested entities are joined."""
        labels = sorted({label for label, _ in sentence.spans}) if self.joint else [None]
        rows = [
            spans_to_tags(
                [span for span in sentence.spans if label in (None, span[0])],
                len(sentence.tokens),
                self.encoding,
            )
            for label in labels or [None]
        ]
        spelled = ([self._tag(tag) for tag in tags if tag != "O"] for tags in zip(*rows))
        return [self.joint.join(each) or self._tag("O") for each in spelled]

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


def _spelling(rng: Random, delimiter: str) -> Spelling:
    encoding = pick(rng, *_ENCODINGS, usual=0.6)
    separator = pick(rng, *_SEPARATORS, usual=0.6)
    return Spelling(
        encoding,
        separator,
        separator != "" and rng.random() < 0.15,
        rng.random() < 0.15,
        pick(rng, *_OUTSIDE, *[""] * (delimiter in _MARKED), usual=0.6),
    )


def column_case(rng: Random) -> Case:
    """Makes a file with a token per line."""
    delimiter = pick(rng, "\t", " ", ",", ";", "|", "  ", usual=0.35)
    spelling = _spelling(rng, delimiter)
    is_ambiguous = spelling.encoding == "IO" or spelling.separator == ""
    corpus = random_corpus(rng, may_nest=not is_ambiguous and spelling.outside != "B-O")
    while is_ambiguous and corpus.labels[0] == "B-side":  # nobody could read it
        corpus = random_corpus(rng)
    if spelling.separator == "":
        # Prefixes can be told from labels only if some labels have several.
        is_lower = spelling.is_lower and corpus.labels[0][0].isupper()
        spelling = spelling._replace(
            is_lower=is_lower, encoding=spelling.encoding.replace("IOB1", "BIO")
        )
    if spelling.encoding == "IO":
        corpus = corpus.mapped(lambda sentence, _: sentence.merged())
    if corpus.is_nested:
        free = [each for each in _JOINTS if each not in (delimiter, spelling.separator)]
        spelling = spelling._replace(joint=pick(rng, *free))
    traits = {"spelling": spelling, "delimiter": delimiter, **_layout(rng, delimiter)}
    traits |= {"script": corpus.script, "labels": corpus.labels, "nested": corpus.is_nested}
    header, mark = traits["header"], traits["documents"]
    has_column = "document" in traits["order"]
    is_named = _MARKS.get(mark, True) and (header == "known" or not has_column)
    corpus = corpus.with_names(rng, is_named)
    if traits["first_ids"]:
        pattern = rng.choice(("d1-s{}", "sent_{:03}", "{:05}a"))
        corpus = corpus.mapped(lambda sentence, n: sentence.behind(pattern.format(n)))
    lines = "\n".join(_lines(corpus, traits)) + rng.choice(("", "\n", "\n\n"))
    name = "file" + {",": ".csv", ";": ".csv", "\t": ".tsv"}.get(
        delimiter, rng.choice((".conll", ".txt"))
    )
    case = Case("columns", name, b"", [each.content for each in corpus.sentences], traits)
    is_sure = mark != "double blank" or len(corpus.documents) >= 5
    if (mark is not None or has_column) and is_sure:
        case = case._replace(document_of=corpus.document_of)
    return with_bytes(rng, _judged(rng, case), lines)


def _layout(rng: Random, delimiter: str) -> Dict[str, Any]:
    """Draws the columns, and what is between sentences and documents."""
    header = pick(rng, None, "known", "foreign", usual=0.55)
    free = [each for each in _HEADERS if each not in ("token", "tag", "begin", "end")]
    if header != "known":
        free.remove("gloss")  # nobody could tell it from the tokens
    extras = rng.sample(free, pick(rng, 0, 1, 2, 3))
    if rng.random() < 0.08:
        extras += ["begin", "end"]
    order = ["token", *extras, "tag"]
    if rng.random() < 0.3:
        rng.shuffle(order)
    ends = pick(rng, "blank", "blanks", "spaces", "delimiters", "only_outside", "column", "index")
    if ends == "column" and "sentence" not in order:
        order.insert(0, "sentence")
    if ends == "index" and "index" not in order:
        order.insert(0, "index")
    if ends in ("delimiters", "only_outside") and delimiter not in (",", ";"):
        ends = "blank"
    are_blank = ends not in ("column", "index")
    mark = pick(rng, None, *_MARKS) if are_blank else None
    return {
        "order": order,
        "header": header,
        "ends": "blank" if mark == "double blank" else ends,
        "documents": mark,
        "comments": rng.random() < 0.15 and are_blank,
        "index_from": rng.choice((0, 1)),
        "sentence_name": rng.choice(("{}", "s{}", "Sentence: {}")),
        "names": rng.choice(_FOREIGN),
        "is_quoted": rng.random() < 0.2,
        "first_ids": are_blank and rng.random() < 0.05,
    }


def _judged(rng: Random, case: Case) -> Case:
    """Gives the options that a user has to give, and says what may be refused."""
    traits = case.traits
    spelling: Spelling = traits["spelling"]
    if traits["header"] == "foreign":
        names = traits["names"]
        reading = {"token_column": names["token"], "tag_column": names["tag"]}
        case = case._replace(kind="columns, foreign header", reading=reading)
        if rng.random() < 0.2:
            refusal = "--tag-column|--token-column|columns? of"
            kind = "columns, foreign header, unsaid"
            case = case._replace(kind=kind, reading={}, refusal=refusal)
    elif spelling.separator == "" and spelling.encoding != "IO":
        case = case._replace(kind="columns, tags without separator")
    elif spelling.outside not in ("O", "o", "0", "_", "-", ""):
        case = case._replace(kind="columns, unusual outside")
    elif traits["nested"]:
        case = case._replace(kind="columns, nested")
    if traits["first_ids"]:
        case = case._replace(kind="columns, identifiers first", doubt=1)
    return case


def _lines(corpus: Corpus, traits: Dict[str, Any]) -> Iterator[str]:
    order, spelling = traits["order"], traits["spelling"]
    if traits["header"] == "known":
        names = (_HEADERS[each][len(order) % len(_HEADERS[each])] for each in order)
        yield _row([_joined(each, traits) for each in names], traits)
    if traits["header"] == "foreign":
        yield _row([traits["names"].get(each, each[:3] + "x") for each in order], traits)
    place = number = 0
    for name, document in zip(corpus.names, corpus.documents):
        yield from _mark(name, traits)
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
                    "sentence": _joined(traits["sentence_name"].format(number), traits),
                    "document": name,
                    "score": f"0.{len(token)}",
                    "constant": "_",
                    "gloss": f"{token[::-1].lower()}ish",
                }
                place += len(token) + 1
                yield _row([cells[each] for each in order], traits)
            if traits["ends"] not in ("column", "index"):
                yield _end(traits)
        if traits["documents"] == "begin":
            yield "#end document"
        if traits["documents"] == "double blank":
            yield ""


def _joined(name: str, traits: Dict[str, Any]) -> str:
    return name.replace(" ", "_") if traits["delimiter"].strip(" ") == "" else name


def _mark(name: str, traits: Dict[str, Any]) -> Iterator[str]:
    """Marks the beginning of a document."""
    mark = traits["documents"]
    if mark in ("docstart", "docstart and comment"):
        cells = {"token": "-DOCSTART-", "tag": "O", "index": str(traits["index_from"])}
        yield _row([cells.get(each, "-X-") for each in traits["order"]], traits)
        yield ""
    if mark == "docstart named":
        yield f"-DOCSTART- ({name})"
        yield ""
    if mark == "newdoc":
        yield "# newdoc"
    if mark == "newdoc id":
        yield f"# newdoc id = {name}"
    if mark in ("doc_id", "docstart and comment"):
        yield f"# doc_id = {name}"
    if mark == "begin":
        yield f"#begin document ({name}); part 000"


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


def _row(cells: Sequence[str], traits: Dict[str, Any]) -> str:
    delimiter = traits["delimiter"]
    if delimiter in (",", ";"):
        text = io.StringIO()
        quoting = csv.QUOTE_ALL if traits["is_quoted"] else csv.QUOTE_MINIMAL
        csv.writer(text, delimiter=delimiter, lineterminator="", quoting=quoting).writerow(cells)
        return text.getvalue()
    return delimiter.join(cells)
