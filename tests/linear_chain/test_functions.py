"""What holds of the functions besides that they equal enumeration, which the fuzzer tests.

It compares values and gradients of batches, with -inf, with no token, with holes, with unknown labels,
with sets of them, and in half precision.
"""

import pytest
import torch

from tagger.linear_chain import (
    ChainScores,
    backward_scores,
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
#: The labels of two sequences of four tokens and three tags, all unknown.
ALL_TAGS = torch.ones(2, 4, 3, dtype=torch.bool)


def random_labels(batch_size, num_tokens, num_tags):
    """Sets of tags, none empty, and some of a single tag."""
    is_allowed = torch.rand(batch_size, num_tokens, num_tags, generator=torch.manual_seed(4)) < 0.5
    return is_allowed.scatter(2, random_tags(batch_size, num_tokens, num_tags).unsqueeze(2), True)


def labels_of(kind, mask, num_tags):
    """Labels of one of `LABEL_KINDS`."""
    size = (*mask.shape, num_tags)
    if kind == "sets":
        return random_labels(*size)
    is_unknown = torch.rand(mask.shape, generator=torch.manual_seed(5)) < 0.5
    tags = random_tags(*size, seed=1)
    return tags.masked_fill(is_unknown, -1) if kind == "partial path" else tags


LABEL_KINDS = ["path", "partial path", "sets"]


def close(actual, expected) -> None:
    # float64 against float64: only the order of summation differs.
    expected = torch.as_tensor(expected, dtype=torch.float64)
    torch.testing.assert_close(actual, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", LABEL_KINDS)
@pytest.mark.parametrize("function", OF_LABELS[1:])
def test_weights_give_the_weighted_sum_of_a_row(function, kind):
    scores, mask = random_chains(2, 4, 3, requires_grad=True), mask_of([4, 2])
    labels = labels_of(kind, mask, 3)
    weights = torch.tensor([[0.5, 2.0, 3.0, 0.25], [1.5, 0.75, torch.nan, torch.nan]])
    expected = (function(scores, labels, mask) * weights.nan_to_num()).sum(1)
    close(function(scores, labels, mask, weights), expected)
    with torch.no_grad():
        close(function(scores, labels, mask, weights), expected.detach())

    def of_scores(*tensors):
        return function(ChainScores(*tensors), labels, mask, weights)

    assert torch.autograd.gradcheck(of_scores, tuple(scores), fast_mode=True)
    assert torch.autograd.gradgradcheck(of_scores, tuple(scores), fast_mode=True)
    with pytest.raises(ValueError, match=r"`weights` must have shape \(2, 4\).*; got \(2, 3\)"):
        function(scores, labels, mask, weights[:, :3])


def test_marginals_beyond_the_smallest_float_keep_their_logarithm():
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
def test_pairs_of_neighbours_are_sampled_as_often_as_they_are_probable():
    scores = random_chains(1, 3, 3)
    paths = sample_paths(scores, None, 5_000, torch.manual_seed(0))[0]
    pairs = torch.nn.functional.one_hot(paths[:, :-1] * 3 + paths[:, 1:], 9).double().mean(0)
    expected = transition_marginals(scores)[0].flatten(1)
    # five standard deviations
    torch.testing.assert_close(pairs, expected, rtol=0, atol=0.036)


def test_the_same_generator_draws_the_same_samples():
    scores, mask = random_chains(3, 9, 4), mask_of([9, 2, 5])
    drawn = [sample_paths(scores, mask, 4, torch.manual_seed(seed)) for seed in (3, 3, 4)]
    assert torch.equal(drawn[0], drawn[1])
    assert not torch.equal(drawn[0], drawn[2])


def test_no_spans_have_no_probabilities():
    empty = torch.zeros(0, 3, dtype=torch.int64)
    allowed = torch.zeros(0, 1, 4, dtype=torch.bool)
    assert span_log_probabilities(random_chains(1, 3, 4), empty, allowed).shape == (0,)


@pytest.mark.parametrize(
    ("spans", "allowed", "message"),
    [
        (
            torch.zeros(1, 2).long(),
            torch.ones(1, 1, 3).bool(),
            r"`spans` must be int64 of shape \(N, 3\)",
        ),
        (torch.zeros(1, 3), torch.ones(1, 1, 3).bool(), r"`spans` must be int64"),
        (torch.tensor([[0, 0, 0]]), torch.ones(1, 1, 4).bool(), r"shape \(N, W, 3\)"),
        (torch.tensor([[0, 0, 1]]), torch.ones(1, 1, 3).bool(), "at least 2 tokens"),
        (torch.tensor([[1, 1, 2]]), torch.ones(1, 2, 3).bool(), "row 1, tokens 1 to 2"),
        (torch.tensor([[2, 0, 0]]), torch.ones(1, 1, 3).bool(), "one of 2 rows; got row 2"),
        (torch.tensor([[0, 2, 1]]), torch.ones(1, 1, 3).bool(), "row 0, tokens 2 to 1"),
    ],
)
def test_spans_that_do_not_fit_are_refused(spans, allowed, message):
    with pytest.raises(ValueError, match=message):
        span_log_probabilities(random_chains(2, 4, 3), spans, allowed, mask_of([4, 2]))


def test_gradient_of_log_partition_is_the_marginals():
    lengths = [6, 2, 4]
    scores = random_chains(3, 6, 5, requires_grad=True)
    mask = mask_of(lengths)
    log_partition(scores, mask).sum().backward()
    marginals = tag_marginals(scores, mask)
    close(scores.emissions.grad, marginals)
    close(scores.transitions.grad, transition_marginals(scores, mask).sum((0, 1)))
    close(scores.start.grad, marginals[:, 0].sum(0))
    last = torch.stack([marginals[row, length - 1] for row, length in enumerate(lengths)])
    close(scores.end.grad, last.sum(0))


def test_best_path_scores_the_viterbi_score_and_less_than_log_partition():
    scores, mask = random_chains(4, 30, 7), mask_of([30, 1, 17, 2])
    paths, path_scores = viterbi_decode(scores, mask)
    close(path_scores, sequence_score(scores, paths, mask))
    assert (path_scores <= log_partition(scores, mask)).all()


def test_step_log_normalizers_sum_to_log_partition_with_a_gradient_to_each():
    scores, mask = random_chains(2, 5, 3, requires_grad=True), mask_of([5, 3])
    steps = step_log_normalizers(scores, mask)
    close(steps.sum(1), log_partition(scores, mask))
    for t in range(5):
        (gradient,) = torch.autograd.grad(steps[0, t], scores.emissions, retain_graph=True)
        assert gradient[0, t].abs().sum() > 0
        assert gradient[0, t + 1 :].eq(0).all()


# of NumPy, which interprets the kernel
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
        # The other row is as ever.
        clean = ChainScores(scores.emissions[1:], *scores[1:])
        for function in DIFFERENTIABLE:
            close(function(scores)[1:], function(clean))
        close(viterbi_decode(scores)[1][1:], viterbi_decode(clean)[1])


def test_infinity_in_the_padding_is_no_score():
    scores = random_chains(2, 4, 3)
    scores.emissions[1, 2] = torch.inf
    assert viterbi_decode(scores, mask_of([4, 2]))[1].isfinite().all()
    assert transition_marginals(scores, mask_of([4, 2])).isfinite().all()


def test_a_tags_own_emission_is_no_part_of_its_backward_score():
    scores = random_chains(2, 3, 2)
    scores = scores._replace(end=torch.tensor([0.0, 900.0]).double())
    expected = backward_scores(scores, mask_of([3, 2]))
    scores.emissions[0, 2] = scores.emissions[1, 1] = -torch.inf
    actual = backward_scores(scores, mask_of([3, 2]))
    close(actual[0, 2], expected[0, 2])
    close(actual[1, 1], expected[1, 1])


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
    # Triton's interpreter would take a minute for 2,000.
    num_tokens = 400 if every_implementation == "cuda" else 2_000
    scores = random_chains(2, num_tokens, 5, scale=scale, dtype=torch.float32)
    exact = ChainScores(*(tensor.double() for tensor in scores))
    single, double = log_partition(scores), log_partition(exact)
    assert single.isfinite().all()
    # float32 carries 24 bits, and thousands of rounding errors partly cancel.
    torch.testing.assert_close(single.double(), double, rtol=1e-6, atol=0)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"emissions": torch.zeros(3, 4)}, ValueError, r"`emissions` must be \(B, T, K\)"),
        ({"transitions": torch.zeros(3, 4)}, ValueError, r"`transitions` must have shape \(3, 3\)"),
        ({"start": torch.zeros(2)}, ValueError, r"`start` must have shape \(3,\)"),
        ({"end": torch.zeros(3, 1)}, ValueError, r"`end` must have shape \(3,\)"),
        ({"end": torch.zeros(3).long()}, TypeError, "`end` must hold floating-point scores"),
    ],
)
def test_scores_that_do_not_fit_are_refused(changes, error, message):
    with pytest.raises(error, match=message):
        log_partition(random_chains(2, 4, 3)._replace(**changes))


@pytest.mark.parametrize(
    ("mask", "message"),
    [
        (torch.ones(2, 3).bool(), r"`mask` must be \(2, 4\)"),
        (torch.tensor([4, 5]), "a length outside 0 to 4"),
    ],
)
def test_masks_that_do_not_fit_are_refused(mask, message):
    with pytest.raises(ValueError, match=message):
        log_partition(random_chains(2, 4, 3), mask)


@pytest.mark.parametrize(
    ("tags", "message"),
    [
        (torch.zeros(2, 3).long(), r"have shape \(2, 4\)"),
        (torch.ones(2, 4).bool(), r"be bool of shape \(2, 4, 3\); got torch.bool of shape"),
        (torch.tensor([[0, 1, 2, 3], [0, 0, 0, 0]]), "row 0 has 3 at token 3"),
        (torch.tensor([[0, 1, 2, 0], [-2, 0, 0, 0]]), "row 1 has -2 at token 0"),
        (torch.ones(2, 4, 3).bool() & torch.eye(4, 3).bool(), "row 0 allows token 3 none"),
    ],
)
def test_tags_that_do_not_fit_are_refused(tags, message):
    for function, name in ((log_likelihood, "gold_tags"), (sequence_score, "tags")):
        with pytest.raises(ValueError, match=f"^`{name}` must .*{message}"):
            function(random_chains(2, 4, 3), tags)


@pytest.mark.parametrize("dtype", [torch.int32, torch.int16, torch.int8, torch.uint8])
def test_tags_may_have_any_integer_type(dtype):
    scores, tags = random_chains(2, 4, 3), random_tags(2, 4, 3)
    for function in (*OF_LABELS, sequence_score, step_scores):
        close(function(scores, tags.to(dtype)), function(scores, tags))


def test_tags_of_other_types_are_refused():
    for function, name in ((log_likelihood, "gold_tags"), (sequence_score, "tags")):
        for tags in (torch.zeros(2, 4), torch.ones(2, 4, 3)):
            with pytest.raises(
                TypeError, match=f"`{name}` must hold integers, or be bool .*float32"
            ):
                function(random_chains(2, 4, 3), tags)


def test_a_path_with_unknown_tags_has_no_score():
    tags = torch.tensor([[0, 1, 2, 0], [-1, 0, 0, 0]])
    with pytest.raises(ValueError, match="a path with unknown tags has no score"):
        sequence_score(random_chains(2, 4, 3), tags)
    # In the padding it matters to nobody.
    sequence_score(random_chains(2, 4, 3), tags.flip(1), mask_of([4, 3]))


@pytest.mark.parametrize(
    ("function", "name"), [(sample_paths, "num_samples"), (k_best_decode, "k")]
)
def test_at_least_one_path_is_asked_for(function, name):
    with pytest.raises(ValueError, match=f"`{name}` must be at least 1; got 0"):
        function(random_chains(1, 2, 2), **{name: 0})
