"""The functions of `reference`, computed by Numba kernels, which are cached on disk.

Transition marginals and messages are differentiated by the reference.

Letters: `B` rows (sequences), `T` tokens, `K` tags.
"""

from functools import partial
from typing import Optional, Tuple

import numpy as np
import torch

from tagger.linear_chain import reference
from tagger.linear_chain.autograd import Computed, differentiable, with_lost_suffixes
from tagger.linear_chain.chain_scores import ChainScores
from tagger.linear_chain.cpu.derivatives import (
    Kernel,
    array,
    batch_of,
    computed,
    differentiated,
    gradients,
    rounded,
)
from tagger.linear_chain.cpu.kernels.batch import Batch
from tagger.linear_chain.cpu.kernels.max_sum import best_rows, k_best_rows
from tagger.linear_chain.cpu.kernels.posteriors import posterior_rows
from tagger.linear_chain.cpu.kernels.sampling import sample_rows
from tagger.linear_chain.cpu.kernels.span_search import span_rows
from tagger.linear_chain.cpu.kernels.sum_product import (
    message_rows,
    step_rows,
    transition_marginal_rows,
)
from tagger.linear_chain.kernels.compilation import for_row_ranges
from tagger.linear_chain.span_search import Messages, Spellings

_STEPS = Kernel(step_rows, 3)
_CONDITIONALS, _MARGINALS = (Kernel(posterior_rows, 6, (given,)) for given in (True, False))


def log_steps(
    scores: ChainScores,
    gold_tags: Optional[torch.Tensor],
    lengths: torch.Tensor,
    weights: Optional[torch.Tensor] = None,
    is_total: bool = False,
) -> torch.Tensor:
    is_total = is_total or weights is not None
    primitive, specification = partial(computed, _STEPS), reference.log_steps
    return differentiable(primitive, specification, scores, gold_tags, lengths, weights, is_total)


def log_posteriors(
    scores: ChainScores,
    gold_tags: torch.Tensor,
    lengths: torch.Tensor,
    weights: Optional[torch.Tensor],
    given_prefix: bool,
) -> torch.Tensor:
    specification = reference.log_posteriors
    arguments = (gold_tags, lengths, weights, given_prefix)
    return differentiable(_posteriors, specification, scores, *arguments)


def tag_marginals(scores: ChainScores, lengths: torch.Tensor) -> torch.Tensor:
    return differentiable(_tag_marginals, reference.tag_marginals, scores, lengths)


def transition_marginals(scores: ChainScores, lengths: torch.Tensor) -> torch.Tensor:
    specification = reference.transition_marginals
    return differentiable(_transition_marginals, specification, scores, lengths)


def messages(scores: ChainScores, lengths: torch.Tensor, from_the_end: bool) -> torch.Tensor:
    return differentiable(_messages, reference.messages, scores, lengths, from_the_end)


def k_best_decode(
    scores: ChainScores, lengths: torch.Tensor, k: int
) -> Tuple[torch.Tensor, torch.Tensor]:
    rows, to_batch = (best_rows, batch_of) if k == 1 else (k_best_rows, _exact_batch_of)
    batch = to_batch(scores, lengths)
    batch_size, num_tokens, num_tags = batch.emissions.shape
    paths = np.zeros((batch_size, k, num_tokens), np.int64)
    path_scores = np.zeros((batch_size, k))
    for_row_ranges(rows, batch.lengths, k * num_tags**2, batch, paths, path_scores)
    return torch.from_numpy(paths), rounded(path_scores, scores.emissions.dtype)


def sample_paths(
    scores: ChainScores, lengths: torch.Tensor, uniforms: torch.Tensor
) -> torch.Tensor:
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


def _posteriors(
    scores: ChainScores,
    gold_tags: torch.Tensor,
    lengths: torch.Tensor,
    weights: Optional[torch.Tensor],
    given_prefix: bool,
    with_gradients: bool,
) -> Computed:
    kernel, is_total = _CONDITIONALS if given_prefix else _MARGINALS, weights is not None
    return computed(kernel, scores, gold_tags, lengths, weights, is_total, with_gradients)


def _tag_marginals(scores: ChainScores, lengths: torch.Tensor, with_gradients: bool) -> Computed:
    """The derivatives of log Z with respect to the emissions."""
    batch = batch_of(scores, lengths)
    ones = np.ones((len(batch.lengths), 1))
    marginals = differentiated(_STEPS, batch, None, ones, is_total=True).by_emissions
    return Computed(torch.from_numpy(marginals), partial(gradients, _MARGINALS, None, lengths))


def _transition_marginals(
    scores: ChainScores, lengths: torch.Tensor, with_gradients: bool
) -> Computed:
    batch = _exact_batch_of(scores, lengths)
    batch_size, num_tokens, num_tags = batch.emissions.shape
    values = np.zeros((batch_size, max(num_tokens - 1, 0), num_tags, num_tags))
    for_row_ranges(transition_marginal_rows, batch.lengths, 4 * num_tags**2, batch, values)
    return Computed(rounded(values, scores.emissions.dtype))


def _messages(
    scores: ChainScores, lengths: torch.Tensor, from_the_end: bool, with_gradients: bool
) -> Computed:
    batch = _exact_batch_of(scores, lengths)
    arriving = np.full_like(batch.emissions, -np.inf)
    work = 2 * arriving.shape[2] ** 2
    for_row_ranges(message_rows, batch.lengths, work, batch, from_the_end, arriving)
    values = rounded(arriving, scores.emissions.dtype)
    if from_the_end:
        return Computed(with_lost_suffixes(values, scores, lengths))
    return Computed(values + scores.emissions.detach())


def _exact_batch_of(scores: ChainScores, lengths: torch.Tensor) -> Batch:
    """A batch in float64, for rarely called kernels, which are compiled for this type only."""
    batch = batch_of(scores, lengths)
    return batch._replace(emissions=batch.emissions.astype(np.float64, copy=False))
