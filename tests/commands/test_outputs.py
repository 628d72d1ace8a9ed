"""Commands refuse outputs that are inputs or cannot be written, before doing any work."""

import re
import shutil

import fsspec
import pytest

from tests.allennlp_command import digests
from tests.conftest import ROOT

#: Commands that would overwrite an input, `LINK`. The archive does not exist, so nothing is loaded.
WRITING = {
    "predict-file": "none.tar.gz mine.txt -o {mine} --force",
    "predict-file, file": "none.tar.gz mine.txt -o file://{mine} --force",
    "predict-file, folder": "none.tar.gz mine.txt -o {folder}/ --ray --force",
    "predict": "none.tar.gz mine.txt --output-file {mine}",
    "predict, weights": "none.tar.gz other.txt --weights-file mine.txt --output-file {mine}",
    "evaluate": "none.tar.gz other.txt,mine.txt --output-file {mine}",
    "evaluate, predictions": "none.tar.gz mine.txt --predictions-output-file {mine}",
    "evaluate, weights": "none.tar.gz other.txt --weights-file mine.txt --output-file {mine}",
    "soft-labels": "none.tar.gz mine.txt -o {mine} --force",
    "rank-unlabelled": "none.tar.gz mine.txt -o {mine} --force --budget 9",
    "compare-data": "none.tar.gz dev.txt mine.txt -o {mine} --force",
    "tune-decoding": "none.tar.gz mine.txt -o {mine} --force --macro-f1",
    "export": "mine.txt -o {mine} --force",
    "pack": "mine.txt -o {mine} --force",
    "pack, transformer": "none.tar.gz --transformer {folder} -o {mine} --force",
    "ensemble": "none.tar.gz mine.txt -o {mine}",
    "convert": "mine.txt {mine} --from columns --to doccano",
    "report": "mine.txt -o {mine}",
    "report, data": "other.txt --data mine.txt -o {mine}",
    "start": "mine.txt -o {mine} --force",
    "find-label-errors": "corrected.txt -o {folder} --accept-first 1",
    "study": "summary.md -s {folder}",
    "train": "sub/toy.jsonnet -s {folder}/sub --force",
    "find-lr": "sub/toy.jsonnet -s {folder}/sub --force",
    "add-label": "sub/toy.jsonnet other.txt -s {folder}/sub --force",
}


@pytest.mark.parametrize("name", WRITING)
def test_no_command_overwrites_an_input(name, run_here, tmp_path):
    text = "".join((ROOT / "data/toy/dev.txt").read_text().splitlines(keepends=True)[:40])
    (tmp_path / "sub").mkdir()
    for each in ("mine.txt", "other.txt", "dev.txt", "corrected.txt", "summary.md", "sub/out.log"):
        (tmp_path / each).write_text(text)
    shutil.copy(ROOT / "training_config/toy_bilstm_crf.jsonnet", tmp_path / "sub/toy.jsonnet")
    (tmp_path / "link").symlink_to(tmp_path)
    before = digests(tmp_path)
    places = {"mine": tmp_path / "sub/../link/mine.txt", "folder": tmp_path / "link"}
    command, _, _ = name.partition(",")
    outcome = run_here([command, *WRITING[name].format(**places).split()], tmp_path)
    assert outcome.status == 1
    assert "an input" in outcome.last_line, outcome.last_line
    after = digests(tmp_path)
    assert {path: after.get(path) for path in before} == before


@pytest.mark.slow
@pytest.mark.parametrize("command", ["predict-file", "soft-labels", "predict"])
def test_unwritable_outputs_are_refused_before_the_model_is_loaded(command, run_here, tmp_path):
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    option = "--output-file" if command == "predict" else "-o"
    for output, reason in ((loop, "is a link to itself"), (tmp_path / ("a" * 250), "at most 240")):
        outcome = run_here([command, "none.tar.gz", __file__, option, str(output)], tmp_path)
        assert reason in outcome.last_line


@pytest.mark.parametrize(
    "arguments",
    [
        ["predict-file", "none.tar.gz", "mine.txt", "-o", "s3://bucket/a.jsonl"],
        ["predict-file", "none.tar.gz", "s3://bucket/a.txt", "-o", "a.jsonl"],
        ["convert", "s3://bucket/a.jsonl", "a.conll"],
    ],
)
def test_missing_store_credentials_are_a_one_line_error_with_a_remedy(
    arguments, run_here, tmp_path, monkeypatch
):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    fsspec.get_filesystem_class("s3").clear_instance_cache()
    (tmp_path / "mine.txt").write_text("Ada left .\n")
    outcome = run_here(arguments, tmp_path)
    assert outcome.status == 1
    assert not outcome.has_traceback
    expected = "s3://bucket/a.*: .*credentials; .*AWS_ACCESS_KEY_ID.*FSSPEC_S3_ANON=true"
    assert re.search(expected, outcome.last_line)
