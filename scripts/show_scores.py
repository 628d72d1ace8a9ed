"""Prints precision, recall and F1 by label from a file of metrics that AllenNLP wrote.

Usage: python scripts/show_scores.py metrics.json
"""

import argparse
import json
from pathlib import Path
from typing import Dict

MEASURES = ("precision", "recall", "f1-measure")


def format_scores(metrics: Dict[str, float]) -> str:
    """Returns a table, one line for each label, the averages last.

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
    labels.sort(key=lambda label: (label in ("overall", "macro"), label == "macro", label))
    width = max(map(len, labels))
    rows = [f"{'':{width}}  precision  recall      F1"]
    for label in labels:
        precision, recall, f1 = (metrics[f"{prefix}{measure}-{label}"] for measure in MEASURES)
        rows.append(f"{label:{width}}  {precision:9.4f}  {recall:.4f}  {f1:.4f}")
    return "\n".join(rows)


def main() -> None:
    """Reads the file named on the command line."""
    parser = argparse.ArgumentParser(description="Print span scores by label.")
    parser.add_argument("metrics", type=Path, help="metrics.json, or the output of `evaluate`")
    print(format_scores(json.loads(parser.parse_args().metrics.read_text())))


if __name__ == "__main__":
    main()
