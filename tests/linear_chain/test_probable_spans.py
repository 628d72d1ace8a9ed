"""The search for probable spans finds exactly the spans of enumeration."""

import pytest
import torch

from tagger.linear_chain import ChainScores, Spellings, probable_spans, span_log_probabilities
from tests.linear_chain.chains import mask_of, random_chains
from tests.oracles.all_paths import AllPaths

pytestmark = pytest.mark.usefixtures("every_implementation")

LENGTHS = [5, 1, 0, 4]
# Three labels over four tags: one with B and I, one with one-token spans only, and one without those.
SPELLINGS = Spellings(
    torch.tensor([[0, 1, 1, 0], [-1, -1, -1, 2], [3, 2, 0, -1]]),
    torch.tensor([[0, 1, 0, 0], [0, 0, 0, 0], [1, 0, 1, 0]]).bool(),
)


def enumerated(scores, mask, least):
    """Returns the spans and their probabilities from all paths of each row."""
    found = []
    for row, is_real in enumerate(mask):
        places = is_real.nonzero()[:, 0].tolist()
        paths = AllPaths(scores, row, places)
        for first in range(len(places)):
            for last in range(first, len(places)):
                for label, (opening, inside, closing, only) in enumerate(SPELLINGS.tags.tolist()):
                    between = [inside] * (last - first - 1)
                    tags = [opening, *between, closing] if last > first else [only]
                    allowed = torch.ones(len(places), 4, dtype=torch.bool)
                    for place, tag in zip(range(first, last + 1), tags):
                        allowed[place] = torch.arange(4) == tag
                    if last + 1 < len(places):
                        allowed[last + 1] = ~SPELLINGS.continuing[label]
                    probability = float(paths.log_probability(allowed).exp())
                    if probability >= least:
                        found.append(((row, places[first], places[last], label), probability))
    return sorted(found)


@pytest.mark.parametrize("least", [1e-9, 0.01, 0.2])
@pytest.mark.parametrize("kind", ["plain", "some impossible", "a hole"])
def test_all_probable_spans_are_found_and_no_others(least, kind):
    scores, mask = random_chains(4, 5, 4, seed=2, scale=1.5), mask_of(LENGTHS)
    if kind == "some impossible":
        scores.transitions[1, 0] = scores.start[1] = scores.emissions[0, 2, 0] = -torch.inf
    elif kind == "a hole":
        mask[0, 2] = False
    expected = enumerated(scores, mask, least)
    scores.emissions[~mask] = torch.nan
    found = probable_spans(scores, SPELLINGS, least, mask)
    assert [tuple(span) for span in found.spans.tolist()] == [span for span, _ in expected]
    probabilities = torch.tensor([p for _, p in expected], dtype=torch.float64)
    torch.testing.assert_close(found.log_probabilities.exp(), probabilities)
    assert len(expected) >= 8


def test_long_and_extreme_chains_agree_with_the_probabilities_of_single_spans():
    scores = random_chains(2, 150, 4, seed=4, scale=30.0, dtype=torch.float32)
    mask = mask_of([150, 100])
    found = probable_spans(scores, SPELLINGS, 0.5, mask)
    bio = found.spans[found.spans[:, 3] == 0]
    assert len(bio) > 10
    allowed = torch.zeros(len(bio), int((bio[:, 2] - bio[:, 1]).max()) + 2, 4, dtype=torch.bool)
    allowed[:, 0, 0] = allowed[:, 1:, 1] = True
    ends = torch.minimum(bio[:, 2] + 1, mask.sum(1)[bio[:, 0]] - 1)
    rows = torch.arange(len(bio))
    is_followed = ends > bio[:, 2]
    behind = (bio[:, 2] - bio[:, 1] + 1)[is_followed]
    allowed[rows[is_followed], behind] = torch.tensor([True, False, True, True])
    spans = torch.stack([bio[:, 0], bio[:, 1], ends], dim=1)
    expected = span_log_probabilities(scores, spans, allowed, mask)
    torch.testing.assert_close(found.log_probabilities[found.spans[:, 3] == 0], expected)


# NumPy interprets the kernel.
@pytest.mark.filterwarnings("ignore:All-NaN slice encountered")
@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize(
    ("scores", "num_spans"),
    [
        (random_chains(0, 3, 4), 0),
        (random_chains(2, 0, 4), 0),
        # A row without a possible path, and a row of NaN.
        (ChainScores(torch.zeros(1, 2, 4), torch.full((4, 4), -torch.inf), *torch.zeros(2, 4)), 0),
        (ChainScores(torch.full((1, 2, 4), torch.nan), torch.zeros(4, 4), *torch.zeros(2, 4)), 0),
    ],
)
def test_rows_without_a_distribution_have_no_spans(scores, num_spans):
    found = probable_spans(scores, SPELLINGS, 1e-6)
    assert found.spans.shape == (num_spans, 4)
    assert found.log_probabilities.dtype == scores.emissions.dtype
