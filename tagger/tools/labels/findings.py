"""The labels in doubt as a list to read: as JSON lines, a table, a page, and a corrected corpus."""

import csv
import json
from pathlib import Path
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Sequence, Set

from allennlp.common.checks import ConfigurationError

from tagger.common.files import sha256_of_file
from tagger.spans import Span
from tagger.tools.labels.corpus import Corpus
from tagger.tools.labels.errors import Doubts
from tagger.tools.labels.judge import overlap
from tagger.tools.reports.page import write_page
from tagger.tools.runs.results import text_cell
from tagger_onnx.display import label_colours
from tagger_onnx.segments import join_words

#: How many words a page shows before and behind what is in doubt.
_CONTEXT = 15

#: The files with what was found: the page, one object a line, and two tables.
FINDINGS = ("errors.html", "errors.jsonl", "errors.csv", "sentences.csv")


class Finding(NamedTuple):
    """A label in doubt.

    Attributes:
        id: Its rank, from 1, most suspicious first.
        line: The line of the file on which it begins.
        sentence: The number of its sentence, from 1.
        kind: `wrong label`, `boundary`, `missed` or `spurious`.
        probability: How probable it is that the label is wrong.
        labelled: The labelled entity; None if one may have been missed.
        suggested: What it should be; None for no entity.
        suggestion_probability: The exact probability of the suggestion, under the taggers.
        tokens: The tokens of the sentence.
        lines: The first and the last line of the entities that a correction replaces or adds.
        edits: The corrected lines, by number.
    """

    id: int
    line: int
    sentence: int
    kind: str
    probability: float
    labelled: Optional[Span]
    suggested: Optional[Span]
    suggestion_probability: float
    tokens: List[str]
    lines: List[int]
    edits: Dict[int, str]

    def text(self, span: Optional[Span]) -> str:
        """Returns the words of an entity, or nothing."""
        return join_words(self.tokens[span[1][0] : span[1][1] + 1])[0] if span else ""

    def spell(self, span: Optional[Span]) -> str:
        """Returns an entity's label and words, `-` for none."""
        return f"{span[0]} {self.text(span)}" if span else "-"


def list_findings(corpus: Corpus, doubts: Doubts, least_probability: float) -> List[Finding]:
    """Returns the labels that are wrong with at least this probability, most suspicious first."""
    findings: List[Finding] = []
    for index in (-doubts.probabilities).argsort(kind="stable").tolist():
        probability = float(doubts.probabilities[index])
        if probability < least_probability:
            break
        item = doubts.items[index]
        sentence = corpus.sentences[item.sentence]
        spans = [span for span in (item.labelled, item.suggested) if span]
        removed = [each for each in sentence.spans if any(overlap(each, span) for span in spans)]
        added = [item.suggested] if item.suggested else []
        places = [place for _, place in (*removed, *added)]
        numbers = [sentence.rows[t].number for place in places for t in place]
        findings.append(
            Finding(
                len(findings) + 1,
                sentence.rows[item.place[0]].number,
                item.sentence + 1,
                item.kind,
                round(probability, 4),
                item.labelled,
                item.suggested,
                round(item.rivalry, 4),
                sentence.tokens,
                [min(numbers), max(numbers)],
                corpus.edits(item.sentence, removed, added),
            )
        )
    return findings


def accept(lines: Sequence[str], findings: Iterable[Finding]) -> List[str]:
    """Returns the lines of a corpus with corrections.

    Args:
        lines: The lines as they are.
        findings: What to correct. A finding is left out if it touches an entity that one before it has
            corrected.
    """
    corrected = list(lines)
    done: Set[int] = set()
    for finding in findings:
        touched = set(range(finding.lines[0], finding.lines[1] + 1))
        if not touched & done:
            done |= touched
            for number, line in finding.edits.items():
                corrected[number - 1] = line
    return corrected


def leave_open(corpus: Corpus, findings: Iterable[Finding], unknown_tag: str = "?") -> List[str]:
    """Returns the lines of a corpus in which the tags of what is in doubt are unknown."""
    lines = corpus.lines()
    rows = {row.number: row for sentence in corpus.sentences for row in sentence.rows}
    for finding in findings:
        for number in range(finding.lines[0], finding.lines[1] + 1):
            lines[number - 1] = corpus.with_tag(rows[number], unknown_tag)
    return lines


def read_decisions(path: Path, corpus: Corpus, findings: Sequence[Finding]) -> List[Finding]:
    """Returns the findings that a person has accepted on the page.

    Raises:
        ConfigurationError: If the file is another one, or is about another list.
    """
    try:
        decisions = json.loads(path.read_text(encoding="utf-8"))
        accepted, digest = set(decisions["accepted"]), decisions["list"]
    except (ValueError, KeyError, TypeError):
        raise ConfigurationError(
            f'`--accept` {path}: expected what the page saves, {{"list": ..., "accepted": [1, 2]}}'
        ) from None
    if digest != digest_of(corpus, findings):
        raise ConfigurationError(
            f"`--accept` {path} is about another list of errors; give the corpus, the config and the "
            "options with which its page was made"
        )
    return [finding for finding in findings if finding.id in accepted]


def digest_of(corpus: Corpus, findings: Sequence[Finding]) -> str:
    """Returns what tells a list of findings from others."""
    import hashlib

    places = json.dumps([[each.line, each.labelled, each.suggested] for each in findings])
    return hashlib.sha256((sha256_of_file(corpus.path) + places).encode()).hexdigest()[:16]


def write_findings(
    corpus: Corpus, doubts: Doubts, findings: Sequence[Finding], folder: Path
) -> List[Path]:
    """Writes the files `FINDINGS`; returns their paths."""
    paths = [folder / name for name in FINDINGS]
    _write_page(corpus, findings, paths[0])
    with paths[1].open("w", encoding="utf-8") as file:
        for finding in findings:
            record = {**finding._asdict(), "labelled": _as_object(finding, finding.labelled)}
            record["suggested"] = _as_object(finding, finding.suggested)
            file.write(json.dumps(record, ensure_ascii=False) + "\n")
    names = ("id", "line", "sentence", "kind", "probability")
    columns = (*names, "labelled", "suggested", "suggestion_probability", "text")
    rows = [
        {
            **{name: getattr(each, name) for name in (*names, "suggestion_probability")},
            "labelled": each.spell(each.labelled),
            "suggested": each.spell(each.suggested),
            "text": join_words(each.tokens)[0],
        }
        for each in findings
    ]
    _write_csv(paths[2], columns, rows)
    order = (-doubts.of_sentences).argsort(kind="stable").tolist()
    sentences = [
        {
            "sentence": number + 1,
            "line": corpus.sentences[number].rows[0].number,
            "probability": round(float(doubts.of_sentences[number]), 4),
            "text": join_words(corpus.sentences[number].tokens)[0],
        }
        for number in order
    ]
    _write_csv(paths[3], ("sentence", "line", "probability", "text"), sentences)
    return paths


def format_findings(findings: Sequence[Finding], num_shown: int = 20) -> str:
    """Returns the first findings as a table, and how many there are of each kind."""
    rows = [
        (
            f"{each.line}",
            f"{each.probability:.2f}",
            each.kind,
            each.spell(each.labelled),
            each.spell(each.suggested),
        )
        for each in findings[:num_shown]
    ]
    rows = [("line", "wrong", "kind", "labelled", "suggested"), *rows]
    widths = [max(len(row[i]) for row in rows) for i in range(4)]
    return "\n".join(
        "  ".join(f"{cell:{width}}" for cell, width in zip(row, [*widths, 0])) for row in rows
    )


def _write_csv(path: Path, columns: Sequence[str], rows: Sequence[Dict[str, Any]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows({name: text_cell(cell) for name, cell in row.items()} for row in rows)


def _as_object(finding: Finding, span: Optional[Span]) -> Optional[Dict[str, Any]]:
    if span is None:
        return None
    label, (first, last) = span
    return {"label": label, "text": finding.text(span), "first": first, "last": last}


def _write_page(corpus: Corpus, findings: Sequence[Finding], path: Path) -> None:
    data = {
        "list": digest_of(corpus, findings),
        "name": corpus.path.name,
        "text": "\n".join(corpus.lines()) + "\n",
        "findings": [[each.id, each.lines, each.edits] for each in findings],
    }
    write_page(
        "label_errors.html",
        path,
        {},
        name=corpus.path.name,
        data=data,
        colours=label_colours(corpus.labels),
        readings=[
            (each, [_reading(each, s) for s in (each.labelled, each.suggested)])
            for each in findings
        ],
    )


def _reading(finding: Finding, span: Optional[Span]) -> Dict[str, Any]:
    """What a page shows of a reading: the words around an entity, or around none."""
    shown = [each for each in (finding.labelled, finding.suggested) if each]
    first = max(0, min(place[0] for _, place in shown) - _CONTEXT)
    last = max(place[1] for _, place in shown) + _CONTEXT
    tokens = finding.tokens
    begin, end = span[1] if span else (last, last)
    return {
        "before": join_words([*["…"] * (first > 0), *tokens[first:begin]])[0],
        "label": span[0] if span else None,
        "text": finding.text(span),
        "after": join_words([*tokens[end + 1 : last + 1], *["…"] * (last + 1 < len(tokens))])[0],
    }
