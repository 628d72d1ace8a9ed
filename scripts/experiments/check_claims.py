"""Repeats the quick commands of docs/claims.tsv, and prints the figures that moved beyond their spread.

    scripts/check_claims.sh

A row with a `pattern` is quick: its first group finds the figure in what the command prints. The other
rows take hours or an idle machine; run their command and correct the row together with its page.
"""

import argparse
import csv
import re
import subprocess
from pathlib import Path
from typing import Dict, List

TABLE = Path(__file__).resolve().parents[2] / "docs/claims.tsv"


def rows_of(table: Path) -> List[Dict[str, str]]:
    """The rows of a table of claims."""
    with open(table, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def moved(row: Dict[str, str], printed: str) -> str:
    """How the figure of a row differs from what its command printed; empty if it does not."""
    found = re.search(row["pattern"], printed, re.MULTILINE)
    if not found:
        return "the command did not print it"
    value, new = float(row["value"]), float(found[1])
    return "" if abs(new - value) <= float(row["spread"]) + 1e-9 else f"{value:g} is now {new:g}"


def main() -> None:
    """Repeats the quick commands and prints the figures that moved."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument(
        "table", type=Path, nargs="?", default=TABLE, help="by default docs/claims.tsv"
    )
    quick = [row for row in rows_of(parser.parse_args().table) if row["pattern"]]
    printed, failures = {}, 0
    for row in quick:
        command = row["command"]
        if command not in printed:
            done = subprocess.run(
                ["bash", "-c", command],
                cwd=TABLE.parents[1],
                capture_output=True,
                text=True,
                check=False,
            )
            printed[command] = done.stdout
        difference = moved(row, printed[command])
        failures += bool(difference)
        if difference:
            print(f"{row['page']}: {row['claim']}: {difference}")
    print(f"{len(quick) - failures} of {len(quick)} quick claims hold")
    raise SystemExit(bool(failures))


if __name__ == "__main__":
    main()
