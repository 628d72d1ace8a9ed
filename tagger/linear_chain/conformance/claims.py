"""Claims about a linear-chain CRF, each with a function that says what is wrong with an answer."""

import itertools
from typing import Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import torch

from tagger.linear_chain.chain_scores import ChainScores
from tagger.linear_chain.conformance.problems import (
    Problem,
    log_probabilities,
    mask_of,
    path_scores,
    random_problems,
    scattered,
    score_scale,
    with_impossible,
)

#: (B, T, K) scores, (B, T) gold tags and a (B, T) mask -> (B,), or a scalar for the sum over B.
LogLikelihood = Callable[[ChainScores, torch.Tensor, torch.Tensor], torch.Tensor]

#: By how much log-likelihoods may differ, in nats, for float32 scores of size 1.
_TOLERANCE = 1e-4
#: The tag weights to try, in turn.
_WEIGHTS = (2.0, 0.5, 1.5, 0.25)


class Adapter(NamedTuple):
    """How to call an implementation; each function takes scores of B sequences as `ChainScores`.

    `None` stands for a function that it does not have.

    Attributes:
        name: What to call it in the table.
        log_likelihood: The log-likelihood of gold tags (B, T) int64 under a mask (B, T) bool;
            differentiable.
        decode: The best path of each sequence, with a tag for each real token.
        k_best: The k best paths of each sequence, best first.
        weighted: Like `log_likelihood`, but the training objective with tag weights (K,).
    """

    name: str
    log_likelihood: LogLikelihood
    decode: Optional[Callable[[ChainScores, torch.Tensor], List[List[int]]]] = None
    k_best: Optional[Callable[[ChainScores, torch.Tensor, int], List[List[List[int]]]]] = None
    weighted: Optional[
        Callable[[ChainScores, torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]
    ] = None


def _totals_by_path(adapter: Adapter, problem: Problem) -> torch.Tensor:
    paths, _ = path_scores(problem)
    values = [
        adapter.log_likelihood(problem.scores, tags.unsqueeze(0), problem.mask).sum()
        for tags in scattered(paths, problem.mask)
    ]
    return torch.stack(values).detach().double()


def _sums_to_1(adapter: Adapter, problem: Problem) -> Optional[str]:
    total = float(_totals_by_path(adapter, problem).exp().sum())
    return None if abs(total - 1) < 1e-3 else f"they sum to {total:.3f}"


def _equals_enumeration(adapter: Adapter, problem: Problem) -> Optional[str]:
    found = _totals_by_path(adapter, problem)
    _, expected = log_probabilities(problem)
    return _difference(found, expected, score_scale(problem))


def _is_at_most_0(adapter: Adapter, problem: Problem) -> Optional[str]:
    highest = float(_totals_by_path(adapter, problem).max())
    return None if highest < _TOLERANCE else f"a log-likelihood is {highest:.3f}"


def _ignores_padding(adapter: Adapter, problem: Problem, fill: float) -> Optional[str]:
    _, expected = log_probabilities(problem)
    emissions = problem.scores.emissions.masked_fill(~problem.mask.unsqueeze(2), fill)
    filled = Problem(problem.scores._replace(emissions=emissions), problem.mask)
    return _difference(_totals_by_path(adapter, filled), expected, score_scale(problem))


def _gradient_is_marginals(adapter: Adapter, problem: Problem) -> Optional[str]:
    paths, values = log_probabilities(problem)
    emissions = problem.scores.emissions.clone().requires_grad_()
    best = int(values.argmax())
    tags = scattered(paths, problem.mask)[best : best + 1]
    scores = problem.scores._replace(emissions=emissions)
    adapter.log_likelihood(scores, tags, problem.mask).sum().backward()
    if emissions.grad is None:
        return "there is no gradient"
    num_tags = len(problem.scores.start)
    one_hot = torch.nn.functional.one_hot(paths, num_tags).double()
    expected = torch.zeros(emissions.shape, dtype=torch.float64)
    marginals = (values.exp()[:, None, None] * one_hot).sum(0)
    expected[0, problem.mask[0]] = one_hot[best] - marginals
    return _difference(emissions.grad.double(), expected)


def _decodes_best(adapter: Adapter, problem: Problem) -> Optional[str]:
    if adapter.decode is None:
        raise NotImplementedError
    (path,) = adapter.decode(problem.scores, problem.mask)
    return _is_among_best(problem, [path])


def _finds_k_best(adapter: Adapter, problem: Problem) -> Optional[str]:
    if adapter.k_best is None:
        raise NotImplementedError
    (found,) = adapter.k_best(problem.scores, problem.mask, 3)
    return _is_among_best(problem, found)


def _is_among_best(problem: Problem, found: Sequence[Sequence[int]]) -> Optional[str]:
    """Compares scores, because paths may have equal ones."""
    paths, scores = path_scores(problem)
    score_of = dict(zip(map(tuple, paths.tolist()), scores.tolist()))
    best = sorted(score_of.values(), reverse=True)
    for number, path in enumerate(found):
        score = score_of.get(tuple(int(tag) for tag in path))
        if score is None:
            return f"{list(path)} is no path"
        if score < best[number] - _TOLERANCE * score_scale(problem):
            return f"path {number + 1} scores {score:.3f}, the best such path {best[number]:.3f}"
    return None


def _ignores_unit_weights(adapter: Adapter, problem: Problem) -> Optional[str]:
    return _weighted(adapter, problem, torch.ones(len(problem.scores.start)))[1]


def _is_bounded(adapter: Adapter, problem: Problem) -> Optional[str]:
    num_tags = len(problem.scores.start)
    weights = torch.tensor(list(itertools.islice(itertools.cycle(_WEIGHTS), num_tags)))
    highest = _weighted(adapter, problem, weights)[0]
    return None if highest < _TOLERANCE else f"an objective is {highest:.3f}"


def _weighted(
    adapter: Adapter, problem: Problem, weights: torch.Tensor
) -> Tuple[float, Optional[str]]:
    """The highest objective of all paths, and how they differ from log-probabilities."""
    if adapter.weighted is None:
        raise NotImplementedError
    paths, expected = log_probabilities(problem)
    values = [
        adapter.weighted(problem.scores, tags.unsqueeze(0), problem.mask, weights).sum()
        for tags in scattered(paths, problem.mask)
    ]
    found = torch.stack(values).detach().double()
    return float(found.max()), _difference(found, expected)


def _equals_loop(adapter: Adapter, problem: Problem) -> Optional[str]:
    scores, mask = problem
    tags = scores.emissions.argmax(2)
    whole = adapter.log_likelihood(scores, tags, mask).sum()
    rows = [
        adapter.log_likelihood(
            scores._replace(emissions=scores.emissions[row : row + 1, : int(mask[row].sum())]),
            tags[row : row + 1, : int(mask[row].sum())],
            mask[row : row + 1, : int(mask[row].sum())],
        ).sum()
        for row in range(len(mask))
    ]
    return _difference(whole.detach().double(), torch.stack(rows).sum().detach().double())


def _is_finite(adapter: Adapter, problem: Problem) -> Optional[str]:
    scores = ChainScores(*(each.clone().requires_grad_() for each in problem.scores))
    tags = scores.emissions.argmax(2)
    value = adapter.log_likelihood(scores, tags, problem.mask).sum()
    value.backward()
    grads = [each.grad for each in scores if each.grad is not None]
    is_finite = bool(value.isfinite()) and all(bool(each.isfinite().all()) for each in grads)
    return None if is_finite else f"log-likelihood {float(value):g}, or a gradient, is not finite"


def _difference(found: torch.Tensor, expected: torch.Tensor, scale: float = 1.0) -> Optional[str]:
    """Says how values differ from those expected; -inf equals -inf."""
    differs = ~torch.isclose(found, expected, rtol=0, atol=_TOLERANCE * scale)
    # An implementation may use a finite score for what is impossible.
    differs &= ~((expected == -torch.inf) & (found < -1e3))
    if not bool(differs.any()):
        return None
    at = tuple(differs.nonzero()[0].tolist())
    return f"got {float(found[at]):.3f}, expected {float(expected[at]):.3f}"


_PADDED = [mask_of("111"), mask_of("1"), mask_of("1100"), mask_of("11110")]
_HOLES = [mask_of("101"), mask_of("1101"), mask_of("110011"), mask_of("10110")]
_LATE = [mask_of("011"), mask_of("0110"), mask_of("01")]
_Claim = Callable[[Adapter, Problem], Optional[str]]

#: For each claim, the problems to try, and the check of an answer.
CLAIMS: Dict[str, Tuple[Callable[[torch.Generator], Iterator[Problem]], _Claim]] = {
    "probabilities of all paths sum to 1": (random_problems(_PADDED), _sums_to_1),
    "log-likelihood equals enumeration": (random_problems(_PADDED), _equals_enumeration),
    "... with one tag": (random_problems(_PADDED, (1,)), _equals_enumeration),
    "... with no real token": (
        random_problems([mask_of("0"), mask_of("000")]),
        _equals_enumeration,
    ),
    "... with impossible scores (-inf)": (with_impossible, _equals_enumeration),
    "... with scores of size 100": (random_problems(_PADDED, scale=100.0), _equals_enumeration),
    "large numbers in the padding change nothing": (
        random_problems(_PADDED[2:]),
        lambda adapter, problem: _ignores_padding(adapter, problem, 1e4),
    ),
    "NaN in the padding changes nothing": (
        random_problems(_PADDED[2:]),
        lambda adapter, problem: _ignores_padding(adapter, problem, torch.nan),
    ),
    "a hole in the mask: probabilities sum to 1": (random_problems(_HOLES), _sums_to_1),
    "a hole in the mask: no log-likelihood above 0": (random_problems(_HOLES), _is_at_most_0),
    "first token masked: probabilities sum to 1": (random_problems(_LATE), _sums_to_1),
    "gradient of log Z equals the marginals": (random_problems(_PADDED), _gradient_is_marginals),
    "gradient with impossible scores (-inf)": (with_impossible, _gradient_is_marginals),
    "gradient with a hole in the mask": (random_problems(_HOLES), _gradient_is_marginals),
    "a batch equals a loop over its rows": (
        random_problems([mask_of("111", "100", "110"), mask_of("1111", "1000")]),
        _equals_loop,
    ),
    "2,000 tokens: value and gradient are finite": (
        lambda generator: itertools.islice(random_problems([mask_of("1" * 2000)])(generator), 2),
        _is_finite,
    ),
    "the decoded path scores highest": (random_problems(_PADDED), _decodes_best),
    "decoding with a hole in the mask": (random_problems(_HOLES), _decodes_best),
    "decoding with impossible scores (-inf)": (with_impossible, _decodes_best),
    "the 3 best paths are the best": (
        random_problems([mask_of("111"), mask_of("11110")]),
        _finds_k_best,
    ),
    "weights of 1 change nothing": (random_problems(_PADDED), _ignores_unit_weights),
    "other weights: no objective is above 0": (random_problems(_PADDED, (2, 3), 3.0), _is_bounded),
}
