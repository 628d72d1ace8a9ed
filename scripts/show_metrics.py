"""Prints tables of the metrics in a file that AllenNLP wrote.

Usage: python scripts/show_metrics.py metrics.json
"""

import argparse
import json
from pathlib import Path

from tagger.metrics import best_metrics, format_metrics


def main() -> None:
    """Reads the file named on the command line; in a training run's file, the best epoch's metrics."""
    parser = argparse.ArgumentParser(description="Print tables of metrics.")
    parser.add_argument("metrics", type=Path, help="metrics.json, or the output of `evaluate`")
    path = parser.parse_args().metrics
    metrics = json.loads(path.read_text())
    table = format_metrics(best_metrics(metrics) or metrics)
    if not table:
        parser.error(
            f"`{path}` holds no metrics by label, such as `precision-overall`, but {', '.join(metrics)}"
        )
    print(table)


if __name__ == "__main__":
    main()
