"""Prints the table of one or several implementations."""

import argparse
import importlib

from tagger.linear_chain.conformance import check_crf, table_of

#: Packages that are not named like their module.
PACKAGES = {
    "flash_semicrf": "flash-semicrf",
    "torchcrf": "pytorch-crf",
    "torch_struct": "torch-struct",
    "transformers_crf": "transformers-crf",
}


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
        try:
            adapter = getattr(importlib.import_module(module), function)()
        except ModuleNotFoundError as error:
            missing = str(error.name)
            parser.exit(
                1,
                f"{name} needs the module `{missing}`, which is not installed; run: "
                f"pip install {PACKAGES.get(missing, missing)}\n",
            )
        print(f"{adapter.name}\n{table_of(check_crf(adapter, args.problems, args.seed))}\n")


if __name__ == "__main__":
    main()
