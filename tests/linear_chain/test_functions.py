"""Properties of the functions that the fuzzer does not test.

The fuzzer compares values and gradients of batches with enumeration: with -inf, without tokens, with
holes, with unknown labels, with sets of labels, and in half precision.
"""

import pytest
import torch

from tagger.linear_chain import (
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
    viterbi_decode,
)
from tests.linear_chain.chains import mask_of, random_chains, random_tags
from tests.linear_chain.conftest import on_cpus
from tests.oracles.all_paths import AllPaths

pytestmark = pytest.mark.usefixtures("every_implementation")

DIFFERENTIABLE = [
    log_partition,
    step_log_normalizers,
    forward_scores,
    backward_scores,
    tag_marginals,
    transition_marginals,
]
OF_LABELS = [log_likelihood, step_log_likelihoods, step_log_conditionals, step_log_marginals]
#: Masked tokens at the ends, in the middle, and everywhere.
HOLES = [[0, 1, 0, 1], [0, 0, 1, 0], [0, 0, 0, 0]]
#: Unknown labels for two sequences of four tokens and three tags.
ALL_TAGS = torch.ones(2, 4, 3, dtype=torch.bool)


def close(actual, expected) -> None:
    # Both are float64; only the order of summation differs.
    expected = torch.as_tensor(expected, dtype=torch.float64)
    torch.testing.assert_close(actual, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("function", OF_LABELS[1:])
def test_weights_give_a_weighted_sum_for_each_row(function):
    scores, mask = random_chains(2, 4, 3), mask_of([4, 2])
    weights = torch.tensor([[0.5, 2.0, 3.0, 0.25], [1.5, 0.75, torch.nan, torch.nan]])
    for tags in (random_tags(2, 4, 3), torch.tensor([[0, -1, 2, 1], [-1, 1, 0, 0]]), ALL_TAGS):
        expected = (function(scores, tags, mask) * weights.nan_to_num()).sum(1)
        close(function(scores, tags, mask, weights), expected)


def test_log_marginals_below_the_smallest_float_are_exact():
    scores = random_chains(1, 3, 3, requires_grad=True)
    tags = torch.tensor([[0, 2, 1]])
    scores = scores._replace(emissions=scores.emissions * 2_000)
    values = step_log_marginals(scores, tags)
    assert values.min() < -1_000
    chain = AllPaths(scores, 0, range(3))
    for t in range(3):
        allowed = torch.ones(3, 3, dtype=torch.bool)
        allowed[t] = torch.arange(3) == tags[0, t]
        close(values[0, t], chain.log_probability(allowed))
    assert torch.autograd.grad(values.sum(), scores.emissions)[0].isfinite().all()


@on_cpus
def test_pairs_of_neighbours_are_sampled_with_their_probability():
    scores = random_chains(1, 3, 3)
    paths = sample_paths(scores, None, 5_000, torch.manual_seed(0))[0]
    pairs = torch.nn.functional.one_hot(paths[:, :-1] * 3 + paths[:, 1:], 9).double().mean(0)
    expected = transition_marginals(scores)[0].flatten(1)
    # Five standard deviations.
    torch.testing.assert_close(pairs, expected, rtol=0, atol=0.036)


def test_the_same_generator_draws_the_same_samples():
    scores, mask = random_chains(3, 9, 4), mask_of([9, 2, 5])
    drawn = [sample_paths(scores, mask, 4, torch.manual_seed(seed)) for seed in (3, 3, 4)]
    assert torch.equal(drawn[0], drawn[1])
    assert not torch.equal(drawn[0], drawn[2])


def test_an_empty_list_of_spans_has_no_probabilities():
    empty = torch.zeros(0, 3, dtype=torch.int64)
    allowed = torch.zeros(0, 1, 4, dtype=torch.bool)
    assert span_log_probabilities(random_chains(1, 3, 4), empty, allowed).shape == (0,)


def test_the_best_path_has_the_viterbi_score_which_is_below_log_partition():
    scores, mask = random_chains(4, 30, 7), mask_of([30, 1, 17, 2])
    paths, path_scores = viterbi_decode(scores, mask)
    close(path_scores, sequence_score(scores, paths, mask))
    assert (path_scores <= log_partition(scores, mask)).all()


# NumPy interprets the kernel.
@pytest.mark.filterwarnings("ignore:All-NaN slice encountered")
@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("role", ChainScores._fields)
@pytest.mark.parametrize("value", [torch.nan, torch.inf])
def test_nan_and_infinity_are_not_hidden(value, role):
    scores, tags = random_chains(2, 4, 3), torch.zeros(2, 4, dtype=torch.int64)
    if role == "emissions":
        scores.emissions[0, 1, 2] = value
    else:
        getattr(scores, role)[..., 1] = value
    for function in (log_partition, tag_marginals, transition_marginals, step_log_normalizers):
        assert function(scores)[0].isnan().any(), function.__name__
    for function in OF_LABELS:
        assert function(scores, tags)[0].isnan().any(), function.__name__
        assert function(scores, ALL_TAGS)[0].isnan().any(), function.__name__
    for function in (forward_scores, backward_scores):
        is_missed = role == ("end" if function is forward_scores else "start")
        assert function(scores).isfinite().all() == is_missed
    assert viterbi_decode(scores)[1][0].isnan()
    assert k_best_decode(scores, k=2)[1][0].isnan().all()
    if role == "emissions":
        # The other row is unaffected.
        clean = ChainScores(scores.emissions[1:], *scores[1:])
        for function in DIFFERENTIABLE:
            close(function(scores)[1:], function(clean))
        close(viterbi_decode(scores)[1][1:], viterbi_decode(clean)[1])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("size", [1e8, 1e15, 1e17, 1e25])
@pytest.mark.parametrize("role", ["emissions", "transitions", "end"])
def test_marginals_of_huge_scores_sum_to_one(role, size, dtype):
    scores = random_chains(2, 4, 3, dtype=dtype)
    values = getattr(scores, role)
    mixed = torch.randint(-1, 2, values.shape)
    for signs in (1, -1, mixed):
        scores = scores._replace(**{role: values + signs * size})
        for marginals, dims in ((tag_marginals(scores), 2), (transition_marginals(scores), (2, 3))):
            sums = marginals.sum(dims)
            torch.testing.assert_close(sums, torch.ones_like(sums), rtol=1e-5, atol=0)


@pytest.mark.parametrize(
    "function", [log_partition, step_log_normalizers, tag_marginals], ids=lambda f: f.__name__
)
def test_second_derivatives_agree_with_finite_differences(function):
    scores, mask = random_chains(2, 3, 2, requires_grad=True), mask_of([3, 2])
    assert torch.autograd.gradgradcheck(
        lambda *tensors: function(ChainScores(*tensors), mask), tuple(scores), fast_mode=True
    )


@pytest.mark.parametrize("scale", [1.0, 100.0])
def test_long_chains_of_large_scores_agree_with_float64(scale, every_implementation):
    # Triton's interpreter would take a minute for 2,000 tokens. The kernels read blocks of 128.
    num_tokens = 150 if every_implementation == "cuda" else 2_000
    scores = random_chains(2, num_tokens, 5, scale=scale, dtype=torch.float32)
    exact = ChainScores(*(tensor.double() for tensor in scores))
    single, double = log_partition(scores), log_partition(exact)
    assert single.isfinite().all()
    # float32 has 24 bits, and thousands of rounding errors partly cancel.
    torch.testing.assert_close(single.double(), double, rtol=1e-6, atol=0)


@pytest.mark.parametrize("dtype", [torch.int32, torch.int16, torch.int8, torch.uint8])
def test_tags_may_have_any_integer_type(dtype):
    scores, tags = random_chains(2, 4, 3), random_tags(2, 4, 3)
    for function in (*OF_LABELS, sequence_score, step_scores):
        close(function(scores, tags.to(dtype)), function(scores, tags))


def test_compacted_removes_masked_tokens():
    emissions, mask = random_chains(3, 4, 2).emissions, torch.tensor(HOLES).bool()
    found, lengths = compacted(emissions, mask)
    assert lengths.tolist() == [2, 1, 0]
    for row, (real, length) in enumerate(zip(mask, lengths)):
        assert torch.equal(found[row, :length], emissions[row, real])
    assert compacted(emissions, mask_of([4, 1, 0]))[0] is emissions


def test_the_callers_tensors_are_not_changed():
    scores, mask = random_chains(3, 4, 2), torch.tensor(HOLES).bool()
    scores.emissions[~mask] = torch.nan
    tags = random_tags(3, 4, 2)
    before = [each.clone() for each in (*scores, tags, mask)]
    log_likelihood(scores, tags, mask)
    viterbi_decode(scores, mask)
    torch.testing.assert_close([*scores, tags, mask], before, rtol=0, atol=0, equal_nan=True)
