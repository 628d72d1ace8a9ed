"""What must hold of random weighted CRFs; `--problems 3000` tries twenty times as many."""

import random
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, Dict, List, NamedTuple, Optional

import pytest
import torch

from tagger.modules import ConditionalRandomField, TagWeighting

#: The names of all weightings, and none.
WEIGHTINGS = ["none", *sorted(TagWeighting.list_available())]


def close(actual: torch.Tensor, expected: torch.Tensor, tolerance: float = 1e-9) -> None:
    torch.testing.assert_close(actual, expected, rtol=tolerance, atol=tolerance)


class WeightedProblem(NamedTuple):
    """A batch and the CRF that takes it, all float64; mostly with holes in the mask."""

    crf: ConditionalRandomField
    emissions: torch.Tensor
    tags: torch.Tensor
    mask: torch.Tensor

    def loss(self, emissions: Optional[torch.Tensor] = None) -> torch.Tensor:
        """The log-likelihood of the batch, a scalar; by default with its own emissions."""
        return self.crf(self.emissions if emissions is None else emissions, self.tags, self.mask)

    def outcome(self) -> List[torch.Tensor]:
        """The loss, its gradients, the marginals, and the best paths."""
        emissions = self.emissions.detach().requires_grad_()
        loss = self.loss(emissions)
        inputs = [emissions, self.crf.transitions]
        gradients = torch.autograd.grad(loss, inputs, materialize_grads=True)
        with torch.no_grad():
            marginals = self.crf.marginals(self.emissions, self.mask)
            paths, _ = self.crf.viterbi_decode(self.emissions, self.mask)
        return [loss.detach(), *gradients, marginals, paths]

    def to(self, dtype: torch.dtype) -> "WeightedProblem":
        """The same in another type; the CRF is changed in place."""
        return self._replace(crf=self.crf.to(dtype), emissions=self.emissions.to(dtype))


def weighted_problem(weighting: str, seed: int) -> WeightedProblem:
    rng, generator = random.Random(f"{weighting} {seed}"), torch.Generator().manual_seed(seed)
    size = batch_size, num_tokens, num_tags = (
        rng.randint(1, 3),
        rng.randint(1, 5),
        rng.randint(1, 4),
    )
    arguments: Dict[str, Any] = {}
    if weighting == "marginal":
        arguments["gamma"] = rng.choice([0.0, 1.5])
    if weighting == "emission_transition":
        arguments["transition_weight"] = rng.choice(["to", "from"])
    if weighting == "softmax_margin":
        arguments["cost"] = [
            [0.0 if i == j else 0.5 + i for j in range(num_tags)] for i in range(num_tags)
        ]
    weights = [rng.choice([0.25, 0.5, 1.5, 2.0, 4.0]) for _ in range(num_tags)]
    strategy = None
    if weighting != "none":
        strategy = TagWeighting.by_name(weighting)(tag_weights=weights, **arguments)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        crf = ConditionalRandomField(
            num_tags, include_start_end_transitions=rng.random() < 0.7, weighting=strategy
        ).double()
    tags = torch.randint(num_tags, (batch_size, num_tokens), generator=generator)
    kind = rng.choice(["path", "some unknown", "sets"])
    if kind == "some unknown":
        tags[torch.rand(tags.shape, generator=generator) < 0.3] = -1
    if kind == "sets":
        others = torch.rand(size, generator=generator) < 0.4
        tags = others | torch.nn.functional.one_hot(tags, num_tags).bool()
    return WeightedProblem(
        crf,
        # Eighths below 4, which every half type holds
        (torch.randn(size, generator=generator, dtype=torch.float64) * 8).round().clamp(-31, 31)
        / 8,
        tags,
        torch.rand(batch_size, num_tokens, generator=generator) < 0.7,
    )


def check_gradients(problem: WeightedProblem) -> None:
    """Gradients agree with finite differences, first and second ones."""
    inputs = problem.emissions.clone().requires_grad_()
    assert torch.autograd.gradcheck(problem.loss, inputs)
    if inputs.numel() <= 12:
        assert torch.autograd.gradgradcheck(problem.loss, inputs)


def check_torch_func(problem: WeightedProblem) -> None:
    """`grad`, `jvp`, `vmap` and gradients for each row agree with ordinary calls."""
    emissions, direction = problem.emissions, torch.ones_like(problem.emissions).cumsum(1)
    inputs = emissions.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(problem.loss(inputs), inputs)
    close(torch.func.grad(problem.loss)(emissions), gradient)
    value, slope = torch.func.jvp(problem.loss, (emissions,), (direction,))
    close(value, problem.loss())
    close(slope, (gradient * direction).sum())
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(emissions, direction)
        close(torch.autograd.forward_ad.unpack_dual(problem.loss(dual)).tangent, slope)
    both = torch.stack([emissions, emissions / 2])
    close(torch.func.vmap(problem.loss)(both), torch.stack([problem.loss(each) for each in both]))

    def loss_of_row(*row: torch.Tensor) -> torch.Tensor:
        return problem.crf(*(each.unsqueeze(0) for each in row))

    by_row = torch.func.vmap(torch.func.grad(loss_of_row))(emissions, problem.tags, problem.mask)
    close(by_row, gradient)


def check_half_types(problem: WeightedProblem) -> None:
    """In half types the numbers are those of the same scores in float32."""
    for dtype in (torch.bfloat16, torch.float16):
        half = problem.to(dtype)
        actual = half.outcome()
        expected = half.to(torch.float32).outcome()
        assert [each.dtype for each in actual[:2]] == [torch.float32, dtype]
        for ours, theirs in zip(actual, expected):
            # Gradients have the type of the scores.
            close(ours.float(), theirs.float(), 1e-2 if ours.dtype == dtype else 1e-5)


def check_autocast(problem: WeightedProblem) -> None:
    """Autocast changes nothing: its types are those of matrix products."""
    problem = problem.to(torch.float32)
    expected = problem.outcome()
    with torch.autocast("cpu", torch.bfloat16):
        for ours, theirs in zip(problem.outcome(), expected):
            assert torch.equal(ours, theirs)


def check_threads(problem: WeightedProblem) -> None:
    """Callers in threads get what one caller gets."""
    expected = problem.outcome()
    with ThreadPoolExecutor(4) as pool:
        for outcome in pool.map(lambda _: problem.outcome(), range(8)):
            for ours, theirs in zip(outcome, expected):
                assert torch.equal(ours, theirs)


#: What must hold of each problem, by name.
CHECKS: Dict[str, Callable[[WeightedProblem], None]] = {
    "gradients": check_gradients,
    "torch.func": check_torch_func,
    "half types": check_half_types,
    "autocast": check_autocast,
    "threads": check_threads,
}


# Of `torch.func.jvp`.
@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")
@pytest.mark.parametrize("weighting", WEIGHTINGS)
@pytest.mark.parametrize("check", CHECKS)
def test_it_holds(check, weighting, pytestconfig):
    for seed in range(pytestconfig.getoption("problems") // 75):
        CHECKS[check](weighted_problem(weighting, seed))


def test_a_forked_process_computes_the_same(in_forked_process):
    def outcomes():
        return [
            [each.tolist() for each in weighted_problem(weighting, seed).outcome()]
            for weighting in WEIGHTINGS
            for seed in range(3)
        ]

    assert in_forked_process(outcomes) == outcomes()


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_scores_at_the_end_of_float32_give_no_nan(weighting):
    crf = weighted_problem(weighting, 0).crf.float()
    num_tags = crf.num_tags
    for largest in (1e38, 3e38):
        for place in range(num_tags):
            emissions = torch.ones(num_tags, 3, num_tags)
            emissions[:, :, place] = largest
            emissions[:, 1, (place + 1) % num_tags] = -largest
            emissions.requires_grad_()
            gold_tags = torch.arange(num_tags).unsqueeze(1).expand(-1, 3)
            value = crf.log_likelihood(emissions, gold_tags)
            value.sum().backward()
            assert value.dtype == torch.float32
            assert not value.isnan().any()
            assert not emissions.grad.isnan().any()
