"""Evaluates models that give tokens or documents any number of labels, for the report on a run.

Letters: `C` labels, `N` items that may have labels: tokens or documents.
"""

from typing import Callable, Dict, List, Sequence, Tuple

import numpy as np
from allennlp.data import DatasetReader

from tagger.metrics.calibration import count_calibration
from tagger.models import TaggingModel
from tagger.modules.label_thresholds import thresholds_of
from tagger.tools.reports.evaluation import (
    Evaluation,
    Place,
    Points,
    Reportable,
    batches,
    gold_tensor,
    places,
    take_metrics,
)
from tagger.tools.reports.tagged_sentences import (
    RIGHT,
    Example,
    Segment,
    cut_into_segments,
    notes_on_labels,
    precision_recall_points,
    sample_errors,
)

#: The characters of a document that are shown.
MAX_CHARACTERS = 600


def evaluate_label_sets(
    model: Reportable, reader: DatasetReader, data: str, num_errors: int, seed: int
) -> Evaluation:
    """Runs a model that gives each token or document any number of labels over a file.

    Raises:
        ValueError: If the file holds nothing, or no gold labels.
    """
    is_tagger = isinstance(model, TaggingModel)
    field = "tags" if is_tagger else "labels"
    (decider,) = thresholds_of(model).values()
    labels = decider.labels
    thresholds = dict(zip(labels, decider.thresholds.tolist()))
    make_example: Callable[..., Example] = _example_of_tokens if is_tagger else _example_of_document
    counts, num_words, num_wrong = [], 0, 0
    kept: List[Tuple[np.ndarray, np.ndarray]] = []
    examples: List[Example] = []
    for instances, outputs in batches(model, reader, data, field):
        for instance, output in zip(instances, outputs):
            # (N, C) each; a text that is classified as a whole is one item
            gold = np.atleast_2d(gold_tensor(instance, field))
            of_items = output["probabilities"] if is_tagger else [output["probabilities"]]
            probabilities = np.array([list(item.values()) for item in of_items], dtype=np.float32)
            predicted_labels = output["labels"] if is_tagger else [output["labels"]]
            is_predicted = np.array([[c in item for c in labels] for item in predicted_labels])
            kept.append((probabilities, gold.astype(np.int8)))
            num_words += len(gold) if is_tagger else 0
            for place in places(instance, output, len(gold)):
                own = slice(place.start, place.end)
                items = gold[own], is_predicted[own], probabilities[own]
                counts.append(_count(*items[:2]))
                if ((items[0] >= 0) & (items[1] != (items[0] > 0))).any():
                    num_wrong += 1
                    examples.append(make_example(place, labels, *items))
    errors = [example.errors() for example in examples]
    metrics, confusions = take_metrics(model)
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


def _count(gold: np.ndarray, is_predicted: np.ndarray) -> np.ndarray:
    """Counts the labels of items, (N, C) each: (3, C) right, predicted and gold."""
    counted = (is_predicted & (gold > 0), is_predicted & (gold >= 0), gold > 0)
    return np.stack([each.sum(0) for each in counted])


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
    place: Place,
    labels: Sequence[str],
    gold: np.ndarray,
    is_predicted: np.ndarray,
    probabilities: np.ndarray,
) -> Example:
    notes = [
        notes_on_labels(labels, *columns) for columns in zip(gold, is_predicted, probabilities)
    ]
    wrong = [i for i, of_token in enumerate(notes) if any(n.verdict != RIGHT for n in of_token)]
    words = place.instance["metadata"]["words"][place.start : place.end]  # type: ignore[index]
    segments = cut_into_segments(words, [(i, i) for i in wrong], [notes[i] for i in wrong])
    return Example({"": segments})


def _example_of_document(
    place: Place,
    labels: Sequence[str],
    gold: np.ndarray,
    is_predicted: np.ndarray,
    probabilities: np.ndarray,
) -> Example:
    text = " ".join(place.instance["metadata"]["text"].split())  # type: ignore[index]
    if len(text) > MAX_CHARACTERS:
        text = f"{text[:MAX_CHARACTERS]} …"
    notes = notes_on_labels(labels, gold[0], is_predicted[0], probabilities[0])
    return Example({"": [Segment(text, [])], "labels": [Segment("", notes)]})
