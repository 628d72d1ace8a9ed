"""The public functions: each checks its arguments once, then calls an implementation.

Every function takes the chain's `scores` and a `mask`: (B, T), true at real tokens, or (B,) int64
lengths, or `None` if every token is real. `tags` are a path, (B, T) integers, in [0, K) at real tokens.
`gold_tags` are a path in which -1 stands for an unknown tag, or the set of tags that each token may
have, (B, T, K) bool. With `weights`, (B, T), a function of gold tags returns the weighted sum of each
row's values, (B,), which is -inf if one of them is. This is faster than weighting the values
afterwards, and not differentiable with respect to the weights.

A masked token is absent, wherever it stands: the real tokens before and after it are neighbours. It
changes nothing, even if it holds NaN, and gets no gradient. Right-padded masks are the fastest.

float16 and bfloat16 are computed in float32. A row without a token has score, log partition and
log-likelihood 0. A result of -inf has no gradient.

A row has no distribution if a score of a real token, or a score that all tokens share, is NaN or +inf.
Its sums and the scores of its best paths are then NaN, and its samples are meaningless.

On a GPU, checking the values of a (B, T) mask and of gold tags forces a sync. To avoid it, pass
lengths, or declare the values with `tagger.linear_chain.declared`.

Raises:
    ValueError: If shapes do not fit, a tag is out of range, a token has no allowed tag, or no path is
        asked for.
    TypeError: If scores are not floating-point numbers, or tags neither integers nor bool.

Letters: `B` rows (sequences), `T` tokens, `K` tags.
"""

from typing import Optional, Tuple, cast

import torch

from tagger.linear_chain import reference
from tagger.linear_chain.chain_scores import ChainScores
from tagger.linear_chain.checks import Rows, checked_mask, in_front, rows_of
from tagger.linear_chain.implementations import implementation_for
from tagger.linear_chain.log_space import total_of
from tagger.linear_chain.tracing import not_traced
from tagger.linear_chain.values import has_no_number


@not_traced
def sequence_score(
    scores: ChainScores, tags: torch.Tensor, mask: Optional[torch.Tensor] = None
) -> torch.Tensor:
    """The score of each sequence's path `tags`.

    Args:
        scores: The scores of B sequences of up to T tokens over K tags.
        tags: (B, T) integers, a path.
        mask: See the module's docstring.

    Returns:
        (B,), differentiable with respect to the scores; -inf where the path is impossible.
    """
    return total_of(step_scores(scores, tags, mask))


@not_traced
def step_scores(
    scores: ChainScores, tags: torch.Tensor, mask: Optional[torch.Tensor] = None
) -> torch.Tensor:
    """The score that each token adds to the path `tags`; their sum is the sequence score.

    Token t adds `emissions[t, y_t] + transitions[y_{t-1}, y_t]`; the first adds `start[y_1]` instead
    of a transition, and the last also `end[y_T]`.

    Returns:
        (B, T), 0 at masked tokens, differentiable with respect to the scores.
    """
    rows = rows_of(scores, mask)
    return rows.at_tokens(reference.step_scores(rows.scores, rows.path(tags), rows.lengths))


@not_traced
def log_partition(scores: ChainScores, mask: Optional[torch.Tensor] = None) -> torch.Tensor:
    """log Z, the logarithm of the sum over all paths of the exponential of their scores.

    Returns:
        (B,), differentiable; its gradients are the marginals. -inf where no path is possible.
    """
    rows = rows_of(scores, mask)
    log_steps = implementation_for(rows.scores).log_steps
    return cast(torch.Tensor, log_steps(rows.scores, None, rows.lengths, is_total=True))


@not_traced
def step_log_normalizers(scores: ChainScores, mask: Optional[torch.Tensor] = None) -> torch.Tensor:
    """log z_t = log Z_t - log Z_{t-1}, with Z_t the partition function of the prefix up to token t.

    The end scores go into the last one, so that the sum over t is log Z. These are the scaling
    factors of the forward algorithm (Rabiner 1989, section V.A), in log space.

    Returns:
        (B, T), 0 at masked tokens, each entry differentiable; -inf at all tokens from the first one
        that no prefix reaches.
    """
    rows = rows_of(scores, mask)
    return rows.at_tokens(
        implementation_for(rows.scores).log_steps(rows.scores, None, rows.lengths)
    )


@not_traced
def log_likelihood(
    scores: ChainScores, gold_tags: torch.Tensor, mask: Optional[torch.Tensor] = None
) -> torch.Tensor:
    """The log-probability of each sequence's gold tags: for a path, its score minus log Z.

    For partial gold tags it is the log-sum of all paths that they allow, minus log Z (Bellare &
    McCallum 2007; Tsuboi et al. 2008), so 0 if all tags are unknown. One call is faster than computing
    the two parts separately.

    Returns:
        (B,), differentiable; -inf where the gold tags are impossible.
    """
    return _log_likelihoods(rows_of(scores, mask), gold_tags, None, is_total=True)


@not_traced
def step_log_likelihoods(
    scores: ChainScores,
    gold_tags: torch.Tensor,
    mask: Optional[torch.Tensor] = None,
    weights: Optional[torch.Tensor] = None,
) -> torch.Tensor:
    """Each token's step score minus its log z_t; these sum to the log-likelihood.

    For partial gold tags it is log z_t of the chain restricted to the tags that they allow, minus log
    z_t of the whole chain.

    Returns:
        (B, T), 0 at masked tokens, each entry differentiable; -inf where the step is impossible, and at
        all tokens from the first one that no prefix reaches. Not log-probabilities: they may be
        positive.
    """
    return _log_likelihoods(rows_of(scores, mask), gold_tags, weights, is_total=False)


@not_traced
def step_log_conditionals(
    scores: ChainScores,
    gold_tags: torch.Tensor,
    mask: Optional[torch.Tensor] = None,
    weights: Optional[torch.Tensor] = None,
) -> torch.Tensor:
    """log p(y_t | y_{t-1}, x), by the chain rule; these sum to the log-likelihood.

    For partial gold tags it is the log-probability of a token's set given the sets of all tokens before
    it.

    Returns:
        (B, T), 0 at masked tokens, each entry differentiable; -inf from the first impossible gold tag
        onwards.
    """
    return _log_posteriors(rows_of(scores, mask), gold_tags, weights, given_prefix=True)


@not_traced
def step_log_marginals(
    scores: ChainScores,
    gold_tags: torch.Tensor,
    mask: Optional[torch.Tensor] = None,
    weights: Optional[torch.Tensor] = None,
) -> torch.Tensor:
    """log p(y_t | x), the log of the gold tag's marginal; for a set of tags, of their marginals' sum.

    More precise than the logarithm of `tag_marginals`, which may underflow.

    Returns:
        (B, T), 0 at masked tokens, each entry differentiable; -inf where the gold tag is impossible.
    """
    return _log_posteriors(rows_of(scores, mask), gold_tags, weights, given_prefix=False)


@not_traced
def forward_scores(scores: ChainScores, mask: Optional[torch.Tensor] = None) -> torch.Tensor:
    """The log-sum of all prefixes that end in each tag, with that token's emission.

    Returns:
        (B, T, K), differentiable; undefined at masked tokens.
    """
    rows = rows_of(scores, mask)
    return rows.at_tokens(
        implementation_for(rows.scores).messages(rows.scores, rows.lengths, from_the_end=False)
    )


@not_traced
def backward_scores(scores: ChainScores, mask: Optional[torch.Tensor] = None) -> torch.Tensor:
    """The log-sum of all suffixes that follow each tag, without that token's own emission.

    Returns:
        (B, T, K), differentiable; undefined at masked tokens.
    """
    rows = rows_of(scores, mask)
    return rows.at_tokens(
        implementation_for(rows.scores).messages(rows.scores, rows.lengths, from_the_end=True)
    )


@not_traced
def tag_marginals(scores: ChainScores, mask: Optional[torch.Tensor] = None) -> torch.Tensor:
    """p(y_t = k | x), the probability of each tag at each token.

    Returns:
        (B, T, K), differentiable; sums to 1 over K at real tokens, and is 0 at masked tokens and where
        no path is possible.
    """
    rows = rows_of(scores, mask)
    return rows.at_tokens(implementation_for(rows.scores).tag_marginals(rows.scores, rows.lengths))


@not_traced
def transition_marginals(scores: ChainScores, mask: Optional[torch.Tensor] = None) -> torch.Tensor:
    """p(y_t = i, y_{t+1} = j | x), the probability of each transition between neighbouring tokens.

    Returns:
        (B, T - 1, K, K), differentiable; sums to 1 over the last two dimensions where token t + 1 is
        real and not the first, and is 0 elsewhere. Entry t is the transition to token t + 1 from the
        real token before it, which is token t unless that is masked.
    """
    rows = rows_of(scores, mask)
    marginals = implementation_for(rows.scores).transition_marginals(rows.scores, rows.lengths)
    with torch.no_grad():
        is_spoilt = has_no_number(rows.scores, rows.lengths)
    if is_spoilt is not None:
        marginals = marginals.masked_fill(is_spoilt[:, None, None, None], torch.nan)
    return rows.at_transitions(marginals)


@not_traced
def viterbi_decode(
    scores: ChainScores, mask: Optional[torch.Tensor] = None
) -> Tuple[torch.Tensor, torch.Tensor]:
    """The path of the highest score.

    Returns:
        The path, (B, T) int64, 0 at masked tokens; and its score, (B,), -inf where no path is possible
        (the path is then meaningless). Not differentiable. Ties are broken arbitrarily.
    """
    paths, path_scores = k_best_decode(scores, mask, k=1)
    return paths[:, 0], path_scores[:, 0]


@not_traced
def k_best_decode(
    scores: ChainScores, mask: Optional[torch.Tensor] = None, k: int = 1
) -> Tuple[torch.Tensor, torch.Tensor]:
    """The k paths of the highest scores, best first.

    Returns:
        The paths, (B, k, T) int64, 0 at masked tokens; and their scores, (B, k), -inf where there are
        fewer than k possible paths (such a path is meaningless). Not differentiable.
    """
    if k < 1:
        raise ValueError(f"`k` must be at least 1; got {k}")
    rows = rows_of(scores, mask)
    with torch.no_grad():
        paths, path_scores = implementation_for(rows.scores).k_best_decode(
            rows.scores, rows.lengths, k
        )
        is_spoilt = has_no_number(rows.scores, rows.lengths)
        if is_spoilt is not None:
            path_scores = path_scores.masked_fill(is_spoilt.unsqueeze(1), torch.nan)
    return rows.of_paths(paths), path_scores


@not_traced
def sample_paths(
    scores: ChainScores,
    mask: Optional[torch.Tensor] = None,
    num_samples: int = 1,
    generator: Optional[torch.Generator] = None,
) -> torch.Tensor:
    """Paths drawn from p(y | x), by forward filtering and backward sampling (Scott 2002, section 2.1).

    Args:
        scores: The scores of B sequences of up to T tokens over K tags.
        mask: See the module's docstring.
        num_samples: S, the number of paths to draw for each sequence.
        generator: The source of random numbers, on the scores' device; `None` for PyTorch's default.

    Returns:
        (B, S, T) int64, 0 at masked tokens; independent, exact samples, the same from every
        implementation. Meaningless where no path is possible. Not differentiable.
    """
    if num_samples < 1:
        raise ValueError(f"`num_samples` must be at least 1; got {num_samples}")
    rows = rows_of(scores, mask)
    batch_size, num_tokens, _ = rows.scores.emissions.shape
    uniforms = torch.rand(
        (batch_size, num_samples, num_tokens),
        generator=generator,
        dtype=torch.float64,
        device=rows.scores.emissions.device,
    )
    with torch.no_grad():
        return rows.of_paths(
            implementation_for(rows.scores).sample_paths(rows.scores, rows.lengths, uniforms)
        )


@not_traced
def compacted(
    emissions: torch.Tensor, mask: Optional[torch.Tensor] = None
) -> Tuple[torch.Tensor, torch.Tensor]:
    """Takes the masked tokens out of a batch.

    Args:
        emissions: (B, T, K).
        mask: See the module's docstring.

    Returns:
        The emissions with each row's real tokens first, (B, T, K) (`emissions` itself if the mask has
        no hole), and the number of real tokens in each row, (B,) int64.
    """
    lengths, holes = checked_mask(mask, emissions)
    return (emissions if holes is None else in_front(emissions, holes)), lengths


def _log_likelihoods(
    rows: Rows, gold_tags: torch.Tensor, weights: Optional[torch.Tensor], is_total: bool
) -> torch.Tensor:
    gold_tags, weights = rows.gold_tags(gold_tags), rows.weights(weights)
    log_steps = implementation_for(rows.scores).log_steps
    return rows.at_tokens(log_steps(rows.scores, gold_tags, rows.lengths, weights, is_total))


def _log_posteriors(
    rows: Rows, gold_tags: torch.Tensor, weights: Optional[torch.Tensor], given_prefix: bool
) -> torch.Tensor:
    gold_tags, weights = rows.gold_tags(gold_tags), rows.weights(weights)
    return rows.at_tokens(
        implementation_for(rows.scores).log_posteriors(
            rows.scores, gold_tags, rows.lengths, weights, given_prefix
        )
    )
