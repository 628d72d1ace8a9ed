"""Makes hostile archives out of a good one: by what they hold, by their config, and by chance.

Each tries to write a file, to read one, to run code, to reach the network, or to take all memory.
"""

import functools
import io
import json
import socket
import tarfile
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional

from hypothesis import strategies as st

from tagger_compat.tar_files import new_archive

#: What hostile code would leave behind.
TRACE = "trace-of-an-attack"

Change = Callable[[tarfile.TarFile, Path], None]
ConfigChange = Callable[[Dict[str, Any]], str]


def add_file(name: str, text: str = "attack") -> Change:
    """Adds a file."""

    def add(archive: tarfile.TarFile, folder: Path) -> None:
        member = tarfile.TarInfo(name.format(folder=folder))
        member.size = len(text)
        archive.addfile(member, io.BytesIO(text.encode()))

    return add


def _special(name: str, kind: bytes, target: str = "") -> Change:
    def add(archive: tarfile.TarFile, folder: Path) -> None:
        member = tarfile.TarInfo(name)
        member.type, member.linkname = kind, target.format(folder=folder)
        member.mode = 0o755
        archive.addfile(member)

    return add


def _all(*changes: Change) -> Change:
    def add(archive: tarfile.TarFile, folder: Path) -> None:
        for change in changes:
            change(archive, folder)

    return add


def _zeros(size: int) -> Change:
    def add(archive: tarfile.TarFile, folder: Path) -> None:
        member = tarfile.TarInfo("zeros")
        member.size = size
        archive.addfile(member, _Zeros())

    return add


class _Zeros(io.RawIOBase):
    def read(self, size: int = -1) -> bytes:
        return bytes(size)


def _sparse(size: int) -> Change:
    """A member of ten bytes that says that it has many more, as GNU tar does."""

    def add(archive: tarfile.TarFile, folder: Path) -> None:
        member = tarfile.TarInfo("sparse")
        member.pax_headers = {
            "GNU.sparse.size": str(size),
            "GNU.sparse.numblocks": "1",
            "GNU.sparse.map": "0,10",
        }
        member.size = 10
        archive.addfile(member, io.BytesIO(b"0123456789"))

    return add


def _long_header(archive: tarfile.TarFile, folder: Path) -> None:
    """A header that says that 600 MB of names follow."""
    member = tarfile.TarInfo("././@LongLink")
    member.type, member.size = tarfile.GNUTYPE_LONGNAME, 600 * 2**20
    archive.addfile(member, _Zeros())


def _chain_of_links() -> Iterator[Change]:
    """Links whose real path is too long for the system, so that nobody sees where the last leads."""
    path, name = "", "d" * 247
    for step in "abcdefghijklmnop":
        yield _special(f"{path}{name}", tarfile.DIRTYPE)
        yield _special(f"{path}{step}", tarfile.SYMTYPE, name)
        path += f"{name}/"
    last = "a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/" + "l" * 254
    yield _special(last, tarfile.SYMTYPE, "../" * 16)
    yield _special("door", tarfile.SYMTYPE, f"{last}{'/..' * 6}/{{folder}}")
    yield add_file(f"door/{TRACE}")


#: Attacks by what an archive holds besides the model.
MEMBERS: Dict[str, Change] = {
    "a name with ..": add_file(f"../{TRACE}"),
    "a name with .. behind a folder": add_file(f"vocabulary/../../{TRACE}"),
    "an absolute name": add_file(f"{{folder}}/{TRACE}"),
    "a symbolic link to a folder": _all(
        _special("door", tarfile.SYMTYPE, "{folder}"), add_file(f"door/{TRACE}")
    ),
    "a symbolic link to a file": _special("vocabulary/link.txt", tarfile.SYMTYPE, "/etc/passwd"),
    "a hard link to a file": _special("vocabulary/link.txt", tarfile.LNKTYPE, "/etc/passwd"),
    "a chain of links too long to follow": _all(*_chain_of_links()),
    "a hard link to a later member": _all(_special("one", tarfile.LNKTYPE, "two"), add_file("two")),
    "a named pipe": _special("pipe", tarfile.FIFOTYPE),
    "a device": _special("device", tarfile.CHRTYPE),
    "a member twice": _all(
        add_file("vocabulary/more.txt"), add_file("vocabulary/more.txt", "other")
    ),
    "the config twice": add_file("./config.json", "{}"),
    "many empty members": _all(*(add_file(f"empty/{number}", "") for number in range(1100))),
    "a sparse member": _sparse(10 * 2**30),
}
#: Attacks by size, which take seconds to write.
SIZES: Dict[str, Change] = {
    "zeros that take little space": _zeros(300 * 2**20),
    "a header that is too long": _long_header,
}


def _model(config: Dict[str, Any], **model: Any) -> str:
    return json.dumps({**config, "model": model})


def _reader(config: Dict[str, Any], **changes: Any) -> str:
    return json.dumps({**config, "dataset_reader": {**config["dataset_reader"], **changes}})


def _jsonnet(expression: str) -> ConfigChange:
    return lambda config: json.dumps({**config, "stolen": "HERE"}).replace('"HERE"', expression)


def _type(name: str) -> ConfigChange:
    return lambda config: _model(config, type=name)


def _indexed_by(**indexer: Any) -> ConfigChange:
    return lambda config: _reader(config, token_indexers={"tokens": indexer})


def embedded_by(**embedder: Any) -> ConfigChange:
    """Names an embedder in a list, where AllenNLP leaves the names of pretrained files as they are."""

    def change(config: Dict[str, Any]) -> str:
        member = {**config["model"], "text_field_embedder": {"token_embedders": {"t": embedder}}}
        return _model(config, type="sequence_tagger_ensemble", members=[member])

    return change


#: Attacks by the config. `hostile_module.py` and `secret.txt` lie in the current folder.
CONFIGS: Dict[str, ConfigChange] = {
    "a function of a library": lambda config: _model(
        config, type="os.system", command=f"touch {TRACE}"
    ),
    "a module of the current folder": _type("hostile_module.Model"),
    "a module whose name is no identifier": _type("hostile-module.Model"),
    "a module whose name starts with a digit": _type("1hostile.Model"),
    "a module whose name is no ASCII": _type("hóstile.Model"),
    "a module whose name has a blank": _type("hostile module.Model"),
    "a module in a folder": _type("hostile_folder.module.Model"),
    "a reader of the current folder": lambda config: _reader(config, type="hostile-module.Model"),
    "a file read by Jsonnet": _jsonnet("importstr '/etc/passwd'"),
    "the environment read by Jsonnet": _jsonnet("std.extVar('HOME')"),
    "code that comes with a transformer": lambda config: json.dumps(
        {**config, "tokenizer_kwargs": {"trust_remote_code": True}}
    ),
    "an archive on the network": lambda config: _model(
        config, type="from_archive", archive_file="http://127.0.0.1:9/model.tar.gz"
    ),
    "another archive": lambda config: _model(
        config, type="from_archive", archive_file="good.tar.gz"
    ),
    "a module of another archive": lambda config: _model(
        config,
        **{
            **config["model"],
            "encoder": {"_pretrained": {"archive_file": "good.tar.gz", "module_path": "encoder"}},
        },
    ),
    "vectors on the network": embedded_by(
        type="embedding",
        embedding_dim=2,
        vocab_namespace="tokens",
        pretrained_file="https://127.0.0.1:9/vectors.txt",
    ),
    "vectors in a file": embedded_by(
        type="embedding", embedding_dim=2, vocab_namespace="tokens", pretrained_file="secret.txt"
    ),
    "our vectors in a file": embedded_by(
        type="word_vectors", embedding_dim=2, pretrained_file="../current/secret.txt"
    ),
    "lists in a folder": embedded_by(type="lexicon", names=["secret"], pretrained_file="."),
    "a transformer that is to be downloaded": _indexed_by(
        type="pretrained_transformer", model_name="nobody/nothing"
    ),
    "a spaCy model that is to be downloaded": lambda config: json.dumps(
        {
            **config,
            "dataset_reader": {
                "type": "text_classification_json",
                "tokenizer": {"type": "spacy", "language": "en_core_web_nothing"},
            },
        }
    ),
    "a transformer that brings code": _indexed_by(
        type="pretrained_transformer", model_name="hostile_transformer"
    ),
    "data in place of the user's": lambda config: json.dumps(
        {**config, "data_loader": {**config["data_loader"], "data_path": "secret.txt"}}
    ),
    "a layer without end": lambda config: _model(
        config, **{**config["model"], "encoder": {"type": "bilstm", "hidden_size": 60_000}}
    ),
    "a list without end": embedded_by(
        type="embedding", vocab_namespace="tokens", embedding_dim=10**9
    ),
    "words without end": _indexed_by(type="characters", min_padding_length=10**8),
    "brackets without end": lambda config: '{"model": ' + "[" * 100_000,
    "no JSON at all": lambda config: "\x00\x00",
}

#: What to write into the current folder for these attacks.
BAIT = {
    **{
        f"{name}.py": f"open({TRACE!r}, 'w').close()\nclass Model: pass\n"
        for name in ("hostile_module", "hostile-module", "1hostile", "hóstile", "hostile module")
    },
    "hostile_folder/module.py": f"open({TRACE!r}, 'w').close()\nclass Model: pass\n",
    "secret.txt": "Lima 1 2\n",
}

#: What AllenNLP says of a type that it does not know, and we of one in an archive.
NOT_REGISTERED = "registered name|acceptable choices"
#: Names of modules in the current folder, and of libraries, spelt in all ways; and what is no name.
TYPES = st.one_of(
    st.sampled_from([None, 5, 0.5, True, [], ["os.system"], {}, {"type": "os.system"}]),
    st.text(max_size=30),
    st.builds(
        "{}{}.{}".format,
        st.sampled_from([name[:-3] for name in BAIT if name.endswith(".py")] + ["os", "builtins"]),
        st.sampled_from(["", " ", ".", "\n", "/", ".."]),
        st.sampled_from(["Model", "system", "eval", "__class__", "é"]),
    ),
)


def place_bait(folder: Path) -> None:
    """Writes what the attacks by the config want to run and to read."""
    transformer = transformer_with_code(is_known=False)
    bait = {**BAIT, **{f"hostile_transformer/{name}": text for name, text in transformer.items()}}
    for name, text in bait.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)


def write_archive(
    good: Path,
    hostile: Path,
    member: Optional[Change] = None,
    config: Optional[ConfigChange] = None,
    contents: Optional[Callable[[str, bytes], Optional[bytes]]] = None,
    with_new_checksums: bool = True,
) -> None:
    """Writes an archive that differs from a good one in one thing.

    Args:
        good: The good archive.
        hostile: Where to write.
        member: Adds members.
        config: Gives the text of `config.json`, from the good one's.
        contents: Gives the content of each file, from its name and its content; None leaves it out.
        with_new_checksums: Whether `meta.json` fits the files, as an attacker would make it.
    """
    open_new = new_archive if with_new_checksums else functools.partial(tarfile.open, mode="w:gz")
    with tarfile.open(good) as old, open_new(hostile) as new:
        for each in old:
            file = old.extractfile(each) if each.isfile() else None
            if file is None:
                new.addfile(each)
                continue
            content: Optional[bytes] = file.read()
            if config is not None and each.name == "config.json":
                content = config(json.loads(content or b"")).encode()
            if contents is not None and content is not None:
                content = contents(each.name, content)
            if content is not None:
                each.size = len(content)
                new.addfile(each, io.BytesIO(content))
        if member is not None:
            member(new, hostile.parent)


@contextmanager
def listening() -> Iterator[List[int]]:
    """Counts connections to the port that it gives first."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.05)
        counts = [server.getsockname()[1], 0]
        yield counts
        try:
            while True:
                server.accept()[0].close()
                counts[1] += 1
        except TimeoutError:
            pass


def transformer_with_code(is_known: bool) -> Dict[str, str]:
    """The files of a transformer that comes with a module of its own, which leaves a trace.

    Args:
        is_known: Whether transformers knows its config, but not its model.
    """
    config = {
        "model_type": "encoder-decoder" if is_known else "hostile",
        "encoder": {"model_type": "bert"},
        "decoder": {"model_type": "bert"},
        "auto_map": {"AutoConfig": "code.Config", "AutoModel": "code.Model"},
    }
    tokenizer = {
        "tokenizer_class": "HostileTokenizer",
        "auto_map": {"AutoTokenizer": ["code.Tokenizer", "code.Tokenizer"]},
    }
    return {
        "config.json": json.dumps(config),
        "tokenizer_config.json": json.dumps(tokenizer),
        "code.py": f"open({TRACE!r}, 'w').close()\nclass Config: pass\nModel = Tokenizer = Config\n",
        "model.safetensors": "",
    }


def carried(folder: str, is_known: bool) -> Change:
    """Adds such a transformer to an archive, in a folder such as `fine_tuned/name`."""
    files = transformer_with_code(is_known)
    return _all(*(add_file(f"{folder}/{name}", text) for name, text in files.items()))


def uses_carried(indexer: str) -> ConfigChange:
    """Lets an archive use the transformer `name` that it carries."""
    return _indexed_by(type=indexer, model_name="name")


def embeds_carried(embedder: str) -> ConfigChange:
    """As `uses_carried`, for the model alone."""

    def change(config: Dict[str, Any]) -> str:
        embedders = {"token_embedders": {"tokens": {"type": embedder, "model_name": "name"}}}
        return _model(config, **{**config["model"], "text_field_embedder": embedders})

    return change
