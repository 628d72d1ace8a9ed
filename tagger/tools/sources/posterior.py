"""The distribution of the tags of many sentences, batch by batch.

All sentences share the scores of their steps, so the expected steps of a batch are one gradient of its
log Z, and nothing has a size of (B, K, K). Only soft labels need the steps of each sentence.

Letters as in `hidden_chain`.
"""

from typing import Iterator, NamedTuple, Tuple

import numpy as np
import torch

from tagger.linear_chain import ChainScores, chain_marginals, log_partition, viterbi_decode
from tagger_texts.batches import batches_within

#: The most padded tokens in a batch, and the most transition marginals of a batch in one tensor.
_BATCH, _MOST_MARGINALS = 65_536, 20_000_000


class Chains(NamedTuple):
    """The chains of all sentences.

    Args:
        emissions: (N, K), the scores of the tags of all sentences' tokens.
        transitions: (K + 1, K), the scores of steps from each tag, and last from the start.
        ends: (K,), the scores of ending a sentence with each tag.
        lengths: (B,) int64, the number of tokens of each sentence, which are at least 1.
    """

    emissions: torch.Tensor
    transitions: torch.Tensor
    ends: torch.Tensor
    lengths: torch.Tensor


def expectations(chains: Chains) -> Tuple[torch.Tensor, torch.Tensor]:
    """The probability of each tag, (N, K), and the expected number of steps, (K + 1, K).

    The steps are those of all sentences together; the last row is from the start.
    """
    tags, steps = torch.zeros_like(chains.emissions), torch.zeros_like(chains.transitions)
    for _, tokens, is_real, scores in _batches(chains):
        with torch.enable_grad():
            leaves = ChainScores(*(each.detach().requires_grad_() for each in scores))
            total = log_partition(leaves, is_real.sum(1)).sum()
        of_emissions, of_steps, of_starts, _ = torch.autograd.grad(total, leaves)
        tags[tokens] = of_emissions[is_real]
        steps += torch.cat([of_steps, of_starts[None]])
    return tags, steps


def best_tags(chains: Chains) -> torch.Tensor:
    """The most probable legal tags of each sentence, (N,) int64."""
    best = torch.zeros_like(chains.emissions[:, 0], dtype=torch.int64)
    for _, tokens, is_real, scores in _batches(chains):
        best[tokens] = viterbi_decode(scores, is_real.sum(1))[0][is_real]
    return best


def marginals_of_sentences(chains: Chains) -> Tuple[np.ndarray, np.ndarray]:
    """The probability of each tag, (N, K), and of each sentence's transitions the expected number.

    The latter are (B, K, K). Both are float16, in which `SoftLabels` are stored.
    """
    num_tags = chains.emissions.size(1)
    tags = np.zeros(chains.emissions.shape, np.float16)
    transitions = np.zeros((len(chains.lengths), num_tags, num_tags), np.float16)
    for rows, tokens, is_real, scores in _batches(chains, _MOST_MARGINALS // num_tags**2):
        found = chain_marginals(scores, is_real.sum(1))
        tags[tokens.cpu().numpy()] = found.tags[is_real].cpu().numpy()
        transitions[rows] = found.transitions.cpu().numpy()
    return tags, transitions


def _batches(
    chains: Chains, most_tokens: int = _BATCH
) -> Iterator[Tuple[np.ndarray, torch.Tensor, torch.Tensor, ChainScores]]:
    """Yields the sentences of each batch, their tokens, where these are in (B, T), and scores."""
    lengths, (transitions, start) = chains.lengths, chains.transitions.tensor_split([-1])
    starts = torch.cumsum(lengths, 0) - lengths
    for rows in batches_within(lengths.cpu().numpy(), min(most_tokens, _BATCH)):
        # (rows, T)
        positions = torch.arange(int(lengths[rows].max()), device=lengths.device)
        is_real = positions < lengths[rows][:, None]
        places = torch.where(is_real, starts[rows][:, None] + positions, 0)
        scores = ChainScores(chains.emissions[places], transitions, start[0], chains.ends)
        yield rows, places[is_real], is_real, scores
