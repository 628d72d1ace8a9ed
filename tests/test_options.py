"""Every argument of our commands has a help text, and every option is on a page."""

import argparse
import re

import pytest
from allennlp.commands import parse_args
from allennlp.commands.subcommand import Subcommand

from tests.pages import PAGES

#: Options of AllenNLP's commands, which AllenNLP's documentation explains, and the reasons for others.
EXCEPTIONS = {
    "evaluate": "--weights-file --batch-weight-key --extend-vocab --embedding-sources-mapping"
    " --file-friendly-logging --auto-names",
    "find-lr": "--start-lr --end-lr --num-batches --stopping-factor --linear --file-friendly-logging",
    "predict": "--weights-file --silent --dataset-reader-choice --multitask-head --predictor"
    " --file-friendly-logging",
    "train": "--node-rank --dry-run --file-friendly-logging",
}
DOCS = "\n".join(text for page, text in PAGES.items() if page != "CHANGELOG.md")


@pytest.fixture
def parsers(_plugins, monkeypatch):
    """The parser of each of our subcommands."""
    found = []

    def keep_and_leave(parser, *_):
        found.append(parser)
        raise EOFError

    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", keep_and_leave)
    monkeypatch.setattr(argparse.ArgumentParser, "parse_known_args", keep_and_leave)
    monkeypatch.setattr("sys.argv", ["allennlp", "describe"])
    with pytest.raises(EOFError):
        parse_args("allennlp")
    (commands,) = (
        action for action in found[-1]._actions if isinstance(action, argparse._SubParsersAction)
    )
    parsers = {
        name: parser
        for name, parser in commands.choices.items()
        if Subcommand.by_name(name).__module__.startswith("tagger.")
    }
    assert {"train", "split", "tune-decoding"} <= {*parsers}
    return parsers


def test_every_argument_has_a_help_text(parsers):
    without = [
        (name, action.dest)
        for name, parser in parsers.items()
        for action in parser._actions
        if not action.help
    ]
    assert without == []


def test_every_option_is_on_a_page(parsers):
    missing = {
        name: " ".join(
            action.option_strings[-1]
            for action in parser._actions
            if action.option_strings
            and action.dest != "help"
            and not any(
                re.search(rf"(?<![\w-]){option}(?![\w-])", DOCS) for option in action.option_strings
            )
        )
        for name, parser in parsers.items()
    }
    assert {name: options for name, options in missing.items() if options} == EXCEPTIONS
