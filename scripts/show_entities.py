"""Prints the entities in a file of predictions.

Usage: python scripts/show_entities.py predictions.jsonl
"""

import argparse
import json
from pathlib import Path


def main() -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description="Print predicted entities.")
    parser.add_argument("predictions", type=Path, help="the --output-file of `allennlp predict`")
    for line in parser.parse_args().predictions.read_text(encoding="utf-8").splitlines():
        prediction = json.loads(line)
        print(prediction["text"])
        width = max((len(entity["label"]) for entity in prediction["entities"]), default=0)
        for entity in prediction["entities"]:
            print(f"    {entity['label']:{width}}  {entity['text']}")


if __name__ == "__main__":
    main()
