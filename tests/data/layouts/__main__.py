"""Counts files of random layouts that are read rightly: `python -m tests.data.layouts --count 10000`."""

import argparse
import contextlib
import logging
import tempfile
from collections import Counter, defaultdict
from pathlib import Path
from random import Random

from tests.data.layouts.columns import column_case
from tests.data.layouts.exports import export_case
from tests.data.layouts.outcomes import NAMES, outcome_of
from tests.data.layouts.records import span_case, token_case
from tests.data.layouts.treebanks import conllu_case

MAKERS = {
    "columns": column_case,
    "spans": span_case,
    "tokens": token_case,
    "conllu": conllu_case,
    "exports": export_case,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", type=int, default=5)
    parser.add_argument("--makers", nargs="*", default=list(MAKERS))
    args = parser.parse_args()
    logging.disable(logging.CRITICAL)
    counts, shown = defaultdict(Counter), Counter()
    # Ctrl-C shows what was counted so far.
    with tempfile.TemporaryDirectory() as folder, contextlib.suppress(KeyboardInterrupt):
        for number in range(args.count):
            rng = Random(f"{args.seed} {number}")
            case = MAKERS[args.makers[number % len(args.makers)]](rng)
            found = outcome_of(case, Path(folder))
            counts[case.kind][found.name] += 1
            is_expected = found.name == "refused" and case.refusal is not None
            wanted = found.name != "right" and not is_expected
            if wanted and shown[found.name] < args.show:
                shown[found.name] += 1
                print(f"{number}: {found.name}: {found.said[:420]}\n    {case.traits}")
    counts = dict(sorted(counts.items()))
    counts["all"] = sum(counts.values(), Counter())
    print(f"{'':34}", *(f"{name:>17}" for name in NAMES))
    for kind, each in counts.items():
        print(f"{kind:34}", *(f"{each[name]:17,}" for name in NAMES))


if __name__ == "__main__":
    main()
