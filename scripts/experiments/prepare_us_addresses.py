#!/usr/bin/env python
"""Fetches the labelled US addresses of the package `usaddress` and writes them as column files.

    python scripts/experiments/prepare_us_addresses.py [--target FOLDER] [--from ARCHIVE]

Writes `train.txt`, `dev.txt` and `test.txt`: a token and its BIO tag on each line, a blank line after
each address. Tokens are as in the corpus, so `Chicago,` keeps its comma. The corpus labels individual
tokens; consecutive tokens with the same label are written as one span.
"""

import argparse
import hashlib
import re
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from pathlib import Path
from typing import Dict, List, Optional, Sequence, Tuple
from xml.etree import ElementTree

PACKAGE = "usaddress==0.5.16"
ARCHIVE_SHA256 = "f7e614e2489c159cf85be1b6f86edbfaf329dbeedef4d002a025757afd1ec6c6"
CORPUS = "usaddress-0.5.16/training/labeled.xml"
FILE_SHA256 = {
    "train.txt": "2da34bb9e7bb66987def474fb5f7c1933c5af4751ddc8878d91d3cb09514568e",
    "dev.txt": "8c8f95a103c7284baefde7c19518f1aec05860ddee3342ef1af463a9582eb8ce",
    "test.txt": "17b67f22d51d7e747e7ab98b1ba65e6f2d42af2354909e89047fa8d1d0484ca0",
}
TARGET = Path(__file__).resolve().parents[2] / "data" / "us_addresses"

Address = List[Tuple[str, str]]  # tokens and their labels


def main(arguments: Optional[Sequence[str]] = None) -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--target", type=Path, default=TARGET, metavar="FOLDER")
    parser.add_argument(
        "--from", dest="archive", type=Path, metavar="ARCHIVE", help="a copy, for use offline"
    )
    options = parser.parse_args(arguments)
    target = options.target
    if all(has_digest(target / name, digest) for name, digest in FILE_SHA256.items()):
        print(f"{', '.join(FILE_SHA256)} are in {target} already")
        return
    with tempfile.TemporaryDirectory() as folder:
        archive = options.archive or download(Path(folder))
        check_archive(archive)
        splits = split_addresses(read_addresses(archive))
    target.mkdir(parents=True, exist_ok=True)
    for name, addresses in splits.items():
        (target / name).write_bytes("\n".join(map(to_columns, addresses)).encode())
    print(f"Wrote {', '.join(splits)} to {target}", end="\n\n")
    print(summarize(splits))


def has_digest(path: Path, digest: str) -> bool:
    """Whether there is a file with this SHA-256."""
    return path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == digest


def download(folder: Path) -> Path:
    """Fetches the source distribution with pip and returns its path."""
    # pip runs the package's build backend even for a download; with a hash, it checks the file first.
    requirements = folder / "requirements.txt"
    requirements.write_text(f"{PACKAGE} --hash=sha256:{ARCHIVE_SHA256}\n", encoding="utf-8")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--dest", str(folder)]
    command += ["--disable-pip-version-check"]
    command += ["--no-deps", "--no-binary", "usaddress", "--requirement", str(requirements)]
    print(f"Fetching the source distribution of {PACKAGE} with pip", flush=True)
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        print(done.stderr, file=sys.stderr)
        raise SystemExit(
            f"pip could not fetch `{PACKAGE}`, for the reason above; without network, run "
            f"`pip download --no-deps --no-binary usaddress {PACKAGE}` elsewhere and pass the archive "
            "with `--from`"
        )
    return next(folder.glob("*.tar.gz"))


def check_archive(archive: Path) -> None:
    """Checks that the archive is the expected one."""
    if not archive.is_file():
        raise SystemExit(f"{archive}: expected the source distribution of {PACKAGE}, got no file")
    if not has_digest(archive, ARCHIVE_SHA256):
        raise SystemExit(
            f"{archive}: expected the source distribution of {PACKAGE}, got another file (its SHA-256 "
            f"is not {ARCHIVE_SHA256}); fetch it again"
        )


def read_addresses(archive: Path) -> List[Address]:
    """Returns the labelled addresses of the archive, in order."""
    with tarfile.open(archive) as files:
        corpus = files.extractfile(CORPUS)
        assert corpus is not None, f"{CORPUS} is a file in the archive of this checksum"
        root = ElementTree.parse(corpus).getroot()
    return [[((token.text or "").strip(), token.tag) for token in address] for address in root]


def split_addresses(addresses: Sequence[Address]) -> Dict[str, List[Address]]:
    """Splits the addresses into about 70, 10 and 20 percent for training, development and test.

    The part only depends on a hash of an address's letters and digits in lower case. So the split is
    the same everywhere, and duplicates stay together even if their punctuation differs.

    Example:
        >>> address = [("12", "AddressNumber"), ("Oak", "StreetName"), ("St.", "StreetNamePostType")]
        >>> {name: len(part) for name, part in split_addresses([address] * 2).items()}
        {'train.txt': 2, 'dev.txt': 0, 'test.txt': 0}
    """
    splits: Dict[str, List[Address]] = {"train.txt": [], "dev.txt": [], "test.txt": []}
    for address in addresses:
        letters = re.sub(r"[\W_]+", "", "".join(token for token, _ in address).lower())
        percentile = int(hashlib.sha256(letters.encode()).hexdigest(), 16) % 100
        name = "train.txt" if percentile < 70 else "dev.txt" if percentile < 80 else "test.txt"
        splits[name].append(address)
    return splits


def to_columns(address: Address) -> str:
    r"""Formats an address as lines of a column file.

    Example:
        >>> to_columns([("12", "AddressNumber"), ("Oak", "StreetName"), ("Hill", "StreetName")])
        '12 B-AddressNumber\nOak B-StreetName\nHill I-StreetName\n'
    """
    previous_labels = [None, *(label for _, label in address)]
    return "".join(
        f"{token} {'I' if label == previous else 'B'}-{label}\n"
        for (token, label), previous in zip(address, previous_labels)
    )


def summarize(splits: Dict[str, List[Address]]) -> str:
    """Returns a table of the numbers of addresses, tokens, and spans by label in each split."""
    rows = [("addresses", [len(addresses) for addresses in splits.values()])]
    rows.append(("tokens", [sum(map(len, addresses)) for addresses in splits.values()]))
    counts = [
        Counter(re.findall(" B-(.*)", "".join(map(to_columns, addresses))))
        for addresses in splits.values()
    ]
    rows.append(("spans", [sum(count.values()) for count in counts]))
    rows += [
        (f"  {label}", [count[label] for count in counts])
        for label, _ in sum(counts, Counter()).most_common()
    ]
    lines = [f"{'':28}" + "".join(f"{name:>10}" for name in [*splits, "all"])]
    lines += [
        f"{name:28}" + "".join(f"{number:>10}" for number in [*numbers, sum(numbers)])
        for name, numbers in rows
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
