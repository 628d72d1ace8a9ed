"""Segments with borders that may differ, on cases with a known answer."""

import pytest
import torch
from allennlp.data import Vocabulary

from tagger.metrics import SegmentMetrics
from tagger_texts.recordings import windows

TAGS = {"walk": 3, "sit": 2, "O": 1}


def measured(predicted, gold, tolerance, encoding=None, tags=TAGS, window=100):
    """Metrics of a recording in letters: w, s, O, and `?` for unknown."""
    metric = SegmentMetrics(Vocabulary({"labels": tags}), tolerance, tag_encoding=encoding)
    letters = {name[0]: index for index, name in enumerate(tags)} | {"?": -1}
    rows = torch.tensor([[letters[each] for each in side] for side in (predicted, gold)])
    # Backwards, since loaders shuffle.
    for each in reversed(windows(len(gold), window, window // 2)):
        one, other = rows[:, each.first : each.end].clone().unsqueeze(1)
        is_own = torch.zeros_like(other, dtype=torch.bool)
        is_own[:, each.own] = True
        other[~is_own] = -1
        place = {"recording": "a", "window": each}
        metric(one, other, torch.ones_like(is_own), [place])
    return metric.get_metric(reset=True)


@pytest.mark.parametrize("window", [4, 7, 100])
@pytest.mark.parametrize(
    ("predicted", "gold", "tolerance", "found"),
    [
        ("wwwwsssOO", "wwwwsssOO", 0, (2, 2, 2)),
        ("wwwssssOO", "wwwwsssOO", 0, (0, 2, 2)),
        ("wwwssssOO", "wwwwsssOO", 1, (2, 2, 2)),
        ("wwOOssssO", "wwwwsssOO", 1, (1, 2, 2)),
        # A segment in two parts: neither has both borders.
        ("wwOwwwwww", "wwwwwwwww", 1, (0, 2, 1)),
        # Each is matched once.
        ("wwwOOOOOO", "wOwOOOOOO", 2, (1, 1, 2)),
        ("OOOwwwwww", "wwwwwwOOO", 2, (0, 1, 1)),
        # Unknown steps are left out.
        ("wwwsOwwww", "www???www", 0, (1, 1, 1)),
        ("wwwwwssss", "www???sss", 0, (2, 2, 2)),
        ("sssssssss", "?????????", 0, (0, 0, 0)),
    ],
)
def test_segments_are_counted(predicted, gold, tolerance, found, window):
    metrics = measured(predicted, gold, tolerance, window=window)
    num_right, num_predicted, num_gold = found
    assert metrics["segment-num-predicted-overall"] == num_predicted
    assert metrics["segment-num-gold-overall"] == num_gold
    assert metrics["segment-precision-overall"] == num_right / max(num_predicted, 1)
    assert metrics["segment-recall-overall"] == num_right / max(num_gold, 1)


def test_in_an_encoding_labels_make_segments():
    tags = {"B-walk": 3, "I-walk": 2, "O": 1}
    metrics = measured("BIIO", "OBIO", 1, "BIO", tags)
    assert metrics["segment-f1-measure-walk"] == 1


def test_labels_have_segments_of_their_own():
    metric = SegmentMetrics(Vocabulary({"labels": {"up": 3, "fast": 2}}), 0)
    gold = torch.tensor([[[1, 0], [1, -1], [0, 1], [0, 1]]])
    predicted = torch.tensor([[[1, 0], [1, 1], [0, 1], [0, 0]]]).bool()
    # Without a place, each row is a recording.
    metric(predicted, gold, torch.ones(1, 4, dtype=torch.bool), [{}])
    metrics = metric.get_metric()
    assert metrics["segment-f1-measure-up"] == 1
    assert metrics["segment-f1-measure-fast"] == 0
    assert metrics["segment-num-predicted-fast"] == metrics["segment-num-gold-fast"] == 1
