"""What all commands have in common: help texts."""

import argparse

import pytest
from allennlp.commands import Subcommand


def test_help_texts_are_at_most_75_columns_wide(allennlp, monkeypatch):
    with pytest.raises(SystemExit):
        allennlp("--version")
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
