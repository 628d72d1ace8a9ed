"""What AllenNLP 2.10.1 checks of its CRF (`tests/modules/conditional_random_field_test.py`), on ours."""

import pytest
import torch

from tagger.linear_chain import ChainScores
from tagger.modules import ConditionalRandomField
from tests.oracles.all_paths import AllPaths

# The chain of AllenNLP's tests.
EMISSIONS = torch.tensor(
    [
        [[0, 0, 0.5, 0.5, 0.2], [0, 0, 0.3, 0.3, 0.1], [0, 0, 0.9, 10, 1]],
        [[0, 0, 0.2, 0.5, 0.2], [0, 0, 3, 0.3, 0.1], [0, 0, 0.9, 1, 1]],
    ]
)
TAGS = torch.tensor([[2, 3, 4], [3, 2, 2]])
TRANSITIONS = torch.tensor(
    [
        [0.1, 0.2, 0.3, 0.4, 0.5],
        [0.8, 0.3, 0.1, 0.7, 0.9],
        [-0.3, 2.1, -5.6, 3.4, 4.0],
        [0.2, 0.4, 0.6, -0.3, -0.4],
        [1.0, 1.0, 1.0, 1.0, 1.0],
    ]
)
START = torch.tensor([0.1, 0.2, 0.3, 0.4, 0.6])
END = torch.tensor([-0.1, -0.2, 0.3, -0.4, -0.4])
SCORES = ChainScores(EMISSIONS, TRANSITIONS, START, END)
WHOLE = torch.tensor([[True, True, True], [True, True, True]])
PADDED = torch.tensor([[True, True, True], [True, True, False]])
WITH_A_HOLE = torch.tensor([[True, True, True], [True, False, True]])


def crf_of_the_tests(**arguments):
    crf = ConditionalRandomField(5, **arguments)
    crf.transitions = torch.nn.Parameter(TRANSITIONS)
    crf.start_transitions = torch.nn.Parameter(START)
    crf.end_transitions = torch.nn.Parameter(END)
    return crf


def tables(mask):
    return [AllPaths(SCORES, row, mask[row].nonzero().flatten().tolist()) for row in range(2)]


@pytest.mark.parametrize("mask", [None, PADDED, WITH_A_HOLE])
def test_the_likelihood_is_that_of_enumeration(mask):
    given = WHOLE if mask is None else mask
    expected = 0.0
    for table, tags in zip(tables(given), (TAGS[row, given[row]].tolist() for row in range(2))):
        expected += float(table.step_scores(tags).sum() - table.log_mass())
    assert crf_of_the_tests()(EMISSIONS, TAGS, mask).item() == pytest.approx(expected)


@pytest.mark.parametrize("mask", [None, PADDED, WITH_A_HOLE])
def test_the_best_path_is_that_of_enumeration(mask):
    best = crf_of_the_tests().viterbi_tags(EMISSIONS, mask)
    for (path, score), table in zip(best, tables(WHOLE if mask is None else mask)):
        ((expected_score, expected_path),) = table.k_best(1)
        assert (path, score) == (list(expected_path), pytest.approx(expected_score, rel=1e-5))


def test_the_second_best_paths_follow_the_best():
    crf = crf_of_the_tests()
    best = crf.viterbi_tags(EMISSIONS, PADDED, top_k=2)
    assert [row[0] for row in best] == crf.viterbi_tags(EMISSIONS, PADDED)
    assert [row[1][0] for row in best] == [[4, 2, 3], [3, 2]]


def test_constraints_may_be_a_set():
    steps = [(i, j % 5) for i in range(5) for j in (i, i + 1)]
    ends = [pair for i in range(5) for pair in ((5, i), (i, 6))]
    crf = crf_of_the_tests(constraints={*steps, *ends})
    paths = [path for path, _ in crf.viterbi_tags(EMISSIONS, PADDED)]
    assert paths == [[2, 3, 3], [2, 3]]
