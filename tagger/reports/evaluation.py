"""Runs a model over data and keeps what the report on a training run shows.

Letters: `S` sentences or documents, `C` labels, `N` items that may have labels: tokens or documents.
"""

from typing import (
    Any,
    Callable,
    Dict,
    FrozenSet,
    Iterator,
    List,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    Tuple,
    Union,
)

import numpy as np
import torch
from allennlp.common.util import lazy_groups_of
from allennlp.data import Batch, DatasetReader, Instance
from allennlp.nn.util import get_text_field_mask, move_to_device

from tagger.metrics.calibration import count_calibration
from tagger.models import DocumentClassifier, SequenceTagger
from tagger.modules.heads import ChainHead, SigmoidHead
from tagger.reports.tagged_sentences import (
    RIGHT,
    Example,
    Segment,
    TaggedSentence,
    cut_into_segments,
    example_of_spans,
    notes_on_labels,
    precision_recall_points,
    sample_errors,
)
from tagger.spans import Span, tags_to_spans
from tagger.spans.entities import Entities, EntityFinder
from tagger.spans.finding import (
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

BATCH_SIZE = 64
#: The characters of a document that are shown.
MAX_CHARACTERS = 600

#: Models that a report can be made of.
Reportable = Union[SequenceTagger, DocumentClassifier]
#: Precision and recall at falling thresholds, and those of the model, which a dot marks.
Points = Tuple[np.ndarray, np.ndarray, Tuple[float, float]]


class Evaluation(NamedTuple):
    """What a model does on some data.

    Attributes:
        kind: What is counted: `entities`, `tokens` (plain tags), `token labels` or `documents`.
        num_sentences: S.
        num_words: The number of tokens; 0 for documents.
        num_shown: How many sentences, the wrong ones among them, can be shown: those without unknown
            tags.
        labels: The C labels.
        counts: (S, 3, C) int64, true positives, predicted and gold of each sentence.
        metrics: The model's metrics by name.
        confusions: The model's confusions by name; empty if there are none.
        points: Precision and recall by label, for labels with probabilities.
        calibration: (3, R), as from `count_calibration`; None without probabilities.
        thresholds: The threshold of each label, if there are any.
        num_wrong: The number of sentences with an error.
        examples: Some of them.
    """

    kind: str
    num_sentences: int
    num_words: int
    num_shown: int
    labels: List[str]
    counts: np.ndarray
    metrics: Dict[str, float]
    confusions: Dict[str, int]
    points: Dict[str, Points]
    calibration: Optional[np.ndarray]
    thresholds: Dict[str, float]
    num_wrong: int
    examples: List[Example]


def evaluate(
    model: Reportable, reader: DatasetReader, data: str, num_errors: int, seed: int
) -> Evaluation:
    """Runs a model over a file.

    Args:
        model: The model.
        reader: Reads the file.
        data: The file.
        num_errors: The largest number of examples of errors to keep.
        seed: The seed for drawing them.

    Raises:
        ValueError: If the file holds nothing, or no gold tags or labels.
    """
    model.eval()
    if isinstance(model, SequenceTagger) and not isinstance(model.head, SigmoidHead):
        return _evaluate_tags(model, reader, data, num_errors, seed)
    return _evaluate_label_sets(model, reader, data, num_errors, seed)


def _batches(
    model: Reportable, reader: DatasetReader, data: str, field: str
) -> Iterator[Tuple[List[Instance], List[Dict[str, Any]]]]:
    """Yields instances with the model's output on them."""
    num_batches = 0
    for instances in lazy_groups_of(reader.read(data), BATCH_SIZE):
        for instance in instances:
            if field not in instance.fields:
                raise ValueError(f"`data` must have gold {field}; {data} has none")
        num_batches += 1
        yield instances, model.forward_on_instances(instances)
    if not num_batches:
        raise ValueError(f"`data` must have sentences; {data} has none")


def _metrics(model: Reportable) -> Tuple[Dict[str, float], Dict[str, int]]:
    """Returns metrics and confusions of what the model has seen, and forgets it."""
    # The metrics reset the counts of the confusions too.
    confusions = model.get_confusions()
    return model.get_all_metrics(reset=True), confusions


def _gold_tensor(instance: Instance, field: str) -> np.ndarray:
    gold = instance.fields[field]
    return gold.as_tensor(gold.get_padding_lengths()).numpy()


# One tag a token: spans, or plain tags.


def _evaluate_tags(
    model: SequenceTagger, reader: DatasetReader, data: str, num_errors: int, seed: int
) -> Evaluation:
    encoding = model.tag_encoding
    tables = tag_tables(model.tags, encoding)
    index_of = {tag: index for index, tag in enumerate(model.tags)}
    counts, num_words, num_shown = [], 0, 0
    judged: List[Tuple[str, float, bool]] = []
    wrong: List[Tuple[Instance, TaggedSentence]] = []
    num_gold: Dict[str, int] = {}
    for instances, outputs in _batches(model, reader, data, "tags"):
        counts.append(
            _count(
                tables,
                encoding,
                [np.array([index_of[tag] for tag in output["tags"]]) for output in outputs],
                [_gold_tensor(instance, "tags") for instance in instances],
            )
        )
        for instance, output in zip(instances, outputs):
            num_words += len(output["tags"])
            gold_tags = instance["tags"].labels  # type: ignore[attr-defined]
            if not index_of.keys() >= set(gold_tags):
                continue
            num_shown += 1
            sentence = TaggedSentence(
                output["words"],
                _spans(gold_tags, encoding),
                _spans(output["tags"], encoding),
                output.get("entity_probabilities", []),
            )
            judged += [
                (span[0], probability, span in sentence.gold)
                for span, probability in zip(sentence.predicted, sentence.probabilities)
            ]
            for label, _ in sentence.gold:
                num_gold[label] = num_gold.get(label, 0) + 1
            if sentence.gold != sentence.predicted:
                wrong.append((instance, sentence))
    metrics, confusions = _metrics(model)
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
    counts = np.zeros((len(gold_tags), 3, len(tables.labels)), dtype=np.int64)
    predicted, gold = np.full((2, len(gold_tags), width), num_tags)
    for row, (of_predicted, of_gold) in enumerate(zip(predicted_tags, gold_tags)):
        known = (
            certain_tags(of_gold[np.newaxis])
            if encoding is not None
            else tags_of_certain_labels(tables, of_gold[np.newaxis])
        )
        predicted[row, : len(of_predicted)] = of_predicted
        gold[row, : len(of_predicted)] = known[0]
    if encoding is None:
        is_known = gold >= 0
        for i, tags in ((1, predicted), (2, gold)):
            _add(counts, i, *np.nonzero(is_known & (tables.label_of[tags] >= 0)), tables, tags)
        _add(
            counts,
            0,
            *np.nonzero(is_known & (predicted == gold) & (tables.label_of[gold] >= 0)),
            tables,
            gold,
        )
        return counts
    is_token = predicted < num_tags
    predicted, gold = (lay_end_to_end(tags, is_token, num_tags) for tags in (predicted, gold))
    matches = match_spans(tables, predicted, gold)
    gold_spans = known_spans(find_spans(tables, gold), gold)
    for i, spans in enumerate((matches.spans.where(matches.is_right), matches.spans, gold_spans)):
        rows, _ = rows_and_tokens(spans.starts, width)
        np.add.at(counts, (rows, i, spans.labels), 1)
    return counts


def _add(
    counts: np.ndarray,
    i: int,
    rows: np.ndarray,
    places: np.ndarray,
    tables: TagTables,
    tags: np.ndarray,
) -> None:
    np.add.at(counts, (rows, i, tables.label_of[tags[rows, places]]), 1)


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


def _entity_thresholds(model: SequenceTagger) -> Dict[str, float]:
    if not isinstance(model.head, ChainHead):
        return {}
    return dict(model.head.decoder.entity_thresholds or {})


def _with_probabilities(
    model: SequenceTagger, drawn: Sequence[Tuple[Instance, TaggedSentence]]
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
            [instance for instance, _ in drawn],
            [sentence.gold for _, sentence in drawn],
        )
    return [
        example_of_spans(sentence, of_gold) for (_, sentence), of_gold in zip(drawn, probabilities)
    ]


def _examples_of_tags(
    model: SequenceTagger, drawn: Sequence[Tuple[Instance, TaggedSentence]]
) -> List[Example]:
    head = model.head
    assert isinstance(head, ChainHead)
    before, head.predicts_marginals = head.predicts_marginals, True
    try:
        outputs = model.forward_on_instances([instance for instance, _ in drawn])
    finally:
        head.predicts_marginals = before
        _metrics(model)
    examples = []
    for (_, sentence), output in zip(drawn, outputs):
        of_gold, of_predicted = (
            [output["probabilities"][start][label] for label, (start, _) in spans]
            for spans in (sentence.gold, sentence.predicted)
        )
        sentence = sentence._replace(probabilities=of_predicted)
        examples.append(example_of_spans(sentence, of_gold, only_errors=True))
    return examples


@torch.no_grad()
def span_probabilities(
    model: SequenceTagger, instances: Sequence[Instance], spans: Sequence[Sequence[Span]]
) -> List[List[float]]:
    """Returns the model's probabilities of spans, which it need not have predicted.

    Args:
        model: A tagger with a chain and an encoding other than IOB1.
        instances: Sentences.
        spans: Spans of each sentence.

    Returns:
        The probabilities of each sentence's spans; empty for a model that gives none.
    """
    head, encoding = model.head, model.tag_encoding
    if not isinstance(head, ChainHead) or encoding is None or encoding == "IOB1":
        return [[] for _ in spans]
    finder = EntityFinder(model.tags, encoding)
    found: List[List[float]] = []
    for start in range(0, len(instances), BATCH_SIZE):
        batch = Batch(instances[start : start + BATCH_SIZE])
        batch.index_instances(model.vocab)
        tensors = move_to_device(batch.as_tensor_dict(), next(model.parameters()).device)
        mask = get_text_field_mask(tensors["tokens"])
        of_batch = spans[start : start + BATCH_SIZE]
        columns = [
            (finder.labels.index(label or "_"), row, first, last)
            for row, of_row in enumerate(of_batch)
            for label, (first, last) in of_row
        ]
        entities = Entities(*np.array(columns, dtype=np.int64).reshape(-1, 4).T)
        scores = head.chain_scores(model.emissions(tensors["tokens"], mask))
        numbers = iter(finder.probabilities(scores, entities, mask).tolist())
        found += [[next(numbers) for _ in of_row] for of_row in of_batch]
    return found


# Several labels a token or document.


def _evaluate_label_sets(
    model: Reportable, reader: DatasetReader, data: str, num_errors: int, seed: int
) -> Evaluation:
    is_tagger = isinstance(model, SequenceTagger)
    labels = model.tags if isinstance(model, SequenceTagger) else model.labels
    decider = model.head.thresholds if isinstance(model, SequenceTagger) else model.thresholds
    thresholds = dict(zip(labels, decider.thresholds.tolist()))
    make_example: Callable[..., Example] = _example_of_tokens if is_tagger else _example_of_document
    counts, num_words, num_wrong = [], 0, 0
    kept: List[Tuple[np.ndarray, np.ndarray]] = []
    examples: List[Example] = []
    errors: List[FrozenSet[Tuple[str, str]]] = []
    for instances, outputs in _batches(model, reader, data, "tags" if is_tagger else "labels"):
        for instance, output in zip(instances, outputs):
            # (N, C) each; a document is one item
            gold = np.atleast_2d(_gold_tensor(instance, "tags" if is_tagger else "labels"))
            of_items = output["probabilities"] if is_tagger else [output["probabilities"]]
            probabilities = np.array([list(item.values()) for item in of_items], dtype=np.float32)
            predicted_labels = output["labels"] if is_tagger else [output["labels"]]
            is_predicted = np.array([[c in item for c in labels] for item in predicted_labels])
            is_known = gold >= 0
            counted = (is_predicted & (gold > 0), is_predicted & is_known, gold > 0)
            counts.append(np.stack([each.sum(0) for each in counted]))
            kept.append((probabilities, gold.astype(np.int8)))
            num_words += len(gold) if is_tagger else 0
            if (is_known & (is_predicted != (gold > 0))).any():
                num_wrong += 1
                examples.append(make_example(instance, labels, gold, is_predicted, probabilities))
                errors.append(examples[-1].errors())
    metrics, confusions = _metrics(model)
    probabilities, gold = (np.concatenate(each) for each in zip(*kept))
    of_sentences = np.stack(counts)
    is_known = gold >= 0
    return Evaluation(
        kind="token labels" if is_tagger else "documents",
        num_sentences=len(counts),
        num_words=num_words,
        num_shown=len(counts),
        labels=labels,
        counts=of_sentences,
        metrics=metrics,
        confusions=confusions,
        points=_points_of_labels(labels, probabilities, gold, of_sentences.sum(0)),
        calibration=count_calibration(probabilities[is_known], gold[is_known] > 0),
        thresholds=thresholds,
        num_wrong=num_wrong,
        examples=[examples[i] for i in sample_errors(errors, num_errors, seed)],
    )


def _points_of_labels(
    labels: Sequence[str], probabilities: np.ndarray, gold: np.ndarray, counts: np.ndarray
) -> Dict[str, Points]:
    points: Dict[str, Points] = {}
    for c, label in enumerate(labels):
        true_positives, num_predicted, num_gold = counts[:, c]
        if num_gold:
            is_known = gold[:, c] >= 0
            precision, recall = precision_recall_points(
                probabilities[is_known, c], gold[is_known, c] > 0, num_gold
            )
            # Without a prediction the point lies at the start of the curve.
            at_model = true_positives / num_predicted if num_predicted else precision[0]
            points[label] = precision, recall, (at_model, true_positives / num_gold)
    return points


def _example_of_tokens(
    instance: Instance,
    labels: Sequence[str],
    gold: np.ndarray,
    is_predicted: np.ndarray,
    probabilities: np.ndarray,
) -> Example:
    notes = [
        notes_on_labels(labels, *columns) for columns in zip(gold, is_predicted, probabilities)
    ]
    wrong = [i for i, of_token in enumerate(notes) if any(n.verdict != RIGHT for n in of_token)]
    words = instance["metadata"]["words"]  # type: ignore[index]
    segments = cut_into_segments(words, [(i, i) for i in wrong], [notes[i] for i in wrong])
    return Example({"": segments})


def _example_of_document(
    instance: Instance,
    labels: Sequence[str],
    gold: np.ndarray,
    is_predicted: np.ndarray,
    probabilities: np.ndarray,
) -> Example:
    text = " ".join(instance["metadata"]["text"].split())  # type: ignore[index]
    if len(text) > MAX_CHARACTERS:
        text = f"{text[:MAX_CHARACTERS]} …"
    notes = notes_on_labels(labels, gold[0], is_predicted[0], probabilities[0])
    return Example({"": [Segment(text, [])], "labels": [Segment("", notes)]})
