"""What the cells of a column file say: a tag, tags of overlapping entities, or several labels."""

from pathlib import Path
from typing import Dict, List, NamedTuple, Optional, Sequence, Union

from allennlp.common.checks import ConfigurationError

from tagger.data.reading import Reading
from tagger.data.survey.column_survey import ColumnSurvey
from tagger.data.survey.spellings import STANDARD
from tagger.spans import Span, check_tags, spans_to_tags, tags_to_spans
from tagger.spans.overlapping import tags_by_label
from tagger_texts.merging import SEPARATOR

#: What the spans of labels that spell none are called: consecutive tokens with the label.
RUN = "has"


class TagCells(NamedTuple):
    """A tag for each token; or, `by_label`, tags of entities that overlap, joined by the separator."""

    encoding: str
    separator: str = ""

    @property
    def by_label(self) -> bool:
        """Whether labels are judged apart."""
        return bool(self.separator)

    @property
    def span_label(self) -> Optional[str]:
        """What all spans are called; None for the names of their labels."""
        return None

    def spans(self, cells: Sequence[str]) -> List[Span]:
        """Returns the spans of a sentence, in order; those of one label do not overlap."""
        found = []
        for tags in self._tags(cells).values():
            check_tags(tags, self.encoding)
            found += tags_to_spans(tags, self.encoding)
        return sorted(found, key=lambda span: span[1])

    def respelled(
        self, cells: Sequence[str], spans: Sequence[Span], row_label: Optional[str]
    ) -> List[str]:
        """Returns the cells of a sentence with these spans, of the row's label if rows have labels."""
        # In IOB1, a tag depends on the previous one unless its entity opens with `B-`.
        spelling = "BIO" if self.encoding == "IOB1" else self.encoding
        tags = spans_to_tags(spans, len(cells), spelling)
        if row_label is None:
            return list(tags)
        others = self._tags(cells)
        others.pop(row_label, None)
        rows = [others[each] for each in sorted(others)]
        return [
            self.separator.join(tag for tag in (*own, new) if tag != "O") or "O"
            for new, *own in zip(tags, *rows)
        ]

    def opened(self, cell: str, row_label: Optional[str], unknown_tag: str) -> str:
        """Returns a cell in which the tag, or that of the row's label, is unknown."""
        if row_label is None:
            return unknown_tag
        kept = [] if cell == "O" else cell.split(self.separator)
        kept = [tag for tag in kept if tag.partition("-")[2] != row_label]
        return self.separator.join([*kept, f"{unknown_tag}{row_label}"])

    def _tags(self, cells: Sequence[str]) -> Dict[str, List[str]]:
        if not self.by_label:
            return {"": list(cells)}
        return tags_by_label(cells, self.encoding, separator=self.separator)


class LabelCells(NamedTuple):
    """Any number of labels for each token. A span is a longest run of tokens with a label."""

    separator: str
    none: str

    @property
    def encoding(self) -> None:
        """None: labels spell no spans."""

    @property
    def by_label(self) -> bool:
        """Whether labels are judged apart."""
        return True

    @property
    def span_label(self) -> Optional[str]:
        """What all spans are called."""
        return RUN

    def spans(self, cells: Sequence[str]) -> List[Span]:
        """Returns the runs of each label of a sentence."""
        sets = [self._labels(cell) for cell in cells]
        found = []
        for label in sorted({label for each in sets for label in each}):
            tags = [f"I-{RUN}" if label in each else "O" for each in sets]
            found += [(label, place) for _, place in tags_to_spans(tags, "IOB1")]
        return sorted(found, key=lambda span: span[1])

    def respelled(
        self, cells: Sequence[str], spans: Sequence[Span], row_label: Optional[str]
    ) -> List[str]:
        """Returns the cells of a sentence in which exactly the tokens of the spans have a label."""
        has = {t for _, (first, last) in spans for t in range(first, last + 1)}
        respelled = []
        for t, cell in enumerate(cells):
            labels = [each for each in self._labels(cell) if each != row_label or t in has]
            if t in has and row_label not in labels:
                labels.append(str(row_label))
            respelled.append(self.separator.join(labels) or self.none)
        return respelled

    def opened(self, cell: str, row_label: Optional[str], unknown_tag: str) -> str:
        """Returns a cell in which it is open whether the token has the label."""
        labels = [label for label in self._labels(cell) if label != row_label]
        return self.separator.join([*labels, f"{unknown_tag}{row_label}"])

    def _labels(self, cell: str) -> List[str]:
        return [] if cell == self.none else cell.split(self.separator)


def cells_of(found: ColumnSurvey, reading: Reading, path: Path) -> Union[TagCells, LabelCells]:
    """Returns how a file that is read so spells labels; refuses what cannot be corrected."""
    scheme, layout, separator = found.scheme, found.layout, reading.label_separator
    if separator and not reading.label_chains:
        return LabelCells(separator, reading.no_label_tag)
    is_spelled = scheme.spelling == STANDARD and not scheme.outside
    is_unusual = not is_spelled or layout.is_quoted or scheme.source_encoding == "IO"
    if scheme.source_encoding is None or is_unusual:
        raise ConfigurationError(
            f"{path}: label errors can only be found in tags such as `B-PER`; got "
            f"{dict(found.describe())['tags']}; make such a file: allennlp convert {path} "
            f"{path.with_suffix('.conll')}"
        )
    joining = (separator or SEPARATOR) if reading.label_chains else ""
    return TagCells(scheme.source_encoding, joining)
