"""Packs what `scripts/check_gpu.sh` needs on a machine with PyTorch for its GPU but without a network.

Run, in this project's environment on a machine with a network:

    python scripts/pack_site.py [--python 3.12] [--have FILE] [--transformer data/all-MiniLM-L6-v2]
        [--data data/conll2003 data/reuters data/glove]

It writes `gpu/site.tar.xz`, some 19 MB, with the Python packages in the versions installed here. It
leaves out those that such a machine already has: torch, triton, transformers, numba, scikit-learn,
matplotlib, h5py, pytest and their dependencies. `--have` replaces this list by a file written there by
`python3 -m pip freeze`. `--python` is the Python version there. `--transformer` also writes
`gpu/transformer.tar.xz`, a transformer's folder with weights in half precision. `--data` writes
`gpu/data.tar.xz`, with only those word vectors that belong to words in the other files.

Copy the checkout there, including `gpu`. `scripts/check_gpu.sh` finds the archives and unpacks the
packages below `gpu` and everything else into `data`.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import zipfile
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path
from typing import Dict, Iterable, List, Optional, Sequence, Set

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from tqdm import tqdm

from tagger.common.files import write_atomically

ROOT = Path(__file__).parent.parent
# AllenNLP is installed without its pins; our own requirements cover what it imports.
NEEDED = ("allennlp-tagger", "allennlp", "seqeval")
# AllenNLP's tagger, to compare ours with. It is not in the environment, see scripts/install.sh.
COMPARED = "allennlp-models==2.10.1"
EXPECTED = (
    *("torch", "triton", "transformers", "numba", "scikit-learn", "matplotlib", "h5py"),
    *("pytest", "setuptools", "pip"),
)
# Only recent versions of transformers bring it, and spaCy cannot do without it.
NOT_EXPECTED = ("pydantic", "pydantic-core", "annotated-types", "typing-inspection")
PLATFORMS = [f"manylinux_2_{minor}_x86_64" for minor in (28, 27, 24, 17, 12, 5)] + [
    f"manylinux{year}_x86_64" for year in ("2014", "2010", "1")
]
# Data that our code never reads.
UNUSED = ("spacy/tests", "thinc/tests", "botocore/data/*")
USED = ("botocore/data/s3",)
SOURCES = (".pyx", ".c", ".cc", ".cpp", ".hh")
# Python runs this file at start-up, like the `.pth` files of an environment.
SITECUSTOMIZE = "import tagger_compat; tagger_compat.install()\n"


def requirements_of(names: Iterable[str]) -> Dict[str, str]:
    """Returns the installed packages with these names and all their dependencies, with versions."""
    found: Dict[str, str] = {}
    queue = [canonicalize_name(name) for name in names]
    while queue:
        name = queue.pop()
        if name in found:
            continue
        try:
            package = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue
        found[name] = package.version
        if name == "allennlp":
            continue  # Its pins name packages that nothing imports.
        for text in package.requires or ():
            requirement = Requirement(text)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                queue.append(canonicalize_name(requirement.name))
    return found


def frozen_names(path: Path) -> Set[str]:
    """Returns the names in a file written by `pip freeze`."""
    lines = (line.strip() for line in path.read_text().splitlines())
    return {
        canonicalize_name(re.split(r"[=@<>~! \[;]", line)[0])
        for line in lines
        if line and not line.startswith(("#", "-"))
    }


def download(pins: Sequence[str], python: str, folder: Path) -> None:
    """Downloads wheels for `name==version` pins, and builds those only available as source."""
    pip = [sys.executable, "-m", "pip"]
    target = ["--only-binary=:all:", "--python-version", python, "--implementation", "cp"]
    for platform in PLATFORMS:
        target += ["--platform", platform]

    def fetch(pin: str) -> None:
        command = [*pip, "download", "-q", "--no-deps", *target, "-d", str(folder), pin]
        if subprocess.run(command, capture_output=True, check=False).returncode:
            built = [*pip, "wheel", "-q", "--no-deps", "--use-pep517", "-w", str(folder), pin]
            done = subprocess.run(built, capture_output=True, text=True, check=False)
            if done.returncode:
                raise SystemExit(
                    f"pack_site.py: pip found no {pin} for Python {python}:\n{done.stderr}"
                )

    # The threads mostly wait for the network.
    with ThreadPoolExecutor(8) as threads:
        for _ in tqdm(threads.map(fetch, pins), total=len(pins), desc="packages"):
            pass


def unpack(wheels: Path, site: Path) -> None:
    """Unpacks all wheels in a folder into a new one, leaving out data that our code never reads."""
    for wheel in sorted(wheels.glob("*.whl")):
        tags = wheel.stem.split("-")[2:]
        if tags[-1] != "any" and "x86_64" not in tags[-1]:
            sys.exit(f"pack_site.py: {wheel.name} is for another machine")
        with zipfile.ZipFile(wheel) as file:
            file.extractall(site)
    used = {path for pattern in USED for path in site.glob(pattern)}
    unused = {path for pattern in UNUSED for path in site.glob(pattern)} - used
    for path in unused | {
        path for path in site.rglob("*.*") if path.is_file() and path.suffix in SOURCES
    }:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    libraries = [str(path) for path in site.rglob("*.so*") if path.is_file()]
    if libraries and shutil.which("strip"):
        subprocess.run(["strip", "--strip-unneeded", *libraries], capture_output=True, check=False)
    (site / "sitecustomize.py").write_text(SITECUSTOMIZE)


def write_archive(folder: Path, path: Path, name: Optional[str] = None) -> None:
    """Packs a folder into a compressed archive, replacing an old one, under its own or another name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with write_atomically(path, overwrite=True) as new, tarfile.open(new, "w:xz") as archive:
        archive.add(folder, folder.name if name is None else name)
    print(f"Wrote {path}: {path.stat().st_size / 1e6:.1f} MB", flush=True)


def write_data(folders: Sequence[Path], path: Path) -> None:
    """Packs folders of corpora and of word vectors (`glove*.txt`)."""
    files = sorted(each for folder in folders for each in folder.rglob("*") if each.is_file())
    vectors = [each for each in files if each.name.startswith("glove")]
    words = {
        word.lower()
        for each in files
        if each not in vectors
        for word in each.read_text(encoding="utf-8", errors="replace").split()
    }
    with tempfile.TemporaryDirectory() as work:
        target = Path(work, "data")
        for each in files:
            new = target / each.parent.name / each.name
            new.parent.mkdir(parents=True, exist_ok=True)
            if each in vectors:
                with each.open(encoding="utf-8") as old, new.open("w", encoding="utf-8") as kept:
                    kept.writelines(line for line in old if line.partition(" ")[0] in words)
            else:
                shutil.copy(each, new)
        write_archive(target, path, ".")


def halve(folder: Path, target: Path) -> None:
    """Copies a transformer's folder to a new one, with the weights in half precision."""
    import torch
    from safetensors.torch import load_file, save_file

    shutil.copytree(folder, target)
    weights = load_file(target / "model.safetensors")
    half = {
        name: each.half() if each.dtype == torch.float32 else each for name, each in weights.items()
    }
    save_file(half, target / "model.safetensors", {"format": "pt"})
    # The type to compute in; by default it would be the type of the file.
    config = json.loads((target / "config.json").read_text())
    config.update(dtype="float32", torch_dtype="float32")
    (target / "config.json").write_text(json.dumps(config, indent=2))


def main() -> None:
    """Writes the archives."""
    description, _, epilog = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(
        description=description, epilog=epilog, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--python", default="3.12")
    parser.add_argument("--have", type=Path)
    parser.add_argument("--transformer", type=Path)
    parser.add_argument("--data", type=Path, nargs="+")
    parser.add_argument("--output", type=Path, default=ROOT / "gpu")
    arguments = parser.parse_args()
    have = {*requirements_of(EXPECTED)} - {*NOT_EXPECTED}
    if arguments.have:
        have = frozen_names(arguments.have)
    packages = requirements_of(NEEDED)
    own = canonicalize_name(NEEDED[0])
    pins: List[str] = [
        f"{name}=={version}"
        for name, version in sorted(packages.items())
        if name not in have and name != own
    ] + [COMPARED]
    print(
        f"{len(pins)} packages for Python {arguments.python} (here: {sysconfig.get_python_version()})"
    )
    with tempfile.TemporaryDirectory() as work:
        wheels, site = Path(work, "wheels"), Path(work, "site")
        wheels.mkdir()
        download(pins, arguments.python, wheels)
        unpack(wheels, site)
        write_archive(site, arguments.output / "site.tar.xz")
        if arguments.transformer:
            half = Path(work, arguments.transformer.name)
            halve(arguments.transformer, half)
            write_archive(half, arguments.output / "transformer.tar.xz")
    if arguments.data:
        write_data(arguments.data, arguments.output / "data.tar.xz")


if __name__ == "__main__":
    main()
