"""The specification: linear-chain recurrences in plain PyTorch, in log space.

`functions` checks the arguments, and its docstrings say what each function returns. Instead of a mask,
the functions here take `lengths`, (B,) int64. `tags` are a path, (B, T) int64. `gold_tags` are a path,
or the tags that each token may have, (B, T, K) bool. With `weights`, (B, T), a function of gold tags
returns the weighted sums of rows. Messages are normalised at every token (Rabiner 1989, section V.A), so
that no chain is too long for float32.
"""

import functools
from typing import Any, Callable, List, Optional, Tuple, TypeVar

import torch

from tagger.linear_chain.chain_scores import ChainScores, restricted
from tagger.linear_chain.log_space import (
    constant_if_impossible,
    log_ratio,
    logsumexp,
    normalized,
    normalized_exp,
    total_of,
)
from tagger.linear_chain.padding import last_tokens, real_tokens, without_padding
from tagger.linear_chain.span_search import spans_above

__all__ = ["spans_above"]

#: Like `relative_messages`. Its gradients only have to be right for weights that sum to 0 over each
#: token's tags.
MessageFunction = Callable[[ChainScores, torch.Tensor, bool], torch.Tensor]
ScoreFunction = TypeVar("ScoreFunction", bound=Callable[..., torch.Tensor])


def _of_all_scores(function: ScoreFunction) -> ScoreFunction:
    """Makes a function's result require a gradient if a score does, whatever the result depends on.

    Otherwise the result for a chain without tokens would depend on nothing, and break a backward pass.
    """

    @functools.wraps(function)
    def of_all_scores(scores: ChainScores, *args: Any, **kwargs: Any) -> torch.Tensor:
        values = function(scores, *args, **kwargs)
        if not values.requires_grad and any(tensor.requires_grad for tensor in scores):
            # Empty sums, which are 0
            values = values + sum(tensor.flatten()[:0].sum() for tensor in scores)
        return values

    return of_all_scores  # type: ignore[return-value]


@_of_all_scores
def step_scores(scores: ChainScores, tags: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """What each token adds to the score of the path `tags`, (B, T)."""
    emissions, transitions, start, end = scores
    mask = real_tokens(lengths, emissions.size(1))
    tags = without_padding(tags, mask)
    # (B, T)
    steps = emissions.gather(2, tags.unsqueeze(2)).squeeze(2)
    # (B, T): the start scores open the row, a transition leads to every other token
    arrivals = torch.cat([start[tags[:, :1]], transitions[tags[:, :-1], tags[:, 1:]]], dim=1)
    steps = steps + arrivals
    steps = torch.where(last_tokens(mask), steps + end[tags], steps)
    return constant_if_impossible(without_padding(steps, mask))


@_of_all_scores
def log_steps(
    scores: ChainScores,
    gold_tags: Optional[torch.Tensor],
    lengths: torch.Tensor,
    weights: Optional[torch.Tensor] = None,
    is_total: bool = False,
) -> torch.Tensor:
    """log z_t of each token, or each token's share of the log-likelihood of gold tags, (B, T).

    That share is the step score of a path, or log z_t of the chain restricted to sets of tags, minus
    log z_t. Summed over each row, (B,), with `is_total` or `weights`.
    """
    mask = real_tokens(lengths, scores.emissions.size(1))
    messages, log_normalizers, _ = _forward_messages(scores, mask)
    # (B, T): the normaliser of each token if it were the last
    closed = logsumexp(messages + scores.end + log_normalizers.unsqueeze(2), dim=2)
    log_normalizers = torch.where(last_tokens(mask), closed, log_normalizers)
    steps = without_padding(log_normalizers, mask)
    if gold_tags is not None:
        if gold_tags.dim() == 2:
            part = step_scores(scores, gold_tags, lengths)
        else:
            part = log_steps(restricted(scores, gold_tags), None, lengths)
        steps = log_ratio(part, steps)
    return total_of(steps) if is_total and weights is None else weighed(steps, lengths, weights)


@_of_all_scores
def log_posteriors(
    scores: ChainScores,
    gold_tags: torch.Tensor,
    lengths: torch.Tensor,
    weights: Optional[torch.Tensor],
    given_prefix: bool,
    messages: Optional[MessageFunction] = None,
) -> torch.Tensor:
    """The log-probability of each token's gold tag, (B, T), given those before it if `given_prefix`.

    `messages` replaces `relative_messages`, here and in the next two functions.
    """
    messages = messages or relative_messages
    mask = real_tokens(lengths, scores.emissions.size(1))
    if not given_prefix:
        arriving = messages(scores, lengths, False)
    elif gold_tags.dim() == 3:
        arriving = messages(restricted(scores, gold_tags), lengths, False)
    else:
        path = without_padding(gold_tags, mask)
        # (B, T, K): what each tag receives from the tag before it on the path
        start = scores.start.expand(len(path), 1, -1)[:, : path.size(1)]
        arriving = torch.cat([start, scores.transitions[path[:, :-1]]], dim=1)
    # (B, T, K): the log-sum, up to a constant, of all paths through a tag
    joint = arriving + without_padding(scores.emissions, mask) + messages(scores, lengths, True)
    if gold_tags.dim() == 2:
        of_gold = joint.gather(2, without_padding(gold_tags, mask).unsqueeze(2)).squeeze(2)
    else:
        impossible = torch.full_like(joint, -torch.inf)
        of_gold = logsumexp(torch.where(gold_tags, joint, impossible), dim=2)
    steps = log_ratio(of_gold, logsumexp(joint, dim=2))
    if given_prefix:
        # No prefix is possible once one token's tag is impossible.
        is_lost = without_padding(steps.detach(), mask).cumsum(1) == -torch.inf
        steps = steps.masked_fill(is_lost, -torch.inf)
    return weighed(without_padding(steps, mask), lengths, weights)


@_of_all_scores
def tag_marginals(
    scores: ChainScores, lengths: torch.Tensor, messages: Optional[MessageFunction] = None
) -> torch.Tensor:
    """p(y_t = k | x), (B, T, K)."""
    messages = messages or relative_messages
    mask = real_tokens(lengths, scores.emissions.size(1))
    before = messages(scores, lengths, False) + without_padding(scores.emissions, mask)
    probabilities = normalized_exp(before + messages(scores, lengths, True), dim=2)
    return without_padding(probabilities, mask)


@_of_all_scores
def transition_marginals(
    scores: ChainScores, lengths: torch.Tensor, messages: Optional[MessageFunction] = None
) -> torch.Tensor:
    """p(y_t = i, y_{t+1} = j | x), (B, T - 1, K, K)."""
    messages = messages or relative_messages
    mask = real_tokens(lengths, scores.emissions.size(1))
    emissions = without_padding(scores.emissions, mask)
    before = messages(scores, lengths, False) + emissions
    following = messages(scores, lengths, True) + emissions
    # (B, T - 1, K, K)
    joint = before[:, :-1].unsqueeze(3) + scores.transitions + following[:, 1:].unsqueeze(2)
    probabilities = normalized_exp(joint.flatten(2), dim=2).view_as(joint)
    return without_padding(probabilities, mask[:, 1:])


@_of_all_scores
def relative_messages(
    scores: ChainScores, lengths: torch.Tensor, from_the_end: bool
) -> torch.Tensor:
    """Log-sums of the prefixes or suffixes that arrive at each tag, without its emission, (B, T, K).

    They are correct up to a constant for each token.
    """
    mask = real_tokens(lengths, scores.emissions.size(1))
    if from_the_end:
        return _backward_messages(scores, mask)[0]
    return _forward_messages(scores, mask)[2]


@_of_all_scores
def messages(scores: ChainScores, lengths: torch.Tensor, from_the_end: bool) -> torch.Tensor:
    """Log-sums of the prefixes that end in each tag, or of the suffixes that follow it, (B, T, K)."""
    mask = real_tokens(lengths, scores.emissions.size(1))
    if from_the_end:
        relative, log_normalizers = _backward_messages(scores, mask)
        log_sums = log_normalizers.flip(1).cumsum(1).flip(1)
    else:
        relative, log_normalizers, _ = _forward_messages(scores, mask)
        log_sums = log_normalizers.cumsum(1)
    return constant_if_impossible(relative + log_sums.unsqueeze(2))


def sample_paths(
    scores: ChainScores, lengths: torch.Tensor, uniforms: torch.Tensor
) -> torch.Tensor:
    """Paths drawn from p(y | x), (B, S, T), by inverse transform sampling of `uniforms`, (B, S, T)."""
    mask = real_tokens(lengths, scores.emissions.size(1))
    scores = ChainScores(*(tensor.double() for tensor in scores))
    messages, _, _ = _forward_messages(scores, mask)
    drawn_tags: List[torch.Tensor] = []
    for t in reversed(range(uniforms.size(2))):
        # (B, S, K)
        leaving = scores.end.expand(*uniforms.shape[:2], -1)
        if drawn_tags:
            is_last = (lengths == t + 1)[:, None, None]
            leaving = torch.where(is_last, leaving, scores.transitions.t()[drawn_tags[-1]])
        cumulated = normalized_exp(messages[:, t].unsqueeze(1) + leaving, dim=2).cumsum(2)
        total = cumulated[:, :, -1:]
        drawn = (cumulated <= uniforms[:, :, t : t + 1] * total).sum(2)
        # Keeps rounding from drawing a tag after the last possible one.
        last_possible = (cumulated < total).sum(2)
        drawn = torch.minimum(drawn, last_possible)
        drawn_tags.append(torch.where(mask[:, t : t + 1], drawn, torch.zeros_like(drawn)))
    return torch.stack(drawn_tags[::-1], dim=2) if drawn_tags else uniforms.long()


def k_best_decode(
    scores: ChainScores, lengths: torch.Tensor, k: int
) -> Tuple[torch.Tensor, torch.Tensor]:
    """The k best paths, (B, k, T), and their scores, (B, k)."""
    emissions, transitions, start, end = scores
    mask = real_tokens(lengths, scores.emissions.size(1))
    batch_size, num_tokens, num_tags = emissions.shape
    if num_tokens == 0:
        paths = torch.zeros((batch_size, k, 0), dtype=torch.int64, device=mask.device)
        return paths, _empty_path_scores(emissions.new_zeros(batch_size, k))
    emissions = without_padding(emissions, mask)
    # (B, k, K): the k best prefixes that end in each tag; there is one prefix of a single token
    single = (start + emissions[:, 0]).unsqueeze(1)
    best = torch.cat([single, torch.full_like(single, -torch.inf).expand(-1, k - 1, -1)], dim=1)
    # each (B, k, K): where in the flattened (k, K) the best prefixes came from
    stay = torch.arange(k * num_tags, device=mask.device).view(1, k, num_tags)
    pointers: List[torch.Tensor] = []
    for t in range(1, num_tokens):
        # (B, k * K, K)
        candidates = (best.unsqueeze(3) + transitions).flatten(1, 2)
        extended, pointer = candidates.topk(k, dim=1)
        is_real = mask[:, t, None, None]
        best = torch.where(is_real, extended + emissions[:, t].unsqueeze(1), best)
        pointers.append(torch.where(is_real, pointer, stay))
    # (B, k)
    path_scores, state = (best + end).flatten(1).topk(k, dim=1)
    states = [state]
    for pointer in reversed(pointers):
        state = pointer.flatten(1).gather(1, state)
        states.append(state)
    # (B, k, T)
    paths = torch.stack(states[::-1], dim=2) % num_tags
    paths = torch.where(mask.unsqueeze(1), paths, torch.zeros_like(paths))
    is_empty = ~mask[:, :1]
    return paths, torch.where(is_empty, _empty_path_scores(path_scores), path_scores)


def _empty_path_scores(path_scores: torch.Tensor) -> torch.Tensor:
    """The scores of the k best paths through an empty row: only one exists."""
    scores = torch.full_like(path_scores, -torch.inf)
    scores[:, :1] = 0
    return scores


def weighed(
    steps: torch.Tensor, lengths: torch.Tensor, weights: Optional[torch.Tensor]
) -> torch.Tensor:
    """The sum of each row's `steps`, (B, T), times `weights`: (B,). Without weights, the steps."""
    if weights is None:
        return steps
    return total_of(steps, without_padding(weights, real_tokens(lengths, weights.size(1))))


def _forward_messages(
    scores: ChainScores, mask: torch.Tensor
) -> Tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Forward messages.

    Returns the messages normalised over tags, (B, T, K); their log normalisers without the end scores,
    (B, T); and what arrives from the normalised messages of the token before, (B, T, K).
    """
    emissions, transitions, start, _ = scores
    if emissions.size(1) == 0:
        return emissions, emissions.sum(2), emissions
    emissions = without_padding(emissions, mask)
    arriving_by_token: List[torch.Tensor] = []
    messages: List[torch.Tensor] = []
    log_normalizers: List[torch.Tensor] = []
    for t in range(emissions.size(1)):
        # (B, K)
        if t == 0:
            arriving = start.expand_as(emissions[:, 0])
        else:
            arriving = logsumexp(messages[-1].unsqueeze(2) + transitions, dim=1)
        message, log_normalizer = normalized(arriving + emissions[:, t])
        arriving_by_token.append(arriving)
        messages.append(message)
        log_normalizers.append(log_normalizer)
    return (
        torch.stack(messages, dim=1),
        torch.stack(log_normalizers, dim=1),
        torch.stack(arriving_by_token, dim=1),
    )


def _backward_messages(
    scores: ChainScores, mask: torch.Tensor
) -> Tuple[torch.Tensor, torch.Tensor]:
    """Backward messages normalised over tags, (B, T, K), and their log normalisers, (B, T)."""
    emissions, transitions, _, end = scores
    if emissions.size(1) == 0:
        return emissions, emissions.sum(2)
    emissions = without_padding(emissions, mask)
    is_last = last_tokens(mask)
    messages: List[torch.Tensor] = []
    log_normalizers: List[torch.Tensor] = []
    for t in reversed(range(emissions.size(1))):
        # (B, K)
        leaving = end.expand_as(emissions[:, t])
        if messages:
            following = (emissions[:, t + 1] + messages[-1]).unsqueeze(1)
            leaving = torch.where(
                is_last[:, t : t + 1], leaving, logsumexp(transitions + following, dim=2)
            )
        message, log_normalizer = normalized(leaving)
        messages.append(message)
        log_normalizers.append(log_normalizer)
    # No suffix contains the padding.
    log_normalizer_rows = without_padding(torch.stack(log_normalizers[::-1], dim=1), mask)
    return torch.stack(messages[::-1], dim=1), log_normalizer_rows
