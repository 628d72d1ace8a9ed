"""The specification of the search for probable spans, in plain PyTorch, given the messages.

Letters: `B` rows, `T` tokens, `K` tags, `C` labels, `N` spans.
"""

from typing import List, NamedTuple, Tuple

import torch

from tagger.linear_chain.chain_scores import ChainScores
from tagger.linear_chain.log_space import logsumexp
from tagger.linear_chain.padding import last_tokens, real_tokens


class Spellings(NamedTuple):
    """How tags spell spans of C labels. A label has one spelling for each length.

    Args:
        tags: (C, 4) int64: the tag of a span's first token, of one inside, of its last, and of its only
            token; -1 if there is no such tag, so that no span can have such a token.
        continuing: (C, K) bool, the tags that the token after a span must not have.
    """

    tags: torch.Tensor
    continuing: torch.Tensor


class Messages(NamedTuple):
    """The log-sums of prefixes and suffixes, in float64.

    Args:
        forward: (B, T, K), the log-sum of the prefixes that end in each tag, minus log Z; -inf where no
            path is possible.
        backward: (B, T, K), the log-sum of suffixes. Both are undefined in the padding.
    """

    forward: torch.Tensor
    backward: torch.Tensor


def spans_above(
    scores: ChainScores,
    messages: Messages,
    spellings: Spellings,
    log_least: float,
    lengths: torch.Tensor,
) -> Tuple[torch.Tensor, torch.Tensor]:
    """Finds the spans with a log-probability of at least `log_least`.

    The probability that a span begins at a token and is still open at a later one bounds the
    probability of all longer spans. So the search stops where it falls below `log_least`.

    Returns:
        (N, 4) int64, the row, first token, last token and label of each span, sorted; and their
        log-probabilities, (N,).
    """
    num_tokens = scores.emissions.size(1)
    is_real = real_tokens(lengths, num_tokens)
    first, inside, last, only = spellings.tags.unbind(1)
    behind_last = _behind(scores, messages.backward, spellings, last, is_real)
    behind_only = _behind(scores, messages.backward, spellings, only, is_real)
    found: List[Tuple[torch.Tensor, torch.Tensor]] = []

    def keep(log_probabilities: torch.Tensor, offset: int) -> None:
        # (N, 3): row, first token, label
        at = ((log_probabilities >= log_least) & is_real[:, offset:, None]).nonzero()
        row, start, label = at.unbind(1)
        spans = torch.stack([row, start, start + offset, label], dim=1)
        found.append((spans, log_probabilities[row, start, label]))

    keep(_of_tags(messages.forward, only) + behind_only, 0)
    # (B, T - offset, C): the log-share of prefixes with a span that began `offset` tokens before
    scores_open, before = _of_tags(messages.forward, first), first
    for offset in range(1, num_tokens):
        reaching = scores_open + _of_tags(messages.backward[:, offset - 1 :], before)
        is_open = (reaching >= log_least) & is_real[:, offset - 1 :, None]
        if not bool(is_open.any()):
            break
        scores_open = torch.where(is_open, scores_open, -torch.inf)[:, :-1]
        emissions = scores.emissions[:, offset:]
        closing = scores_open + _step(scores.transitions, before, last) + _of_tags(emissions, last)
        keep(closing + behind_last[:, offset:], offset)
        scores_open = (
            scores_open + _step(scores.transitions, before, inside) + _of_tags(emissions, inside)
        )
        before = inside
    spans, log_probabilities = map(torch.cat, zip(*found))
    order = _sorted_places(spans, num_tokens, len(first))
    return spans[order], log_probabilities[order]


def _of_tags(values: torch.Tensor, tags: torch.Tensor) -> torch.Tensor:
    """The values, (..., K), of some tags, (..., C), -inf where there is no tag."""
    return values[..., tags.clamp(min=0)].masked_fill(tags < 0, -torch.inf)


def _step(transitions: torch.Tensor, before: torch.Tensor, after: torch.Tensor) -> torch.Tensor:
    """The transition scores between tags of the same label, (C,); arbitrary where one is missing."""
    return transitions[before.clamp(min=0), after.clamp(min=0)]


def _behind(
    scores: ChainScores,
    backward: torch.Tensor,
    spellings: Spellings,
    tags: torch.Tensor,
    is_real: torch.Tensor,
) -> torch.Tensor:
    """The log-sum of what may follow spans that end with each label's tag of `tags`, (C,), (B, T, C)."""
    # (C, K)
    leaving = scores.transitions[tags.clamp(min=0)].masked_fill(spellings.continuing, -torch.inf)
    following = scores.emissions + backward
    following = torch.cat([following[:, 1:], torch.zeros_like(following[:, :1])], dim=1)
    going_on = logsumexp(leaving + following.unsqueeze(2), dim=3)
    closing = scores.end[tags.clamp(min=0)]
    return torch.where(last_tokens(is_real).unsqueeze(2), closing, going_on)


def _sorted_places(spans: torch.Tensor, num_tokens: int, num_labels: int) -> torch.Tensor:
    row, first, last, label = spans.unbind(1)
    return (((row * num_tokens + first) * num_tokens + last) * num_labels + label).argsort()
