"""What the starter says of files: one line for each thing that it saw."""

from statistics import mean
from typing import List

from tagger.data.column_file import Row
from tagger.tools.start.config import listed, listed_counts, rare_labels
from tagger.tools.start.survey import Survey, SurveyedFile, TextFile
from tagger_onnx.sentences import MOST_TOKENS

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


def _described_file(found: Survey, file: SurveyedFile) -> List[str]:
    noun, lengths = "texts" if file.texts else "sentences", [*map(len, file.sentences)]
    counts = found.count_labels(file)
    by = "tokens" if found.scheme.source_encoding is None else "spans"
    described = (
        [each for each in file.columns.describe() if each[0] != "tags"] if file.columns else []
    )
    if file.texts:
        described = [("format", f"{file.texts.format}: {file.texts.counts.in_one_line()}")]
    lines = [
        f"{file.path}",
        *(f"  {what:11}{found}" for what, found in described),
        *_doubtful(file),
        f"  {noun:11}{len(lengths):,}, of {mean(lengths):.1f} tokens on average, {max(lengths):,} at "
        f"most",
        f"  tags       {found.scheme.describe()}{_mistakes(found, file)}",
        f"  labels     {len(counts)}, by {by}: {listed_counts(counts)}",
    ]
    if counts and rare_labels(counts):
        lines.append(f"  rare       {listed(rare_labels(counts))}")
    if file.texts:
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


def _doubtful(file: SurveyedFile) -> List[str]:
    """Shows a line whose encoding was guessed."""
    if file.columns is None or file.columns.text_encoding != "cp1252":
        return []
    texts = (row.text for rows in file.sentences for row in rows if not row.text.isascii())
    return [
        f"  warning    does {next(texts, '')!r} look right? If not, name the encoding by --text-encoding"
    ]


def _mistakes(found: Survey, file: SurveyedFile) -> str:
    """Says that what is read as IOB1 is BIO with mistakes, if it is."""
    if found.scheme.source_encoding != "IOB1":
        return ""
    num_begun, mistakes = 0, list[Row]()
    for rows in file.sentences:
        tags = found.tags(rows)
        num_begun += sum(tag[0] == "B" for tag in tags)
        pairs = zip(rows, tags, ["O", *tags])
        mistakes += [row for row, tag, last in pairs if tag[0] == "I" and last[1:] != tag[1:]]
    if len(mistakes) >= num_begun:
        return ""
    where = f", as on line {mistakes[0].number}: {mistakes[0].text!r}" if mistakes else ""
    num_spans = num_begun + len(mistakes)
    return f": in BIO, {len(mistakes):,} of {num_spans:,} spans would not begin with B-{where}"
