"""The functions of `reference`, computed by Numba kernels, which are cached on disk.

Each public function names the primitive that computes it, and its specification. The reference
differentiates transition marginals, forward scores and backward scores.

Letters: `B` rows (sequences), `T` tokens, `K` tags.
"""

from functools import partial
from typing import Optional, Tuple

import numpy as np
import torch

from tagger.linear_chain import reference
from tagger.linear_chain.autograd import (
    Computed,
    differentiable,
    require_gradients,
    with_lost_suffixes,
)
from tagger.linear_chain.chain_scores import ChainScores, in_float64_on_cpu, restricted
from tagger.linear_chain.cpu.derivatives import (
    CONDITIONALS,
    CONDITIONALS_OF_SETS,
    MARGINALS,
    MARGINALS_OF_ALL,
    STEPS,
    STEPS_OF_SETS,
    array,
    batch_of,
    differentiated_in_log_space,
    gold_tags_of,
    gradients,
    steps,
    totals,
)
from tagger.linear_chain.cpu.kernels.batch import Batch
from tagger.linear_chain.cpu.kernels.conditionals import arrival_rows
from tagger.linear_chain.cpu.kernels.marginals import marginal_rows
from tagger.linear_chain.cpu.kernels.max_sum import best_rows, k_best_rows
from tagger.linear_chain.cpu.kernels.sampling import sample_rows
from tagger.linear_chain.cpu.kernels.span_search import span_rows
from tagger.linear_chain.cpu.kernels.sum_product import forward_rows, transition_marginal_rows
from tagger.linear_chain.kernels.compilation import for_row_ranges
from tagger.linear_chain.log_space import log_ratio
from tagger.linear_chain.reference import step_scores, weighed
from tagger.linear_chain.span_search import Messages, Spellings

__all__ = ["step_scores"]


def log_partition(scores: ChainScores, lengths: torch.Tensor) -> torch.Tensor:
    """As `reference.log_partition`."""
    return differentiable(_log_partition, reference.log_partition, scores, lengths)


def step_log_normalizers(scores: ChainScores, lengths: torch.Tensor) -> torch.Tensor:
    """As `reference.step_log_normalizers`."""
    return differentiable(_log_normalizers, reference.step_log_normalizers, scores, lengths)


def log_likelihood(
    scores: ChainScores, gold_tags: torch.Tensor, lengths: torch.Tensor
) -> torch.Tensor:
    """As `reference.log_likelihood`."""
    return differentiable(_log_likelihood, reference.log_likelihood, scores, gold_tags, lengths)


def step_log_likelihoods(
    scores: ChainScores,
    gold_tags: torch.Tensor,
    lengths: torch.Tensor,
    weights: Optional[torch.Tensor] = None,
) -> torch.Tensor:
    """As `reference.step_log_likelihoods`."""
    is_path = gold_tags.dim() == 2
    if weights is not None and require_gradients(scores):
        primitive = partial(totals, STEPS if is_path else STEPS_OF_SETS)
        specification = reference.step_log_likelihoods
        return differentiable(primitive, specification, scores, gold_tags, lengths, weights)
    if is_path:
        specification = reference.step_log_likelihoods
        of_path = differentiable(_log_likelihoods, specification, scores, gold_tags, lengths)
        return weighed(of_path, lengths, weights)
    exact = in_float64_on_cpu(scores)
    allowed = step_log_normalizers(restricted(exact, gold_tags), lengths)
    of_sets = log_ratio(allowed, step_log_normalizers(exact, lengths))
    return weighed(of_sets.to(scores.emissions.dtype), lengths, weights)


def step_log_conditionals(
    scores: ChainScores,
    gold_tags: torch.Tensor,
    lengths: torch.Tensor,
    weights: Optional[torch.Tensor] = None,
) -> torch.Tensor:
    """As `reference.step_log_conditionals`."""
    kernels = CONDITIONALS if gold_tags.dim() == 2 else CONDITIONALS_OF_SETS
    primitive = partial(steps if weights is None else totals, kernels)
    specification = reference.step_log_conditionals
    return differentiable(primitive, specification, scores, gold_tags, lengths, weights)


def step_log_marginals(
    scores: ChainScores,
    gold_tags: torch.Tensor,
    lengths: torch.Tensor,
    weights: Optional[torch.Tensor] = None,
) -> torch.Tensor:
    """As `reference.step_log_marginals`."""
    primitive = partial(steps if weights is None else totals, MARGINALS)
    specification = reference.step_log_marginals
    return differentiable(primitive, specification, scores, gold_tags, lengths, weights)


def tag_marginals(scores: ChainScores, lengths: torch.Tensor) -> torch.Tensor:
    """As `reference.tag_marginals`."""
    return differentiable(_tag_marginals, reference.tag_marginals, scores, lengths)


def transition_marginals(scores: ChainScores, lengths: torch.Tensor) -> torch.Tensor:
    """As `reference.transition_marginals`."""
    specification = reference.transition_marginals
    return differentiable(_transition_marginals, specification, scores, lengths)


def forward_scores(scores: ChainScores, lengths: torch.Tensor) -> torch.Tensor:
    """As `reference.forward_scores`."""
    return differentiable(_forward_scores, reference.forward_scores, scores, lengths)


def backward_scores(scores: ChainScores, lengths: torch.Tensor) -> torch.Tensor:
    """As `reference.backward_scores`."""
    return differentiable(_backward_scores, reference.backward_scores, scores, lengths)


def k_best_decode(
    scores: ChainScores, lengths: torch.Tensor, k: int
) -> Tuple[torch.Tensor, torch.Tensor]:
    """As `reference.k_best_decode`."""
    rows, to_batch = (best_rows, batch_of) if k == 1 else (k_best_rows, _exact_batch_of)
    batch = to_batch(scores, lengths)
    batch_size, num_tokens, num_tags = batch.emissions.shape
    paths = np.zeros((batch_size, k, num_tokens), np.int64)
    path_scores = np.zeros((batch_size, k))
    for_row_ranges(rows, batch.lengths, k * num_tags**2, batch, paths, path_scores)
    return torch.from_numpy(paths), torch.from_numpy(path_scores).to(scores.emissions.dtype)


def sample_paths(
    scores: ChainScores, lengths: torch.Tensor, uniforms: torch.Tensor
) -> torch.Tensor:
    """As `reference.sample_paths`."""
    batch = _exact_batch_of(scores, lengths)
    num_tags = batch.emissions.shape[2]
    paths = np.zeros(uniforms.shape, np.int64)
    work = num_tags * (num_tags + 10 * uniforms.size(1))
    for_row_ranges(sample_rows, batch.lengths, work, batch, array(uniforms), paths)
    return torch.from_numpy(paths)


def spans_above(
    scores: ChainScores,
    messages: Messages,
    spellings: Spellings,
    log_least: float,
    lengths: torch.Tensor,
) -> Tuple[torch.Tensor, torch.Tensor]:
    """As `reference.spans_above`."""
    batch = _exact_batch_of(scores, lengths)
    given = (*map(array, messages), *map(array, spellings), log_least)
    counts = np.zeros(len(batch.lengths), np.int64)
    spans, log_probabilities = np.zeros((0, 4), np.int64), np.zeros(0)
    work = 10 * len(spellings.tags)
    # Once to count, and once to write.
    for _ in range(2):
        places = counts.cumsum() - counts
        found = (places, counts, spans, log_probabilities)
        for_row_ranges(span_rows, batch.lengths, work, batch, *given, *found)
        spans, log_probabilities = np.zeros((counts.sum(), 4), np.int64), np.zeros(counts.sum())
    return torch.from_numpy(found[2]), torch.from_numpy(found[3])


def _log_partition(scores: ChainScores, lengths: torch.Tensor, with_gradients: bool) -> Computed:
    if with_gradients:
        return totals(STEPS, scores, None, lengths, None, with_gradients)
    return Computed(_forward(scores, None, lengths, is_total=True))


def _log_normalizers(scores: ChainScores, lengths: torch.Tensor, with_gradients: bool) -> Computed:
    values = _forward(scores, None, lengths, is_total=False)
    return Computed(values, partial(gradients, STEPS, None, lengths))


def _log_likelihood(
    scores: ChainScores, gold_tags: torch.Tensor, lengths: torch.Tensor, with_gradients: bool
) -> Computed:
    if gold_tags.dim() == 3:
        return totals(STEPS_OF_SETS, scores, gold_tags, lengths, None, with_gradients)
    if with_gradients:
        return totals(STEPS, scores, gold_tags, lengths, None, with_gradients)
    return Computed(_forward(scores, gold_tags, lengths, is_total=True))


def _log_likelihoods(
    scores: ChainScores, gold_tags: torch.Tensor, lengths: torch.Tensor, with_gradients: bool
) -> Computed:
    values = _forward(scores, gold_tags, lengths, is_total=False)
    return Computed(values, partial(gradients, STEPS, gold_tags, lengths))


def _forward(
    scores: ChainScores, path: Optional[torch.Tensor], lengths: torch.Tensor, is_total: bool
) -> torch.Tensor:
    """Log normalisers or log-likelihoods, (B, T) or summed, (B,), without what gradients need."""
    batch, tags = batch_of(scores, lengths), gold_tags_of(path)
    batch_size, num_tokens, num_tags = batch.emissions.shape
    values = np.zeros((batch_size, 1 if is_total else num_tokens), batch.emissions.dtype)
    left = np.zeros(batch_size, np.bool_)
    for_row_ranges(forward_rows, batch.lengths, num_tags**2, batch, tags, is_total, values, left)
    if left.any():
        ones = np.ones((batch_size, 1))
        exact = differentiated_in_log_space(STEPS, batch, tags, ones, is_total, left)
        values[left] = exact.values
    return torch.from_numpy(values.reshape(-1) if is_total else values)


def _tag_marginals(scores: ChainScores, lengths: torch.Tensor, with_gradients: bool) -> Computed:
    batch = batch_of(scores, lengths)
    shape = batch.emissions.shape
    values, left = np.zeros(shape, batch.emissions.dtype), np.zeros(shape[0], np.bool_)
    for_row_ranges(marginal_rows, batch.lengths, 2 * shape[2] ** 2, batch, values, left)
    if left.any():
        no_weights = np.zeros(shape)
        exact = differentiated_in_log_space(MARGINALS_OF_ALL, batch, None, no_weights, False, left)
        values[left] = exact.values
    return Computed(torch.from_numpy(values), partial(gradients, MARGINALS_OF_ALL, None, lengths))


def _transition_marginals(
    scores: ChainScores, lengths: torch.Tensor, with_gradients: bool
) -> Computed:
    batch = _exact_batch_of(scores, lengths)
    batch_size, num_tokens, num_tags = batch.emissions.shape
    values = np.zeros((batch_size, max(num_tokens - 1, 0), num_tags, num_tags))
    for_row_ranges(transition_marginal_rows, batch.lengths, 4 * num_tags**2, batch, values)
    return Computed(torch.from_numpy(values).to(scores.emissions.dtype))


def _forward_scores(scores: ChainScores, lengths: torch.Tensor, with_gradients: bool) -> Computed:
    return Computed(_arrivals(scores, lengths, False) + scores.emissions.detach())


def _backward_scores(scores: ChainScores, lengths: torch.Tensor, with_gradients: bool) -> Computed:
    return Computed(with_lost_suffixes(_arrivals(scores, lengths, True), scores, lengths))


def _arrivals(scores: ChainScores, lengths: torch.Tensor, from_the_end: bool) -> torch.Tensor:
    """Log-sums of prefixes or suffixes, (B, T, K), -inf in the padding."""
    batch = _exact_batch_of(scores, lengths)
    values = np.full_like(batch.emissions, -np.inf)
    work = 2 * values.shape[2] ** 2
    for_row_ranges(arrival_rows, batch.lengths, work, batch, from_the_end, values)
    return torch.from_numpy(values).to(scores.emissions.dtype)


def _exact_batch_of(scores: ChainScores, lengths: torch.Tensor) -> Batch:
    """A batch in float64, for what is not called often: its kernels are compiled for one type alone."""
    batch = batch_of(scores, lengths)
    return batch._replace(emissions=batch.emissions.astype(np.float64, copy=False))
