"""The report on a training run: how training went, and what the model gets right and wrong."""

import json
import math
from pathlib import Path
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple

import numpy as np
from allennlp.common.util import lazy_groups_of
from allennlp.models import load_archive
from allennlp.models.archival import Archive

from tagger.data.shown import bracketed, examples_of
from tagger.metrics import by_number_table, masking_table, numbers_of_labels_table
from tagger.metrics.calibration import expected_calibration_error
from tagger.models import ClassifyingModel, TaggingModel
from tagger.models.tagging_model import spell_model
from tagger.tools.reports.error_tables import (
    confusion_tables,
    fates,
    kinds_of_errors,
    together_table,
)
from tagger.tools.reports.evaluation import Evaluation, evaluate
from tagger.tools.reports.figures import (
    draw_epochs,
    draw_label_counts,
    draw_learning_curve,
    draw_precision_recall,
    draw_reliability,
)
from tagger.tools.reports.page import write_page
from tagger.tools.reports.run_facts import (
    metrics_on_text,
    overlap_with_training,
    read_as,
    run_facts,
)
from tagger.tools.reports.run_tables import (
    LEAST_GOLD,
    Measure,
    TableRow,
    average_rows,
    headline,
    label_rows,
    labels_by_frequency,
    sparkline,
    weighted_rows,
)
from tagger.tools.tuning.groups import Groups, told_groups
from tagger_texts.display import label_colours

#: The number of labels in a figure, and the most figures with labels.
LABELS_PER_FIGURE, MAX_FIGURES = 6, 4
#: The items that may have several labels, by kind of evaluation; of other kinds, sentences have them.
ITEMS = {"documents": "documents", "token labels": "tokens"}
#: The parts of the page that need more than a run.
_NOTHING_MORE: Dict[str, Any] = {"more_labels": []}
#: The number of sentences with errors that are shown at first.
NUM_OPEN = 6


def write_run_report(
    run: Path,
    path: Path,
    data: Optional[str] = None,
    figure_folder: Optional[Path] = None,
    num_errors: int = 100,
    seed: int = 0,
    learning_curve: Optional[Path] = None,
    agreement: Optional[Path] = None,
) -> None:
    """Writes the report, leaving out what does not apply to the model or the run.

    The run's folder must have a `sequence_tagger` or a `document_classifier` in `model.tar.gz`. The
    model is evaluated on `data`, by default the run's validation data; without either, the page only
    shows the training. `figure_folder`, if given, gets the figures as files. `learning_curve` and
    `agreement` are folders that `allennlp learning-curve` and `allennlp agreement` wrote.
    """
    archive = load_archive(run / "model.tar.gz")
    model = archive.model
    if not isinstance(model, (TaggingModel, ClassifyingModel)):
        raise ValueError(
            f"`run` must hold a `sequence_tagger` or a `document_classifier`; {run} holds "
            f"{spell_model(model)}"
        )
    config = archive.config.as_dict(quiet=True)
    validation_data = config.get("validation_data_path")
    data = data or validation_data
    epochs = read_epochs(run)
    evaluation, labels = None, []
    if data is not None:
        evaluation = evaluate(model, archive.validation_dataset_reader, data, num_errors, seed)
        labels = labels_by_frequency(evaluation.labels, evaluation.counts)
    on_text = metrics_on_text(run) if data == validation_data else {}
    colours = label_colours(labels)
    figures, contents = _epoch_figures(epochs, labels, colours), dict(_NOTHING_MORE)
    if evaluation is not None:
        figures.update(_probability_figures(evaluation, labels, colours))
        figures["label_counts"] = _label_counts_figure(evaluation, labels)
        contents.update(_contents(evaluation, archive, str(data), epochs, labels))
    contents.update(_of_other_commands(learning_curve, agreement, figures))
    num_parameters = sum(parameter.numel() for parameter in model.parameters())
    write_page(
        "run.html",
        path,
        figures,
        figure_folder,
        run=run.resolve().name,
        data=data,
        facts=run_facts(run, config, epochs, num_parameters),
        config=json.dumps(config, indent=2, ensure_ascii=False),
        evaluation=evaluation,
        f1_on_text=on_text.get("f1-measure-overall"),
        masks=masking_table(on_text),
        colours=colours,
        least_gold=LEAST_GOLD,
        num_open=NUM_OPEN,
        **contents,
    )


def _of_other_commands(
    learning_curve: Optional[Path], agreement: Optional[Path], figures: Dict[str, str]
) -> Dict[str, Any]:
    """Reads what `learning-curve` and `agreement` wrote; adds a figure of the curve."""
    contents: Dict[str, Any] = {"ceilings": {}}
    if learning_curve is not None:
        record = json.loads((learning_curve / "curve.json").read_text(encoding="utf-8"))
        figures["learning_curve"] = draw_learning_curve(record)
        contents["more_labels"] = record["says"]
    if agreement is not None:
        record = json.loads((agreement / "agreement.json").read_text(encoding="utf-8"))
        contents["ceilings"] = {each["label"]: Measure(**each["f1"]) for each in record["all"]}
    return contents


def read_epochs(run: Path) -> List[Dict[str, Any]]:
    """Returns the metrics of all epochs in a run's folder, in order."""
    epochs = [json.loads(file.read_text()) for file in run.glob("metrics_epoch_*.json")]
    return sorted(epochs, key=lambda metrics: metrics["epoch"])


def _curves(
    epochs: Sequence[Mapping[str, Any]], metrics: Mapping[str, str]
) -> Dict[str, List[float]]:
    """Returns metrics by epoch, NaN where an epoch lacks one, without metrics that all epochs lack."""
    curves = {
        name: [float(epoch.get(metric, math.nan)) for epoch in epochs]
        for name, metric in metrics.items()
    }
    return {name: values for name, values in curves.items() if not all(map(math.isnan, values))}


def _label_curves(
    epochs: Sequence[Mapping[str, Any]], labels: Sequence[str]
) -> Dict[str, List[float]]:
    """Returns F1 on the validation data by label and epoch, for the labels that have it."""
    level = _level(epochs[-1], "validation_") if epochs else ""
    return _curves(epochs, {label: f"validation_{level}f1-measure-{label}" for label in labels})


def _level(metrics: Mapping[str, Any], prefix: str = "") -> str:
    """Returns the prefix of metrics of labels, preferring spans to tokens."""
    return "" if f"{prefix}f1-measure-overall" in metrics else "token-"


def _epoch_figures(
    epochs: Sequence[Mapping[str, Any]], labels: Sequence[str], colours: Mapping[str, int]
) -> Dict[str, str]:
    if not epochs:
        return {}
    f1 = f"validation_{_level(epochs[-1], 'validation_')}f1-measure"
    averages = {"overall": f"{f1}-overall", "macro": f"{f1}-macro"}
    if len(labels) == 1:
        del averages["macro"]
    curves = {
        "loss": _curves(epochs, {"training": "training_loss", "validation": "validation_loss"}),
        "F1": _curves(epochs, averages),
    }
    best = epochs[-1].get("best_epoch")
    best_epoch = None if best is None else best + 1
    figures = {
        f"epochs_{title}": draw_epochs(each, title, best_epoch)
        for title, each in curves.items()
        if each
    }
    of_labels = _label_curves(epochs, labels)
    # The curve of a single label is the same as that of all labels.
    if of_labels and not (len(labels) == 1 and curves["F1"]):
        frequent = dict(list(of_labels.items())[:LABELS_PER_FIGURE])
        figures["epochs_labels"] = draw_epochs(frequent, "F1 of labels", best_epoch, colours)
    return figures


def _probability_figures(
    evaluation: Evaluation, labels: Sequence[str], colours: Mapping[str, int]
) -> Dict[str, str]:
    shown = [(label, evaluation.points[label]) for label in labels if label in evaluation.points]
    shown = shown[: LABELS_PER_FIGURE * MAX_FIGURES]
    figures = {
        f"precision_recall_{number}": draw_precision_recall(dict(of_figure), colours)
        for number, of_figure in enumerate(lazy_groups_of(shown, LABELS_PER_FIGURE), start=1)
    }
    if evaluation.calibration is not None:
        what = "entities" if evaluation.kind == "entities" else "labels"
        figures["reliability"] = draw_reliability(evaluation.calibration, what)
    return figures


def _label_counts_figure(evaluation: Evaluation, labels: Sequence[str]) -> str:
    right, _, gold = evaluation.counts.sum(axis=0)
    occurring = [c for c in map(evaluation.labels.index, labels) if gold[c]]
    what = f"gold {ITEMS.get(evaluation.kind, evaluation.kind)}"
    return draw_label_counts(gold[occurring].tolist(), (right[occurring] > 0).tolist(), what)


def _label_tables(evaluation: Evaluation, labels: Sequence[str], level: str) -> Dict[str, Any]:
    return {
        "confusions": confusion_tables(evaluation.confusions, labels),
        "numbers_of_labels": numbers_of_labels_table(evaluation.metrics, level),
        "by_number": by_number_table(evaluation.metrics),
        "together": together_table(
            evaluation.together, evaluation.labels, ITEMS.get(evaluation.kind, "sentences")
        ),
    }


def _rows_by_weight(evaluation: Evaluation, groups: Groups, num_labels: int) -> List[TableRow]:
    """Returns averages by the weights of sentences, if these differ."""
    weights = evaluation.weights
    if not weights.any() or (weights == weights[0]).all():
        return []
    num_gold = int(evaluation.counts[weights > 0, 2].sum())
    weighted = evaluation.counts * weights[:, np.newaxis, np.newaxis]
    return weighted_rows(groups.sums(weighted), num_gold, num_labels)


def _of_data(archive: Archive, data: str) -> Dict[str, Any]:
    """Returns the parts of the page about the data: how they were read, and what was in training."""
    texts = read_as(archive, data) or []
    return {
        "overlap": overlap_with_training(archive, data),
        "read": bracketed(texts),
        "label_examples": examples_of(texts),
    }


def _contents(
    evaluation: Evaluation,
    archive: Archive,
    data: str,
    epochs: Sequence[Mapping[str, Any]],
    labels: Sequence[str],
) -> Dict[str, Any]:
    """Returns the parts of the page about an evaluation, except for its figures."""
    # Intervals are over documents if the file marks them.
    groups = told_groups(archive.validation_dataset_reader, data, evaluation.num_sentences)
    counts = groups.sums(evaluation.counts).astype(int)
    metrics, level = evaluation.metrics, _level(evaluation.metrics)
    headings = headline(counts, metrics, level)
    thresholds, curves = evaluation.thresholds, _label_curves(epochs, labels)
    rows = label_rows(evaluation.labels, counts, thresholds, curves)
    kinds = kinds_of_errors(evaluation.kind, evaluation.labels, evaluation.confusions, counts)
    errors = [example.errors() for example in evaluation.examples]
    concerned = {label for each in errors for label, _ in each}
    options = {
        "labels": [label for label in labels if label in concerned],
        "kinds": sorted({kind for each in errors for _, kind in each}),
    }
    return {
        "groups": groups,
        **_of_data(archive, data),
        "headline": {
            name: each for name, each in headings.items() if len(labels) > 1 or "macro" not in name
        },
        "rows": rows,
        "sparklines": [sparkline(row.epochs) if row.epochs else {} for row in rows],
        "averages": average_rows(metrics, headings, level, len(labels))
        + _rows_by_weight(evaluation, groups, len(labels)),
        "others": {
            name: metrics[metric]
            for name, metric in (("accuracy", "accuracy"), ("Hamming loss", "hamming-loss"))
            if metric in metrics
        },
        **_label_tables(evaluation, labels, level),
        "kinds": kinds,
        "fates": fates(counts, kinds),
        "calibration_error": None
        if evaluation.calibration is None
        else f"{expected_calibration_error(evaluation.calibration):.3f}",
        "num_curves": min(len(evaluation.points), LABELS_PER_FIGURE * MAX_FIGURES),
        "options": options,
        "examples": [
            {
                "lines": example.lines,
                "codes": _codes(of_example, options),
                "surprise": round(example.surprise(), 3),
            }
            for example, of_example in zip(evaluation.examples, errors)
        ],
    }


def _codes(errors: Iterable[Tuple[str, str]], options: Mapping[str, List[str]]) -> str:
    """Returns an example's errors for the filter: pairs of a label's and a kind's index."""
    pairs = [
        (options["labels"].index(label), options["kinds"].index(kind)) for label, kind in errors
    ]
    return " ".join(f"{label}:{kind}" for label, kind in sorted(pairs))
