"""Label Studio's tasks: a JSON list, read as exported and written as pre-annotated tasks."""

import itertools
import json
import logging
import re
from collections import Counter
from pathlib import Path
from typing import Any, Dict, Iterable, Iterator, List, Optional, Set, Tuple

from tagger.common.files import write_atomically
from tagger.common.inputs import PathOrAddress
from tagger.data.formats.annotated_text import SEVERAL, SOURCE, AnnotatedText, scores_of
from tagger.data.formats.json_files import read_records
from tagger.data.formats.offsets import RawEntity, checked_entities
from tagger.data.reading import DETECTED, Reading

logger = logging.getLogger(__name__)

_NO_ANNOTATION = "tasks without an annotation, which are left out"
_CANCELLED = "cancelled annotations, which are left out"
_AGAIN = f"tasks with the text of another annotator's, so texts repeat; {SEVERAL}"
_SEVERAL_READ = f"tasks with several annotations, of which the first is read; {SEVERAL}"
#: A text that is the place of a text.
_PATH = re.compile(r"([a-z0-9]+://|/|[A-Za-z]:\\|\w+/)[^\s<>]*\.\w{1,5}(\?\S*)?")
#: The number of tasks to examine.
_MOST_TASKS = 1_000
_OTHER = "results that are no spans of text, which are left out"


def read_label_studio(path: PathOrAddress, reading: Reading = DETECTED) -> Iterator[AnnotatedText]:
    """Reads an export, `JSON` or `JSON-MIN`, with predictions where there are no annotations.

    Everything that is skipped is counted and logged at the end, but tasks without an annotation only if
    `labelled`. If `each_source`, all annotations and predictions of a task are read, as a text each,
    with the property `SOURCE`: who made it.
    """
    counts: Counter[str] = Counter()
    tasks = read_records(path, "task", reading.text_encoding)
    first = [*itertools.islice(tasks, _MOST_TASKS)]
    control = _control_of([task for _, task in first])
    quoted = _quoted_key([task for _, task in first])
    annotators: Dict[int, Optional[str]] = {}
    for place, task in itertools.chain(first, tasks):
        _check_type(task, dict, "a task", place)
        text, key = _text_of(task, quoted, place)
        properties = {name: task[name] for name in ("id", "meta") if name in task}
        properties.update(task.get("data", {}))
        properties.pop(key, None)
        found = _annotations_of(task, key, control, place, counts, reading.each_source)
        counts[_NO_ANNOTATION] += not found
        for source, values in found or [(None, [])] * (not reading.labelled):
            entities = [entity for value in values for entity in _entities(value, place)]
            if entities and _PATH.fullmatch(text):
                raise ValueError(
                    f"{place}: expected a text, got the path {text!r:.80}; export the texts themselves: "
                    'label with `valueType="text"` rather than "url"'
                )
            if "data" not in task and not reading.each_source:
                counts[_AGAIN] += annotators.setdefault(hash(text), source) != source
            own = {**properties, SOURCE: source} if reading.each_source else properties
            checked = checked_entities(text, entities, place, reading.offsets)
            yield AnnotatedText(text, checked, None, None, place, own)
    if not reading.labelled:
        del counts[_NO_ANNOTATION]
    for what, number in counts.items():
        if number:
            logger.warning("%s: %d %s", path, number, what)


def _check_type(value: Any, kind: type, name: str, place: str) -> Any:
    """Returns a JSON value if it is of the expected kind: an object, a list or a text."""
    if not isinstance(value, kind):
        expected = "a text" if kind is str else "an object" if kind is dict else "a list"
        raise ValueError(f"{place}: expected {name} to be {expected}, got {value!r:.80}")
    return value


def _control_of(tasks: Iterable[Any]) -> Optional[str]:
    """Returns the key of the spans in JSON-MIN, which is the name of their control."""
    items = (item for task in tasks if isinstance(task, dict) for item in task.items())
    lists = ((name, each) for name, each in items if isinstance(each, list))
    return next((name for name, each in lists if any(map(_has_labels, each))), None)


def _quoted_key(tasks: Iterable[Any]) -> Optional[str]:
    """Returns the only key of strings with the words of all spans; None if there are several."""
    fitting: Optional[Set[str]] = None
    for task in tasks:
        found = (each.get("text") for each in _objects(task) if _has_labels(each))
        words = {each for each in found if each and isinstance(each, str)}
        data = task.get("data", task) if isinstance(task, dict) else None
        if words and isinstance(data, dict):
            strings = {key: value for key, value in data.items() if isinstance(value, str)}
            own = {key for key, value in strings.items() if all(map(value.__contains__, words))}
            fitting = own if fitting is None else fitting & own
    return next(iter(fitting)) if fitting and len(fitting) == 1 else None


def _objects(node: Any) -> Iterator[Dict[str, Any]]:
    if isinstance(node, dict):
        yield node
    for each in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from _objects(each)


def _text_of(task: Dict[str, Any], quoted: Optional[str], place: str) -> Tuple[str, str]:
    """Returns a task's text and its key: `text`, that of the quoted words, or else the only string."""
    data = _check_type(task.get("data", task), dict, "`data`", place)
    strings = {key: value for key, value in data.items() if isinstance(value, str)}
    names = ["text", quoted, *(strings if "data" in task and len(strings) == 1 else ())]
    key = next((each for each in names if each in strings), None)
    if key is None:
        raise ValueError(
            f"{place}: expected the text as `data.text`, got the keys {', '.join(data)}; rename that of "
            "the text to `text`"
        )
    return strings[key], key


def _annotations_of(
    task: Dict[str, Any],
    key: str,
    control: Optional[str],
    place: str,
    counts: Counter[str],
    each_source: bool,
) -> List[Tuple[Optional[str], List[Any]]]:
    """Returns who made the annotations and predictions of a task, with their spans; or the first."""
    if "data" not in task:
        lists = [each for name, each in task.items() if name != key and isinstance(each, list)]
        with_labels = [each for each in lists if any(map(_has_labels, each))]
        known = task.get(control or "") if control else lists[0] if len(lists) == 1 else None
        values = with_labels[0] if with_labels else known if isinstance(known, list) else None
        return [] if values is None else [(_name(task.get("annotator")), values)]
    annotations = task.get("annotations", task.get("completions")) or []
    predictions = task.get("predictions") or []
    for each in _check_type(annotations or predictions, list, "`annotations`", place):
        _check_type(each, dict, "an annotation", place)
    valid = [each for each in annotations if not each.get("was_cancelled")]
    counts[_CANCELLED] += len(annotations) - len(valid)
    # Some exports have only the numbers of predictions.
    predicted = [each for each in predictions if isinstance(each, dict)]
    if each_source:
        valid += predicted
    else:
        counts[_SEVERAL_READ] += len(valid) > 1
        valid = (valid if annotations else predicted)[:1]
    return [(_name(_maker(each)), _spans(each, place, counts)) for each in valid]


def _maker(annotation: Dict[str, Any]) -> Any:
    return annotation.get("completed_by", annotation.get("model_version"))


def _name(annotator: Any) -> Optional[str]:
    """Returns the name of an annotator: a number, a string, or what is told of a person."""
    if isinstance(annotator, dict):
        told = (annotator.get(key) for key in ("email", "username", "id"))
        annotator = next((each for each in told if each), None)
    return None if annotator is None else str(annotator)


def _spans(annotation: Dict[str, Any], place: str, counts: Counter[str]) -> List[Dict[str, Any]]:
    """Returns the values of an annotation's spans."""
    results = _check_type(annotation.get("result", []), list, "`result`", place)
    values = [_check_type(each, dict, "a result", place).get("value") for each in results]
    spans = [value for value in values if _has_labels(value) and "start" in value]
    counts[_OTHER] += len(values) - len(spans)
    return spans


def _has_labels(value: Any) -> bool:
    return isinstance(value, dict) and ("labels" in value or "hypertextlabels" in value)


def _entities(value: Any, place: str) -> Iterator[RawEntity]:
    """Yields an entity for each label of a span."""
    _check_type(value, dict, "a span", place)
    labels = value.get("labels", value.get("hypertextlabels"))
    if not isinstance(labels, list) or not labels:
        raise ValueError(f"{place}: expected a list of `labels` of a span, got {labels!r}")
    start = value.get("start")
    if isinstance(start, str) and start.startswith("/"):
        raise ValueError(
            f"{place}: the offsets are places in HTML, such as {start!r}, which are not read; "
            "annotate plain text, with `<Text>` in place of `<HyperText>`"
        )
    for label in labels:
        yield RawEntity(label, start, value.get("end"), value.get("text"))


def write_label_studio(texts: Iterable[AnnotatedText], path: Path) -> None:
    """Writes tasks with predictions, which Label Studio imports as pre-annotations.

    Its labelling config must have `<Labels name="label" toName="text">` and `<Text name="text">`.
    """
    with write_atomically(path) as new:
        tasks = [_task(text) for text in texts]
        new.write_text(json.dumps(tasks, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def results_of(
    text: AnnotatedText, from_name: str = "label", to_name: str = "text"
) -> List[Dict[str, Any]]:
    """Returns the entities of a text as Label Studio's results.

    `from_name` and `to_name` are the names of the labels and of the text in the labelling config.
    """
    same = {"from_name": from_name, "to_name": to_name, "type": "labels"}
    results = []
    for number, (entity, score) in enumerate(zip(text.entities, scores_of(text)), start=1):
        label, start, end = entity
        value = {"start": start, "end": end, "text": text.text[start:end], "labels": [label]}
        results.append({"id": f"entity{number}", **same, "value": value, **score})
    return results


def annotated_task(
    task: Dict[str, Any], annotation: Dict[str, Any], key: str, place: str
) -> AnnotatedText:
    """Returns a task's text, `data.<key>`, with the entities of an annotation.

    Raises:
        ValueError: If the task has no such text, or its entities are no spans of it.
    """
    data = _check_type(task.get("data"), dict, "`data`", place)
    text = _check_type(data.get(key), str, f"`data.{key}`", place)
    spans = _spans(annotation, place, Counter())
    entities = [entity for value in spans for entity in _entities(value, place)]
    found = checked_entities(text, entities, place, None)
    return AnnotatedText(text, found, None, None, place, {"id": task.get("id")})


def _task(text: AnnotatedText) -> Dict[str, Any]:
    data = {key: value for key, value in text.properties.items() if key not in ("id", "meta")}
    meta = {"meta": text.properties["meta"]} if "meta" in text.properties else {}
    predictions = [{"model_version": "tagger", "result": results_of(text)}]
    return {"data": {**data, "text": text.text}, **meta, "predictions": predictions}
