"""The figures of reports."""

import re

import pytest

from tagger.tools.reports.figures import draw_label_counts, draw_learning_curve


def texts_of(svg):
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg)


@pytest.mark.parametrize("numbers", [[8, 7, 7, 1], [1], [3, 2], [900, 20, 1], [250_000, 40]])
def test_counts_have_plain_numbers_beside_them(numbers):
    texts = texts_of(draw_label_counts(numbers, [True] * len(numbers), "gold entities"))
    assert "1" in texts
    assert not any("$" in text for text in texts)


@pytest.mark.parametrize("sizes", [[10, 20, 40], [120, 150, 200], [1_000, 10_000, 100_000]])
def test_sizes_have_plain_numbers_below_them(sizes):
    curve = {
        "measured": [0.2, 0.4, 0.5],
        "expected": {"middle": [0.6], "low": [0.5], "high": [0.7]},
    }
    record = {
        "num_items": sizes,
        "num_wanted": [2 * sizes[-1]],
        "noun": "sentences",
        "metric": "F1",
        "curves": {"all": curve},
    }
    texts = texts_of(draw_learning_curve(record))
    assert f"{sizes[0]:,}" in texts or f"{sizes[-1]:,}" in texts
    assert not any("$" in text for text in texts)
