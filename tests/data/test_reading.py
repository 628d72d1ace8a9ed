"""Tests of the record of how files are read."""

import argparse
import inspect
from dataclasses import fields

import pytest

from tagger.data import ColumnDatasetReader
from tagger.data.reading import DETECTED, Reading
from tagger.tools.start.commands.convert import Convert
from tagger.tools.start.commands.start import Start
from tagger.tools.studies.commands.learning_curve import LearningCurve

#: What the reader takes beside how files are read, and what only options and files tell.
OTHERS = {"self", "token_indexers", "tokenizer", "kwargs"}
TOLD = {"labelled", "more_tags", "each_source"}


def test_each_argument_of_the_reader_has_a_field_with_the_same_default():
    arguments = inspect.signature(ColumnDatasetReader.__init__).parameters
    assert {*arguments} - OTHERS == {each.name for each in fields(Reading)} - TOLD
    given = {name: each.default for name, each in arguments.items() if name not in OTHERS}
    assert Reading.of_reader(given) == DETECTED
    assert DETECTED.changed() == {}


def test_columns_that_a_reader_detects_are_definite_in_an_option():
    assert Reading.of({"token_column": 0, "tag_column": -1, "other": 1}) == Reading(None, 0, -1)
    assert Reading.of_reader({"tag_column": None}) == Reading(labelled=False)
    assert Reading.of_reader({"tag_column": -1, "source_encoding": None}).tag_column == -1
    assert not Reading.of_reader({"source_encoding": None}).implies_columns


def test_lists_become_tuples_so_that_a_reading_has_a_hash():
    reading = Reading(label_names=["O", "B-X"])
    assert hash(reading) == hash(Reading(label_names=("O", "B-X")))
    assert reading.changed() == {"label_names": ("O", "B-X")}


@pytest.mark.parametrize("command", [Convert, LearningCurve, Start])
def test_commands_that_refuse_overlaps_have_the_option_that_they_advise(command):
    parser = argparse.ArgumentParser()
    command().add_arguments(parser)
    assert "--overlapping" in parser.format_help()
