"""Writes a config for a user's own files, after examining and, if necessary, splitting them."""

import shlex
from pathlib import Path
from statistics import mean
from typing import Dict, List, NamedTuple, Optional, Sequence

from tagger.common.console import Said, topics
from tagger.common.inputs import bare_suffix
from tagger.data.column_file import Row
from tagger.data.dataset_readers.file_lists import SUFFIX, ListedFile, list_of_files, listed_files
from tagger.data.doubts import COPIES, LOST_IN_TEXT, copies, lost_in_text
from tagger.data.joined_text import join_tokens
from tagger.data.reading import DETECTED, Reading
from tagger.data.splitting.overlap import Overlap, overlap
from tagger.tools.start.config import (
    best_metric,
    listed,
    listed_counts,
    make_config,
    pretrained_at_hand,
    rare_labels,
    size_of,
    sizes_for,
)
from tagger.tools.start.parts import (
    Division,
    divide,
    items_of,
    source_of_columns,
    source_of_texts,
)
from tagger.tools.start.survey import Survey, SurveyedFile, TextFile, survey
from tagger_texts.sentences import MOST_TOKENS

#: The share of a file used for development, the smaller share for large files, and when a file is
#: large.
_SHARE, _SHARE_OF_LARGE, _LARGE = 0.2, 0.1, 1_000
#: The most tokens of an example to predict.
_LONGEST_EXAMPLE = 20
#: A longer sentence probably consists of several.
_LONGEST = 300


class Start(NamedTuple):
    """The texts to write, with the config last, and the lines to print."""

    files: Dict[Path, str]
    said: List[str]


def start(
    paths: Sequence[Path],
    output: Path,
    seed: int = 0,
    documents: Optional[str] = None,
    quiet: bool = False,
    reading: Reading = DETECTED,
) -> Start:
    """Makes a config for a training file and, optionally, a development file; writes nothing.

    Either may be a list of files. Without a development file, the training file is split between
    documents, marked as `documents` says; see `documents_of_rows` and `documents_of_texts`. The config
    is for `output`, with the parts next to it. The first sentences are shown unless `quiet`.
    """
    found = survey(paths, reading)
    files: Dict[Path, str] = {}
    chosen: List[str] = []
    marks: List[List[str]] = []
    if len(paths) == 1:
        # The parts are in UTF-8, and parts of texts have a fixed format.
        found.reading = found.reading_of_parts()
        divisions = [_divided(found, file, seed, documents) for file in found.train]
        marks = [each.marks for each in divisions]
        parts = [
            [
                file.sentences[n]
                for file, each in zip(found.train, divisions)
                for n in each.parts[name]
            ]
            for name in ("train", "dev")
        ]
        is_list = listed_files(paths[0]) is not None
        train, dev = (
            _add_parts(files, name, found.train, divisions, output, is_list)
            for name in ("train", "dev")
        )
        for division in divisions:
            chosen += _said_of(division, f"{train} and {dev}")
    else:
        parts = [[r for file in own for r in file.sentences] for own in (found.train, found.dev)]
        train, dev = paths
        chosen += _said_of_two_files(found)
    files[output] = make_config(found, str(train), str(dev), parts[0])
    return Start(
        files,
        [
            *describe(found, quiet, marks),
            "Chose",
            *chosen,
            *_choices(found, parts[0]),
            f"Wrote {', '.join(map(str, files))}. Go on with",
            *commands_for(output, dev, _example(found, parts[1])),
        ],
    )


def _add_parts(
    texts: Dict[Path, str],
    name: str,
    files: Sequence[SurveyedFile],
    divisions: Sequence[Division],
    output: Path,
    is_list: bool,
) -> Path:
    """Adds the part of each file, and perhaps a list of them; returns the path of the whole part."""
    parts = []
    for number, (file, division) in enumerate(zip(files, divisions), start=1):
        suffix = (bare_suffix(file.path) or ".txt") if file.texts is None else ".jsonl"
        numbered = f".{number}" if is_list else ""
        path = output.with_name(f"{output.stem}{numbered}.{name}{suffix}")
        texts[path] = division.text(name)
        labels = None if file.annotated is None else tuple(file.annotated)
        parts.append(ListedFile(Path(path.name), labels))
    if not is_list:
        return path
    whole = output.with_name(f"{output.stem}.{name}{SUFFIX}")
    texts[whole] = list_of_files(parts)
    return whole


def _divided(found: Survey, file: SurveyedFile, seed: int, documents: Optional[str]) -> Division:
    """Returns the sentences of a file for training and those for development."""
    if len(file.sentences) < 2:
        remedy = "put a blank line after each sentence" if file.texts is None else "add more texts"
        raise ValueError(
            f"{file.path}: expected sentences to train on and to develop on, got "
            f"{len(file.sentences)}; {remedy}, or name a development file"
        )
    if file.texts is None:
        source = source_of_columns(found, file, documents)
    else:
        source = source_of_texts(file.texts.texts, file.path, file.texts.format, documents)
    share = _SHARE_OF_LARGE if len(file.sentences) >= _LARGE else _SHARE
    return divide(source, {"train": 1 - share, "dev": share}, seed, documents)


def _said_of(division: Division, files: str) -> List[str]:
    noun = division.source.noun
    numbers = " and ".join(f"{len(part):,}" for part in division.parts.values())
    return [
        f"  {files}: {numbers} of these {noun}, each label in its proportion, in UTF-8",
        f"  kept together: {division.groups.describe(noun)}",
        *_said_of_overlap(division.overlaps()["dev"], noun),
    ]


def _said_of_two_files(found: Survey) -> List[str]:
    train, dev = (
        [item for file in files for item in items_of(found, file)]
        for files in (found.train, found.dev)
    )
    return _said_of_overlap(overlap(train, dev), "sentences" if found.files[0].columns else "texts")


def _said_of_overlap(found: Overlap, noun: str) -> List[str]:
    doubts = {"warning": found.warning(), f"doubt {COPIES}": copies(found, noun)}
    lines = [f"  of the development part, {found.describe(noun)}"]
    return [*lines, *(f"  {topic}: {doubt}" for topic, doubt in doubts.items() if doubt)]


def _choices(found: Survey, sentences: Sequence[Sequence[Row]]) -> List[str]:
    sizes = sizes_for(*size_of(found, sentences))
    settings = ", ".join(f"{name} {value}" for name, value in sizes.settings.items())
    scheme = found.scheme
    head = "CRF" if scheme.label_separator is None else "sigmoid"
    if scheme.label_separator is not None and scheme.source_encoding is not None:
        num, lost = found.count_overlaps()
        head = f"label_chains, since entities overlap: one CRF would lose {lost:,} of {num:,}"
    return [
        f"  head {head}; the best epoch by {best_metric(found)}",
        f"  {sizes.reason}{f' ({settings})' if settings else ''}",
        *(f"  {each}" for each in pretrained_at_hand(found.tokenization.in_english).said),
    ]


def _example(found: Survey, sentences: Sequence[Sequence[Row]]) -> str:
    """Returns a sentence to predict: a short one with a label, if there is one."""
    by_merit = sorted(
        sentences, key=lambda rows: (not found.labels(rows), len(rows) > _LONGEST_EXAMPLE)
    )
    texts = (join_tokens(found.tokens(rows)[:_LONGEST_EXAMPLE]).text for rows in by_merit)
    # A line that begins with a brace would be parsed as JSON.
    fitting = (text for text in texts if text.isprintable() and text[0].isalpha())
    return next(fitting, "A text of your own.")


def commands_for(
    output: Path, dev: Path, example: Optional[str] = None, evaluated: Optional[str] = None
) -> List[str]:
    """Returns what to do with a config; `example` is a text to predict, and without one a file is.

    `evaluated` is the file to evaluate on, by default a test file like the development file.
    """
    run = Path("runs", output.stem)
    archive = shlex.quote(str(run / "model.tar.gz"))
    return [
        f"  allennlp train {shlex.quote(str(output))} -s {shlex.quote(str(run))}",
        f"  echo {shlex.quote(example)} | allennlp predict {archive} -"
        if example
        else f"  allennlp predict-file {archive} {shlex.quote(str(dev))} -o predictions.jsonl",
        f"  allennlp evaluate {archive} {evaluated}"
        if evaluated
        else f"  allennlp evaluate {archive} test{dev.suffix}  # your test data: {dev} chose the epoch",
    ]


def describe(found: Survey, quiet: bool = False, marks: Sequence[Sequence[str]] = ()) -> List[str]:
    """Describes the files and their contents, in lines; `marks` tell the documents of each file."""
    lines: List[str] = []
    how = found.tokenization
    for number, file in enumerate(found.files):
        is_whole = file.annotated is None
        lines.append(
            str(file.path if is_whole else ListedFile(file.path, tuple(file.annotated or ())))
        )
        evidence = found.evidence(file)
        is_train = number < found.num_train
        lost = lost_in_text(evidence.texts, how.tokenizer, how.remedy) if is_train else None
        used = marks[number] if marks else ()
        said = [*_described(found, file), *evidence.report(used, quiet, {LOST_IN_TEXT: lost})]
        if number == found.num_train - 1:
            said += how.describe()
        lines += topics(said)
    unseen = found.unseen_labels()
    train = " and ".join(str(file.path) for file in found.train)
    warning = f"labels that {train} lacks cannot be learnt: {listed(unseen)}" if unseen else ""
    return lines + topics([("warning", warning)])


def _described(found: Survey, file: SurveyedFile) -> List[Said]:
    lengths, counts = [*map(len, file.sentences)], found.count_labels(file)
    most = max(lengths)
    by = "tokens" if found.scheme.source_encoding is None else "spans"
    rare = listed(rare_labels(counts)) if counts else ""
    said: List[Said] = [
        *_layout(file),
        (
            "texts" if file.texts else "sentences",
            f"{len(lengths):,}, of {mean(lengths):.1f} tokens on average, {most:,} at most",
        ),
        ("tags", f"{found.scheme.describe()}{_mistakes(found, file)}"),
        ("labels", f"{len(counts)}, by {by}: {listed_counts(counts)}"),
        ("rare", rare and f"{rare}: less than a tenth as often as {next(iter(counts))}"),
    ]
    if file.texts:
        return said + _cuts(file.texts)
    line = file.sentences[lengths.index(most)][0].number
    warning = f"the sentence on line {line} has {most:,} tokens: is a blank line missing?"
    return [*said, ("warning", warning if most > _LONGEST else None)]


def _layout(file: SurveyedFile) -> List[Said]:
    """Describes the columns or the format, with a line for which the encoding was guessed."""
    if file.texts:
        return [("format", f"{file.texts.format}: {file.texts.counts.in_one_line()}")]
    assert file.columns is not None
    said: List[Said] = [each for each in file.columns.describe() if each[0] != "tags"]
    if file.columns.text_encoding in ("cp1252", "latin-1"):
        texts = (row.text for rows in file.sentences for row in rows if not row.text.isascii())
        remedy = "look right? If not, name the encoding by --text-encoding"
        said.append(("warning", f"does {next(texts, '')!r} {remedy}"))
    return said


def _cuts(texts: TextFile) -> List[Said]:
    """Says how many sentences long texts are cut into, and points out one that could not be cut."""
    every = [length for text in texts.cut for length in text.sentence_lengths or ()]
    if len(every) == len(texts.cut):
        return []
    number = f"{len(every):,}, of {mean(every):.1f} tokens on average"
    why = f"texts of more than {MOST_TOKENS} tokens are cut between lines and sentences"
    said: List[Said] = [("sentences", f"{number}: {why}")]
    if max(every) > _LONGEST:
        text = max(texts.cut, key=lambda text: max(text.sentence_lengths or ()))
        lengths = text.sentence_lengths or []
        first = sum(lengths[: lengths.index(max(lengths))])
        start = text.tokens[first][0] if text.tokens else 0
        where = f"{text.place}: from character {start:,} on, no line and no sentence ends"
        what = f"{max(lengths):,} tokens, which are read as one sentence"
        said.append(("warning", f"{where} for {what}"))
    return said


def _mistakes(found: Survey, file: SurveyedFile) -> str:
    """Points out if tags read as IOB1 could be BIO with mistakes."""
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
