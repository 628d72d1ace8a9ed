"""Prints the tables of scores of a file of metrics that AllenNLP wrote.

Usage: python scripts/show_scores.py metrics.json
"""

import argparse
import json
from pathlib import Path

from tagger.metrics import best_scores, format_scores


def main() -> None:
    """Reads the file named on the command line; of a training run the best epoch's scores count."""
    parser = argparse.ArgumentParser(description="Print tables of scores.")
    parser.add_argument("metrics", type=Path, help="metrics.json, or the output of `evaluate`")
    path = parser.parse_args().metrics
    metrics = json.loads(path.read_text())
    table = format_scores(best_scores(metrics) or metrics)
    if not table:
        parser.error(
            f"`{path}` holds no scores by label, such as `precision-overall`, but {', '.join(metrics)}"
        )
    print(table)


if __name__ == "__main__":
    main()
