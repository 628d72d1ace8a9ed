"""Evaluates taggers that give each token one tag, for the report on a training run.

Letters: `S` sentences, `T` tokens of the longest, `C` labels, `N` tokens laid end to end.
"""

from typing import (
    Any,
    Dict,
    Iterator,
    List,
    Mapping,
    Optional,
    Sequence,
    Tuple,
)

import numpy as np
from allennlp.data import DatasetReader, Instance

from tagger.metrics.calibration import count_calibration
from tagger.models import TaggingModel
from tagger.modules.heads import ChainHead
from tagger.reports.evaluation import (
    Evaluation,
    Place,
    Points,
    batches,
    gold_tensor,
    places,
    take_metrics,
)
from tagger.reports.span_probabilities import span_probabilities
from tagger.reports.tagged_sentences import (
    Example,
    TaggedSentence,
    example_of_spans,
    precision_recall_points,
    sample_errors,
)
from tagger.spans import Span, tags_to_spans
from tagger.spans.finding import (
    UNKNOWN,
    TagTables,
    certain_tags,
    find_spans,
    known_spans,
    lay_end_to_end,
    rows_and_tokens,
    tag_tables,
    tags_of_certain_labels,
)
from tagger.spans.matching import match_spans

#: The rows and the labels of what is right, predicted and gold.
Found = Sequence[Tuple[np.ndarray, np.ndarray]]


def evaluate_tags(
    model: TaggingModel, reader: DatasetReader, data: str, num_errors: int, seed: int
) -> Evaluation:
    """Runs a tagger that gives each token one tag over a file.

    Args:
        model: The tagger; its tags may spell spans or be plain labels.
        reader: Reads the file.
        data: The file.
        num_errors: The largest number of examples of errors to keep.
        seed: The seed for drawing them.

    Raises:
        ValueError: If the file holds nothing, or no gold tags.
    """
    encoding = model.tag_encoding
    tables = tag_tables(model.tags, encoding)
    index_of = {tag: index for index, tag in enumerate(model.tags)}
    counts, num_words, num_shown = [], 0, 0
    judged: List[Tuple[str, float, bool]] = []
    wrong: List[Tuple[Place, TaggedSentence]] = []
    num_gold: Dict[str, int] = {}
    for instances, outputs in batches(model, reader, data, "tags"):
        sentences = [
            sentence
            for instance, output in zip(instances, outputs)
            for sentence in _sentences(instance, output, encoding)
        ]
        counts.append(
            _count(
                tables,
                encoding,
                [np.array([index_of[tag] for tag in output["tags"]]) for _, output in sentences],
                [
                    gold_tensor(instance, "tags")[start:end]
                    for (instance, start, end), _ in sentences
                ],
            )
        )
        for place, output in sentences:
            num_words += len(output["tags"])
            gold_tags = place.instance["tags"].labels  # type: ignore[attr-defined]
            gold_tags = gold_tags[place.start : place.end]
            if not index_of.keys() >= set(gold_tags):
                continue
            num_shown += 1
            sentence = TaggedSentence(
                output["words"],
                _spans(gold_tags, encoding),
                output["spans"],
                output["probabilities"],
            )
            judged += [
                (span[0], probability, span in sentence.gold)
                for span, probability in zip(sentence.predicted, sentence.probabilities)
            ]
            for label, _ in sentence.gold:
                num_gold[label] = num_gold.get(label, 0) + 1
            if sentence.gold != sentence.predicted:
                wrong.append((place, sentence))
    metrics, confusions = take_metrics(model)
    errors = [
        example_of_spans(sentence, only_errors=encoding is None).errors() for _, sentence in wrong
    ]
    drawn = [wrong[i] for i in sample_errors(errors, num_errors, seed)]
    probabilities = np.array([probability for _, probability, _ in judged])
    is_right = np.array([each for _, _, each in judged], dtype=bool)
    return Evaluation(
        kind="tokens" if encoding is None else "entities",
        num_sentences=sum(map(len, counts)),
        num_words=num_words,
        num_shown=num_shown,
        labels=tables.labels,
        counts=np.concatenate(counts),
        metrics=metrics,
        confusions=confusions,
        points=_points_of_spans(
            np.array([each for each, _, _ in judged]), probabilities, is_right, num_gold
        ),
        calibration=count_calibration(probabilities, is_right) if judged else None,
        thresholds=_entity_thresholds(model),
        num_wrong=len(wrong),
        examples=_with_probabilities(model, drawn),
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
            entities = [e for e in output["entities"] if place.start <= e["tokens"][0] < place.end]
            part["spans"] = [_span(entity, place.start) for entity in entities]
        part["probabilities"] = [e["probability"] for e in entities if "probability" in e]
        yield place, part


def _span(entity: Mapping[str, Any], start: int) -> Span:
    """The span of an entity in its sentence, which begins at `start`."""
    first, last = entity["tokens"]
    return entity["label"], (first - start, last - start)


def _spans(tags: Sequence[str], encoding: Optional[str]) -> List[Span]:
    """Returns the spans of tags; of plain tags, every token that is not `O`."""
    if encoding is not None:
        return tags_to_spans(tags, encoding)
    return [(tag, (i, i)) for i, tag in enumerate(tags) if tag != "O"]


def _count(
    tables: TagTables,
    encoding: Optional[str],
    predicted_tags: Sequence[np.ndarray],
    gold_tags: Sequence[np.ndarray],
) -> np.ndarray:
    """Counts the spans of sentences, or tokens if the tags spell no spans.

    Returns:
        (S, 3, C) true positives, predicted and gold.
    """
    num_tags, width = len(tables.label_of) - 1, max(map(len, predicted_tags))
    # (S, T) each
    predicted, gold = np.full((2, len(gold_tags), width), num_tags)
    for row, (of_predicted, of_gold) in enumerate(zip(predicted_tags, gold_tags)):
        of_gold = of_gold[np.newaxis]
        known = certain_tags(of_gold) if encoding else tags_of_certain_labels(tables, of_gold)
        predicted[row, : len(of_predicted)] = of_predicted
        gold[row, : len(of_predicted)] = known[0]
    if encoding is None:
        found = _found_tokens(tables, predicted, gold)
    else:
        found = _found_spans(tables, predicted, gold)
    size = len(gold_tags), len(tables.labels)
    # (S, C) each
    counts = [
        np.bincount(rows * size[1] + labels, minlength=size[0] * size[1]).reshape(size)
        for rows, labels in found
    ]
    return np.stack(counts, axis=1)


def _found_tokens(tables: TagTables, predicted: np.ndarray, gold: np.ndarray) -> Found:
    """Returns the rows and the labels of right, of predicted and of gold tokens; tags are (S, T)."""
    is_known = gold != UNKNOWN
    found = []
    for tags, is_counted in ((gold, predicted == gold), (predicted, is_known), (gold, is_known)):
        labels = tables.label_of[tags]
        is_counted = is_counted & (labels >= 0)
        found.append((np.nonzero(is_counted)[0], labels[is_counted]))
    return found


def _found_spans(tables: TagTables, predicted: np.ndarray, gold: np.ndarray) -> Found:
    """Returns the rows and the labels of right, of predicted and of gold spans; tags are (S, T)."""
    num_tags, width = len(tables.label_of) - 1, predicted.shape[1]
    is_token = predicted < num_tags
    # (N,) each
    predicted, gold = (lay_end_to_end(tags, is_token, num_tags) for tags in (predicted, gold))
    spans, is_right = match_spans(tables, predicted, gold)
    gold_spans = known_spans(find_spans(tables, gold), gold)
    return [
        (rows_and_tokens(each.starts, width)[0], each.labels)
        for each in (spans.where(is_right), spans, gold_spans)
    ]


def _points_of_spans(
    labels: np.ndarray,
    probabilities: np.ndarray,
    is_right: np.ndarray,
    num_gold: Mapping[str, int],
) -> Dict[str, Points]:
    """Returns points for the labels that are both in the gold and in the predicted spans."""
    points: Dict[str, Points] = {}
    for label in sorted(set(labels.tolist()) & set(num_gold)):
        of_label = labels == label
        precision, recall = precision_recall_points(
            probabilities[of_label], is_right[of_label], num_gold[label]
        )
        points[label] = precision, recall, (precision[-1], recall[-1])
    return points


def _entity_thresholds(model: TaggingModel) -> Dict[str, float]:
    if not isinstance(model.head, ChainHead):
        return {}
    return dict(model.head.decoder.entity_thresholds or {})


def _with_probabilities(
    model: TaggingModel, drawn: Sequence[Tuple[Place, TaggedSentence]]
) -> List[Example]:
    """Returns examples with the probabilities that the model gives to gold and predicted labels."""
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
    before, head.predicts_marginals = head.predicts_marginals, True
    try:
        outputs = model.forward_on_instances([place.instance for place, _ in drawn])
    finally:
        head.predicts_marginals = before
        take_metrics(model)
    examples = []
    for (place, sentence), output in zip(drawn, outputs):
        probabilities = output["probabilities"][place.start : place.end]
        of_gold, of_predicted = (
            [probabilities[start][label] for label, (start, _) in spans]
            for spans in (sentence.gold, sentence.predicted)
        )
        sentence = sentence._replace(probabilities=of_predicted)
        examples.append(example_of_spans(sentence, of_gold, only_errors=True))
    return examples
