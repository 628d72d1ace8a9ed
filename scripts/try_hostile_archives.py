"""Makes hostile archives out of a good one, and shows how each is refused.

    python scripts/try_hostile_archives.py runs/toy/model.tar.gz

Each archive tries to write a file, to read one, or to run code. The script prints one line for each, and
fails if one of them is loaded, or leaves a trace.
"""

import argparse
import io
import json
import os
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any, Callable, Dict, Optional, Sequence

from allennlp.common.checks import ConfigurationError
from allennlp.models.archival import load_archive

#: What hostile code would leave behind.
TRACE = "trace-of-an-attack"

Change = Callable[[tarfile.TarFile, Path], None]


def _file(name: str, text: str = "attack") -> Change:
    def add(archive: tarfile.TarFile, folder: Path) -> None:
        member = tarfile.TarInfo(name.format(folder=folder))
        member.size = len(text)
        archive.addfile(member, io.BytesIO(text.encode()))

    return add


def _special(name: str, kind: bytes, target: str = "") -> Change:
    def add(archive: tarfile.TarFile, folder: Path) -> None:
        member = tarfile.TarInfo(name)
        member.type, member.linkname = kind, target.format(folder=folder)
        archive.addfile(member)

    return add


def _both(first: Change, second: Change) -> Change:
    def add(archive: tarfile.TarFile, folder: Path) -> None:
        first(archive, folder)
        second(archive, folder)

    return add


#: Attacks by what an archive holds besides the model.
MEMBERS: Dict[str, Change] = {
    "a name with ..": _file(f"../{TRACE}"),
    "a name with .. behind a folder": _file(f"vocabulary/../../{TRACE}"),
    "an absolute name": _file(f"{{folder}}/{TRACE}"),
    "a symbolic link to a folder": _both(
        _special("door", tarfile.SYMTYPE, "{folder}"), _file(f"door/{TRACE}")
    ),
    "a symbolic link to a file": _special("vocabulary/link.txt", tarfile.SYMTYPE, "/etc/passwd"),
    "a hard link to a file": _special("vocabulary/link.txt", tarfile.LNKTYPE, "/etc/passwd"),
    "a named pipe": _special("pipe", tarfile.FIFOTYPE),
}


def _model(config: Dict[str, Any], **model: Any) -> str:
    return json.dumps({**config, "model": model})


#: Attacks by the config.
CONFIGS: Dict[str, Callable[[Dict[str, Any]], str]] = {
    "a function of a library": lambda config: _model(
        config, type="os.system", command=f"touch {TRACE}"
    ),
    "a module of the current folder": lambda config: _model(config, type="hostile_module.Model"),
    "a file read by Jsonnet": lambda config: json.dumps({**config, "stolen": "HERE"}).replace(
        '"HERE"', "importstr '/etc/passwd'"
    ),
    "the environment read by Jsonnet": lambda config: json.dumps(
        {**config, "stolen": "HERE"}
    ).replace('"HERE"', "std.extVar('HOME')"),
    "code that comes with a transformer": lambda config: json.dumps(
        {**config, "tokenizer_kwargs": {"trust_remote_code": True}}
    ),
}


def write_archive(
    good: Path,
    hostile: Path,
    member: Optional[Change] = None,
    config: Optional[Callable[[Dict[str, Any]], str]] = None,
) -> None:
    """Writes an archive that differs from a good one in one thing.

    Args:
        good: The good archive.
        hostile: Where to write.
        member: Adds members.
        config: Gives the text of `config.json`, from the good one's.
    """
    with tarfile.open(good) as old, tarfile.open(hostile, "w:gz") as new:
        for each in old:
            content = old.extractfile(each) if each.isfile() else None
            if content is not None and config is not None and each.name == "config.json":
                text = config(json.load(content)).encode()
                each.size, content = len(text), io.BytesIO(text)
            new.addfile(each, content)
        if member is not None:
            member(new, hostile.parent)


def main(arguments: Optional[Sequence[str]] = None) -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("archive", type=Path, help="a good archive")
    good = parser.parse_args(arguments).archive.resolve()
    load_archive(good)
    num_harmful = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.chdir(folder)
        Path("hostile_module.py").write_text(f"open({TRACE!r}, 'w')\nclass Model: pass\n")
        changes = [(title, {"member": change}) for title, change in MEMBERS.items()]
        changes += [(title, {"config": change}) for title, change in CONFIGS.items()]  # type: ignore
        for title, change in changes:
            write_archive(good, folder / "hostile.tar.gz", **change)  # type: ignore[arg-type]
            try:
                load_archive(folder / "hostile.tar.gz")
                outcome = "LOADED"
            except ConfigurationError as error:
                outcome = f"refused: {error}"
            if list(folder.parent.glob(TRACE)) or list(folder.rglob(TRACE)):
                outcome = "LEFT A TRACE"
            num_harmful += not outcome.startswith("refused")
            print(f"{title}: {outcome}")
    if num_harmful:
        sys.exit(f"{num_harmful} hostile archives were not refused")


if __name__ == "__main__":
    main()
