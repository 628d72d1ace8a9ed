from tagger.metrics import format_span_table


def test_columns_line_up_with_long_labels():
    scores = {
        "LOC": (1.0, 0.5, 2 / 3),
        "ORGANISATION": (0.0, 0.0, 0.0),
        "macro": (0.5, 0.25, 1 / 3),
    }
    lines = format_span_table(scores, {"LOC": 2, "ORGANISATION": 200_000}).splitlines()
    assert len({len(line) for line in lines}) == 1
    assert lines[1].split() == ["LOC", "1.0000", "0.5000", "0.6667", "2"]
    assert lines[2].split() == ["ORGANISATION", "0.0000", "0.0000", "0.0000", "200000"]
    assert lines[3].split() == ["macro", "0.5000", "0.2500", "0.3333", "200002"]


def test_the_number_of_gold_spans_may_be_left_out():
    lines = format_span_table({"LOC": (1.0, 0.5, 2 / 3)}).splitlines()
    assert [line.split() for line in lines] == [
        ["precision", "recall", "F1"],
        ["LOC", "1.0000", "0.5000", "0.6667"],
    ]
