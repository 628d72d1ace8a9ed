"""Metrics as a table, and the page that explains their keys."""

import json
import re

import pytest

from tagger.metrics import format_metrics
from tests.pages import DOCS

MEASURES = ("precision", "recall", "f1-measure", "num-gold", "num-predicted")


def of(name, *values, prefix=""):
    return {f"{prefix}{measure}-{name}": value for measure, value in zip(MEASURES, values)}


def cells(text):
    return [line.split() for line in text.splitlines()]


def test_columns_line_up_with_long_labels():
    metrics = {
        **of("LOC", 1.0, 0.5, 2 / 3, 2),
        **of("ORGANISATION", 0.0, 0.0, 0.0, 200_000),
        **of("overall", 0.5, 0.25, 1 / 3, 200_002),
    }
    lines = format_metrics(metrics).splitlines()
    assert len({len(line) for line in lines}) == 1
    assert lines[1].split() == ["LOC", "1.0000", "0.5000", "0.6667", "2"]
    assert lines[2].split() == ["ORGANISATION", "0.0000", "0.0000", "0.0000", "200000"]
    assert lines[3].split() == ["overall", "0.5000", "0.2500", "0.3333", "200002"]


def test_gold_counts_and_token_averages_may_be_missing():
    assert cells(format_metrics(of("LOC", 1.0, 0.5, 2 / 3))) == [
        ["precision", "recall", "F1", "gold"],
        ["LOC", "1.0000", "0.5000", "0.6667"],
    ]
    assert format_metrics({"loss": 3.0}) == ""


@pytest.mark.parametrize("prefix", ["", "token-"])
def test_undefined_metrics_are_dashes(prefix):
    metrics = {
        **of("LOC", 0.0, 0.0, 0.0, 2, 3, prefix=prefix),
        **of("ORG", 0.0, 0.0, 0.0, 2, 0, prefix=prefix),
        **of("EVENT", 0.0, 0.0, 0.0, 0, 3, prefix=prefix),
        **of("WORK", 0.0, 0.0, 0.0, 0, 0, prefix=prefix),
        **of("overall", 0.0, 0.0, 0.0, 4, 6, prefix=prefix),
        **of("macro", 0.0, 0.0, 0.0, prefix=prefix),
    }
    assert cells(format_metrics(metrics))[1:] == [
        ["LOC", "0.0000", "0.0000", "0.0000", "2"],
        ["ORG", "-", "0.0000", "0.0000", "2"],
        ["EVENT", "0.0000", "-", "0.0000", "0"],
        ["WORK", "-", "-", "-", "0"],
        ["overall", "0.0000", "0.0000", "0.0000", "4"],
        ["macro", "0.0000", "0.0000", "0.0000"],
    ]
    metrics[f"{prefix}num-predicted-overall"] = 0
    assert cells(format_metrics(metrics))[-2:] == [
        ["overall", "-", "0.0000", "0.0000", "4"],
        ["macro", "-", "0.0000", "0.0000"],
    ]


def test_token_averages_follow_the_spans():
    metrics = {
        **of("LOC", 1.0, 0.5, 2 / 3, 2),
        **of("LOC", 1.0, 0.25, 0.4, 5, prefix="token-"),
        **of("overall", 1.0, 0.25, 0.4, 5, prefix="token-"),
    }
    spans, tokens = format_metrics(metrics).split("\n\n")
    assert [row[0] for row in cells(spans)] == ["spans", "LOC"]
    assert [row[0] for row in cells(tokens)] == ["tokens", "overall"]
    # If tags do not encode spans, the table lists tokens by label.
    (table,) = format_metrics(of("NOUN", 1.0, 0.25, 0.4, 5, prefix="token-")).split("\n\n")
    assert cells(table)[1] == ["NOUN", "1.0000", "0.2500", "0.4000", "5"]


def test_confusions_have_gold_labels_in_rows():
    metrics = {
        **of("LOC", 1.0, 0.5, 2 / 3, 2),
        **of("X>Y", 1.0, 0.5, 2 / 3, 2),
        "confusion-LOC>X>Y": 3,
        "confusion-LOC>missed": 1,
        "confusion-spurious>X>Y": 4,
        "token-confusion-O>LOC": 5,
    }
    _, spans, tokens = format_metrics(metrics).split("\n\n")
    assert cells(spans) == [
        ["spans:", "gold", ">", "predicted", "LOC", "X>Y", "boundary", "both", "missed"],
        ["LOC", ".", "3", ".", ".", "1"],
        ["X>Y", ".", ".", ".", ".", "."],
        ["boundary", ".", ".", ".", ".", "."],
        ["both", ".", ".", ".", ".", "."],
        ["spurious", ".", "4", ".", ".", "."],
    ]
    assert cells(tokens)[-1] == ["O", "5", ".", "."]


def test_with_many_labels_the_most_frequent_errors_are_listed():
    metrics, labels = {}, [f"LABEL{number:02}" for number in range(30)]
    for number, label in enumerate(labels):
        metrics.update(of(label, 1.0, 0.5, 2 / 3, 2))
        metrics[f"confusion-{label}>{label}"] = 1_000
        metrics[f"confusion-{label}>missed"] = number
    _, errors = format_metrics(metrics).split("\n\n")
    rows = cells(errors)
    assert rows[0] == ["spans:", "gold", "predicted", "number"]
    assert rows[1:] == [[f"LABEL{n:02}", "missed", str(n)] for n in range(29, 9, -1)]


def test_every_key_of_a_run_is_documented(trained):
    documented = set(re.findall(r"`([\w>-]+)`", DOCS["metrics"]))
    labels = {"PER", "LOC", "ORG", "EVENT"}
    for key in json.loads((trained / "metrics.json").read_text()):
        name = re.sub(r"^(best_)?(training|validation)_(?!share|duration|worker)", "", key)
        name = re.sub(r"^(token-)?confusion-.*", "confusion-LABEL>LABEL", name)
        name = re.sub(
            rf"^token-|({'|'.join(labels)})$", lambda each: "LABEL" if each[1] else "", name
        )
        assert name in documented or "memory_MB" in name, key
