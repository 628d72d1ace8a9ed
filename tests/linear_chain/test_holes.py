"""Masks with holes: each row gives what its real tokens give alone."""

import pytest
import torch

from tagger.linear_chain import (
    IMPLEMENTATIONS,
    ChainScores,
    backward_scores,
    compacted,
    forward_scores,
    k_best_decode,
    log_likelihood,
    log_partition,
    sample_paths,
    sequence_score,
    span_log_probabilities,
    step_log_conditionals,
    step_log_likelihoods,
    step_log_marginals,
    step_log_normalizers,
    step_scores,
    tag_marginals,
    transition_marginals,
    use_implementation,
    viterbi_decode,
)
from tests.linear_chain.chains import mask_of, random_chains, random_tags

# Holes in the middle, at the first token, at all tokens but one, at none and at all.
MASK = torch.tensor(
    [
        [1, 0, 1, 1, 0, 1],
        [0, 0, 1, 1, 1, 0],
        [0, 0, 0, 0, 1, 0],
        [1, 1, 1, 1, 1, 1],
        [0, 0, 0, 0, 0, 0],
    ]
).bool()
SIZE = (5, 6, 3)
TAGS = random_tags(*SIZE)
SETS = torch.rand(SIZE, generator=torch.manual_seed(4)) < 0.5
SETS = SETS.scatter(2, TAGS.unsqueeze(2), True)
OF_TOKENS = [
    step_log_normalizers,
    forward_scores,
    backward_scores,
    tag_marginals,
]
OF_LABELS = [step_log_likelihoods, step_log_conditionals, step_log_marginals, log_likelihood]


@pytest.fixture(params=sorted(IMPLEMENTATIONS), autouse=True)
def _implementation(request):
    with use_implementation(request.param):
        yield


@pytest.fixture
def scores():
    """Chains with NaN at masked tokens."""
    chains = random_chains(*SIZE)
    emissions = chains.emissions.masked_fill(~MASK.unsqueeze(2), torch.nan)
    return ChainScores(*(each.requires_grad_() for each in chains._replace(emissions=emissions)))


def rows_alone(scores):
    """Each row that has a real token, its real tokens, and its chain without the others."""
    for row, mask in enumerate(MASK):
        if mask.any():
            tokens = mask.nonzero().squeeze(1)
            yield row, tokens, scores._replace(emissions=scores.emissions[row : row + 1, tokens])


def assert_equal_values_and_gradients(scores, actual, expected):
    """Compares two results; no gradient may reach a masked token."""
    # float64 against float64: only the order of summation differs.
    torch.testing.assert_close(actual, expected, rtol=1e-9, atol=1e-9)
    weights = torch.rand(actual.shape, generator=torch.manual_seed(1), dtype=torch.float64)
    found, targets = (
        torch.autograd.grad(result, scores, weights, allow_unused=True, retain_graph=True)
        for result in (actual, expected)
    )
    for gradient, target in zip(found, targets):
        target = torch.zeros_like(gradient) if gradient is not None and target is None else target
        torch.testing.assert_close(gradient, target, rtol=1e-9, atol=1e-9)
    if found[0] is not None:
        assert found[0][~MASK].eq(0).all()


@pytest.mark.parametrize("function", OF_TOKENS, ids=lambda f: f.__name__)
def test_values_of_tokens_are_moved_back(function, scores):
    actual = function(scores, MASK)
    assert actual[~MASK].eq(0).all()
    for row, tokens, alone in rows_alone(scores):
        assert_equal_values_and_gradients(scores, actual[row, tokens], function(alone)[0])


@pytest.mark.parametrize("labels", [TAGS, TAGS.masked_fill(TAGS == 1, -1), SETS])
@pytest.mark.parametrize("function", OF_LABELS, ids=lambda f: f.__name__)
def test_labels_at_masked_tokens_do_not_matter(function, labels, scores):
    is_set = labels.dim() == 3
    given = labels.masked_fill(~(MASK.unsqueeze(2) if is_set else MASK), 0 if is_set else 99)
    actual = function(scores, given, MASK)
    for row, tokens, alone in rows_alone(scores):
        expected = function(alone, labels[row : row + 1, tokens])[0]
        assert_equal_values_and_gradients(
            scores, actual[row][tokens] if expected.dim() else actual[row], expected
        )


def test_scores_of_paths_leave_masked_tokens_out(scores):
    tags = TAGS.masked_fill(~MASK, -7)
    totals, steps = sequence_score(scores, tags, MASK), step_scores(scores, tags, MASK)
    assert totals[4] == 0
    for row, tokens, alone in rows_alone(scores):
        path = TAGS[row : row + 1, tokens]
        assert_equal_values_and_gradients(scores, totals[row], sequence_score(alone, path)[0])
        assert_equal_values_and_gradients(scores, steps[row, tokens], step_scores(alone, path)[0])


def test_log_partition_is_over_the_real_tokens(scores):
    actual = log_partition(scores, MASK)
    assert actual[4] == 0
    for row, _, alone in rows_alone(scores):
        assert_equal_values_and_gradients(scores, actual[row], log_partition(alone)[0])


def test_a_transition_stands_before_the_token_that_it_leads_to(scores):
    actual = transition_marginals(scores, MASK)
    for row, tokens, alone in rows_alone(scores):
        expected = torch.zeros(5, 3, 3, dtype=torch.float64)
        expected[tokens[1:] - 1] = transition_marginals(alone)[0]
        assert_equal_values_and_gradients(scores, actual[row], expected)


@pytest.mark.parametrize("k", [1, 3])
def test_best_paths_have_no_tag_at_masked_tokens(k, scores):
    paths, path_scores = k_best_decode(scores, MASK, k)
    assert paths.transpose(1, 2)[~MASK].eq(0).all()
    best, _ = viterbi_decode(scores, MASK)
    assert torch.equal(best, paths[:, 0])
    assert path_scores[4].tolist() == [0, -torch.inf, -torch.inf][:k]
    for row, tokens, alone in rows_alone(scores):
        expected_paths, expected_scores = k_best_decode(alone, k=k)
        assert torch.equal(paths[row][:, tokens], expected_paths[0])
        torch.testing.assert_close(path_scores[row], expected_scores[0])


def test_samples_have_no_tag_at_masked_tokens_and_come_as_often_as_they_should(scores):
    samples = sample_paths(scores, MASK, 4000, torch.Generator().manual_seed(3))
    assert samples.transpose(1, 2)[~MASK].eq(0).all()
    shares = torch.nn.functional.one_hot(samples, 3).double().mean(1)
    # Three standard deviations of a share of a half
    assert (shares - tag_marginals(scores, MASK))[MASK].abs().max() < 3 * 0.5 / 4000**0.5


def test_spans_ignore_the_masked_tokens_inside_them(scores):
    spans = torch.tensor([[0, 0, 3], [0, 2, 5], [1, 2, 4], [2, 4, 4], [3, 1, 5]])
    allowed = torch.rand(5, 6, 3, generator=torch.manual_seed(2)) < 0.6
    actual = span_log_probabilities(scores, spans, allowed, MASK)
    for value, (row, first, last), sets in zip(actual, spans.tolist(), allowed):
        tokens = MASK[row].nonzero().squeeze(1)
        inside = tokens[(tokens >= first) & (tokens <= last)]
        alone = scores._replace(emissions=scores.emissions[row : row + 1, tokens])
        ends = [(tokens == inside[place]).nonzero().item() for place in (0, -1)]
        expected = span_log_probabilities(
            alone, torch.tensor([[0, *ends]]), sets[inside - first].unsqueeze(0)
        )
        assert_equal_values_and_gradients(scores, value, expected[0])


def test_errors_name_the_positions_that_the_caller_knows(scores):
    with pytest.raises(ValueError, match="row 1 has 7 at token 3"):
        log_likelihood(
            scores, TAGS.index_put((torch.tensor(1), torch.tensor(3)), torch.tensor(7)), MASK
        )
    one_set = torch.ones(1, 6, 3, dtype=torch.bool)
    for first, last in ((1, 2), (2, 4), (3, 2)):
        with pytest.raises(
            ValueError, match=f"begin and end at real .* row 0, tokens {first} to {last}"
        ):
            span_log_probabilities(scores, torch.tensor([[0, first, last]]), one_set, MASK)


def test_callers_tensors_stay_as_they_were(scores):
    before = [each.detach().clone() for each in (*scores, TAGS, MASK)]
    log_likelihood(scores, TAGS, MASK)
    viterbi_decode(scores, MASK)
    for tensor, copy in zip((*scores, TAGS, MASK), before):
        assert torch.equal(tensor.nan_to_num(9), copy.nan_to_num(9))


def test_compacted_takes_masked_tokens_out(scores):
    emissions, lengths = compacted(scores.emissions, MASK)
    assert lengths.tolist() == [4, 3, 1, 6, 0]
    for row, tokens, _ in rows_alone(scores):
        assert torch.equal(emissions[row, : len(tokens)], scores.emissions[row, tokens])
    same, _ = compacted(scores.emissions, mask_of([6, 1, 0, 2, 3]))
    assert same is scores.emissions
