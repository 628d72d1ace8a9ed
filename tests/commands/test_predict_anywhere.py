"""`predict-file` with compressed, columnar or remote inputs and outputs."""

import gzip
import json
import secrets
import sys
from pathlib import Path

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from allennlp.common.checks import ConfigurationError
from allennlp.predictors import Predictor
from backports import zstd

from tagger.commands import predict_file as module
from tagger.commands.predict_file import predict_file
from tagger.commands.prediction_outputs import RecordLayout
from tagger.predictors.prediction_type import prediction_type

TEXTS = [" ".join(["Ada"] * (1 + n % 7)) + f" met {n} in Lisbon ." for n in range(30)]
TEXTS[3], TEXTS[17] = "", '{"not": "JSON'


@pytest.fixture
def predictor(archive):
    return Predictor.from_archive(archive, extra_args={"plain": True})


@pytest.fixture(params=["here", "memory", "s3"])
def folder(request, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if request.param == "here":
        return str(tmp_path)
    if request.param == "memory":
        return f"memory://{secrets.token_hex(4)}"
    return f"{request.getfixturevalue('s3')}/{secrets.token_hex(4)}"


def table(texts=TEXTS):
    return pa.table(
        {"id": range(len(texts)), "text": texts, "rest": [[n] * 3 for n in range(len(texts))]}
    )


def put(path, texts=TEXTS, column="text"):
    content = "".join(f"{text}\n" for text in texts).encode()
    with fsspec.open(path, "wb") as file:
        if path.endswith(".parquet"):
            pq.write_table(
                table(texts).rename_columns(["id", column, "rest"]), file, row_group_size=12
            )
        else:
            file.write({".gz": gzip.compress, "zst": zstd.compress}.get(path[-3:], bytes)(content))
    return path


def get(path):
    with fsspec.open(path, "rb") as file:
        return file.read()


def exists(path):
    store, name = fsspec.url_to_fs(path)
    store.invalidate_cache()
    return store.exists(name)


def lines_of(path):
    content = get(path)
    if path.endswith(".parquet"):
        return pq.read_table(pa.BufferReader(content))["prediction"].to_pylist()
    unpack = {".gz": gzip.decompress, "zst": zstd.decompress}.get(path[-3:], bytes)
    return unpack(content).decode().splitlines()


@pytest.fixture
def plain(predictor, tmp_path):
    predict_file(predictor, put(str(tmp_path / "plain.txt")), tmp_path / "plain.jsonl", 8)
    return (tmp_path / "plain.jsonl").read_text().splitlines()


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("a.txt", "a.jsonl"),
        ("a.txt.gz", "a.jsonl.gz"),
        ("a.txt.zst", "a.parquet"),
        ("a.parquet", "b.parquet"),
        ("a.parquet", "a.jsonl.zst"),
    ],
)
def test_a_killed_run_leaves_no_output_and_is_resumed_to_the_same_bytes(
    source, target, folder, predictor, plain, monkeypatch, killed_in_window
):
    source, target = put(f"{folder}/{source}"), f"{folder}/{target}"
    killed_in_window(3, source, target, 8)
    assert not exists(target)
    # The second run dies while writing the output; the third completes it.
    encode = module.encoder_of(target, source)

    def dies(part, file):
        encode(part, file)
        raise KeyboardInterrupt

    with monkeypatch.context() as killing:
        killing.setattr(module, "encoder_of", lambda *arguments: dies)
        with pytest.raises(KeyboardInterrupt):
            predict_file(predictor, source, target, 8)
    assert not exists(target)
    predict_file(predictor, source, target, 8)
    assert lines_of(target) == plain
    again = f"{folder}/again-{target.rpartition('/')[2]}"
    predict_file(predictor, source, again, 8)
    assert get(again) == get(target)
    assert not [path for path in Path.cwd().iterdir() if path.name.startswith(".")]
    with pytest.raises(ConfigurationError, match="another program has created .* meanwhile"):
        predict_file(predictor, source, target, 8)


def test_parquet_keeps_its_columns_and_row_groups(predictor, plain, tmp_path):
    source = put(str(tmp_path / "in.parquet"), column="body")
    for nested in (False, True):
        target = str(tmp_path / f"out{nested}.parquet")
        predict_file(predictor, source, target, layout=RecordLayout("body", "found", nested))
        written = pq.ParquetFile(target)
        assert [written.metadata.row_group(g).num_rows for g in range(3)] == [12, 12, 6]
        read = written.read()
        assert read.drop_columns("found") == table().rename_columns(["id", "body", "rest"])
        found, wanted = read["found"].to_pylist(), plain
        if nested:
            assert read["found"].type == prediction_type()
            wanted = list(map(json.loads, plain))
            found = [{key: each[key] for key in own} for each, own in zip(found, wanted)]
        assert found == wanted


def test_rows_may_hold_tokens_and_bad_rows_are_named_or_skipped(predictor, tmp_path):
    rows = [["Ada", "left"], None, ["in", "New York"], ["a", ""], []]
    source, target = str(tmp_path / "in.parquet"), str(tmp_path / "out.parquet")
    pq.write_table(pa.table({"words": rows}), source)
    with pytest.raises(ConfigurationError, match="in.parquet, row 2: .*; correct the row"):
        predict_file(predictor, source, target, layout=RecordLayout(text_column="words"))
    predict_file(
        predictor, source, target, on_error="skip", layout=RecordLayout("words", nested=True)
    )
    found = pq.read_table(target)["prediction"].to_pylist()
    assert [each["tokens"] for each in found] == [rows[0], None, rows[2], None, []]
    assert [each["error"] is None for each in found] == [True, False, True, False, True]


@pytest.mark.parametrize(
    ("name", "output", "layout", "message"),
    [
        ("in.parquet", "out.jsonl", RecordLayout("txt"), "`--text-column` txt is no col.*mean `text`"),
        ("in.parquet", "out.parquet", RecordLayout(column="id"), "`--column` id is a column of"),
        ("no.parquet", "out.jsonl", RecordLayout(), "no.parquet: expected a Parquet file"),
    ],
)  # fmt: skip
def test_columns_are_checked_before_predicting(name, output, layout, message, predictor, tmp_path):
    put(str(tmp_path / "in.parquet"))
    (tmp_path / "no.parquet").write_text("no")
    with pytest.raises((ConfigurationError, ValueError), match=message):
        predict_file(predictor, str(tmp_path / name), tmp_path / output, layout=layout)


def test_progress_counts_bytes_and_inputs(predictor, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    source = put(str(tmp_path / "in.txt"))
    predict_file(predictor, source, tmp_path / "out.jsonl", 8)
    shown = capsys.readouterr().err
    size = Path(source).stat().st_size
    assert f"{size}/{size}" in shown
    assert "30 inputs" in shown


def test_the_command_accepts_urls(allennlp, trained, s3, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = f"{s3}/{secrets.token_hex(4)}"
    command = ["predict-file", trained / "model.tar.gz", put(f"{folder}/a.txt.gz"), "--plain"]
    allennlp(*command, "-o", f"{folder}/a.parquet", "--nested")
    assert [each["text"] for each in lines_of(f"{folder}/a.parquet")] == TEXTS
    with pytest.raises(SystemExit, match="a.parquet already exists; give another name, or add"):
        allennlp(*command, "-o", f"{folder}/a.parquet")
    with pytest.raises(SystemExit, match="cannot be opened"):
        allennlp(*command, "-o", "s4://none/a.parquet")
