"""Which folders `--force` may remove and `--recover` may continue."""

import pytest
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError

from tagger.training.run_folder import (
    check_has_vocabulary,
    check_is_run,
    check_is_same_run,
    take_folder,
)


@pytest.mark.parametrize("folder", ["project", "project/run"])
def test_force_removes_neither_the_current_folder_nor_one_around_it(folder, tmp_path, monkeypatch):
    (tmp_path / "project/run").mkdir(parents=True)
    (tmp_path / folder / "config.json").write_text("{}")
    monkeypatch.chdir(tmp_path / "project/run")
    with pytest.raises(ConfigurationError, match="where you are"):
        check_is_run(tmp_path / folder)
    assert (tmp_path / folder / "config.json").exists()


def test_force_may_remove_a_run_and_an_empty_folder(tmp_path):
    check_is_run(tmp_path / "nothing")
    (tmp_path / "run").mkdir()
    check_is_run(tmp_path / "run")
    (tmp_path / "run/best.th").touch()
    with pytest.raises(ConfigurationError, match="is not the folder of a run.*but `best.th`"):
        check_is_run(tmp_path / "run")
    (tmp_path / "run/config.json").write_text("{}")
    check_is_run(tmp_path / "run")


def test_recover_names_what_differs(tmp_path):
    (tmp_path / "config.json").write_text('{"trainer": {"num_epochs": 3, "patience": null}}')
    params = Params({"trainer": {"num_epochs": 5, "patience": None}, "random_seed": 1})
    with pytest.raises(ConfigurationError) as error:
        check_is_same_run(params, tmp_path)
    assert "`random_seed` is 1 and was missing; `trainer.num_epochs` is 5 and was 3." in str(
        error.value
    )
    equal = Params.from_file(tmp_path / "config.json")
    check_is_same_run(equal, tmp_path)


def test_a_file_is_no_folder_for_a_run(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ConfigurationError, match="file is a file; name a folder"):
        take_folder(tmp_path / "file")
    with pytest.raises(ConfigurationError, match="cannot be made"):
        take_folder(tmp_path / "file/run")


def test_distributed_training_needs_a_checkpoint_to_continue(tmp_path):
    params = Params({"distributed": {"cuda_devices": [-1, -1]}})
    (tmp_path / "config.json").write_text("{}")
    check_has_vocabulary(Params({}), tmp_path)
    with pytest.raises(ConfigurationError, match="no checkpoint to continue from; start it again"):
        check_has_vocabulary(params, tmp_path)
    (tmp_path / "training_state_e1_b0.th").touch()
    check_has_vocabulary(params, tmp_path)
