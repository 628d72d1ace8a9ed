"""Prints the table of one or several implementations."""

import argparse
import importlib

from tagger.linear_chain.conformance import check_crf, table_of


def main() -> None:
    """Prints the table of one or several adapters."""
    parser = argparse.ArgumentParser(
        prog="python -m tagger.linear_chain.conformance", description=main.__doc__
    )
    parser.add_argument(
        "adapters",
        nargs="+",
        metavar="MODULE:FUNCTION",
        help="a function without arguments that returns an `Adapter`",
    )
    parser.add_argument("--problems", type=int, default=30, help="for each claim")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    for name in args.adapters:
        module, _, function = name.partition(":")
        adapter = getattr(importlib.import_module(module), function)()
        print(f"{adapter.name}\n{table_of(check_crf(adapter, args.problems, args.seed))}\n")


if __name__ == "__main__":
    main()
