"""Shows the table of docs/reference/errors.md, or writes it."""

import argparse
import sys
import tempfile
from contextlib import closing
from pathlib import Path

from tests.system.malformed_inputs import CASES
from tests.system.malformed_inputs.trial import prepare, table_row, try_case, write_page
from tests.warm_python import WarmPython


def main() -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the table into the page")
    parser.add_argument("--only", default="", help="cases whose command or title has this word")
    args = parser.parse_args()
    if args.write and args.only:
        parser.error("--write needs all cases")
    cases = [case for case in CASES if args.only in f"{case.command} {case.title}"]
    rows, num_wrong = [], 0
    with tempfile.TemporaryDirectory() as name, closing(WarmPython(Path(name))) as python:
        sys.executable = str(python.executable)
        prepared = Path(name, "prepared")
        prepared.mkdir()
        prepare(prepared)
        for number, case in enumerate(cases):
            folder = Path(name, str(number))
            outcome, problems = try_case(case, prepared, folder)
            rows.append(table_row(case, outcome, folder))
            print(rows[-1], *(f"    WRONG: {each}" for each in problems), sep="\n", flush=True)
            num_wrong += bool(problems)
    if num_wrong:
        sys.exit(f"{num_wrong} of {len(rows)} cases went wrong")
    if args.write:
        write_page(rows)


if __name__ == "__main__":
    main()
