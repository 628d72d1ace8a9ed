"""Texts that several sources have annotated, and their form in a file.

A line of the file is a JSON object such as

    {"text": "Ada left.", "annotations": {"anna": [[0, 3, "PER"]], "list": []}, "tokens": [[0, 3], ...]}

A source that is missing has not read the text; one with an empty list found nothing in it. `tokens` and
`sentence_lengths` (in tokens) may be missing. All other keys are properties of the text.
"""

from pathlib import Path
from typing import Any, Dict, Iterable, Iterator, List, NamedTuple, Tuple

from tagger.common.inputs import PathOrAddress
from tagger.data.formats import AnnotatedText, Annotation, check_overlaps, fit_to_tokens
from tagger.data.formats.json_files import read_records, write_lines

_FORM = '`annotations` such as {"anna": [[0, 3, "PER"]]}'


class SourcedText(NamedTuple):
    """A text with the annotations of several sources.

    Attributes:
        text: The text, without entities.
        annotations: The entities that each source found, by its name; sources that have not read the
            text are missing.
    """

    text: AnnotatedText
    annotations: Dict[str, List[Annotation]]

    def on_common_tokens(self, keep_overlaps: bool = False) -> "SourcedText":
        """Cuts tokens where an entity of any source begins or ends, and trims entities to tokens.

        Of overlapping entities of a source, the longest is kept, unless all are.
        """
        every = sorted({each for found in self.annotations.values() for each in found})
        common = fit_to_tokens(self.text._replace(entities=every)).text
        new = dict(zip(every, common.entities))
        fitted = {}
        for source, found in self.annotations.items():
            own = common._replace(entities=found)
            own = own if keep_overlaps else check_overlaps(own, "longest")[0]
            fitted[source] = [new[each] for each in own.entities]
        return SourcedText(common._replace(entities=[]), fitted)


def read_annotations(path: PathOrAddress) -> Iterator[SourcedText]:
    """Reads a file in the form above; a `ValueError` says where a record is malformed."""
    for place, record in read_records(path):
        given = record.get("annotations") if isinstance(record, dict) else None
        if not isinstance(given, dict) or not isinstance(record.get("text"), str):
            raise ValueError(
                f"{place}: expected `text` and {_FORM}, got {record!r:.60}; for files of one source "
                "each, name them: anna=anna.conll list=list.jsonl"
            )
        text, size = record["text"], len(record["text"])
        tokens = record.get("tokens")
        if tokens is not None:
            tokens = [*_tokens(tokens, size, place)]
        annotations: Dict[str, List[Annotation]] = {}
        for source, found in given.items():
            if not source.strip():
                raise ValueError(f"{place}: the name of a source is blank; name it")
            if not isinstance(found, list):
                raise ValueError(
                    f"{place}: expected a list of entities of `{source}`, got {found!r:.60}"
                )
            entities = [_entity(each, size, place) for each in found]
            annotations[source] = sorted(entities, key=lambda each: each[1:])
        rest = ("text", "annotations", "tokens", "sentence_lengths")
        properties = {key: value for key, value in record.items() if key not in rest}
        lengths = record.get("sentence_lengths")
        if lengths is not None and not _are_lengths(lengths, tokens or []):
            raise ValueError(
                f"{place}: `sentence_lengths` must be numbers from 1 that add up to the number of "
                f"`tokens`, got {lengths!r:.60}"
            )
        yield SourcedText(AnnotatedText(text, [], tokens, lengths, place, properties), annotations)


def _tokens(tokens: Any, size: int, place: str) -> Iterator[Tuple[int, int]]:
    before = 0
    for each in tokens if isinstance(tokens, list) else [tokens]:
        is_pair = isinstance(each, list) and [type(offset) for offset in each] == [int, int]
        if not is_pair or not before <= each[0] < each[1] <= size:
            raise ValueError(
                f"{place}: expected `tokens` such as [[0, 3]], in order and within the text, got "
                f"{each!r:.60}"
            )
        before = each[1]
        yield each[0], each[1]


def _are_lengths(lengths: Any, tokens: List[Tuple[int, int]]) -> bool:
    if not isinstance(lengths, list):
        return False
    return all(type(each) is int and each > 0 for each in lengths) and sum(lengths) == len(tokens)


def _entity(found: Any, size: int, place: str) -> Annotation:
    is_entity = isinstance(found, list) and [type(each) for each in found] == [int, int, str]
    if not is_entity or not 0 <= found[0] < found[1] <= size or not found[2]:
        raise ValueError(f"{place}: expected {_FORM} within the text, got {found!r:.60}")
    start, end, label = found
    return Annotation(label, start, end)


def write_annotations(texts: Iterable[SourcedText], path: Path, overwrite: bool = False) -> None:
    """Writes a file for `read_annotations`, a new one unless `overwrite` is true."""
    write_lines(path, map(_record, texts), overwrite)


def _record(sourced: SourcedText) -> Dict[str, Any]:
    text = sourced.text
    lists = {
        source: [[start, end, label] for label, start, end in found]
        for source, found in sourced.annotations.items()
    }
    record: Dict[str, Any] = {"text": text.text, "annotations": lists}
    record |= {"tokens": text.tokens} if text.tokens is not None else {}
    lengths = text.sentence_lengths
    record |= {"sentence_lengths": lengths} if lengths is not None else {}
    return {**text.properties, **record}
