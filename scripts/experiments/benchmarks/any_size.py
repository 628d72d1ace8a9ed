"""Measures the speed and memory of `predict-file` on plain, compressed and columnar files, and with Ray.

    python -m scripts.experiments.benchmarks.any_size model.tar.gz texts.txt

Each route predicts a file with several copies of the texts, and one twice as large. The difference
gives a speed without start-up time; memory should be equal. The routes take turns, so that other load
on the machine affects all of them.
"""

import argparse
import gzip
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Dict, List, Tuple

import pyarrow as pa
import pyarrow.parquet
from fsspec.compression import compr

#: How many copies of the texts the small file has, and how often each route is measured.
TIMES, RUNS = 2, 3
#: The suffix of the input, and the options.
ROUTES: Dict[str, Tuple[str, List[str]]] = {
    "plain": (".txt", []),
    "gz": (".txt.gz", []),
    "zst": (".txt.zst", []),
    "parquet": (".parquet", []),
    "plain, one worker of Ray": (".txt", ["--ray", "--workers", "1"]),
    "plain, two workers of Ray": (".txt", ["--ray", "--workers", "2"]),
}


def write(texts: List[str], times: int, path: Path) -> None:
    """Writes several copies of the texts in the format given by the path's suffix."""
    if path.suffix == ".parquet":
        table = pa.table({"text": texts})
        with pa.parquet.ParquetWriter(path, table.schema) as writer:
            for _ in range(times):
                writer.write_table(table, row_group_size=16384)
        return
    content = "".join(f"{text}\n" for text in texts).encode()
    opens: Dict[str, Any] = {".gz": gzip.open, ".zst": compr["zstd"]}
    with opens.get(path.suffix, open)(path, "wb") as file:
        for _ in range(times):
            file.write(content)


def run(archive: str, path: Path, options: List[str]) -> Tuple[float, float]:
    """Predicts a file; returns the seconds and the peak memory of the command itself in MB."""
    started = time.perf_counter()
    with open(os.devnull, "wb") as nowhere:
        process = subprocess.Popen(
            ["allennlp", "predict-file", archive, str(path), "-o", f"{path}.jsonl", *options],
            stdout=nowhere,
            stderr=subprocess.PIPE,
        )
        error = process.stderr.read() if process.stderr else b""
        _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        raise SystemExit(
            f"predict-file failed on {path} {' '.join(options)}: {error.decode()[-500:]}"
        )
    Path(f"{path}.jsonl").unlink()
    return time.perf_counter() - started, usage.ru_maxrss / 1000


def main() -> None:
    """Parses the arguments, measures, and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("archive")
    parser.add_argument("texts", type=Path, help="a file of texts, one a line")
    args = parser.parse_args()
    texts = args.texts.read_text(encoding="utf-8").splitlines()
    measured: Dict[Tuple[str, int], List[Tuple[float, float]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(RUNS):
            for name, (suffix, options) in ROUTES.items():
                for size in (1, 2):
                    path = Path(folder, f"{size}{suffix}")
                    if not path.exists():
                        write(texts, size * TIMES, path)
                    measured.setdefault((name, size), []).append(run(args.archive, path, options))
                    print(f"run {number + 1}: {name}, size {size}", file=sys.stderr)
    print(f"{'route':28}{'per second':>12}{'start, s':>10}{'MB':>8}{'MB, twice the size':>20}")
    for name in ROUTES:
        (small, memory), (large, more) = (map(min, zip(*measured[name, size])) for size in (1, 2))
        speed = len(texts) * TIMES / (large - small)
        print(f"{name:28}{speed:12.0f}{2 * small - large:10.1f}{memory:8.0f}{more:20.0f}")


if __name__ == "__main__":
    main()
