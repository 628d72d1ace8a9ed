"""What the starter says of files: one line for each thing that it saw."""

from statistics import mean
from typing import List

from tagger.starter.config import listed, listed_counts, rare_labels
from tagger.starter.survey import ColumnFile, Survey
from tagger.starter.text_files import TextFile
from tagger_onnx.sentences import MOST_TOKENS

#: Encodings that people know better by other names.
_NAMES = {"utf-8": "UTF-8", "cp1252": "Windows-1252 or Latin-1, by the look of it"}
#: A sentence of more tokens looks like several.
_LONGEST = 300


def describe(found: Survey) -> List[str]:
    """Returns what the files hold, and how, in lines."""
    train = found.files[0]
    lines = _described_file(found, train)
    lines += found.tokenization.describe()
    for dev in found.files[1:]:
        lines += _described_file(found, dev)
    unseen = found.unseen_labels()
    if unseen:
        lines.append(
            f"  warning    labels that {train.path} lacks cannot be learnt: {listed(unseen)}"
        )
    return lines


def _described_file(found: Survey, file: ColumnFile) -> List[str]:
    columns = found.columns
    lines = [f"{file.path}", f"  text       {_described_text(file)}"]
    if file.comments:
        number, comment = next(iter(file.comments.items()))
        lines.append(
            f"  comments   {len(file.comments):,}, the first on line {number}: {comment[:60]!r}"
        )
    noun = "texts" if file.texts else "sentences"
    lengths = [len(rows) for rows in file.sentences]
    counts = found.count_labels(file)
    what = "tokens" if found.scheme.source_encoding is None else "spans"
    lines += [
        f"  format     {file.texts.format}: {file.texts.counts.in_one_line()}"
        if file.texts
        else f"  columns    {columns.num}, separated by {_separator(found, file)}: tokens in column "
        f"{columns.token}, tags in column {columns.tag} (counted from 0)",
        f"  {noun:11}{len(lengths):,}, of {mean(lengths):.1f} tokens on average, {max(lengths):,} at "
        f"most",
        f"  tags       {_described_scheme(found, file)}",
        f"  labels     {len(counts)}, by {what}: {listed_counts(counts)}",
    ]
    if counts and rare_labels(counts):
        lines.append(f"  rare       {listed(rare_labels(counts))}")
    if file.texts is not None:
        return lines + _described_cuts(file.texts)
    if max(lengths) > _LONGEST:
        longest = max(file.sentences, key=len)
        lines.append(
            f"  warning    the sentence on line {longest[0].number} has {len(longest):,} tokens: is a "
            f"blank line missing?"
        )
    return lines


def _described_cuts(texts: TextFile) -> List[str]:
    """Says into how many sentences long texts are cut, and which sentence could not be cut."""
    every = [length for text in texts.cut for length in text.sentence_lengths or ()]
    if len(every) == len(texts.cut):
        return []
    lines = [
        f"  sentences  {len(every):,}, of {mean(every):.1f} tokens on average: texts of more than "
        f"{MOST_TOKENS} tokens are cut between lines and sentences"
    ]
    if max(every) > _LONGEST:
        text = max(texts.cut, key=lambda text: max(text.sentence_lengths or ()))
        lengths = text.sentence_lengths or []
        first = sum(lengths[: lengths.index(max(lengths))])
        start = text.tokens[first][0] if text.tokens else 0
        lines.append(
            f"  warning    {text.place}: from character {start:,} on, no line and no sentence ends for "
            f"{max(lengths):,} tokens, which are read as one sentence"
        )
    return lines


def _described_text(file: ColumnFile) -> str:
    name = _NAMES.get(file.text_encoding, file.text_encoding.upper())
    if file.text_encoding != "cp1252":
        return name
    texts = (row.text for rows in file.sentences for row in rows if not row.text.isascii())
    return f"{name}: does {next(texts, '')!r} look right? If not, name another by --text-encoding"


def _separator(found: Survey, file: ColumnFile) -> str:
    if found.delimiter is not None:
        return "tabs alone" if found.delimiter == "\t" else repr(found.delimiter)
    have_tabs = {"\t" in row.text for rows in file.sentences for row in rows}
    return {frozenset([True]): "tabs", frozenset([False]): "blanks"}.get(
        frozenset(have_tabs), "blanks or tabs"
    )


def _described_scheme(found: Survey, file: ColumnFile) -> str:
    scheme = found.scheme
    unknown = f"; {scheme.unknown_tag!r} is unknown" if scheme.unknown_tag else ""
    if scheme.label_separator is not None:
        return (
            f"several labels a token, joined by {scheme.label_separator!r}; {scheme.no_label_tag!r} is "
            f"none{unknown}"
        )
    if scheme.source_encoding is None:
        return f"plain labels, which mark no spans{unknown}"
    return f"spans in {scheme.source_encoding}{_mistakes(found, file)}{unknown}"


def _mistakes(found: Survey, file: ColumnFile) -> str:
    """Says that what is read as IOB1 is BIO with mistakes, if it is."""
    if found.scheme.source_encoding != "IOB1":
        return ""
    num_begun, mistakes = 0, []
    for rows in file.sentences:
        before = "O"
        for row in rows:
            tag = row.columns[found.columns.tag]
            if tag[0] == "B":
                num_begun += 1
            elif tag[0] == "I" and before[1:] != tag[1:]:
                mistakes.append(row)
            before = tag
    if len(mistakes) >= num_begun:
        return ""
    where = f", as on line {mistakes[0].number}: {mistakes[0].text!r}" if mistakes else ""
    num_spans = num_begun + len(mistakes)
    return f": in BIO, {len(mistakes):,} of {num_spans:,} spans would not begin with B-{where}"
