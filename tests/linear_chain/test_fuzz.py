"""Compares the linear chain with enumeration on small random problems.

`--problems 100000 --seed 3` tries more and different problems. Hypothesis shrinks a failing problem.
Without Triton's interpreter, the GPU kernels are left out.
"""

import importlib.util
import logging
import os

import hypothesis
import pytest
import torch
from hypothesis import HealthCheck, strategies as st

from tagger.linear_chain import ChainScores, use_implementation
from tests.linear_chain.fuzzed_functions import CHOICES, QUESTIONS
from tests.linear_chain.fuzzed_problems import DTYPES, random_problem

#: How many of the checks are run on each problem.
CHECKS_PER_PROBLEM = 4
#: Only one problem in this many goes to the GPU kernels, because their interpreter is slow.
PROBLEMS_PER_TRITON = 40
HAS_TRITON = os.environ.get("TRITON_INTERPRET") == "1" and bool(importlib.util.find_spec("triton"))


def fuzz(check_problem, num_problems, seed=0):
    """Calls a function with this many random generators, in which Hypothesis searches for failures."""
    settings = hypothesis.settings(
        max_examples=num_problems,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
    )
    given = hypothesis.given(st.randoms(use_true_random=False))
    hypothesis.seed(seed)(settings(given(check_problem)))()


def check_random_problem(rng):
    problem = random_problem(rng)
    hypothesis.note(repr(problem))
    checks = rng.sample([*QUESTIONS, *CHOICES], CHECKS_PER_PROBLEM)
    with_triton = HAS_TRITON and rng.randrange(PROBLEMS_PER_TRITON) == PROBLEMS_PER_TRITON - 1
    for number, check in enumerate(checks):
        implementations = ["reference", "cpu", *["cuda"] * (with_triton and number == 0)]
        hypothesis.note(f"{check}: {', '.join(implementations)}")
        if check in QUESTIONS:
            check_numbers(problem, QUESTIONS[check](problem, rng), implementations)
        else:
            for implementation in implementations:
                with use_implementation(implementation):
                    CHOICES[check](problem, rng, tolerance_of(problem))


def check_numbers(problem, question, implementations):
    """Compares the values and the gradients of a function with enumeration."""
    exact = ChainScores(
        *(x.detach().double().requires_grad_(x.requires_grad) for x in problem.scores())
    )
    expected = question.answer(exact)
    # Weights of the values in the differentiated sum.
    weights = torch.linspace(0.5, 1.5, expected.numel(), dtype=torch.float64).view(expected.shape)
    finite = torch.where(expected.isfinite(), expected, torch.zeros_like(expected))
    targets, expected = gradients_of(finite, exact, weights), expected.detach()
    for implementation in implementations:
        with use_implementation(implementation):
            scores = problem.scores()
            actual = question.call(scores)
            gradients = gradients_of(actual, scores, weights)
        tolerance = tolerance_of(problem) * question.magnification
        # The CPU kernels compute in float64 and round once.
        rounds_once = implementation == "cpu" and question.is_exact and problem.dtype == "float32"
        assert_close(actual, expected, tolerance, rounds_once, implementation)
        # Gradients have the dtype of the scores.
        in_half = 4 * torch.finfo(DTYPES[problem.dtype]).eps if "16" in problem.dtype else 0.0
        for gradient, target in zip(gradients, targets):
            rounding = in_half * float(target.abs().max()) if target.numel() else 0.0
            assert_close(gradient, target, 8 * tolerance + rounding, rounds_once, implementation)


def gradients_of(values, scores, weights):
    inputs = [tensor for tensor in scores if tensor.requires_grad]
    if not values.requires_grad:
        return [torch.zeros_like(x) for x in inputs]
    gradients = torch.autograd.grad(values, inputs, weights.to(values), allow_unused=True)
    return [torch.zeros_like(x) if g is None else g for x, g in zip(inputs, gradients)]


def assert_close(actual, expected, tolerance, rounds_once, implementation):
    """Compares tensors, including infinities. With `rounds_once`, allows only one rounding error."""
    if rounds_once and expected.numel():
        finite = expected[expected.isfinite()].abs()
        largest = max(1.0, float(finite.max())) if finite.numel() else 1.0
        tolerance = min(tolerance, 3e-7 * largest)
    torch.testing.assert_close(
        actual.detach().double(),
        expected,
        rtol=0,
        atol=tolerance,
        msg=lambda text: f"{implementation}: {text}",
    )


def tolerance_of(problem):
    """The rounding error allowed in sums and differences of a path's scores."""
    dtype = torch.promote_types(DTYPES[problem.dtype], torch.float32)
    return 16 * torch.finfo(dtype).eps * (1 + problem.largest() * (problem.size[1] + 1))


@pytest.mark.slow
def test_random_problems_equal_enumeration(pytestconfig, monkeypatch):
    # Silences the warning about unequal weights.
    monkeypatch.setattr(logging.getLogger("tagger.modules.tag_weighting"), "disabled", True)
    options = pytestconfig.getoption("problems"), pytestconfig.getoption("seed")
    fuzz(check_random_problem, *options)


def test_a_wrong_answer_is_found_and_shrunk():
    def check(rng):
        problem = random_problem(rng)
        hypothesis.note(f"size {problem.size}")
        question = QUESTIONS["tag_marginals"](problem, rng)
        wrong = question._replace(call=lambda scores: question.call(scores) * 1.01)
        check_numbers(problem, wrong, ["reference"])

    with pytest.raises(AssertionError) as caught:
        fuzz(check, 50)
    assert "size (1, 1, 1)" in caught.value.__notes__
