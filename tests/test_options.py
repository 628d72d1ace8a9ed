"""Every argument of our commands has a help text, and every option is on a page."""

import re

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
