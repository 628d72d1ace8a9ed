"""Transformers are found, named by their content, and missed with a clear error."""

import json
import shutil

import pytest
from allennlp.common.checks import ConfigurationError

from tagger.transformers.pretrained import (
    FOLDER_VARIABLE,
    carry_transformer,
    digest_of,
    find_transformer,
)
from tests.transformers.small import save_word_pieces


@pytest.fixture
def folder(tmp_path):
    return save_word_pieces(tmp_path / "tiny")


def test_the_digest_is_of_the_content(folder, tmp_path):
    copied = tmp_path / "copied"
    shutil.copytree(folder, copied)
    (copied / "README.md").write_text("no part of it")
    assert digest_of(copied) == digest_of(folder)
    for name in ("model.safetensors", "vocab.txt", "config.json"):
        changed = tmp_path / f"changed {name}"
        shutil.copytree(folder, changed)
        content = bytearray((changed / name).read_bytes())
        content[-1] ^= 1
        (changed / name).write_bytes(content)
        assert digest_of(changed) != digest_of(folder)


def test_a_transformer_that_moved_is_found_by_its_name(folder, tmp_path, monkeypatch):
    moved = tmp_path / "models"
    moved.mkdir()
    shutil.move(folder, moved / "tiny")
    with pytest.raises(ConfigurationError, match=rf"{folder}.*{FOLDER_VARIABLE}.*--overrides"):
        find_transformer(folder)
    monkeypatch.setenv(FOLDER_VARIABLE, str(moved))
    assert find_transformer(folder).folder == moved / "tiny"
    # The variable may also name the transformer itself.
    (moved / "tiny").rename(tmp_path / "renamed")
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "renamed"))
    assert find_transformer(folder).folder == tmp_path / "renamed"


def test_a_folder_without_weights_is_refused_and_a_name_that_is_not_in_the_hubs_cache(tmp_path):
    (tmp_path / "notes.txt").write_text("")
    for name, message in (
        (str(tmp_path), r"config\.json.*got notes\.txt"),
        ("nobody/no-such-transformer", "not in the cache"),
    ):
        with pytest.raises(ConfigurationError, match=message):
            find_transformer(name)


@pytest.mark.parametrize(("max_megabytes", "is_carried"), [(200, True), (0.001, False), (0, False)])
def test_a_large_transformer_is_not_carried_and_a_warning_says_so(
    max_megabytes, is_carried, folder, tmp_path, caplog
):
    carry_transformer(find_transformer(folder), folder, str(tmp_path / "run"), max_megabytes)
    carried = tmp_path / "run/transformers/tiny"
    assert carried.is_dir() == is_carried
    if is_carried:
        assert find_transformer(folder, str(tmp_path / "run")).digest == digest_of(folder)
        shutil.rmtree(folder)
        assert find_transformer(folder, str(tmp_path / "run")).folder == carried
    assert ("`max_carried_mb` (0.001)" in caplog.text) == (max_megabytes == 0.001)


def test_a_run_that_goes_on_keeps_what_it_carries_and_replaces_another(folder, tmp_path):
    run, carried = str(tmp_path / "run"), tmp_path / "run/transformers/small"
    transformer = find_transformer(folder)
    carry_transformer(transformer, "small", run, 400)
    times = {path.name: path.stat().st_mtime_ns for path in carried.iterdir()}
    carry_transformer(transformer, "small", run, 400)
    assert {path.name: path.stat().st_mtime_ns for path in carried.iterdir()} == times
    config = json.loads((carried / "config.json").read_text())
    (carried / "config.json").write_text(json.dumps({**config, "source": "another"}))
    carry_transformer(transformer, "small", run, 400)
    assert json.loads((carried / "config.json").read_text()) == config
