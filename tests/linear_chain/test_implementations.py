"""The contract of every implementation: the results of the reference, faster."""

import pytest
import torch

from tagger.linear_chain import (
    ChainScores,
    backward_scores,
    log_likelihood,
    log_partition,
    sample_paths,
    sequence_score,
    tag_marginals,
    use_implementation,
    viterbi_decode,
)
from tests.linear_chain.cases import (
    CPU,
    FUNCTIONS,
    KINDS,
    WEIGHTED,
    Case,
    assert_best_paths_equal_reference,
    assert_equals_reference,
    assert_error_at_most_twice_plain_pytorch,
    converted,
    moved,
    outcome,
)
from tests.linear_chain.chains import mask_of, random_chains, random_tags
from tests.linear_chain.conftest import MARKS

pytestmark = pytest.mark.usefixtures("uninitialized_memory_holds_nan")

# Lengths of the rows and K, away from powers of two.
SIZES = [((1,), 1), ((2, 0, 1), 3), ((3, 2, 0), 9), ((3,), 17)]
LARGER_SIZES = [(tuple(7 * row % 18 for row in range(32)), 9), ((40,), 33), ((7, 3, 0), 100)]
# Triton's interpreter takes milliseconds per token, and more where products underflow. Most scores are
# possible also in kinds where some are not, so slow cases leave out the kinds that others include.
CASES = [
    *[("cpu", Case(*size, kind)) for size in SIZES for kind in KINDS],
    *[("cpu", Case(*size, kind)) for size in LARGER_SIZES for kind in ("plain", "both")],
    *[("cuda", Case(*size, "some impossible")) for size in SIZES],
    *[("cuda", Case((3, 2), 5, kind)) for kind in ("plain", "both")],
    *[("gpu", Case((512, 1, 0, 300), size, "some impossible")) for size in (1, 7, 33, 100)],
]
IN_FLOAT32 = [
    ("cpu", Case((33, 9, 0), 9, "plain", torch.float32)),
    ("cpu", Case((33, 9, 0), 9, "wide", torch.float32)),
    ("cuda", Case((4, 2), 9, "plain", torch.float32)),
    ("cuda", Case((4, 2), 5, "both", torch.float32)),
    *[("gpu", Case((512, 1, 0, 300), size, "plain", torch.float32)) for size in (1, 7, 33, 100)],
]


def over(arguments, rows):
    """Runs a test for each row of arguments, the first of which names an implementation."""
    params = [pytest.param(*row, marks=MARKS[row[0]], id="-".join(map(str, row))) for row in rows]
    return pytest.mark.parametrize(arguments, params, indirect=["implementation"])


def with_names(cases):
    return [
        (name, case, each)
        for name, case in cases
        for each in [*FUNCTIONS, *(WEIGHTED if name == "cpu" else ())]
    ]


# On GPUs, weighted sums are composed of other functions, so one case of each is enough.
WEIGHED = [("cuda", Case((3, 2), 5), name) for name in WEIGHTED]


@over("implementation, case, name", with_names(CASES) + WEIGHED)
def test_values_and_gradients_equal_the_reference(implementation, case, name):
    assert_equals_reference(name, implementation, case)


# The GPU kernels read paths in blocks of 128 tokens and clear the padding in blocks of 256 numbers.
@over("implementation, case", [(name, Case((130, 0, 1), 2)) for name in ("cpu", "cuda")])
def test_rows_of_several_blocks_equal_the_reference(implementation, case):
    assert_equals_reference("step_log_likelihoods", implementation, case)


@over("implementation, case, name", with_names(IN_FLOAT32))
def test_float32_error_is_at_most_twice_plain_pytorch(implementation, case, name):
    assert_error_at_most_twice_plain_pytorch(name, implementation, case.batch(CPU))


@over(
    "implementation, scale",
    [(name, scale) for name in ("cpu", "gpu") for scale in (1.0, 100.0)],
)
def test_ten_thousand_tokens_agree_with_float64(implementation, scale):
    scores = random_chains(1, 10_000, 9, scale=scale, dtype=torch.float32)
    batch = scores, random_tags(1, 10_000, 9), mask_of([10_000])
    exact = converted(scores, torch.float64)
    single = outcome("log_likelihood", moved(batch, implementation.device))
    path, path_score = (x.cpu() for x in viterbi_decode(*moved(batch, implementation.device)[::2]))
    with use_implementation("cpu"):
        double = outcome("log_likelihood", (exact, *batch[1:]))
        best = viterbi_decode(exact)[1]
        lost = best - sequence_score(exact, path)
    for actual, expected in zip([*single, path_score.double()], [*double, best]):
        # float32 has 24 bits, and 10,000 rounding errors partly cancel.
        share = 1e-6 if implementation.name == "cpu" else 1e-5
        tolerance = share * float(expected.abs().max())
        torch.testing.assert_close(actual, expected, rtol=0, atol=tolerance)
    assert 0 <= float(lost) < 1e-3 * scale
    if implementation.name == "cpu":
        with use_implementation("reference"):
            value = log_likelihood(exact, *batch[1:])
        torch.testing.assert_close(value, double[0], rtol=1e-12, atol=0)


def test_rounding_errors_of_gradients_do_not_add_up(implementation):
    scores = random_chains(1, 300, 9, dtype=torch.float32)
    scores = ChainScores(*(x.to(implementation.device).requires_grad_() for x in scores))
    (gradients,) = torch.autograd.grad(log_partition(scores).sum(), scores.emissions)
    # (T,): marginals of a token, float32 has 24 bits, and rounding errors partly cancel
    sums = gradients[0].double().sum(1)
    assert (sums - 1).abs().max() < 2.5e-7


def test_a_path_through_an_underflowing_transition_counts(implementation):
    # Tag 1 is reached only by a transition of e^-1000, which is 0 in float64. An emission of e^2000
    # then gives that path nearly all of the mass.
    scores = ChainScores(
        torch.tensor([[[0.0, -torch.inf], [0.0, 0.0], [0.0, 2000.0], [0.0, -torch.inf]]]),
        torch.tensor([[0.0, -1000.0], [-900.0, 0.0]]),
        torch.zeros(2),
        torch.zeros(2),
    )
    batch = scores, torch.zeros(1, 4, dtype=torch.int64), mask_of([4])
    for name in FUNCTIONS:
        assert_error_at_most_twice_plain_pytorch(name, implementation, batch)
    scores, _, _ = moved(batch, implementation.device)
    assert tag_marginals(scores)[0, 2, 1] > 0.99


def test_the_backward_score_is_minus_infinity_where_no_tag_can_follow(implementation):
    scores, _, mask = Case((3,), 2).batch(implementation.device)
    scores.emissions[0, 1, 0] = -torch.inf
    scores.transitions[0] = -torch.inf
    assert backward_scores(scores, mask)[0, 1, 0] == -torch.inf


@over(
    "implementation, case, k",
    [(name, case, k) for name, case in CASES for k in (1, 2, 5)],
)
def test_best_paths_equal_the_reference(implementation, case, k):
    scores, _, mask = case.batch(implementation.device)
    assert_best_paths_equal_reference(implementation, scores, mask, k)


@over(
    "implementation, case",
    [*CASES, *[(name, Case((5, 3), 5, "plain", torch.float32)) for name in ("cpu", "cuda")]],
)
def test_samples_equal_the_reference(implementation, case):
    scores, _, mask = case.batch(implementation.device)
    generator = torch.Generator(implementation.device)
    draws = []
    for name in (implementation.name, "reference"):
        with use_implementation(name):
            draws.append(sample_paths(scores, mask, 2, generator.manual_seed(3)))
    # Samples are meaningless where no path is possible.
    is_possible = log_partition(scores, mask) > -torch.inf
    assert torch.equal(draws[0][is_possible], draws[1][is_possible])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_nan_in_the_padding_changes_nothing(name, implementation):
    scores, tags, mask = Case((3, 0, 1), 3).batch(implementation.device)
    dirty = scores._replace(emissions=scores.emissions.masked_fill(~mask.unsqueeze(2), torch.nan))
    actual = outcome(name, (dirty, tags.masked_fill(~mask, -7), mask))
    for ours, theirs in zip(actual, outcome(name, (scores, tags, mask))):
        assert torch.equal(ours, theirs)


@pytest.mark.parametrize("create_graph", [False, True])
def test_one_tensor_in_two_roles_gets_both_gradients_once(implementation, create_graph):
    scores, _, _ = Case((5, 5), 4).batch(implementation.device)
    both = scores.start.clone().requires_grad_()
    scores = scores._replace(start=both, end=both)
    (gradient,) = torch.autograd.grad(log_partition(scores).sum(), both, create_graph=create_graph)
    marginals = tag_marginals(scores).sum(0)
    torch.testing.assert_close(gradient, marginals[0] + marginals[-1], rtol=1e-9, atol=1e-9)


def test_memory_layouts_do_not_matter_and_arguments_are_not_changed(implementation):
    scores, tags, mask = Case((5, 0, 2), 3).batch(implementation.device)
    strided = ChainScores(
        scores.emissions.transpose(0, 2).contiguous().transpose(0, 2),
        scores.transitions.t().contiguous().t(),
        torch.stack([scores.start, scores.end], 1)[:, 0],
        scores.end,
    )
    strided_tags = torch.stack([tags, tags], 2)[:, :, 0].int()
    strided_mask = mask.t().contiguous().t().to(torch.uint8)
    before = [tensor.clone() for tensor in (*strided, strided_tags, strided_mask)]
    actual = outcome("log_likelihood", (strided, strided_tags, strided_mask))
    for ours, theirs in zip(actual, outcome("log_likelihood", (scores, tags, mask))):
        assert torch.equal(ours, theirs)
    for tensor, copy in zip((*strided, strided_tags, strided_mask), before):
        assert torch.equal(tensor, copy)
    mixed = scores._replace(emissions=scores.emissions.float())
    assert log_likelihood(mixed, tags, mask).dtype == torch.float64


def test_gradient_modes_and_autocast_change_nothing(implementation):
    device_type = implementation.device.type
    scores, tags, mask = Case((5, 2), 3, dtype=torch.float32).batch(implementation.device)
    expected = outcome("log_likelihood", (scores, tags, mask))
    path, _ = viterbi_decode(scores, mask)
    modes = (torch.no_grad(), torch.inference_mode(), torch.autocast(device_type, torch.bfloat16))
    for mode in modes:
        with mode:
            value = log_likelihood(scores, tags, mask).double().cpu()
            # With gradients, another kernel may sum the steps.
            torch.testing.assert_close(value, expected[0], rtol=1e-6, atol=1e-6)
            assert torch.equal(viterbi_decode(scores, mask)[0], path)
    with torch.autocast(device_type, torch.bfloat16):
        actual = outcome("log_likelihood", (scores, tags, mask))
    for ours, theirs in zip(actual, expected):
        assert torch.equal(ours, theirs)


def test_a_second_backward_through_a_retained_graph_gives_the_same(implementation):
    scores, tags, mask = Case((5, 2), 3).batch(implementation.device)
    emissions = scores.emissions.requires_grad_()
    value = log_likelihood(scores, tags, mask).mean()
    (first,) = torch.autograd.grad(value, emissions, retain_graph=True)
    (second,) = torch.autograd.grad(value, emissions)
    assert torch.equal(first, second)


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")
def test_compiled_function_gives_the_right_result(implementation):
    scores, tags, mask = Case((5, 2), 3).batch(implementation.device)

    def loss(emissions):
        return -log_likelihood(ChainScores(emissions * 2, *scores[1:]), tags, mask).sum()

    emissions = scores.emissions.clone().requires_grad_()
    value, expected = torch.compile(loss, backend="eager")(emissions), loss(emissions)
    torch.testing.assert_close(value, expected)
    (gradient,) = torch.autograd.grad(value, emissions)
    torch.testing.assert_close(gradient, torch.autograd.grad(expected, emissions)[0])


@pytest.mark.filterwarnings(
    "ignore:.torch.jit.trace. is deprecated", "ignore::torch.jit.TracerWarning"
)
@pytest.mark.parametrize(
    "function", [log_partition, log_likelihood, sequence_score, tag_marginals, viterbi_decode]
)
def test_a_traced_function_is_right_for_other_batches(function):
    takes_tags = function in (log_likelihood, sequence_score)

    def of_tensors(emissions, transitions, start, end, tags, mask):
        scores = ChainScores(emissions, transitions, start, end)
        return function(scores, tags, mask) if takes_tags else function(scores, mask)

    batches = [Case(lengths, 3).batch("cpu") for lengths in ((5, 2), (1, 5), (3, 5, 4))]
    first, *others = [(*scores, tags, mask) for scores, tags, mask in batches]
    traced = torch.jit.trace(of_tensors, first, check_trace=False)
    for tensors in others:
        for found, expected in zip(traced(*tensors), of_tensors(*tensors)):
            torch.testing.assert_close(found, expected)
