import json
import shutil

import onnx
import pytest

import tagger_onnx


def test_the_command_writes_a_file_that_finds_entities(allennlp, trained, tmp_path, capsys):
    output = tmp_path / "tagger.onnx"
    allennlp("export", trained / "model.tar.gz", "-o", output)
    size = output.stat().st_size / 1e6
    wrote = f"Wrote {output}: {size:.1f} MB; texts are split by the rules of `en`\n"
    assert capsys.readouterr().out.endswith(wrote)
    (entity,) = tagger_onnx.load(output).tag("We met in Lisbon.").entities
    assert (entity.label, entity.text) == ("LOC", "Lisbon")
    with pytest.raises(SystemExit, match="already exists; give another name, or add --force"):
        allennlp("export", trained / "model.tar.gz", "-o", output)
    allennlp("export", trained / "model.tar.gz", "-o", output, "--force", "--language", "de")
    entry, _ = onnx.load(output).metadata_props
    assert json.loads(entry.value)["splitting"]["language"] == "de"


def test_taggers_that_cannot_be_exported_are_a_one_line_error(allennlp, trained, tmp_path):
    archive = trained / "model.tar.gz"
    shutil.copy(archive, tmp_path / "copy.tar.gz")
    allennlp("ensemble", archive, tmp_path / "copy.tar.gz", "-o", tmp_path / "both.tar.gz")
    message = (
        "^export: a `sequence_tagger_ensemble` cannot be exported; expected a `sequence_tagger`"
    )
    with pytest.raises(SystemExit, match=message):
        allennlp("export", tmp_path / "both.tar.gz", "-o", tmp_path / "tagger.onnx")
    assert not (tmp_path / "tagger.onnx").exists()
