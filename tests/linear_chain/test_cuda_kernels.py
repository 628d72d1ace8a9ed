"""The Triton kernels: on a GPU, or interpreted where there is none."""

import logging
import sys
from types import SimpleNamespace

import pytest
import torch

from tagger.linear_chain import (
    ChainScores,
    backward_scores,
    forward_scores,
    implementations,
    k_best_decode,
    log_likelihood,
    log_partition,
    sample_paths,
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

pytest.importorskip("triton", reason="the GPU kernels need Triton")

ON_GPU = torch.cuda.is_available()
DEVICE = torch.device("cuda" if ON_GPU else "cpu")

# lengths of the rows, K
SIZES = [([1], 1), ([2, 0, 1], 3), ([9, 4, 0], 9), ([11], 17)]
FUNCTIONS = {
    "log_partition": lambda scores, tags, mask: log_partition(scores, mask),
    "step_log_normalizers": lambda scores, tags, mask: step_log_normalizers(scores, mask),
    "log_likelihood": log_likelihood,
    "step_log_likelihoods": step_log_likelihoods,
    "tag_marginals": lambda scores, tags, mask: tag_marginals(scores, mask),
    "transition_marginals": lambda scores, tags, mask: transition_marginals(scores, mask),
    "forward_scores": lambda scores, tags, mask: or_zero(forward_scores(scores, mask), mask),
    "backward_scores": lambda scores, tags, mask: or_zero(backward_scores(scores, mask), mask),
    "step_log_conditionals": step_log_conditionals,
    "step_log_conditionals of sets": lambda scores, tags, mask: step_log_conditionals(
        scores, pairs_of_tags(scores, tags), mask
    ),
    "step_log_marginals": step_log_marginals,
    "step_log_marginals of sets": lambda scores, tags, mask: step_log_marginals(
        scores, pairs_of_tags(scores, tags), mask
    ),
}


@pytest.fixture(autouse=True)
def _uninitialized_memory_holds_nan(monkeypatch):
    def poisoned(allocate):
        def allocate_and_fill(*args, **kwargs):
            tensor = allocate(*args, **kwargs)
            return tensor.fill_(torch.nan if tensor.is_floating_point() else 99)

        return allocate_and_fill

    for name in ("empty", "empty_like"):
        monkeypatch.setattr(torch, name, poisoned(getattr(torch, name)))


def or_zero(rows, mask):
    """`rows`, (B, T, K), with zeros in the padding."""
    if mask is None:
        return rows
    return torch.where(mask.unsqueeze(2), rows, torch.zeros_like(rows))


def pairs_of_tags(scores, tags):
    """(B, T, K) bool, true at each token's tag and at the one before it."""
    every_tag = torch.arange(scores.emissions.size(2), device=tags.device)
    return ((tags.unsqueeze(2) - every_tag) % len(every_tag)) < 2


def batch(lengths, num_tags, impossible=0.0, scale=1.0, dtype=torch.float64):
    """Scores, of which a part is impossible, tags and a mask."""
    size = (len(lengths), max(lengths), num_tags)
    scores = random_chains(*size, scale=scale, dtype=dtype)
    generator = torch.Generator().manual_seed(7)
    blocked = [torch.rand(tensor.shape, generator=generator) < impossible for tensor in scores]
    scores = [tensor.masked_fill(where, -torch.inf) for tensor, where in zip(scores, blocked)]
    scores = ChainScores(*(tensor.to(DEVICE) for tensor in scores))
    return scores, random_tags(*size).to(DEVICE), mask_of(lengths).to(DEVICE)


def outcome(name, implementation, scores, tags, mask):
    """The function's value and its gradients for weights that differ, in float64."""
    with use_implementation(implementation):
        inputs = ChainScores(*(tensor.clone().requires_grad_() for tensor in scores))
        value = FUNCTIONS[name](inputs, tags, mask)
        weights = torch.linspace(0.5, 2, value.numel(), dtype=value.dtype, device=value.device)
        gradients = torch.autograd.grad(value, inputs, weights.view_as(value), allow_unused=True)
    # One token takes part in no transition.
    gradients = [torch.zeros_like(x) if g is None else g for x, g in zip(inputs, gradients)]
    return [tensor.detach().double() for tensor in (value, *gradients)]


def assert_equals_reference(name, *arguments):
    actual, expected = outcome(name, "cuda", *arguments), outcome(name, "reference", *arguments)
    for ours, theirs in zip(actual, expected):
        # Only the order of summation differs.
        torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-9)


def assert_error_at_most_twice_plain_pytorch(name, scores, tags, mask):
    single = ChainScores(*(tensor.float() for tensor in scores))
    exact = ChainScores(*(tensor.double() for tensor in single))
    expected = outcome(name, "reference", exact, tags, mask)
    ours, theirs = (outcome(name, which, single, tags, mask) for which in ("cuda", "reference"))
    for actual, plain, target in zip(ours, theirs, expected):
        assert torch.equal(actual == -torch.inf, target == -torch.inf)
        actual, plain, target = (x.masked_fill(x == -torch.inf, 0) for x in (actual, plain, target))
        allowed = 2 * (plain - target).abs().max()
        # On small sizes plain PyTorch may hit the exact value by chance: two units in the last place,
        # also of the probabilities, between which gradients may cancel.
        allowed = allowed.clamp(min=2.4e-7 * max(float(target.abs().max()), 1.0))
        assert (actual - target).abs().max() <= allowed


@pytest.mark.parametrize("impossible", [0.0, 0.3])
@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_gradients_equal_the_reference(name, size, impossible):
    assert_equals_reference(name, *batch(*size, impossible))


@pytest.mark.parametrize("impossible", [0.0, 0.3])
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_best_paths_equal_the_reference(size, impossible):
    scores, _, mask = batch(*size, impossible)
    with use_implementation("reference"):
        expected, expected_scores = viterbi_decode(scores, mask)
    with use_implementation("cuda"):
        paths, path_scores = viterbi_decode(scores, mask)
    torch.testing.assert_close(path_scores, expected_scores, rtol=1e-9, atol=1e-9)
    is_possible = expected_scores > -torch.inf
    assert torch.equal(paths[is_possible], expected[is_possible])


@pytest.mark.parametrize("impossible", [0.0, 0.3])
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_samples_equal_the_reference(size, impossible):
    scores, _, mask = batch(*size, impossible, dtype=torch.float32)
    draws = []
    for implementation in ("cuda", "reference"):
        generator = torch.Generator(DEVICE).manual_seed(3)
        with use_implementation(implementation):
            draws.append(sample_paths(scores, mask, 5, generator))
    is_possible = log_partition(scores, mask) > -torch.inf
    assert torch.equal(draws[0][is_possible], draws[1][is_possible])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_scores_of_some_hundreds_equal_the_reference(name):
    # In float64 and float32, some products with the transitions underflow, and some do not.
    assert_equals_reference(name, *batch([7, 3], 5, 0.2, scale=300.0))
    arguments = batch([7, 3], 5, 0.2, scale=100.0, dtype=torch.float32)
    assert_error_at_most_twice_plain_pytorch(name, *arguments)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_float32_error_is_at_most_twice_plain_pytorch(name):
    assert_error_at_most_twice_plain_pytorch(name, *batch([20, 9], 9))


def test_a_path_through_an_underflowing_transition_counts():
    # The only way is from tag 0 to tag 1, and e^-1000 is 0 in float64. In between, e^2000 awaits who
    # came that way: all but nothing of the mass.
    scores = ChainScores(
        torch.tensor([[[0.0, -torch.inf], [0.0, 0.0], [0.0, 2000.0], [0.0, -torch.inf]]]),
        torch.tensor([[0.0, -1000.0], [-900.0, 0.0]]),
        torch.zeros(2),
        torch.zeros(2),
    )
    scores = ChainScores(*(tensor.to(DEVICE) for tensor in scores))
    mask = mask_of([4]).to(DEVICE)
    tags = torch.zeros(1, 4, dtype=torch.int64, device=DEVICE)
    for name in FUNCTIONS:
        assert_error_at_most_twice_plain_pytorch(name, scores, tags, mask)
    with use_implementation("cuda"):
        assert tag_marginals(scores)[0, 2, 1] > 0.99


def test_nothing_follows_an_impossible_tag_that_leads_nowhere():
    scores, _, mask = batch([3], 2)
    scores.emissions[0, 1, 0] = -torch.inf
    scores.transitions[0] = -torch.inf
    with use_implementation("cuda"):
        assert backward_scores(scores, mask)[0, 1, 0] == -torch.inf


@pytest.mark.parametrize("name", [*FUNCTIONS, "viterbi_decode"])
def test_nan_in_the_padding_changes_nothing(name):
    scores, tags, mask = batch([5, 0, 2], 3)
    dirty = scores.emissions.masked_fill(~mask.unsqueeze(2), torch.nan)
    tags = tags.masked_fill(~mask, -7)
    if name == "viterbi_decode":
        with use_implementation("cuda"):
            actual = viterbi_decode(scores._replace(emissions=dirty), mask)
            expected = viterbi_decode(scores, mask)
    else:
        actual = outcome(name, "cuda", scores._replace(emissions=dirty), tags, mask)
        expected = outcome(name, "cuda", scores, tags, mask)
    for ours, theirs in zip(actual, expected):
        assert torch.equal(ours, theirs)


@pytest.mark.filterwarnings("ignore:All-NaN slice encountered")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_nan_in_a_real_token_is_not_hidden(name):
    scores, tags, mask = batch([4], 3)
    scores.emissions[0, 1, 2] = torch.nan
    with use_implementation("cuda"):
        assert FUNCTIONS[name](scores, tags, mask).isnan().any()


@pytest.mark.parametrize("name", ["log_partition", "step_log_likelihoods", "tag_marginals"])
def test_more_rows_than_programs(name, monkeypatch):
    monkeypatch.setattr("tagger.linear_chain.cuda.launches._MAX_PROGRAMS", 2)
    assert_equals_reference(name, *batch([3, 1, 0, 2, 3], 4, 0.1))


@pytest.mark.parametrize(
    "name",
    [
        "log_partition",
        "step_log_likelihoods",
        "tag_marginals",
        "step_log_conditionals",
        "step_log_marginals",
    ],
)
def test_second_derivatives_equal_the_reference(name):
    scores, tags, mask = batch([3, 2], 3)

    def second_derivatives(implementation):
        with use_implementation(implementation):
            inputs = ChainScores(*(tensor.clone().requires_grad_() for tensor in scores))
            value = FUNCTIONS[name](inputs, tags, mask).square().sum()
            gradients = torch.autograd.grad(value, inputs, create_graph=True)
            total = sum(gradient.square().sum() for gradient in gradients)
            return torch.autograd.grad(total, inputs)

    for ours, theirs in zip(second_derivatives("cuda"), second_derivatives("reference")):
        torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_the_kernels_do_not_take_goes_through_the_reference(name, monkeypatch):
    for kernel in ("forward_kernel", "adjoint_kernel"):
        monkeypatch.setattr(f"tagger.linear_chain.cuda.launches.{kernel}", None)
    with use_implementation("cuda"):
        assert_equals_reference(name, *batch([2, 1], 129))
        scores, tags, _ = batch([2, 1], 3)
        empty = scores._replace(emissions=scores.emissions[:, :0])
        assert FUNCTIONS[name](empty, tags[:, :0], None).sum() == 0


def test_k_best_paths_equal_the_reference():
    scores, _, mask = batch([4, 2], 3)
    with use_implementation("reference"):
        expected = k_best_decode(scores, mask, 3)
    with use_implementation("cuda"):
        for ours, theirs in zip(k_best_decode(scores, mask, 3), expected):
            assert torch.equal(ours, theirs)


def test_layouts_of_arguments_do_not_matter_and_arguments_stay_as_they_were():
    scores, tags, mask = batch([5, 2], 3)
    strided = ChainScores(
        scores.emissions.transpose(0, 2).contiguous().transpose(0, 2),
        scores.transitions.t().contiguous().t(),
        torch.stack([scores.start, scores.end], 1)[:, 0],
        scores.end,
    )
    strided_tags = torch.stack([tags, tags], 2)[:, :, 0]
    before = [tensor.clone() for tensor in (*strided, strided_tags)]
    actual = outcome("log_likelihood", "cuda", strided, strided_tags, mask)
    for ours, theirs in zip(actual, outcome("log_likelihood", "cuda", scores, tags, mask)):
        assert torch.equal(ours, theirs)
    for tensor, copy in zip((*strided, strided_tags), before):
        assert torch.equal(tensor, copy)


def test_gradient_modes_autocast_and_compilation_change_nothing():
    scores, tags, mask = batch([5, 2], 3, dtype=torch.float32)
    with use_implementation("cuda"):
        expected = log_likelihood(scores, tags, mask)
        for mode in (torch.no_grad(), torch.inference_mode(), torch.autocast(DEVICE.type)):
            with mode:
                assert torch.equal(log_likelihood(scores, tags, mask), expected)
    [_, *expected] = outcome("log_likelihood", "cuda", scores, tags, mask)
    with torch.autocast(DEVICE.type):
        [_, *actual] = outcome("log_likelihood", "cuda", scores, tags, mask)
    for ours, theirs in zip(actual, expected):
        assert torch.equal(ours, theirs)


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")
@pytest.mark.skipif(not hasattr(torch, "compile"), reason="needs torch.compile")
def test_compiled_function_gives_the_right_result():
    scores, tags, mask = batch([5, 2], 3)

    def loss(emissions):
        return -log_likelihood(scores._replace(emissions=emissions * 2), tags, mask).sum()

    emissions = scores.emissions.clone().requires_grad_()
    with use_implementation("cuda"):
        value, expected = torch.compile(loss, backend="eager")(emissions), loss(emissions)
        torch.testing.assert_close(value, expected)
        (gradient,) = torch.autograd.grad(value, emissions)
    torch.testing.assert_close(gradient, torch.autograd.grad(expected, emissions)[0])


def test_without_triton_the_reference_steps_in_and_says_so_once(monkeypatch, caplog):
    monkeypatch.setitem(sys.modules, "tagger.linear_chain.cuda", None)
    monkeypatch.delattr("tagger.linear_chain.cuda", raising=False)
    monkeypatch.delitem(implementations.IMPLEMENTATIONS, "cuda", raising=False)
    monkeypatch.setattr(implementations, "_lacks_cuda", False)
    on_gpu = ChainScores(SimpleNamespace(device=torch.device("cuda")), None, None, None)
    with caplog.at_level(logging.INFO, "tagger.linear_chain.implementations"):
        for _ in range(2):
            chosen = implementations.implementation_for(on_gpu)
            assert chosen is implementations.IMPLEMENTATIONS["reference"]
    assert len([record for record in caplog.records if "Triton is missing" in record.message]) == 1
    with pytest.raises(ValueError, match="got `cuda`"), use_implementation("cuda"):
        pass


needs_gpu = pytest.mark.skipif(not ON_GPU, reason="needs a CUDA device")


@pytest.mark.gpu
@needs_gpu
@pytest.mark.parametrize("num_tags", [1, 7, 33, 100])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_float32_error_on_a_gpu_is_at_most_twice_plain_pytorch(name, num_tags):
    assert_error_at_most_twice_plain_pytorch(name, *batch([512, 1, 0, 300], num_tags))


@pytest.mark.gpu
@needs_gpu
@pytest.mark.parametrize("num_tags", [1, 7, 33, 100])
def test_float64_on_a_gpu_equals_the_reference(num_tags):
    for name in FUNCTIONS:
        assert_equals_reference(name, *batch([512, 1, 0, 300], num_tags, 0.1))
    test_best_paths_equal_the_reference(([512, 1, 0, 300], num_tags), 0.1)


@pytest.mark.gpu
@needs_gpu
def test_ten_thousand_tokens_on_a_gpu_agree_with_float64():
    for scale in (1.0, 100.0):
        scores, tags, mask = batch([10_000], 9, scale=scale, dtype=torch.float32)
        exact = ChainScores(*(tensor.double() for tensor in scores))
        single = outcome("log_likelihood", "cuda", scores, tags, mask)
        double = outcome("log_likelihood", "cuda", exact, tags, mask)
        for actual, expected in zip(single, double):
            # float32 carries 24 bits, and 10,000 rounding errors partly cancel.
            tolerance = 1e-5 * float(expected.abs().max())
            torch.testing.assert_close(actual, expected, rtol=0, atol=tolerance)


@pytest.mark.gpu
@needs_gpu
def test_gradients_on_a_gpu_are_the_same_every_time():
    arguments = batch([130] * 5000, 33, dtype=torch.float32)
    first = outcome("step_log_likelihoods", "cuda", *arguments)
    for again, once in zip(outcome("step_log_likelihoods", "cuda", *arguments), first):
        assert torch.equal(again, once)
