"""A command imports its own subcommand, what adds to it, and none of our others."""

import json

import pytest

COUNTED = """
import json, sys
import allennlp.commands as commands
sys.argv = ["allennlp", *{arguments}]
try:
    commands.main(prog="allennlp")
except SystemExit:
    pass
ours = [name for name in sys.modules if name.partition(".")[0].startswith("tagger")]
own = [name for name in ours if ".commands." in name]
classes = commands.Subcommand._registry[commands.Subcommand]
registered = {{name: found.__module__ for name, (found, _) in classes.items()}}
print()
print(json.dumps({{"ours": len(ours), "own": own, "registered": registered}}))
"""


@pytest.fixture
def found(succeed_fresh):
    """Runs a command in this project alone. Returns what it imported, and what it printed."""

    def found(*arguments):
        printed, _, last = (
            succeed_fresh(COUNTED.format(arguments=list(map(str, arguments))))
            .rstrip()
            .rpartition("\n")
        )
        return json.loads(last), printed

    return found


def test_all_commands_are_listed_and_each_is_in_a_module_of_its_name(found):
    counts, printed = found("--help")
    ours = {
        name: module
        for name, module in counts["registered"].items()
        if module.startswith("tagger.")
    }
    assert {"evaluate", "find-lr", "predict", "predict-file", "show-scores", "train"} <= {*ours}
    assert len(ours) > 20
    for name, module in ours.items():
        assert module.rpartition(".")[2] == name.replace("-", "_")
        assert f"\n    {name}" in printed
    additions = [module for module in counts["own"] if "_with_" in module]
    assert len(additions) == 3
    for module in additions:
        name = module.rpartition(".")[2].partition("_with_")[0].replace("_", "-")
        assert ours[name]


@pytest.mark.parametrize(
    ("command", "most", "additions"),
    [
        ("study", 34, 0),
        ("evaluate", 40, 1),
        ("test-install", 28, 0),
    ],
)
def test_the_help_of_a_command_imports_little(command, most, additions, found):
    counts, printed = found(command, "--help")
    assert printed.startswith(f"usage: allennlp {command}")
    assert counts["ours"] <= most
    assert len([module for module in counts["own"] if "_with_" in module]) == additions
    others = {
        name: module
        for name, module in counts["registered"].items()
        if module.startswith("tagger.") and name != command
    }
    assert not others


def test_predicting_two_lines_imports_what_predicts(found, good, tmp_path):
    (tmp_path / "two.txt").write_text("Anna went to Rome .\nBob left .\n")
    counts, printed = found("predict-file", good, tmp_path / "two.txt", "-o", tmp_path / "out")
    assert "Made 2 predictions" in printed
    assert len((tmp_path / "out").read_text().splitlines()) == 2
    # Another command's modules would be dozens.
    assert counts["ours"] <= 240
    assert [module for module in counts["own"] if module.startswith("tagger.tools")] == [
        "tagger.tools.deidentification.commands.predict_file_with_masks"
    ]


def test_a_wrong_command_is_answered_with_all(found):
    _, printed = found("tain")
    assert "invalid choice: 'tain' (choose from 'add-label'" in printed
    _, printed = found("command")  # a module beside the commands
    assert "invalid choice: 'command' (choose from 'add-label'" in printed


def test_plugins_of_others_are_still_imported(found, tmp_path):
    (tmp_path / "mine.py").write_text(
        "from allennlp.commands.subcommand import Subcommand\n"
        "@Subcommand.register('hello')\n"
        "class Hello(Subcommand):\n"
        "    requires_plugins = False\n"
        "    def add_subparser(self, parser):\n"
        "        subparser = parser.add_parser(self.name)\n"
        "        subparser.set_defaults(func=lambda args: print('hello, world'))\n"
        "        return subparser\n"
    )
    (tmp_path / ".allennlp_plugins").write_text("mine\n")
    _, printed = found("hello")
    assert printed.strip().endswith("hello, world")
    counts, _ = found("describe", "crf")
    assert counts["registered"]["hello"] == "mine"
