"""Prints precision, recall and F1 by label from a file of metrics that AllenNLP wrote.

Usage: python scripts/show_scores.py metrics.json
"""

import argparse
import json
from pathlib import Path
from typing import Dict, List

from tagger.metrics import format_span_table

MEASURES = ("precision", "recall", "f1-measure")


def scores_of(metrics: Dict[str, float]) -> Dict[str, List[float]]:
    """Returns precision, recall and F1 by label, the averages last.

    Args:
        metrics: scores as `SpanScores` names them, among others; of a training run's, those of its best
            epoch on the validation data count.

    Raises:
        ValueError: if there are no span scores among the metrics.
    """
    prefix = "best_validation_" if any(name.startswith("best_") for name in metrics) else ""
    stem = f"{prefix}{MEASURES[0]}-"
    labels = [name[len(stem) :] for name in metrics if name.startswith(stem)]
    if not labels:
        raise ValueError(
            f"`metrics` holds no scores of spans, such as `{stem}overall`, but {', '.join(metrics)}"
        )
    return {
        label: [metrics[f"{prefix}{measure}-{label}"] for measure in MEASURES] for label in labels
    }


def main() -> None:
    """Reads the file named on the command line."""
    parser = argparse.ArgumentParser(description="Print span scores by label.")
    parser.add_argument("metrics", type=Path, help="metrics.json, or the output of `evaluate`")
    metrics = json.loads(parser.parse_args().metrics.read_text())
    print(format_span_table(scores_of(metrics)))


if __name__ == "__main__":
    main()
