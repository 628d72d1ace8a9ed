"""Help texts and the command `describe`."""

import argparse

import pytest
from allennlp.commands import Subcommand
from allennlp.common.checks import ConfigurationError

from tagger.commands.describe import describe
from tagger.common.component_reference import TEMPLATES, components, template


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


@pytest.mark.parametrize(
    "described", [*components(), *map(template, TEMPLATES)], ids=lambda each: each.path
)
def test_all_our_components_and_their_keys_are_described(described):
    assert described.description
    assert [key.name for key in described.keys if not key.meaning] == []


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        # A key of the class itself and one of a base class.
        ("marginal", "\ngamma: float = 0.0\n    "),
        ("marginal", "\nlabel_weights: Optional[Dict[str, float]] = None\n    Weights by label"),
        # A required key and a key that belongs to a method of the class.
        ("word_vectors", "\nembedding_dim: int\n    "),
        ("sequence_tagger", "\nhead: Lazy[TaggingHead] = 'crf'\n"),
        ("template.libsonnet", "\nhidden_size: a whole number from 1 to 65536 = 256\n    The size"),
        ("transformer.libsonnet", "\nsource_encoding: one of "),
        # An AllenNLP component with another docstring style.
        ("bag_of_embeddings", "\naveraged: bool = False\n    If `True`, "),
        # Components of several kinds.
        ("lexicon", "(TokenEmbedder)"),
        ("lexicon", "(TokenIndexer)"),
    ],
)
def test_a_key_is_shown_with_type_default_and_description(name, shown):
    assert shown in describe(name)


def test_without_a_name_all_kinds_are_listed():
    listed = describe().splitlines()
    assert "TaggingHead: crf, label_chains, sigmoid, softmax" in listed
    assert describe("TaggingHead") in listed
    assert listed[-1] == "template: template.libsonnet, transformer.libsonnet"


def test_an_unknown_name_is_refused_with_the_closest_match(allennlp, capsys):
    with pytest.raises(ConfigurationError, match="`crff` is no component.*did you mean `crf`"):
        describe("crff")
    allennlp("describe", "crf")
    assert "\nweighting: Optional[TagWeighting] = None\n" in capsys.readouterr().out
