"""Evaluates taggers that give each token one tag, for the report on a training run.

Letters: `T` tokens of a sentence, `C` labels.
"""

from collections import Counter
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

import numpy as np
from allennlp.data import DatasetReader, Instance

from tagger.metrics.calibration import count_calibration
from tagger.models import TaggingModel
from tagger.modules.heads import ChainHead
from tagger.spans import Span, tags_to_spans
from tagger.spans.finding import (
    UNKNOWN,
    TagTables,
    certain_tags,
    lay_end_to_end,
    tag_tables,
    tags_of_certain_labels,
)
from tagger.spans.matching import match_spans
from tagger.tools.reports.evaluation import (
    Evaluation,
    Place,
    Points,
    batches,
    gold_tensor,
    places,
    take_metrics,
)
from tagger.tools.reports.span_probabilities import span_probabilities
from tagger.tools.reports.tagged_sentences import (
    Example,
    TaggedSentence,
    example_of_spans,
    precision_recall_points,
    sample_errors,
)
from tagger_onnx.tagged_text import Extras


def evaluate_tags(
    model: TaggingModel, reader: DatasetReader, data: str, num_errors: int, seed: int
) -> Evaluation:
    """Runs a tagger that gives each token one tag over a file.

    Raises:
        ValueError: If the file holds nothing, or no gold tags.
    """
    encoding = model.tag_encoding
    tables = tag_tables(model.tags, encoding)
    index_of = {tag: index for index, tag in enumerate(model.tags)}
    counts, num_words, num_shown = [], 0, 0
    judged: List[Tuple[str, float, bool]] = []
    wrong: List[Tuple[Place, TaggedSentence]] = []
    num_gold: Counter = Counter()
    for instances, outputs in batches(model, reader, data, "tags"):
        for instance, output in zip(instances, outputs):
            all_gold = gold_tensor(instance, "tags")
            for place, part in _sentences(instance, output, encoding):
                predicted = np.array([index_of[tag] for tag in part["tags"]])
                gold_indices = all_gold[place.start : place.end]
                counts.append(_count(tables, encoding, predicted, gold_indices))
                num_words += len(predicted)
                gold_tags = instance["tags"].labels[place.start : place.end]  # type: ignore[attr-defined]
                if not index_of.keys() >= set(gold_tags):
                    continue
                num_shown += 1
                gold = _spans(gold_tags, encoding)
                num_gold.update(label for label, _ in gold)
                words, spans, probabilities = part["words"], part["spans"], part["probabilities"]
                judged += [
                    (span[0], probability, span in gold)
                    for span, probability in zip(spans, probabilities)
                ]
                if gold != spans:
                    wrong.append((place, TaggedSentence(words, gold, spans, probabilities)))
    metrics, confusions = take_metrics(model)
    points, calibration = _of_probabilities(judged, num_gold)
    return Evaluation(
        kind="tokens" if encoding is None else "entities",
        num_sentences=len(counts),
        num_words=num_words,
        num_shown=num_shown,
        labels=tables.labels,
        counts=np.stack(counts),
        metrics=metrics,
        confusions=confusions,
        points=points,
        calibration=calibration,
        thresholds=_entity_thresholds(model),
        num_wrong=len(wrong),
        examples=_examples(model, wrong, num_errors, seed),
    )


def _sentences(
    instance: Instance, output: Mapping[str, Any], encoding: Optional[str]
) -> Iterator[Tuple[Place, Dict[str, Any]]]:
    """Yields the sentences of an instance, which may be a document, each with its part of the output."""
    for place in places(instance, output, len(output["tags"])):
        part: Dict[str, Any] = {
            name: output[name][place.start : place.end] for name in ("words", "tags")
        }
        if encoding is None:
            entities = []
            part["spans"] = _spans(part["tags"], None)
        else:
            entities = [e for e in output["entities"] if place.start <= e["first"] < place.end]
            part["spans"] = [_span(entity, place.start) for entity in entities]
        part["probabilities"] = [e["probability"] for e in entities if "probability" in e]
        yield place, part


def _span(entity: Mapping[str, Any], start: int) -> Span:
    """The span of an entity in its sentence, which begins at `start`."""
    return entity["label"], (entity["first"] - start, entity["last"] - start)


def _spans(tags: Sequence[str], encoding: Optional[str]) -> List[Span]:
    """Returns the spans of tags; of plain tags, every token that is not `O`."""
    if encoding is not None:
        return tags_to_spans(tags, encoding)
    return [(tag, (i, i)) for i, tag in enumerate(tags) if tag != "O"]


def _count(
    tables: TagTables, encoding: Optional[str], predicted: np.ndarray, gold: np.ndarray
) -> np.ndarray:
    """Counts the spans of a sentence, or its tokens if the tags spell no spans; tags are (T,).

    Returns:
        (3, C) true positives, predicted and gold.
    """
    if encoding is None:
        gold = tags_of_certain_labels(tables, gold[np.newaxis])[0]
        is_known = gold != UNKNOWN
        of_predicted, of_gold = tables.label_of[predicted], tables.label_of[gold]
        found = [of_gold[predicted == gold], of_predicted[is_known], of_gold[is_known]]
    else:
        num_tags, is_token = len(tables.label_of) - 1, np.ones((1, len(gold)), dtype=bool)
        predicted, gold = (
            lay_end_to_end(tags, is_token, num_tags)
            for tags in (predicted[np.newaxis], certain_tags(gold[np.newaxis]))
        )
        matches = match_spans(tables, predicted, gold)
        right = matches.predicted.where(matches.is_right())
        found = [right.labels, matches.predicted.labels, matches.gold.labels]
    return np.stack(
        [np.bincount(labels[labels >= 0], minlength=len(tables.labels)) for labels in found]
    )


def _of_probabilities(
    judged: Sequence[Tuple[str, float, bool]], num_gold: Mapping[str, int]
) -> Tuple[Dict[str, Points], Optional[np.ndarray]]:
    """Returns points for the labels that are both gold and predicted, and the calibration."""
    if not judged:
        return {}, None
    labels, probabilities, is_right = (np.array(column) for column in zip(*judged))
    points: Dict[str, Points] = {}
    for label in sorted({*labels.tolist()} & {*num_gold}):
        of_label = labels == label
        precision, recall = precision_recall_points(
            probabilities[of_label], is_right[of_label], num_gold[label]
        )
        points[label] = precision, recall, (precision[-1], recall[-1])
    return points, count_calibration(probabilities, is_right)


def _entity_thresholds(model: TaggingModel) -> Dict[str, float]:
    if not isinstance(model.head, ChainHead):
        return {}
    return dict(model.head.decoder.entity_thresholds or {})


def _examples(
    model: TaggingModel, wrong: Sequence[Tuple[Place, TaggedSentence]], num_errors: int, seed: int
) -> List[Example]:
    """Draws examples, with the probabilities that the model gives to gold and predicted labels."""
    has_plain_tags = model.tag_encoding is None
    errors = [example_of_spans(each, only_errors=has_plain_tags).errors() for _, each in wrong]
    drawn = [wrong[i] for i in sample_errors(errors, num_errors, seed)]
    if not drawn:
        return []
    if model.tag_encoding is None:
        return _examples_of_tags(model, drawn)
    probabilities: List[List[float]] = [[] for _ in drawn]
    if all(sentence.probabilities or not sentence.predicted for _, sentence in drawn):
        probabilities = span_probabilities(
            model,
            [place.instance for place, _ in drawn],
            [
                [
                    (label, (place.start + first, place.start + last))
                    for label, (first, last) in gold
                ]
                for place, (_, gold, _, _) in drawn
            ],
        )
    return [
        example_of_spans(sentence, of_gold) for (_, sentence), of_gold in zip(drawn, probabilities)
    ]


def _examples_of_tags(
    model: TaggingModel, drawn: Sequence[Tuple[Place, TaggedSentence]]
) -> List[Example]:
    head = model.head
    assert isinstance(head, ChainHead)
    before = head.extras
    head.give(Extras(probabilities=True))
    try:
        outputs = model.forward_on_instances([place.instance for place, _ in drawn])
    finally:
        head.give(before)
        take_metrics(model)
    examples = []
    for (place, sentence), output in zip(drawn, outputs):
        probabilities = output["probabilities"][place.start : place.end]
        of_gold, of_predicted = (
            [probabilities[start][label] for label, (start, _) in spans]
            for spans in (sentence.gold, sentence.predicted)
        )
        measured = sentence._replace(probabilities=of_predicted)
        examples.append(example_of_spans(measured, of_gold, only_errors=True))
    return examples
