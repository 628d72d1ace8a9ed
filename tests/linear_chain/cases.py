"""Cases for the contract tests of the implementations, and the reference's answers, computed once."""

import functools
from typing import NamedTuple, Tuple

import torch

from tagger.linear_chain import (
    ChainScores,
    backward_scores,
    chain_cross_entropy,
    forward_scores,
    k_best_decode,
    log_likelihood,
    log_partition,
    step_log_conditionals,
    step_log_likelihoods,
    step_log_marginals,
    step_log_normalizers,
    tag_marginals,
    transition_marginals,
    use_implementation,
)
from tests.linear_chain.chains import mask_of, random_chains, random_tags


def pairs_of_tags(scores, tags):
    """(B, T, K) bool, true at each token's tag and at the preceding tag index."""
    every_tag = torch.arange(len(scores.start), device=tags.device)
    return ((tags.unsqueeze(2) - every_tag) % len(every_tag)) < 2


#: The scale of the scores and the share of impossible ones.
KINDS = {
    "plain": (1.0, 0.0),
    "some impossible": (1.0, 0.3),
    "wide": (300.0, 0.0),
    "both": (300.0, 0.3),
}


def of_chain(function):
    return lambda scores, tags, mask: function(scores, mask)


def of_messages(function):
    """Puts zeros in the padding, where messages are undefined."""

    def real(scores, tags, mask):
        rows = function(scores, mask)
        return torch.where(mask.unsqueeze(2), rows, torch.zeros_like(rows))

    return real


def of_sets(function):
    return lambda scores, tags, *rest: function(scores, pairs_of_tags(scores, tags), *rest)


def weighted(function):
    return lambda scores, tags, mask: function(scores, tags, mask, distinct_weights(mask))


OF_STEPS = (step_log_likelihoods, step_log_conditionals, step_log_marginals)
OF_CHAINS = (log_partition, step_log_normalizers, tag_marginals, transition_marginals)
#: Functions that plain PyTorch differentiates in every implementation, in the dtype of the scores.
DIFFERENTIATED_BY_REFERENCE = ("forward_scores", "backward_scores")
#: By name, differentiable functions of the scores, the tags and the mask.
FUNCTIONS = {
    "log_likelihood": log_likelihood,
    **{function.__name__: of_chain(function) for function in OF_CHAINS},
    **{function.__name__: of_messages(function) for function in (forward_scores, backward_scores)},
    **{function.__name__: function for function in OF_STEPS},
    **{f"{function.__name__} of sets": of_sets(function) for function in OF_STEPS},
    "chain_cross_entropy": lambda scores, tags, mask: chain_cross_entropy(
        teacher_of(scores), scores, mask
    ),
}
#: Weighted sums, called like `FUNCTIONS`. The weights are distinct, and NaN in the padding.
WEIGHTED = {
    **{f"weighted {function.__name__}": weighted(function) for function in OF_STEPS},
    **{
        f"weighted {function.__name__} of sets": weighted(of_sets(function))
        for function in OF_STEPS
    },
}


class Implementation(NamedTuple):
    """An implementation under test and the device of its tensors."""

    name: str
    device: torch.device
    #: The error allowed in float32 where plain PyTorch happens to be exact, relative to the largest
    #: value.
    rounding: float
    #: A lower bound for that largest value.
    smallest_scale: float


CPU = torch.device("cpu")
#: By name. Without a GPU, Triton's interpreter runs the kernels on the CPU (see `tests/conftest.py`).
IMPLEMENTATIONS = {
    # It computes in float64 and loses half a unit in the last place at the end.
    "cpu": Implementation("cpu", CPU, rounding=6e-8, smallest_scale=1e-3),
    # Two units in the last place, also of the probabilities, which may cancel in gradients.
    "cuda": Implementation(
        "cuda",
        torch.device("cuda") if torch.cuda.is_available() else CPU,
        rounding=2.4e-7,
        smallest_scale=1.0,
    ),
}


class Case(NamedTuple):
    """Random chains of these lengths with K tags and scores of one of the `KINDS`."""

    lengths: Tuple[int, ...]
    num_tags: int
    kind: str = "plain"
    dtype: torch.dtype = torch.float64

    def __str__(self):
        lengths = ",".join(map(str, self.lengths[:3])) + ",..." * (len(self.lengths) > 3)
        return f"{self.kind} {lengths} x {self.num_tags}"

    def batch(self, device):
        """Returns scores, tags and a mask."""
        size = (len(self.lengths), max(self.lengths), self.num_tags)
        scale, share = KINDS[self.kind]
        scores = random_chains(*size, scale=scale, dtype=self.dtype)
        generator = torch.Generator().manual_seed(7)
        blocked = [torch.rand(tensor.shape, generator=generator) < share for tensor in scores]
        scores = ChainScores(*(s.masked_fill(b, -torch.inf) for s, b in zip(scores, blocked)))
        return moved((scores, random_tags(*size), mask_of(list(self.lengths))), device)


def moved(batch, device):
    """Returns `batch` on a device."""
    scores, tags, mask = batch
    return ChainScores(*(s.to(device) for s in scores)), tags.to(device), mask.to(device)


def converted(scores, dtype):
    """Returns `scores` in a dtype."""
    return ChainScores(*(tensor.to(dtype) for tensor in scores))


def outcome(name, batch):
    """Returns the function's value and its gradients, float64 on the CPU.

    The gradients are those of a randomly weighted sum. For functions with one value per row, those of
    an unweighted sum follow, for which an implementation may have a shortcut.
    """
    scores, tags, mask = batch
    inputs = ChainScores(*(tensor.clone().requires_grad_() for tensor in scores))
    value = {**FUNCTIONS, **WEIGHTED}[name](inputs, tags, mask)
    generator = torch.Generator().manual_seed(1)
    weights = torch.rand(value.shape, generator=generator, dtype=torch.float64)
    results = [value, *_gradients(value, inputs, weights)]
    if value.dim() == 1:
        results += _gradients(value, inputs, torch.full_like(weights, 0.7))
    return [tensor.detach().cpu().double() for tensor in results]


@functools.cache
def reference_outcome(name, case):
    """Returns the `outcome` of the reference."""
    with use_implementation("reference"):
        return outcome(name, case.batch(CPU))


def assert_equals_reference(name, implementation, case):
    """Compares the value and the gradients with those of the reference."""
    with use_implementation(implementation.name):
        actual = outcome(name, case.batch(implementation.device))
    for ours, theirs in zip(actual, reference_outcome(name, case)):
        # Both are float64; only the order of summation differs.
        torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-9)


def assert_best_paths_equal_reference(implementation, scores, mask, k=1):
    """Compares the k best paths and their scores with those of the reference."""
    with use_implementation(implementation.name):
        paths, path_scores = k_best_decode(scores, mask, k)
    with use_implementation("reference"):
        expected, expected_scores = k_best_decode(scores, mask, k)
    torch.testing.assert_close(path_scores, expected_scores, rtol=1e-9, atol=1e-9)
    # Random scores have no ties. A row without tokens has k empty paths.
    is_possible = (expected_scores > -torch.inf) & mask.any(1, keepdim=True)
    assert torch.equal(paths[is_possible], expected[is_possible])


def assert_error_at_most_twice_plain_pytorch(name, implementation, batch):
    """Compares the float32 errors of the value and the gradients with those of the reference.

    The batch must be on the CPU, with float32 scores.
    """
    scores, tags, mask = batch
    with use_implementation("reference"):
        targets = outcome(name, (converted(scores, torch.float64), tags, mask))
        plains = outcome(name, batch)
    with use_implementation(implementation.name):
        actuals = outcome(name, moved(batch, implementation.device))
    rounding = implementation.rounding
    if name in DIFFERENTIATED_BY_REFERENCE:
        rounding = IMPLEMENTATIONS["cuda"].rounding
    if implementation.device.type == "cuda":
        # Unlike the interpreter's, its exponentials and logarithms are not exact.
        rounding *= 4
    for actual, plain, target in zip(actuals, plains, targets):
        assert torch.equal(actual == -torch.inf, target == -torch.inf)
        actual, plain, target = (x.masked_fill(x == -torch.inf, 0) for x in (actual, plain, target))
        scale = max(float(target.abs().max()), implementation.smallest_scale)
        allowed = max(2 * float((plain - target).abs().max()), rounding * scale)
        assert (actual - target).abs().max() <= allowed


def teacher_of(scores):
    """Other chains with the same possible paths."""
    emissions, transitions, start, end = (tensor.detach() for tensor in scores)
    return ChainScores(emissions / 2, transitions / 3, -start.nan_to_num(neginf=torch.inf), end)


def distinct_weights(mask):
    """(B, T), NaN in the padding."""
    numbers = torch.arange(mask.numel(), device=mask.device).view_as(mask)
    weights = 0.25 + (7 * numbers % 13) / 4
    return torch.where(mask, weights, torch.full_like(weights, torch.nan))


def _gradients(value, inputs, weights):
    gradients = torch.autograd.grad(
        value, inputs, weights.to(value), retain_graph=True, allow_unused=True
    )
    # With one token per row, transitions get no gradient.
    return [torch.zeros_like(x) if g is None else g for x, g in zip(inputs, gradients)]
