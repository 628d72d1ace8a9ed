"""Makes hostile archives from a good one by changing its members, its config, or random bytes.

Each tries to write or read a file, run code, reach the network, or exhaust the memory. Functions that
change members take the archive and its folder; functions that change the config take it as a dict.
"""

import functools
import io
import json
import socket
import tarfile
from contextlib import contextmanager

from hypothesis import strategies as st

from tagger_compat.tar_files import new_archive

#: The file that hostile code would leave behind.
TRACE = "trace-of-an-attack"


class _Zeros(io.RawIOBase):
    def read(self, size=-1):
        return bytes(size)


def add(name, content="attack", kind=tarfile.REGTYPE, link="", size=None, **settings):
    """Adds a member. `{folder}` in its name and link stands for the archive's folder."""

    def change(archive, folder):
        member = tarfile.TarInfo(name.format(folder=folder))
        member.type, member.mode = kind, 0o755
        member.linkname, member.pax_headers = link.format(folder=folder), settings
        file = io.BytesIO(content.encode()) if size is None else _Zeros()
        has_content = kind in (tarfile.REGTYPE, tarfile.GNUTYPE_LONGNAME)
        if has_content:
            member.size = len(content) if size is None else size
        archive.addfile(member, file if has_content else None)

    return change


def _all(*changes):
    def add_all(archive, folder):
        for change in changes:
            change(archive, folder)

    return add_all


def _chain_of_links():
    """Links with a real path too long for the system to resolve, which hides the last target."""
    path, name = "", "d" * 247
    for step in "abcdefghijklmnop":
        yield add(f"{path}{name}", kind=tarfile.DIRTYPE)
        yield add(f"{path}{step}", kind=tarfile.SYMTYPE, link=name)
        path += f"{name}/"
    last = "a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/" + "l" * 254
    yield add(last, kind=tarfile.SYMTYPE, link="../" * 16)
    yield add("door", kind=tarfile.SYMTYPE, link=f"{last}{'/..' * 6}/{{folder}}")
    yield add(f"door/{TRACE}")


#: A sparse member of ten bytes that claims to have many more, in GNU tar's format.
_SPARSE = {
    "GNU.sparse.size": str(10 * 2**30),
    "GNU.sparse.numblocks": "1",
    "GNU.sparse.map": "0,10",
}
#: Attacks with additional archive members.
MEMBERS = {
    "a name with ..": add(f"../{TRACE}"),
    "a name with .. behind a folder": add(f"vocabulary/../../{TRACE}"),
    "an absolute name": add(f"{{folder}}/{TRACE}"),
    "a symbolic link to a folder": _all(
        add("door", kind=tarfile.SYMTYPE, link="{folder}"), add(f"door/{TRACE}")
    ),
    "a symbolic link to a file": add("vocabulary/l.txt", kind=tarfile.SYMTYPE, link="/etc/passwd"),
    "a hard link to a file": add("vocabulary/l.txt", kind=tarfile.LNKTYPE, link="/etc/passwd"),
    "a chain of links too long to follow": _all(*_chain_of_links()),
    "a hard link to a later member": _all(add("one", kind=tarfile.LNKTYPE, link="two"), add("two")),
    "a named pipe": add("pipe", kind=tarfile.FIFOTYPE),
    "a device": add("device", kind=tarfile.CHRTYPE),
    "a member twice": _all(add("vocabulary/more.txt"), add("vocabulary/more.txt", "other")),
    "the config twice": add("./config.json", "{}"),
    "many empty members": _all(*(add(f"empty/{number}", "") for number in range(1100))),
    "a sparse member": add("sparse", "0123456789", **_SPARSE),
}
#: Attacks with large sizes, which take seconds to write.
SIZES = {
    "zeros that take little space": add("zeros", size=300 * 2**20),
    "a header that is too long": add(
        "././@LongLink", kind=tarfile.GNUTYPE_LONGNAME, size=600 * 2**20
    ),
}


def changed(*path, **values):
    """Sets fields of the config object at a path of keys."""

    def change(config):
        config = json.loads(json.dumps(config))
        functools.reduce(lambda each, key: each.setdefault(key, {}), path, config).update(values)
        return json.dumps(config)

    return change


def replaced(key, **value):
    """Replaces an object of the config."""
    return lambda config: json.dumps({**config, key: value})


def embedded_by(**embedder):
    """Puts an embedder into a list, where AllenNLP does not rewrite the names of pretrained files."""

    def change(config):
        member = {**config["model"], "text_field_embedder": {"token_embedders": {"t": embedder}}}
        return replaced("model", type="sequence_tagger_ensemble", members=[member])(config)

    return change


def _jsonnet(expression):
    return lambda config: json.dumps({**config, "stolen": "HERE"}).replace('"HERE"', expression)


def _type(name):
    return replaced("model", type=name)


def _indexed_by(**indexer):
    return changed("dataset_reader", token_indexers={"tokens": indexer})


_OTHER = {"_pretrained": {"archive_file": "good.tar.gz", "module_path": "encoder"}}
_SPACY = {"type": "spacy", "language": "en_core_web_nothing"}
_EMBEDDING = {"type": "embedding", "vocab_namespace": "tokens", "embedding_dim": 2}
#: Attacks through the config. `hostile_module.py` and `secret.txt` are in the current folder.
CONFIGS = {
    "a function of a library": replaced("model", type="os.system", command=f"touch {TRACE}"),
    "a module of the current folder": _type("hostile_module.Model"),
    "a module name that is not an identifier": _type("hostile-module.Model"),
    "a module name that starts with a digit": _type("1hostile.Model"),
    "a module name that is not ASCII": _type("hóstile.Model"),
    "a module name with a space": _type("hostile module.Model"),
    "a module in a folder": _type("hostile_folder.module.Model"),
    "a reader of the current folder": changed("dataset_reader", type="hostile-module.Model"),
    "a file read by Jsonnet": _jsonnet("importstr '/etc/passwd'"),
    "the environment read by Jsonnet": _jsonnet("std.extVar('HOME')"),
    "code that comes with a transformer": replaced("tokenizer_kwargs", trust_remote_code=True),
    "an archive on the network": replaced(
        "model", type="from_archive", archive_file="http://127.0.0.1:9/model.tar.gz"
    ),
    "another archive": replaced("model", type="from_archive", archive_file="good.tar.gz"),
    "a module of another archive": changed("model", encoder=_OTHER),
    "vectors on the network": embedded_by(
        **_EMBEDDING, pretrained_file="https://127.0.0.1:9/vectors.txt"
    ),
    "vectors in a file": embedded_by(**_EMBEDDING, pretrained_file="secret.txt"),
    "our vectors in a file": embedded_by(
        type="word_vectors", embedding_dim=2, pretrained_file="../current/secret.txt"
    ),
    "lists in a folder": embedded_by(type="lexicon", names=["secret"], pretrained_file="."),
    "a transformer to download": _indexed_by(
        type="pretrained_transformer", model_name="nobody/nothing"
    ),
    "a spaCy model to download": replaced(
        "dataset_reader", type="text_classification_json", tokenizer=_SPACY
    ),
    "a transformer that brings code": _indexed_by(
        type="pretrained_transformer", model_name="hostile_transformer"
    ),
    "data in place of the user's": changed("data_loader", data_path="secret.txt"),
    "a layer without end": changed("model", encoder={"type": "bilstm", "hidden_size": 60_000}),
    "a list without end": embedded_by(**{**_EMBEDDING, "embedding_dim": 10**9}),
    "words without end": _indexed_by(type="characters", min_padding_length=10**8),
    "brackets without end": lambda config: '{"model": ' + "[" * 100_000,
    "no JSON at all": lambda config: "\x00\x00",
}

_MODULES = ("hostile_module", "hostile-module", "1hostile", "hóstile", "hostile module")
_LEAVES_A_TRACE = f"open({TRACE!r}, 'w').close()\n"
#: AllenNLP's message for an unknown type, and ours for one in an archive.
NOT_REGISTERED = "registered name|acceptable choices"
#: Names of local modules and of libraries in all spellings, and strings that are not names.
TYPES = st.one_of(
    st.sampled_from([None, 5, 0.5, True, [], ["os.system"], {}, {"type": "os.system"}]),
    st.text(max_size=30),
    st.builds(
        "{}{}.{}".format,
        st.sampled_from([*_MODULES, "os", "builtins"]),
        st.sampled_from(["", " ", ".", "\n", "/", ".."]),
        st.sampled_from(["Model", "system", "eval", "__class__", "é"]),
    ),
)


def place_bait(folder):
    """Writes the files that the config attacks try to run and read."""
    modules = [f"{name}.py" for name in (*_MODULES, "hostile_folder/module")]
    transformer = transformer_with_code(is_known=False)
    bait = {
        **dict.fromkeys(modules, f"{_LEAVES_A_TRACE}class Model: pass\n"),
        "secret.txt": "Lima 1 2\n",
        **{f"hostile_transformer/{name}": text for name, text in transformer.items()},
    }
    for name, text in bait.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)


def write_archive(good, hostile, member=None, config=None, contents=None, with_new_checksums=True):
    """Writes an archive that differs from a good one in one way.

    Args:
        good: The good archive.
        hostile: The path to write.
        member: Adds members.
        config: Maps the good config to the new text of `config.json`.
        contents: Maps the name and content of each file to its new content. None leaves it out.
        with_new_checksums: Whether `meta.json` matches the files, as an attacker would ensure.
    """
    open_new = new_archive if with_new_checksums else functools.partial(tarfile.open, mode="w:gz")
    with tarfile.open(good) as old, open_new(hostile) as new:
        for each in old:
            if not each.isfile():
                new.addfile(each)
                continue
            content = old.extractfile(each).read()
            if config is not None and each.name == "config.json":
                content = config(json.loads(content)).encode()
            if contents is not None:
                content = contents(each.name, content)
            if content is not None:
                each.size = len(content)
                new.addfile(each, io.BytesIO(content))
        if member is not None:
            member(new, hostile.parent)


def of_file(name, change):
    """Makes a `contents` argument of `write_archive` that changes one file."""
    return lambda each, content: change(content) if each == name else content


@contextmanager
def listening():
    """Yields a port and counts the connections to it."""
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


def transformer_with_code(is_known):
    """The files of a transformer that comes with custom code, which leaves a trace.

    Args:
        is_known: Whether transformers knows the config class; it never knows the model.
    """
    config = {
        "model_type": "encoder-decoder" if is_known else "hostile",
        "encoder": {"model_type": "bert"},
        "decoder": {"model_type": "bert"},
        "auto_map": {"AutoConfig": "code.Config", "AutoModel": "code.Model"},
    }
    own = {"AutoTokenizer": ["code.Tokenizer", "code.Tokenizer"]}
    tokenizer = {"tokenizer_class": "HostileTokenizer", "auto_map": own}
    return {
        "config.json": json.dumps(config),
        "tokenizer_config.json": json.dumps(tokenizer),
        "code.py": f"{_LEAVES_A_TRACE}class Config: pass\nModel = Tokenizer = Config\n",
        "model.safetensors": "",
    }


def carried(folder, is_known):
    """Adds a transformer with custom code to an archive, in a folder such as `fine_tuned/name`."""
    files = transformer_with_code(is_known)
    return _all(*(add(f"{folder}/{name}", text) for name, text in files.items()))


def uses_carried(indexer):
    """Makes an archive use its transformer `name`."""
    return _indexed_by(type=indexer, model_name="name")


def embeds_carried(embedder):
    """Like `uses_carried`, for the model alone."""
    embedders = {"tokens": {"type": embedder, "model_name": "name"}}
    return changed("model", text_field_embedder={"token_embedders": embedders})
