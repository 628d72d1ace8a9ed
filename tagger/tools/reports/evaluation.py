"""Evaluates a model on a file, for the report on a training run.

Letters: `S` sentences or documents, `C` labels, `R` bins.
"""

from typing import Dict, List, NamedTuple, Optional, Tuple, Union

import numpy as np
from allennlp.common.tqdm import Tqdm
from allennlp.common.util import lazy_groups_of
from allennlp.data import DatasetReader

from tagger.common.training_counts import WEIGHTS
from tagger.metrics.calibration import count_calibration
from tagger.models import ClassifyingModel, TaggingModel
from tagger.tools.reports.chains_evaluator import ChainsEvaluator
from tagger.tools.reports.evaluators import BATCH_SIZE, LabelEvaluator, Result, TagEvaluator
from tagger.tools.reports.tagged_sentences import Example, precision_recall_points, sample_errors

#: Precision and recall at falling thresholds, and those of the model itself, drawn as a mark.
Points = Tuple[np.ndarray, np.ndarray, Tuple[float, float]]


class Evaluation(NamedTuple):
    """The results of a model on a file."""

    kind: str  # The items counted: `entities`, `tokens` (plain tags), `token labels` or `documents`
    num_sentences: int  # S
    num_words: int  # The number of tokens; 0 for documents
    # The number of sentences, with or without errors, that can be shown: those without unknown tags.
    num_shown: int
    labels: List[str]  # The C labels
    counts: np.ndarray  # (S, 3, C) int64, true positives, predicted and gold of each sentence
    weights: np.ndarray  # (S,), the weight of each sentence; 1 unless the file gives weights
    # (C, C) int64, how many items have both labels: documents, tokens that may have several labels, or
    # otherwise sentences.
    together: np.ndarray
    metrics: Dict[str, float]  # The model's metrics by name
    confusions: Dict[str, int]  # The model's confusions by name; may be empty
    points: Dict[str, Points]  # Precision and recall by label, for labels with probabilities
    # (3, R), as returned by `count_calibration`; None without probabilities.
    calibration: Optional[np.ndarray]
    thresholds: Dict[str, float]  # The threshold of each label, if any
    num_wrong: int  # The number of sentences with an error
    examples: List[Example]  # Some of them


def evaluate(
    model: Union[TaggingModel, ClassifyingModel],
    reader: DatasetReader,
    data: str,
    num_errors: int,
    seed: int,
) -> Evaluation:
    """Runs a model over a file with gold tags or labels, and samples `num_errors` examples."""
    model.eval()
    evaluator: Union[TagEvaluator, LabelEvaluator]
    if isinstance(model, TaggingModel) and model.head.describe().overlaps:
        evaluator = ChainsEvaluator(model)
    elif isinstance(model, TaggingModel) and not model.head.describe().has_label_sets:
        evaluator = TagEvaluator(model)
    else:
        evaluator = LabelEvaluator(model)
    results, weights = _results(evaluator, reader, data)
    # Must come first, because reading the metrics also resets the confusions.
    confusions = model.get_confusions()
    metrics = model.get_all_metrics(reset=True)
    points, calibration = _of_probabilities(evaluator.labels, results)
    wrong = [result for result in results if result.errors]
    drawn = sample_errors([result.errors for result in wrong], num_errors, seed)
    counts = np.stack([result.counts for result in results])
    has_label = counts[:, 2].astype(bool)
    return Evaluation(
        kind=evaluator.kind,
        num_sentences=len(results),
        num_words=sum(result.num_words for result in results),
        num_shown=sum(result.is_shown for result in results),
        labels=evaluator.labels,
        counts=counts,
        weights=weights,
        together=evaluator.together
        if isinstance(evaluator, LabelEvaluator)
        else has_label.T.astype(np.int64) @ has_label,
        metrics=metrics,
        confusions=confusions,
        points=points,
        calibration=calibration,
        thresholds=evaluator.thresholds,
        num_wrong=len(wrong),
        examples=evaluator.examples([wrong[i].example for i in drawn]),
    )


def _results(
    evaluator: Union[TagEvaluator, LabelEvaluator], reader: DatasetReader, data: str
) -> Tuple[List[Result], np.ndarray]:
    """Returns the result of each sentence, and its weight, (S,)."""
    instances = list(reader.read(data))
    if not instances:
        raise ValueError(f"`data` must have sentences; {data} has none")
    if not all(evaluator.field in instance.fields for instance in instances):
        raise ValueError(f"`data` must have gold {evaluator.field}; {data} has none")
    results: List[Result] = []
    weights: List[float] = []
    with Tqdm.tqdm(total=len(instances), desc="evaluating") as progress:
        for group in lazy_groups_of(instances, BATCH_SIZE):
            for instance, found in zip(group, evaluator.model.predict_instances(group)):
                of_instance = list(evaluator.results(instance, found))
                given = instance.fields.get(WEIGHTS)
                weights += [1.0] * len(of_instance) if given is None else given.tensor.tolist()  # type: ignore[attr-defined]
                results += of_instance
            progress.update(len(group))
    return results, np.array(weights)


def _of_probabilities(
    labels: List[str], results: List[Result]
) -> Tuple[Dict[str, Points], Optional[np.ndarray]]:
    """Returns points for all gold labels with probabilities, and the calibration."""
    items, probabilities, is_right, is_predicted = (
        np.concatenate(column) for column in zip(*(result.items for result in results))
    )
    if not len(items):
        return {}, None
    # Sentences that cannot be shown have no items.
    num_gold = np.sum([result.counts[2] for result in results if result.is_shown], axis=0)
    points: Dict[str, Points] = {}
    for c, label in enumerate(labels):
        of_label = items == c
        if not (num_gold[c] and of_label.any()):
            continue
        right, predicted = is_right[of_label], is_predicted[of_label]
        curves = precision_recall_points(probabilities[of_label], right, num_gold[c])
        num_right = (right & predicted).sum()
        # If nothing is predicted, the point is at the start of the curve.
        precision = num_right / predicted.sum() if predicted.any() else curves[0][0]
        points[label] = *curves, (precision, num_right / num_gold[c])
    return points, count_calibration(probabilities, is_right)
