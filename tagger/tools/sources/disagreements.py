"""The places where sources disagree, and a page on which a person decides."""

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any, Dict, Iterator, List, NamedTuple, Sequence, Set, Tuple

from tagger.common.outputs import json_line
from tagger.data.formats import Annotation
from tagger.data.sources.annotations import SourcedText
from tagger.tools.reports.page import write_page
from tagger.tools.sources.agreement import Agreement, ComparedSources
from tagger_texts.display import label_colours

#: The kinds of disagreement: some found nothing; or labels, borders, or both differ.
KINDS = ("missing", "label", "border", "label and border")
#: How many characters a page shows before and after a disagreement, and the most disagreements.
_CONTEXT, _MOST_SHOWN = 100, 2_000


class Disagreement(NamedTuple):
    """A place where sources that were asked for the same labels found other entities.

    Attributes:
        text: The number of the text, from 0.
        place: The origin of the text, such as `file.jsonl:3`.
        start, end: The place in the text, which all entities share.
        kind: One of `KINDS`.
        versions: What was found, with the sources that found it; most sources first.
    """

    text: int
    place: str
    start: int
    end: int
    kind: str
    versions: List[Tuple[List[Annotation], List[str]]]

    @property
    def labels(self) -> List[str]:
        """The labels that any source gave here."""
        return sorted({each.label for found, _ in self.versions for each in found})


def disagreements_in(
    number: int, sourced: SourcedText, known: Dict[str, Set[str]]
) -> Tuple[List[Disagreement], List[Annotation]]:
    """Returns the disagreements about a text, and the entities about which nobody disagrees."""
    disagreements, agreed = [], []
    for start, end, labels in _places(sourced):
        versions: Dict[Tuple[Annotation, ...], List[str]] = {}
        for source, found in sorted(sourced.annotations.items()):
            if labels <= known[source]:
                own = tuple(each for each in found if start <= each.start < end)
                versions.setdefault(own, []).append(source)
        if len(versions) < 2:
            every = {each for found in sourced.annotations.values() for each in found}
            agreed += [each for each in every if start <= each.start < end]
            continue
        ranked = sorted(versions.items(), key=lambda item: (-len(item[1]), item[1]))
        listed = [([*own], sources) for own, sources in ranked]
        kind = _kind([own for own, _ in listed])
        place = sourced.text.place
        disagreements.append(Disagreement(number, place, start, end, kind, listed))
    return disagreements, sorted(agreed, key=lambda each: (*each[1:], each.label))


def _places(sourced: SourcedText) -> Iterator[Tuple[int, int, Set[str]]]:
    """Yields the starts and ends of entities that overlap, with their labels."""
    every = sorted({each[1:] + each[:1] for own in sourced.annotations.values() for each in own})
    while every:
        start, end, label = every.pop(0)
        labels = {label}
        while every and every[0][0] < end:
            _, other_end, label = every.pop(0)
            end = max(end, other_end)
            labels.add(label)
        yield start, end, labels


def _kind(versions: Sequence[Sequence[Annotation]]) -> str:
    if not all(versions):
        return "missing"
    same_places = len({tuple(each[1:] for each in own) for own in versions}) == 1
    same_labels = len({tuple(each.label for each in own) for own in versions}) == 1
    return "label" if same_places else "border" if same_labels else "label and border"


def kinds_by_label(disagreements: Sequence[Disagreement]) -> List[List[str]]:
    """Returns a table of the number of disagreements by label and kind, with its header."""
    counts = Counter((label, each.kind) for each in disagreements for label in each.labels)
    labels = sorted({label for label, _ in counts})
    rows = [[label, *(f"{counts[label, kind]:,}" for kind in KINDS)] for label in labels]
    return [["label", *KINDS], *rows]


def write_disagreements(
    compared: ComparedSources,
    rows: Sequence[Agreement],
    pairs: Sequence[Agreement],
    notes: Sequence[str],
    folder: Path,
) -> List[Disagreement]:
    """Writes `agreement.html` and `disagreements.jsonl`; returns the disagreements."""
    texts = compared.texts
    own = [disagreements_in(n, text, compared.known) for n, text in enumerate(texts)]
    found = [each for disagreements, _ in own for each in disagreements]
    versions = [[_lists(entities) for entities, _ in each.versions] for each in found]
    with open(folder / "disagreements.jsonl", "w", encoding="utf-8") as file:
        for each, lists in zip(found, versions):
            sources = (names for _, names in each.versions)
            file.write(json_line({**each._asdict(), "versions": [*zip(lists, sources)]}))
    findings = [[each.text, each.start, each.end, own] for each, own in zip(found, versions)]
    write_page(
        "agreement.html",
        folder / "agreement.html",
        {},
        sources=[*compared.known],
        rows=rows,
        pairs=[each for each in pairs if each.label == rows[0].label],
        notes=notes,
        kinds=kinds_by_label(found),
        num_documents=compared.num_documents,
        num_found=len(found),
        shown=[
            (
                each,
                [
                    (names, _pieces(texts[each.text].text.text, each, e))
                    for e, names in each.versions
                ],
            )
            for each in found[:_MOST_SHOWN]
        ],
        labels=sorted({label for each in found for label in each.labels}),
        colours=label_colours(compared.labels),
        data={
            "list": hashlib.sha256(json.dumps(findings).encode()).hexdigest()[:16],
            "texts": [[text.text.text, _lists(agreed)] for text, (_, agreed) in zip(texts, own)],
            "findings": findings,
        },
    )
    return found


def _lists(entities: Sequence[Annotation]) -> List[List[Any]]:
    return [[start, end, label] for label, start, end in entities]


def _pieces(text: str, where: Disagreement, found: Sequence[Annotation]) -> List[Tuple[str, str]]:
    """Returns pieces of text around a disagreement, each with its label, or an empty string."""
    first, last = max(0, where.start - _CONTEXT), min(len(text), where.end + _CONTEXT)
    pieces, at = [("…" * (first > 0), "")], first
    for label, start, end in found:
        # One that overlaps another of the same source is shown behind it.
        pieces += [(text[at:start], "")] if start >= at else []
        pieces.append((text[start:end], label))
        at = end if start >= at else at
    return [*pieces, (text[at:last], ""), ("…" * (last < len(text)), "")]
