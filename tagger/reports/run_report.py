"""The report on a training run: how training went, and what the model gets right and wrong."""

import json
from collections import Counter
from pathlib import Path
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

import numpy as np
from allennlp.common.util import lazy_groups_of
from allennlp.data import Instance
from allennlp.models import load_archive

from tagger.metrics import metrics_tables
from tagger.metrics.calibration import count_calibration, expected_calibration_error
from tagger.models import SequenceTagger
from tagger.reports.figures import draw_epochs, draw_precision_recall, draw_reliability
from tagger.reports.page import write_page
from tagger.reports.tagged_sentences import (
    Segment,
    TaggedSentence,
    cut_into_segments,
    judge,
    precision_recall_points,
    sample_errors,
)
from tagger.spans import tags_to_spans

BATCH_SIZE = 64


class Judged(NamedTuple):
    """A predicted span's label and probability, and whether the span is right."""

    label: str
    probability: float
    is_right: bool


def write_run_report(
    run: Path,
    path: Path,
    data: Optional[str] = None,
    figure_folder: Optional[Path] = None,
    num_errors: int = 20,
    seed: int = 0,
) -> None:
    """Writes the report. It leaves out what does not apply to the model or to the run.

    Args:
        run: The training run's folder, with a `sequence_tagger` in `model.tar.gz`.
        path: The page's file.
        data: The file to evaluate the model on; the run's validation data by default.
        figure_folder: If given, the folder that gets the figures as files.
        num_errors: How many sentences with errors to show.
        seed: The seed for drawing these sentences.

    Raises:
        ValueError: If the model is no `sequence_tagger`, or there is no data to evaluate it on.
    """
    archive = load_archive(run / "model.tar.gz")
    model, reader = archive.model, archive.validation_dataset_reader
    if not isinstance(model, SequenceTagger):
        raise ValueError(
            f"`run` must hold a `sequence_tagger`; {run} holds a `{type(model).__name__}`"
        )
    data = data or archive.config.get("validation_data_path")
    if data is None:
        raise ValueError(f"`data` must name a file, because {run} has no validation data")
    model.eval()
    sentences: List[TaggedSentence] = []
    num_sentences = 0
    for instances in lazy_groups_of(reader.read(data), BATCH_SIZE):
        num_sentences += len(instances)
        outputs = model.forward_on_instances(instances)
        if model.tag_encoding is not None:
            sentences += _tagged_sentences(instances, outputs, set(model.tags), model.tag_encoding)
    # The model has counted its predictions. Get the confusions first: the metrics reset the counts.
    confusions = model.get_confusions()
    metrics = model.get_all_metrics(reset=True)
    epochs = read_epochs(run)
    figures = {}
    if epochs:
        figures["epochs"] = draw_epochs(_epoch_panels(epochs), epochs[-1].get("best_epoch"))
    judged = _judge_all(sentences)
    counts = count_calibration(*_columns(judged))
    if judged:
        figures["precision_recall"] = draw_precision_recall(_precision_recall(sentences, judged))
        figures["reliability"] = draw_reliability(counts)
    write_page(
        "run.html",
        path,
        figures,
        figure_folder,
        run=run.resolve().name,
        data=data,
        num_sentences=num_sentences,
        num_tagged=len(sentences),
        has_spans=model.tag_encoding is not None,
        tables=metrics_tables({**metrics, **confusions}),
        calibration_error=f"{expected_calibration_error(counts):.3f}",
        num_wrong=sum(sentence.gold != sentence.predicted for sentence in sentences),
        errors=[_segments(each) for each in sample_errors(sentences, num_errors, seed)],
    )


def read_epochs(run: Path) -> List[Dict[str, Any]]:
    """Returns the metrics of all epochs in a run's folder, in order."""
    epochs = [json.loads(file.read_text()) for file in run.glob("metrics_epoch_*.json")]
    return sorted(epochs, key=lambda metrics: metrics["epoch"])


def _epoch_panels(epochs: Sequence[Mapping[str, Any]]) -> Dict[str, Dict[str, List[float]]]:
    """Returns the curves of loss and F1 that the run has, by title and name."""
    level = "" if "validation_f1-measure-overall" in epochs[0] else "token-"
    panels = {
        "loss": {"training": "training_loss", "validation": "validation_loss"},
        "F1": {
            "overall": f"validation_{level}f1-measure-overall",
            "macro": f"validation_{level}f1-measure-macro",
        },
    }
    curves = {
        title: {
            name: [epoch[metric] for epoch in epochs]
            for name, metric in metrics.items()
            if metric in epochs[0]
        }
        for title, metrics in panels.items()
    }
    return {title: of_title for title, of_title in curves.items() if of_title}


def _tagged_sentences(
    instances: Sequence[Instance],
    outputs: Sequence[Mapping[str, Any]],
    known_tags: Set[str],
    tag_encoding: str,
) -> Iterator[TaggedSentence]:
    """Yields the sentences whose gold tags are all known."""
    for instance, output in zip(instances, outputs):
        tags = instance["tags"].labels  # type: ignore[attr-defined]
        if not known_tags.issuperset(tags):
            continue
        yield TaggedSentence(
            output["words"],
            tags_to_spans(tags, tag_encoding),
            tags_to_spans(output["tags"], tag_encoding),
            output.get("entity_probabilities", []),
        )


def _judge_all(sentences: Sequence[TaggedSentence]) -> List[Judged]:
    """Returns all predicted spans that have a probability."""
    return [
        Judged(span[0], probability, span in sentence.gold)
        for sentence in sentences
        for span, probability in zip(sentence.predicted, sentence.probabilities)
    ]


def _precision_recall(
    sentences: Sequence[TaggedSentence], judged: Sequence[Judged]
) -> Dict[str, Tuple[np.ndarray, np.ndarray]]:
    """Returns points by label, for labels that are both in the gold and in the predicted spans."""
    num_gold = Counter(label for sentence in sentences for label, _ in sentence.gold)
    return {
        label: precision_recall_points(
            *_columns([each for each in judged if each.label == label]), num_gold[label]
        )
        for label in sorted({each.label for each in judged} & set(num_gold))
    }


def _columns(judged: Sequence[Judged]) -> Tuple[np.ndarray, np.ndarray]:
    """Returns all probabilities, and whether each span is right, as arrays."""
    return np.array([each.probability for each in judged]), np.array(
        [each.is_right for each in judged]
    )


def _segments(sentence: TaggedSentence) -> Dict[str, List[Segment]]:
    words, gold, predicted, _ = sentence
    return {
        "gold": cut_into_segments(words, gold, judge(gold, predicted, "missed")),
        "predicted": cut_into_segments(words, predicted, judge(predicted, gold, "spurious")),
    }
