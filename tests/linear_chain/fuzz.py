"""Compares the linear chain with enumeration on random small problems, and counts what differs.

    TRITON_INTERPRET=1 python -m tests.linear_chain.fuzz --problems 100000

prints the number of mismatches of each kind, and for each new kind a small problem that shows it.
Without Triton's interpreter the kernels for GPUs are left out.
"""

import argparse
import importlib.util
import logging
import os
import random
import time
from collections import Counter
from fnmatch import fnmatchcase
from typing import Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import torch

from tagger.linear_chain import ChainScores, use_implementation
from tests.linear_chain.fuzzed_functions import CHOICES, QUESTIONS, Question
from tests.linear_chain.fuzzed_problems import DTYPES, Problem, random_problem, smaller

#: How many checks a problem goes through, of all that there are.
CHECKS_PER_PROBLEM = 4
#: One problem in so many is given to the kernels for GPUs, whose interpreter is slow.
PROBLEMS_PER_TRITON = 40
HAS_TRITON = importlib.util.find_spec("triton") is not None
#: Kinds of mismatches that are known, as patterns, each with its reason. They do not fail the test.
KNOWN: Dict[str, str] = {}


class Mismatch(NamedTuple):
    """One answer that is not as enumeration has it.

    Args:
        kind: What is wrong, in which function of which implementation.
        check: A key of `QUESTIONS` or `CHOICES`.
        implementation: As `use_implementation` knows it.
        problem: Where it went wrong.
    """

    kind: str
    check: str
    implementation: str
    problem: Problem

    def is_known(self) -> bool:
        """Whether `KNOWN` lists the kind."""
        return any(fnmatchcase(self.kind, pattern) for pattern in KNOWN)

    def shrunk(self) -> "Mismatch":
        """The same kind of mismatch in a problem with as little in it as possible."""
        for problem in smaller(self.problem):
            for found in mismatches(problem, self.check, self.implementation):
                if found.kind == self.kind:
                    return found.shrunk()
        return self

    def __str__(self) -> str:
        return (
            f"{self.kind}\n  seed {self.problem.seed}; to see it alone:\n"
            f"  mismatches({self.problem!r}, {self.check!r}, {self.implementation!r})"
        )


def fuzz(num_problems: int, seed: int) -> Iterator[Mismatch]:
    """Finds mismatches in `num_problems` random problems, the same ones for the same seed."""
    rng = random.Random(seed)
    checks = [*QUESTIONS, *CHOICES]
    with_triton = os.environ.get("TRITON_INTERPRET") == "1" and HAS_TRITON
    for number in range(num_problems):
        problem = random_problem(rng.getrandbits(48))
        chosen = rng.sample(checks, CHECKS_PER_PROBLEM)
        for check in chosen:
            implementations = ["reference", "cpu"]
            if number % PROBLEMS_PER_TRITON == 0 and with_triton and check == chosen[0]:
                implementations.append("cuda")
            answer = answered(problem, check)
            for implementation in implementations:
                yield from mismatches(problem, check, implementation, answer)


class Answer(NamedTuple):
    """What every implementation should answer, by enumeration.

    Args:
        question: What is asked.
        values: The answer, float64.
        weights: Of the values in the sum that is differentiated.
        gradients: By the scores that require a gradient, of the sum over values that are finite.
    """

    question: Question
    values: torch.Tensor
    weights: torch.Tensor
    gradients: Sequence[torch.Tensor]


def answered(problem: Problem, check: str) -> Optional[Answer]:
    """The answer to a question of `QUESTIONS`; `None` for other checks."""
    if check not in QUESTIONS:
        return None
    question = QUESTIONS[check](problem, random.Random(f"{problem.seed} {check}"))
    exact = ChainScores(
        *(x.detach().double().requires_grad_(x.requires_grad) for x in problem.scores())
    )
    values = question.answer(exact)
    generator = torch.Generator().manual_seed(1)
    weights = torch.rand(values.shape, generator=generator, dtype=torch.float64) + 0.5
    finite = torch.where(values.isfinite(), values, torch.zeros_like(values))
    gradients = _gradients(finite, exact, weights) if finite.requires_grad else ()
    gradients = gradients or [torch.zeros_like(x) for x in exact if x.requires_grad]
    return Answer(question, values.detach(), weights, gradients)


def mismatches(
    problem: Problem, check: str, implementation: str, answer: Optional[Answer] = None
) -> List[Mismatch]:
    """Compares one function of one implementation with enumeration; `answer` saves its time."""
    answer = answer or answered(problem, check)
    with use_implementation(implementation):
        if answer is not None:
            wrong = _wrong_numbers(problem, answer, implementation)
        else:
            try:
                rng = random.Random(f"{problem.seed} {check}")
                wrong = CHOICES[check](problem, rng, _tolerance(problem))
            except Exception as error:
                wrong = [_named(error)]
    place = " (T = 0)" * (problem.size[1] == 0) or " (B = 0)" * (problem.size[0] == 0)
    kinds = dict.fromkeys(f"{check}, {implementation}: {each}{place}" for each in wrong)
    return [Mismatch(kind, check, implementation, problem) for kind in kinds]


def _wrong_numbers(problem: Problem, answer: Answer, implementation: str) -> List[str]:
    question, expected, weights, targets = answer
    scores = problem.scores()
    try:
        actual = question.call(scores)
    except Exception as error:
        return [_named(error)]
    if actual.shape != expected.shape:
        return [f"shape {tuple(actual.shape)} instead of {tuple(expected.shape)}"]
    tolerance = _tolerance(problem) * question.magnification
    # Kernels on the CPU compute in float64, and round once.
    rounding = 0.0
    if implementation == "cpu" and question.is_exact and problem.dtype == "float32":
        rounding = 3e-7
    wrong = [f"value: {each}" for each in _differences(actual, expected, tolerance, rounding)]
    if any("NaN" in each or "-inf" in each for each in wrong):
        return wrong
    try:
        gradients = _gradients(actual, scores, weights)
    except Exception as error:
        return [*wrong, f"backward: {_named(error)}"]
    found = _gradient_differences(gradients, targets, problem, tolerance, rounding)
    if found and not expected.isfinite().all():
        open_weights = torch.where(expected.isfinite(), weights, torch.zeros_like(weights))
        gradients = _gradients(question.call(scores), scores, open_weights)
        if not _gradient_differences(gradients, targets, problem, tolerance, rounding):
            found = ["a result of -inf passes a gradient on"]
    return wrong + [f"gradient: {each}" for each in found]


def _gradients(
    values: torch.Tensor, scores: ChainScores, weights: torch.Tensor
) -> List[torch.Tensor]:
    inputs = [tensor for tensor in scores if tensor.requires_grad]
    gradients = torch.autograd.grad(values, inputs, weights.to(values), allow_unused=True)
    return [torch.zeros_like(x) if g is None else g for x, g in zip(inputs, gradients)]


def _gradient_differences(
    gradients: Sequence[torch.Tensor],
    targets: Sequence[torch.Tensor],
    problem: Problem,
    tolerance: float,
    rounding: float,
) -> List[str]:
    # Gradients have the type of the scores.
    in_half = 4 * torch.finfo(DTYPES[problem.dtype]).eps if "16" in problem.dtype else 0.0
    found: Dict[str, None] = {}
    for gradient, target in zip(gradients, targets):
        scale = float(target.abs().max()) if target.numel() else 0.0
        found.update(
            dict.fromkeys(_differences(gradient, target, tolerance * 8 + in_half * scale, rounding))
        )
    return list(found)


def _differences(
    actual: torch.Tensor, expected: torch.Tensor, tolerance: float, rounding: float
) -> List[str]:
    """How two tensors differ, in words.

    Args:
        actual: Of any type.
        expected: float64.
        tolerance: The error that any implementation may have.
        rounding: The error that one may have that rounds once, as a share of the largest value; or 0.
    """
    actual, expected = actual.detach().double(), expected.detach()
    # Mostly nothing differs, and one number shows it. It is NaN where there are infinities.
    limit = min(tolerance, rounding or tolerance)
    if not actual.numel() or float((actual - expected).abs().max()) <= limit:
        return []
    found = []
    if bool((actual.isnan() & ~expected.isnan()).any()):
        found.append("NaN")
    if bool(((actual == -torch.inf) & (expected != -torch.inf)).any()):
        found.append("-inf instead of a number")
    if bool(((actual != -torch.inf) & (expected == -torch.inf) & ~actual.isnan()).any()):
        found.append("a number instead of -inf")
    is_number = actual.isfinite() & expected.isfinite()
    errors = (actual - expected)[is_number].abs()
    if bool((actual == torch.inf).any()):
        found.append("inf instead of a number")
    if errors.numel() and float(errors.max()) > tolerance:
        found.append("wrong number")
    elif errors.numel() and rounding:
        scale = max(1.0, float(expected[is_number].abs().max()))
        if float(errors.max()) > rounding * scale:
            found.append("computed in float32")
    return found


def _tolerance(problem: Problem) -> float:
    """What rounding may do to the sums and differences of a path's scores."""
    dtype = torch.promote_types(DTYPES[problem.dtype], torch.float32)
    return 16 * torch.finfo(dtype).eps * (1 + problem.largest() * (problem.size[1] + 1))


def _named(error: Exception) -> str:
    words = str(error).splitlines()[0][:45] if str(error) else ""
    if "does not require grad" in words:
        return "a result that depends on no parameter"
    return f"{type(error).__name__}: {''.join('#' if c.isdigit() else c for c in words)}"


def counted(found: Iterator[Mismatch]) -> Tuple[Counter, Dict[str, Mismatch]]:
    """The number of mismatches of each kind, and the first of each."""
    counts: Counter = Counter()
    first: Dict[str, Mismatch] = {}
    # It warns of unequal weights.
    lannoy = logging.getLogger("tagger.modules.tag_weighting")
    lannoy.disabled = True
    try:
        for mismatch in found:
            counts[mismatch.kind] += 1
            first.setdefault(mismatch.kind, mismatch)
    finally:
        lannoy.disabled = False
    return counts, first


def main(arguments: Optional[Sequence[str]] = None) -> None:
    """Prints what differs, known kinds first."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--problems", type=int, default=1000, help="how many to try")
    parser.add_argument("--seed", type=int, default=0, help="of the first problem")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    started = time.perf_counter()
    counts, first = counted(fuzz(options.problems, options.seed))
    for kind, count in sorted(
        counts.items(), key=lambda item: (not first[item[0]].is_known(), item)
    ):
        print(f"{count:8}  {'known  ' if first[kind].is_known() else 'UNKNOWN'}  {kind}")
    seconds = time.perf_counter() - started
    print(f"{counts.total()} mismatches of {len(counts)} kinds in {options.problems} problems")
    print(f"{seconds:.0f} s")
    for mismatch in first.values():
        if not mismatch.is_known():
            print(f"\n{mismatch.shrunk()}")
    for pattern in KNOWN:
        if not any(fnmatchcase(kind, pattern) for kind in counts):
            print(f"\nknown, but not found: {pattern}")


if __name__ == "__main__":
    main()
