"""A stranger's archive must neither run nor write anything; a good one must load."""

import json
import shutil
import sys
import tarfile
import types

import pytest
from allennlp.common.checks import ConfigurationError
from allennlp.models import Model
from allennlp.models.archival import load_archive
from allennlp.predictors import Predictor

from scripts import try_hostile_archives
from scripts.try_hostile_archives import CONFIGS, MEMBERS, TRACE, write_archive
from tagger.data.dataset_readers import ColumnDatasetReader


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, with a module that a hostile config names."""
    path = tmp_path / "current"
    path.mkdir()
    monkeypatch.chdir(path)
    # The command `allennlp` puts the current folder there.
    monkeypatch.syspath_prepend(str(path))
    (path / "hostile_module.py").write_text(f"open({TRACE!r}, 'w')\nclass Model: pass\n")
    return path


@pytest.fixture
def good(trained):
    return trained / "model.tar.gz"


@pytest.mark.parametrize("load", [load_archive, Predictor.from_path])
@pytest.mark.parametrize("title", [*MEMBERS, *CONFIGS])
def test_a_hostile_archive_is_refused_in_one_line_and_leaves_no_trace(title, load, good, folder):
    hostile = folder / "hostile.tar.gz"
    write_archive(good, hostile, MEMBERS.get(title), CONFIGS.get(title))
    with pytest.raises(ConfigurationError, match="TAGGER_TRUST_ARCHIVES=1") as refusal:
        load(str(hostile))
    assert len(str(refusal.value).splitlines()) == 1
    assert not list(folder.parent.rglob(TRACE))


def test_the_script_shows_all_refused(good, folder, capsys):
    try_hostile_archives.main([str(good)])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(MEMBERS) + len(CONFIGS)
    assert all(": refused: " in line for line in lines)


def test_a_trusted_archive_is_evaluated_as_before(good, folder, monkeypatch):
    monkeypatch.setenv("TAGGER_TRUST_ARCHIVES", "1")
    archive = folder / "own.tar.gz"
    write_archive(good, archive, config=CONFIGS["the environment read by Jsonnet"])
    assert load_archive(archive).config["stolen"]


def test_a_class_that_the_user_has_imported_may_be_named(good, folder, monkeypatch):
    class OwnReader(ColumnDatasetReader):
        pass

    module = types.ModuleType("own_module")
    module.OwnReader = OwnReader
    module.dumps = json.dumps
    own = folder / "own.tar.gz"

    def named(name):
        def change(config):
            reader = {**config["dataset_reader"], "type": name}
            return json.dumps({**config, "dataset_reader": reader})

        write_archive(good, own, config=change)

    named("own_module.OwnReader")
    with pytest.raises(ConfigurationError, match="--include-package"):
        load_archive(own)
    monkeypatch.setitem(sys.modules, "own_module", module)
    assert isinstance(load_archive(own).dataset_reader, OwnReader)
    named("own_module.dumps")
    with pytest.raises(ConfigurationError, match="`own_module.dumps` as a DatasetReader"):
        load_archive(own)


def test_a_name_out_of_an_archive_stays_refused_where_another_part_of_it_is_used(good, folder):
    def change(config):
        return json.dumps({**config, "data_loader": {"type": "hostile_module.Model"}})

    write_archive(good, folder / "hostile.tar.gz", config=change)
    config = load_archive(folder / "hostile.tar.gz").config
    with pytest.raises(ConfigurationError, match="`hostile_module.Model` as a Model"):
        Model.from_params(config["data_loader"])
    assert not (folder / TRACE).exists()


def test_an_archive_larger_than_allowed_is_refused(good, monkeypatch):
    monkeypatch.setenv("TAGGER_ARCHIVE_BYTES", "1000")
    with pytest.raises(ConfigurationError, match="more than 1000 bytes; set TAGGER_ARCHIVE_BYTES"):
        load_archive(good)


@pytest.mark.parametrize("part", [0, 0.5])
def test_an_archive_that_is_cut_off_is_refused_in_one_line(part, good, tmp_path):
    content = good.read_bytes()
    (tmp_path / "cut.tar.gz").write_bytes(content[: int(len(content) * part)])
    with pytest.raises(ConfigurationError, match="cut.tar.gz is not the archive.*; make or copy"):
        load_archive(tmp_path / "cut.tar.gz")


def test_a_tar_file_without_a_config_is_refused(tmp_path):
    with tarfile.open(tmp_path / "other.tar.gz", "w:gz") as archive:
        archive.add(__file__, "code.py")
    with pytest.raises(ConfigurationError, match="no `config.json`"):
        load_archive(tmp_path / "other.tar.gz")


def test_what_is_refused_leaves_no_unpacked_folder(good, folder, monkeypatch, tmp_path):
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    write_archive(good, folder / "hostile.tar.gz", MEMBERS["a named pipe"])
    with pytest.raises(ConfigurationError):
        load_archive(folder / "hostile.tar.gz")
    assert not list((tmp_path / "temporary").iterdir())


def test_a_run_folder_and_overrides_in_jsonnet_still_load(trained, tmp_path):
    shutil.copytree(trained, tmp_path / "run")
    overrides = "{ 'model.head.decode_bias': { PER: 1 + 1 } }"
    archive = load_archive(tmp_path / "run", overrides=overrides)
    assert archive.model.head.decoder.decode_bias == {"PER": 2}
