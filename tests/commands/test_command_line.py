"""What all commands have in common: checks of outputs, and help texts."""

import argparse

import pytest
from allennlp.commands import Subcommand

from tagger.commands.command_line import check_output
from tagger.common.from_allennlp import ConfigurationError


def test_a_name_that_is_too_long_is_refused(tmp_path):
    check_output(tmp_path / ("a" * 240), [])
    for name in ("a" * 241, "é" * 121, "a" * 5000):
        with pytest.raises(ConfigurationError, match="`--output` has a name of .* at most 240"):
            check_output(tmp_path / name, [])


def test_a_link_to_itself_is_refused(tmp_path):
    loop, folder = tmp_path / "loop", tmp_path / "folder"
    loop.symlink_to(loop)
    folder.symlink_to(folder)
    for output in (loop, folder / "out.jsonl"):
        with pytest.raises(ConfigurationError, match="is a link to itself; give another name"):
            check_output(output, [], overwrite=True)
    (tmp_path / "link").symlink_to(tmp_path / "new")
    check_output(tmp_path / "link", [])


@pytest.mark.slow
@pytest.mark.parametrize("command", ["predict-file", "soft-labels", "predict"])
def test_commands_refuse_such_outputs_before_they_load_the_model(
    command, allennlp, tmp_path, capsys
):
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    option = "--output-file" if command == "predict" else "-o"
    for output, reason in ((loop, "is a link to itself"), (tmp_path / ("a" * 250), "at most 240")):
        with pytest.raises(SystemExit) as error:
            allennlp(command, tmp_path / "none.tar.gz", __file__, option, output)
        assert reason in f"{capsys.readouterr().err}{error.value}"


def test_help_texts_are_at_most_75_columns_wide(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    subparsers = argparse.ArgumentParser("allennlp").add_subparsers()
    ours = {
        name: Subcommand.by_name(name)().add_subparser(subparsers)
        for name in Subcommand.list_available()
        if Subcommand.by_name(name).__module__.startswith("tagger.")
    }
    assert {"train", "evaluate", "predict", "tune-decoding", "fetch-encoder"} < set(ours)
    lines = [(name, line) for name in ours for line in ours[name].format_help().splitlines()]
    assert [each for each in lines if len(each[1]) > 75] == []
