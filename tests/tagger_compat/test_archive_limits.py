"""A small archive takes little memory and time, because sizes are checked before reading."""

import io
import pickle
import tarfile
import zipfile
from pathlib import Path

import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.models.archival import load_archive

from tagger_compat.archive_contents import read_json
from tagger_compat.archive_guard import MAX_MESSAGE, loading, refuse, shortened
from tagger_compat.archive_pickles import check_weights
from tagger_compat.tar_files import read_member
from tests.system.archives import embedded_by
from tests.system.generated_archives import (
    Reduced,
    header,
    packed,
    pickled_tensor,
    read_members,
)


def pax(key, value):
    text = f" {key}={value}\n"
    length = len(text) + len(str(len(text) + len(str(len(text)))))
    return header("pax", tarfile.XHDTYPE, f"{length}{text}".encode())


@pytest.mark.parametrize(
    ("before", "what"),
    [
        (pax("mtime", "9" * 100_000), "a header of 100014 bytes, more than 65536"),
        (pax("size", "9" * 60_000), "a header is damaged"),
        (header("pax", tarfile.XHDTYPE, b"1" * 50_000), "a header is damaged"),
        (header("pax", tarfile.XGLTYPE, b"5 a=1"), "a header is damaged"),
        (header("pax", tarfile.XHDTYPE, b"", 2**40), "a header of 1099511627776 bytes"),
        (header("name", tarfile.GNUTYPE_LONGNAME, b"", 600 * 2**20), "a header of 629145600 bytes"),
        (header("name", tarfile.GNUTYPE_LONGNAME, b"a/" * 100) + header("", b"0"), "too long"),
        (header("name", tarfile.GNUTYPE_LONGNAME, b"a" * 600) + header("", b"0"), "too long"),
        (header("a", b"0", b"", 2**40), "the members take more than"),
        (pax("GNU.sparse.size", 10**9) + header("a", b"0", b"1"), "is sparse"),
        (header("a", b"0") + header("a/b", b"0"), "is in the place of another member"),
        (header("folder", tarfile.DIRTYPE) * 1001, "more than 1000 members"),
        (header("a\x1b[2J", b"5") + header("a\x1b[2J", b"0"), r"`a\\x1b\[2J` is there twice"),
    ],
)
def test_headers_are_read_within_limits(before, what, good, tmp_path):
    path = tmp_path / "hostile.tar.gz"
    path.write_bytes(packed(read_members(good), before))
    with pytest.raises(ConfigurationError, match=what) as refusal:
        load_archive(path)
    assert len(str(refusal.value)) < 1000


def test_headers_written_by_other_programs_are_read(good, tmp_path):
    members = read_members(good)
    for number, form in enumerate((tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT)):
        path = tmp_path / f"{number}.tar.gz"
        with tarfile.open(path, "w:gz", format=form) as archive:
            long = f"notes/{'n' * 60}/{'ä' * 30}.txt" if number else "notes/n.txt"
            for name, content in {**members, long: b"1"}.items():
                if name != "meta.json":
                    member = tarfile.TarInfo(f"./{name}" if number == 2 else name)
                    member.size, member.uname = len(content), "é"
                    member.mtime = 1.5 if number == 2 else 1
                    archive.addfile(member, io.BytesIO(content))
        assert load_archive(path).meta is None
        if number < 2:
            assert read_member(path, long) == b"1"
            assert read_member(path, "other") is None


def zipped(content, records=None, compression=zipfile.ZIP_STORED, after=b""):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        archive.writestr("a/data.pkl", content)
        for name, text in (records or {}).items():
            archive.writestr(name, text)
    return out.getvalue() + after


def tensor_of(size, stride, number):
    """Weights with a tensor in a storage that claims to have `number` numbers but has four."""
    return zipped(pickled_tensor("a", size, stride, 0, number), {"a/data/0": bytes(16)})


WEIGHTS = {
    "a": torch.ones(2, 3),
    "b": torch.arange(3),
    "c": torch.zeros(()),
    "d": torch.ones(1, dtype=torch.bool),
}


@pytest.mark.parametrize("is_zip", [True, False])
def test_weights_written_by_pytorch_pass(is_zip, tmp_path):
    layer = torch.nn.LSTM(2, 3).to(torch.bfloat16)
    for number, weights in enumerate(
        [WEIGHTS, layer.state_dict(), layer.state_dict(keep_vars=True)]
    ):
        path = tmp_path / f"{number}.th"
        torch.save(weights, path, _use_new_zipfile_serialization=is_zip)
        check_weights(str(path), "weights.th")


WEIGHTS_REFUSED = [
    (zipped(pickle.dumps(Reduced(bytearray, 6 * 10**9), 2)), "it names `.*bytearray`"),
    (pickle.dumps(Reduced(bytearray, 6 * 10**9), 2), "it names|not a file of weights"),
    (zipped(pickle.dumps(Reduced(print, "a"), 2)), "it names `.*print`"),
    (zipped(pickle.dumps({}, 4)), "it has `(FRAME|MEMOIZE)`"),
    (zipped(b"\x80\x02Nr\xff\xff\xff\x7f."), "too many parts"),
    (zipped(b"\x80\x02" + b"]" * 2**22 + b"."), "more than 2097152 bytes"),
    (zipped(b"\x80\x02"), "not a file of weights"),
    (zipped(pickle.dumps({}, 2), compression=zipfile.ZIP_DEFLATED), "is compressed"),
    (zipped(pickle.dumps({}, 2), after=b"more"), "not at its end"),
    (b"PK\3\4" + zipped(pickle.dumps({}, 2)), "something precedes its members"),
    (tensor_of((4,), (1,), 10**9), "a storage has another size"),
    (tensor_of((10**9,), (0,), 4), "more numbers than its storage"),
    (tensor_of((-1,), (1,), 4), "more numbers than its storage"),
    (tensor_of((1,) * 100, (1,) * 100, 4), "more than 64 dimensions"),
    (b"", "not a file of weights"),
    (b"PK\3\4", "not a file of weights|cannot be read"),
]
JSON_REFUSED = [
    ("[" * 10_000, "JSON"),
    ("[" * 60 + "]" * 60, "nests deeper than 50"),
    ("[" + "1," * 60_000 + "1]", "about 60001 values, more than 50000"),
    (" " * 2**20 + "1", "1048577 bytes, more than 1048576"),
    ("9" * 10_000, "not plain JSON"),
    ("nothing", "not plain JSON"),
]


@pytest.mark.parametrize(
    ("read", "content", "what"),
    [
        *((check_weights, content, what) for content, what in WEIGHTS_REFUSED),
        *((read_json, text.encode(), what) for text, what in JSON_REFUSED),
        (
            read_member,
            packed({"promises.json": b"[" * 2**23}),
            "`promises.json` has 8388608 bytes, more than",
        ),
    ],
)
def test_contents_over_the_limits_are_refused(read, content, what, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(ConfigurationError, match=what):
        read(str(path), "promises.json")


def test_a_long_message_is_truncated():
    assert shortened("a\n b") == "a b"
    with pytest.raises(ConfigurationError) as refusal:
        refuse("\x1b" * 10**6, "correct it")
    assert len(str(refusal.value)) < MAX_MESSAGE + 20


def test_vectors_read_by_c_code_are_checked_too(changed, tmp_path):
    import h5py

    with h5py.File(tmp_path / "vectors.h5", "w") as file:
        file["embedding"] = [[1.0, 2.0]]
    vectors = {"type": "embedding", "embedding_dim": 2, "vocab_namespace": "tokens"}
    own = embedded_by(**vectors, pretrained_file=str(tmp_path / "vectors.h5"))
    with pytest.raises(ConfigurationError, match=r"vectors.h5, which lies outside"):
        load_archive(changed(config=own))


def test_an_archive_is_tested_before_it_counts_as_loaded(good, monkeypatch):
    def attempt():
        raise IndexError("no such piece")

    def load(*args, **kwargs):
        from tagger_compat.archive_guard import before_use

        before_use(attempt)
        return from_params(*args, **kwargs)

    from allennlp.data import DatasetReader

    from_params = DatasetReader.from_params
    monkeypatch.setattr(DatasetReader, "from_params", load)
    with pytest.raises(ConfigurationError, match=r"cannot be loaded .*IndexError: no such piece"):
        load_archive(good)


def read_while_loading(path, folder, own):
    with loading([]) as state:
        state.begin(str(folder), set(), own)
        Path(path).read_text()


@pytest.mark.parametrize("text", [".", "/", "", "~", ".."])
def test_a_config_string_naming_a_folder_above_allows_nothing(text, tmp_path, monkeypatch):
    (tmp_path / "secret.txt").write_text("")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(ConfigurationError, match="lies outside"):
        read_while_loading("secret.txt", tmp_path / "run", {text})


def test_links_out_of_a_run_are_not_followed(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "secret.txt").write_text("{}")
    (tmp_path / "run/config.json").symlink_to(tmp_path / "secret.txt")
    with pytest.raises(ConfigurationError, match="lies outside"):
        read_while_loading(tmp_path / "run/config.json", tmp_path / "run", set())
