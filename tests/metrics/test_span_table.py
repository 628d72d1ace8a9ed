import numpy as np

from tagger.metrics import format_span_table


def test_columns_line_up_with_long_labels():
    counts = np.array([[3, 0], [4, 1], [6, 200_000]])
    lines = format_span_table(["LOC", "ORGANISATION"], counts).splitlines()
    assert len({len(line) for line in lines}) == 1
    assert lines[2].split() == ["ORGANISATION", "0.0000", "0.0000", "0.0000", "200000"]


def test_no_labels_give_averages_of_zero():
    lines = format_span_table([], np.zeros((3, 0), dtype=np.int64)).splitlines()
    assert [line.split() for line in lines[1:]] == [
        ["overall", "0.0000", "0.0000", "0.0000", "0"],
        ["macro", "0.0000", "0.0000", "0.0000", "0"],
    ]
