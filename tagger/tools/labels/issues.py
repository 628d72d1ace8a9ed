"""Probably wrong labels as JSON lines, tables, an interactive page and a corrected corpus."""

import hashlib
import json
from pathlib import Path
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Sequence, Set

from allennlp.common.checks import ConfigurationError

from tagger.common.files import sha256_of_file
from tagger.common.outputs import json_line
from tagger.spans import Span
from tagger.tools.labels.document_corpus import AnyCorpus
from tagger.tools.labels.errors import ErrorProbabilities
from tagger.tools.labels.probabilities import overlap
from tagger.tools.reports.page import write_page
from tagger.tools.runs.results import write_table
from tagger_texts.display import label_colours, num_columns, padded
from tagger_texts.segments import blanks_before, join_words

#: How many words a page shows before and after an issue.
_CONTEXT = 15
#: How many characters of a labelled text a page shows.
_MOST_CHARACTERS = 600

#: The result files: the page, one with JSON lines, and two tables.
FILES = ("errors.html", "errors.jsonl", "errors.csv", "sentences.csv")


class LabelIssue(NamedTuple):
    """A label that is probably wrong."""

    id: int  # Its rank from 1, most suspicious first
    line: int  # The line of the file on which it begins
    sentence: int  # The number of its sentence, from 1
    kind: str  # `wrong label`, `boundary`, `missed` or `spurious`
    probability: float  # The probability that the label is wrong
    labelled: Optional[Span]  # The labelled entity; None if one may have been missed
    suggested: Optional[Span]  # The suggested entity; None for no entity
    suggestion_probability: float  # The taggers' exact probability of the suggestion
    tokens: List[str]  # The tokens of the sentence
    # The first and last line of the entities that a correction replaces or adds.
    lines: List[int]
    edits: Dict[int, str]  # The corrected lines, by number

    def text(self, span: Optional[Span]) -> str:
        """Returns the words of an entity, or an empty string for none."""
        return _between(self.tokens, span[1][0], span[1][1] + 1) if span else ""

    def spell(self, span: Optional[Span]) -> str:
        """Returns an entity's label and words, or `-` for none."""
        return f"{span[0]} {shortened(self.text(span), 60)}" if span else "-"

    def record(self) -> Dict[str, Any]:
        """Returns the issue as written to `errors.jsonl`."""
        readings = {
            name: span
            and {"label": span[0], "text": self.text(span), "first": span[1][0], "last": span[1][1]}
            for name, span in (("labelled", self.labelled), ("suggested", self.suggested))
        }
        return {**self._asdict(), **readings}


def list_issues(
    corpus: AnyCorpus, probabilities: ErrorProbabilities, least_probability: float
) -> List[LabelIssue]:
    """Returns the labels that are wrong with at least this probability, most suspicious first."""
    issues: List[LabelIssue] = []
    num_rows = max(1, len(corpus.labels_of_rows))
    for index in (-probabilities.of_items).argsort(kind="stable").tolist():
        probability = float(probabilities.of_items[index])
        if probability < least_probability:
            break
        item = probabilities.items[index]
        sentence = corpus.rows[item.sentence]
        spans = [span for span in (item.labelled, item.suggested) if span]
        removed = [each for each in sentence.spans if any(overlap(each, span) for span in spans)]
        added = [item.suggested] if item.suggested else []
        numbers = [sentence.rows[t].number for _, place in (*removed, *added) for t in place]
        issues.append(
            LabelIssue(
                id=len(issues) + 1,
                line=sentence.rows[item.place[0]].number,
                sentence=item.sentence // num_rows + 1,
                kind=item.kind,
                probability=round(probability, 4),
                labelled=sentence.named(item.labelled),
                suggested=sentence.named(item.suggested),
                suggestion_probability=round(item.rivalry, 4),
                tokens=sentence.tokens,
                lines=[min(numbers), max(numbers)],
                edits=corpus.edits(item.sentence, removed, added),
            )
        )
    return issues


def accept(lines: Sequence[str], issues: Iterable[LabelIssue]) -> List[str]:
    """Returns corrected lines; if two issues touch the same lines, the first one wins."""
    corrected = list(lines)
    done: Set[int] = set()
    for issue in issues:
        touched = set(range(issue.lines[0], issue.lines[1] + 1))
        if not touched & done:
            done |= touched
            for number, line in issue.edits.items():
                corrected[number - 1] = line
    return corrected


def leave_open(
    corpus: AnyCorpus, issues: Iterable[LabelIssue], unknown_tag: str = "?"
) -> List[str]:
    """Returns the lines of a corpus with the tags of all issues marked as unknown."""
    lines = corpus.lines()
    cells: Dict[int, str] = {}
    rows = {row.number: row for sentence in corpus.sentences for row in sentence.rows}
    for issue in issues:
        span = issue.labelled or issue.suggested
        label = span[0] if span and corpus.labels_of_rows else None
        for number in range(issue.lines[0], issue.lines[1] + 1):
            cell = cells.get(number) or corpus.cell(rows[number])
            cells[number] = corpus.opened(cell, label, unknown_tag)
            lines[number - 1] = corpus.with_tag(rows[number], cells[number])
    return lines


def read_decisions(path: Path, corpus: AnyCorpus, issues: Sequence[LabelIssue]) -> List[LabelIssue]:
    """Returns the issues for which a person accepted the suggestion on the page."""
    try:
        decisions = json.loads(path.read_text(encoding="utf-8"))
        accepted, digest = set(decisions["accepted"]), decisions["list"]
    except (ValueError, KeyError, TypeError):
        raise ConfigurationError(
            f'`--accept` {path}: expected what the page saves, {{"list": ..., "accepted": [1, 2]}}'
        ) from None
    if digest != digest_of(corpus, issues):
        raise ConfigurationError(
            f"`--accept` {path} is about another list of errors; give the corpus, the config and the "
            "options with which its page was made"
        )
    return [issue for issue in issues if issue.id in accepted]


def shortened(text: str, most: int) -> str:
    """Returns a text of at most this many characters.

    Example:
        >>> shortened("wheat prices fell", 12)
        'wheat pri...'
    """
    return text if len(text) <= most else f"{text[: most - 3]}..."


def digest_of(corpus: AnyCorpus, issues: Sequence[LabelIssue]) -> str:
    """Returns a digest that identifies a list of issues."""
    places = json.dumps([[each.line, each.labelled, each.suggested] for each in issues])
    return hashlib.sha256((sha256_of_file(corpus.path) + places).encode()).hexdigest()[:16]


def write_issues(
    corpus: AnyCorpus, probabilities: ErrorProbabilities, issues: Sequence[LabelIssue], folder: Path
) -> List[Path]:
    """Writes `FILES`; returns their paths."""
    page, records, table, sentences = paths = [folder / name for name in FILES]
    _write_page(corpus, issues, page)
    lines = [json_line(issue.record()) for issue in issues]
    records.write_text("".join(lines), encoding="utf-8")
    names = ("id", "line", "sentence", "kind", "probability")
    columns = (*names, "labelled", "suggested", "suggestion_probability", "text")
    rows = [
        {
            **each._asdict(),
            "labelled": each.spell(each.labelled),
            "suggested": each.spell(each.suggested),
            "text": join_words(each.tokens)[0],
        }
        for each in issues
    ]
    write_table(table, columns, rows)
    order = (-probabilities.of_sentences).argsort(kind="stable").tolist()
    of_sentences = [
        {
            "sentence": number + 1,
            "line": corpus.sentences[number].rows[0].number,
            "probability": round(float(probabilities.of_sentences[number]), 4),
            "text": join_words(corpus.sentences[number].tokens)[0],
        }
        for number in order
    ]
    write_table(sentences, ("sentence", "line", "probability", "text"), of_sentences)
    return paths


def format_issues(issues: Sequence[LabelIssue], num_shown: int = 20) -> str:
    """Returns the first issues as a table."""
    rows = [("line", "wrong", "kind", "labelled", "suggested")]
    for each in issues[:num_shown]:
        spans = each.spell(each.labelled), each.spell(each.suggested)
        rows.append((f"{each.line}", f"{each.probability:.2f}", each.kind, *spans))
    widths = [max(num_columns(row[i]) for row in rows) for i in range(4)]
    return "\n".join(
        "  ".join(padded(cell, width) for cell, width in zip(row, [*widths, 0])) for row in rows
    )


def _write_page(corpus: AnyCorpus, issues: Sequence[LabelIssue], path: Path) -> None:
    by_label = bool(corpus.labels_of_rows)
    data = {
        "list": digest_of(corpus, issues),
        "name": corpus.path.name,
        "text": "\n".join(corpus.lines()) + "\n",
        "findings": [[each.id, each.lines, each.edits] for each in issues],
    }
    write_page(
        "label_errors.html",
        path,
        {},
        name=corpus.path.name,
        data=data,
        colours=label_colours(corpus.labels),
        readings=[
            (each, [_reading(each, span, by_label) for span in (each.labelled, each.suggested)])
            for each in issues
        ],
    )


def _reading(issue: LabelIssue, span: Optional[Span], by_label: bool) -> Dict[str, Any]:
    """Returns the data to show an entity with the words around it, or that there is none."""
    shown = [each for each in (issue.labelled, issue.suggested) if each]
    first = max(0, min(place[0] for _, place in shown) - _CONTEXT)
    last = max(place[1] for _, place in shown) + _CONTEXT
    tokens = issue.tokens
    begin, end = span[1] if span else (last + 1, last)
    before = "… " * (first > 0) + shortened(_between(tokens, first, begin), _MOST_CHARACTERS)
    after = _between(tokens, end + 1, last + 1) + " …" * (last + 1 < len(tokens))
    if span:
        # Only if the script has a blank there.
        blanks = [*blanks_before(tokens), False]
        before += " " * (first < begin and blanks[begin])
        after = " " * (end < last and blanks[end + 1]) + after
    return {
        "before": before if span else before + after,
        "label": span[0] if span else None,
        # Of rows of labels, the page says which label the words have not.
        "other": shown[0][0] if by_label else None,
        "text": shortened(issue.text(span), _MOST_CHARACTERS),
        "after": after,
    }


def _between(tokens: Sequence[str], first: int, end: int) -> str:
    """Returns the tokens from one to another, exclusive, as they are joined in the whole sentence."""
    text, starts = join_words(tokens)
    end = min(end, len(tokens))
    return text[starts[first] : starts[end - 1] + len(tokens[end - 1])] if first < end else ""
