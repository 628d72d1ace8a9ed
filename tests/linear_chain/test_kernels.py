import threading

import pytest
import torch

from tagger.linear_chain import (
    IMPLEMENTATIONS,
    ChainScores,
    backward_scores,
    forward_scores,
    k_best_decode,
    log_likelihood,
    log_partition,
    sample_paths,
    sequence_score,
    step_log_conditionals,
    step_log_likelihoods,
    step_log_marginals,
    step_log_normalizers,
    tag_marginals,
    transition_marginals,
    use_implementation,
    viterbi_decode,
)
from tests.linear_chain.chains import mask_of, random_chains, random_tags

pytest.importorskip("numba")

# B, T, K, off the powers of two
SIZES = [(1, 1, 1), (3, 2, 2), (32, 17, 9), (1, 130, 33), (3, 7, 100)]
# enough work for two threads
LARGE = (32, 130, 33)
# how wide the scores are, and which part of them is impossible
KINDS = {
    "plain": (1.0, 0.0),
    "some impossible": (1.0, 0.3),
    "wide": (300.0, 0.0),
    "both": (300.0, 0.3),
}
FUNCTIONS = {
    "log_partition": lambda scores, tags, mask: log_partition(scores, mask),
    "step_log_normalizers": lambda scores, tags, mask: step_log_normalizers(scores, mask),
    "log_likelihood": log_likelihood,
    "step_log_likelihoods": step_log_likelihoods,
    "step_log_conditionals": step_log_conditionals,
    "step_log_marginals": step_log_marginals,
    "tag_marginals": lambda scores, tags, mask: tag_marginals(scores, mask),
    "transition_marginals": lambda scores, tags, mask: transition_marginals(scores, mask),
}


def batch(size, kind="plain", seed=0):
    """Float64 scores, tags and a mask of mixed lengths, one of them 0 where there are three rows."""
    batch_size, num_tokens, num_tags = size
    scale, part = KINDS[kind]
    scores = random_chains(batch_size, num_tokens, num_tags, seed, scale)
    generator = torch.Generator().manual_seed(seed)
    blocked = [torch.rand(s.shape, generator=generator) < part for s in scores]
    scores = ChainScores(*(s.masked_fill(b, -torch.inf) for s, b in zip(scores, blocked)))
    lengths = torch.randint(1, num_tokens + 1, (batch_size,), generator=generator)
    lengths[0] = num_tokens
    lengths[2:3] = 0
    return scores, random_tags(batch_size, num_tokens, num_tags, seed), mask_of(lengths.tolist())


def outcome(name, implementation, scores, tags, mask, uniform=False):
    """The function's value and its gradients for random weights, in float64."""
    with use_implementation(implementation):
        inputs = ChainScores(*(tensor.clone().requires_grad_() for tensor in scores))
        value = FUNCTIONS[name](inputs, tags, mask)
        generator = torch.Generator().manual_seed(1)
        weights = torch.rand(value.shape, generator=generator, dtype=torch.float64).to(value.dtype)
        if uniform:
            weights = torch.full_like(value, 0.7)
        gradients = torch.autograd.grad(value, inputs, weights, allow_unused=True)
    # One token takes part in no transition.
    gradients = [torch.zeros_like(x) if g is None else g for x, g in zip(inputs, gradients)]
    return [tensor.detach().double() for tensor in (value, *gradients)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_gradients_equal_the_reference(name, size, kind):
    for uniform in (False, True):
        actual = outcome(name, "cpu", *batch(size, kind), uniform)
        expected = outcome(name, "reference", *batch(size, kind), uniform)
        for ours, theirs in zip(actual, expected):
            # Only the order of summation differs; scores of some hundreds lose three digits.
            torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", ["plain", "wide"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_float32_error_is_at_most_twice_plain_pytorch(name, kind):
    scores, tags, mask = batch((3, 130, 9), kind)
    single = ChainScores(*(tensor.float() for tensor in scores))
    exact = ChainScores(*(tensor.double() for tensor in single))
    expected = outcome(name, "reference", exact, tags, mask)
    ours = outcome(name, "cpu", single, tags, mask)
    theirs = outcome(name, "reference", single, tags, mask)
    for actual, plain, target in zip(ours, theirs, expected):
        allowed = 2 * (plain - target).abs().max()
        # Half a unit in the last place is lost on the way out, whoever computes.
        assert (actual - target).abs().max() <= allowed.clamp(min=6e-8 * target.abs().max())


@pytest.mark.parametrize("k", [1, 2, 5])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_best_paths_equal_the_reference(size, kind, k):
    scores, _, mask = batch(size, kind)
    with use_implementation("cpu"):
        paths, path_scores = k_best_decode(scores, mask, k)
    with use_implementation("reference"):
        expected, expected_scores = k_best_decode(scores, mask, k)
    torch.testing.assert_close(path_scores, expected_scores, rtol=1e-9, atol=1e-9)
    # Random scores have no ties, but a row without tokens has k empty paths.
    is_possible = (expected_scores > -torch.inf) & mask.any(1, keepdim=True)
    assert torch.equal(paths[is_possible], expected[is_possible])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_messages_and_samples_equal_the_reference(size, kind):
    scores, _, mask = batch(size, kind)
    results = []
    for name in ("cpu", "reference"):
        with use_implementation(name):
            messages = forward_scores(scores, mask)[mask], backward_scores(scores, mask)[mask]
            paths = sample_paths(scores, mask, 3, torch.manual_seed(1))
            # Where no path is possible, a sample is meaningless.
            is_possible = log_partition(scores, mask) > -torch.inf
        results.append((*messages, paths[is_possible]))
    torch.testing.assert_close(*results, rtol=1e-9, atol=1e-9)


def test_a_path_through_an_underflowing_transition_counts():
    # The only way is from tag 0 to tag 1, and e^-1000 is 0 in float64. In between, e^2000 awaits who
    # came that way: all but nothing of the mass.
    scores = ChainScores(
        torch.tensor([[[0.0, -torch.inf], [0.0, 0.0], [0.0, 2000.0], [0.0, -torch.inf]]]),
        torch.tensor([[0.0, -1000.0], [-900.0, 0.0]]),
        torch.zeros(2),
        torch.zeros(2),
    )
    for name in ("log_partition", "tag_marginals", "transition_marginals"):
        actual = outcome(name, "cpu", scores, None, None)
        exact = ChainScores(*(tensor.double() for tensor in scores))
        expected = outcome(name, "reference", exact, None, None)
        for ours, theirs in zip(actual, expected):
            torch.testing.assert_close(ours, theirs, rtol=1e-6, atol=1e-6)
    assert tag_marginals(scores)[0, 2, 1] > 0.99


@pytest.mark.parametrize("scale", [1.0, 100.0])
def test_ten_thousand_tokens_agree_with_float64(scale):
    scores = random_chains(1, 10_000, 9, scale=scale, dtype=torch.float32)
    exact = ChainScores(*(tensor.double() for tensor in scores))
    single = outcome("log_partition", "cpu", scores, None, None)
    double = outcome("log_partition", "cpu", exact, None, None)
    for actual, expected in zip(single, double):
        torch.testing.assert_close(actual, expected, rtol=1e-6, atol=1e-6)
    with use_implementation("reference"):
        torch.testing.assert_close(log_partition(exact), double[0], rtol=1e-12, atol=0)
        _, best = viterbi_decode(exact)
    path, path_score = viterbi_decode(scores)
    torch.testing.assert_close(path_score.double(), best, rtol=1e-6, atol=0)
    torch.testing.assert_close(sequence_score(exact, path), best, rtol=1e-6, atol=0)


@pytest.mark.parametrize("create_graph", [False, True])
def test_one_tensor_in_two_roles_gets_both_gradients_once(create_graph):
    scores, _, _ = batch((2, 5, 4))
    both = scores.start.clone().requires_grad_()
    scores = scores._replace(start=both, end=both)
    (gradient,) = torch.autograd.grad(log_partition(scores).sum(), both, create_graph=create_graph)
    marginals = tag_marginals(scores).sum(0)
    torch.testing.assert_close(gradient, marginals[0] + marginals[-1], rtol=1e-9, atol=1e-9)


def test_layouts_and_types_of_arguments_do_not_matter():
    scores, tags, mask = batch((3, 7, 5))
    expected = log_likelihood(scores, tags, mask)
    strided = ChainScores(
        scores.emissions.transpose(0, 2).contiguous().transpose(0, 2),
        scores.transitions.T.contiguous().T,
        torch.stack([scores.start, scores.end], 1)[:, 0],
        scores.end,
    )
    wide_tags = torch.stack([tags, tags], 2)[:, :, 0].int()
    actual = log_likelihood(strided, wide_tags, mask.T.contiguous().T.to(torch.uint8))
    assert torch.equal(actual, expected)
    mixed = scores._replace(emissions=scores.emissions.float())
    assert log_likelihood(mixed, tags, mask).dtype == torch.float64


def test_gradient_modes_and_autocast_change_nothing():
    scores, tags, mask = batch((3, 7, 5))
    scores = ChainScores(*(tensor.float().requires_grad_() for tensor in scores))
    expected = log_likelihood(scores, tags, mask)
    for mode in (torch.no_grad(), torch.inference_mode(), torch.autocast("cpu", torch.bfloat16)):
        with mode:
            actual = log_likelihood(scores, tags, mask)
            path = viterbi_decode(scores, mask)[0]
        # With derivatives, the steps are summed by another kernel.
        torch.testing.assert_close(actual, expected, rtol=1e-6, atol=1e-6)
        assert torch.equal(path, viterbi_decode(scores, mask)[0])


def test_second_backward_through_a_retained_graph_gives_the_same():
    scores, tags, mask = batch((3, 7, 5))
    emissions = scores.emissions.requires_grad_()
    value = log_likelihood(scores, tags, mask).mean()
    (first,) = torch.autograd.grad(value, emissions, retain_graph=True)
    (second,) = torch.autograd.grad(value, emissions)
    assert torch.equal(first, second)


@pytest.fixture
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def test_number_of_threads_changes_nothing(two_threads):
    scores, tags, mask = batch(LARGE)
    parallel = outcome("log_likelihood", "cpu", scores, tags, mask)
    torch.set_num_threads(1)
    for ours, theirs in zip(parallel, outcome("log_likelihood", "cpu", scores, tags, mask)):
        torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-12)


def test_two_threads_may_call_at_once(two_threads):
    scores, tags, mask = batch(LARGE)
    expected = log_likelihood(scores, tags, mask)
    differences = []

    def call():
        for _ in range(20):
            differences.append((log_likelihood(scores, tags, mask) - expected).abs().max())

    threads = [threading.Thread(target=call) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(differences) == 40
    assert max(differences) == 0


def test_a_forked_process_has_threads_of_its_own(two_threads, in_forked_process):
    scores, _, mask = batch(LARGE)

    def total():
        return float(log_partition(scores, mask).sum())

    expected = total()
    assert in_forked_process(total) == expected


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")
@pytest.mark.skipif(not hasattr(torch, "compile"), reason="needs torch.compile")
def test_compiled_function_gives_the_right_result():
    scores, tags, mask = batch((3, 7, 5))

    def loss(emissions):
        return -log_likelihood(scores._replace(emissions=emissions * 2), tags, mask).sum()

    emissions = scores.emissions.clone().requires_grad_()
    value, expected = torch.compile(loss, backend="eager")(emissions), loss(emissions)
    torch.testing.assert_close(value, expected)
    (gradient,) = torch.autograd.grad(value, emissions)
    torch.testing.assert_close(gradient, torch.autograd.grad(expected, emissions)[0])


def test_unknown_implementation_is_refused():
    message = f"{', '.join(IMPLEMENTATIONS)}.*; got `gpu`"
    with pytest.raises(ValueError, match=message), use_implementation("gpu"):
        pass
