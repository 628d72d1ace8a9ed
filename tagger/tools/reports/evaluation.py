"""What the report on a training run keeps of an evaluation, and what makes it.

Letters: `S` sentences or documents, `C` labels, `R` bins.
"""

from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Tuple, Union

import numpy as np
from allennlp.common.tqdm import Tqdm
from allennlp.common.util import lazy_groups_of
from allennlp.data import DatasetReader, Instance

from tagger.models import DocumentClassifier, TaggingModel
from tagger.tools.reports.tagged_sentences import Example

BATCH_SIZE = 64

#: Models that a report can be made of.
Reportable = Union[TaggingModel, DocumentClassifier]
#: Precision and recall at falling thresholds, and those of the model, which a mark shows.
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


class Place(NamedTuple):
    """Where a sentence lies: the tokens from `start` to before `end` of an instance."""

    instance: Instance
    start: int
    end: int


def places(instance: Instance, output: Mapping[str, Any], num_tokens: int) -> Iterator[Place]:
    """Yields the sentences of an instance, which may be a document."""
    start = 0
    for length in output.get("sentence_lengths", [num_tokens]):
        yield Place(instance, start, start + length)
        start += length


def batches(
    model: Reportable, reader: DatasetReader, data: str, field: str
) -> Iterator[Tuple[List[Instance], List[Dict[str, Any]]]]:
    """Yields the instances of a file with the model's output on them.

    Raises:
        ValueError: If the file holds nothing, or no gold tags or labels.
    """
    read = list(reader.read(data))
    if not read:
        raise ValueError(f"`data` must have sentences; {data} has none")
    with Tqdm.tqdm(total=len(read), desc="evaluating") as progress:
        for instances in lazy_groups_of(read, BATCH_SIZE):
            for instance in instances:
                if field not in instance.fields:
                    raise ValueError(f"`data` must have gold {field}; {data} has none")
            yield instances, model.forward_on_instances(instances)
            progress.update(len(instances))


def take_metrics(model: Reportable) -> Tuple[Dict[str, float], Dict[str, int]]:
    """Returns metrics and confusions of what the model has seen, and forgets it."""
    # The metrics reset the counts of the confusions too.
    confusions = model.get_confusions()
    return model.get_all_metrics(reset=True), confusions


def gold_tensor(instance: Instance, field: str) -> np.ndarray:
    """Returns the indices of an instance's gold tags, or its gold labels, without padding."""
    gold = instance.fields[field]
    return gold.as_tensor(gold.get_padding_lengths()).numpy()
