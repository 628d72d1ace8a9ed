"""The probability of given spans, and the search for all probable spans."""

import math
from typing import NamedTuple, Optional, Tuple

import torch

from tagger.linear_chain.chain_scores import ChainScores
from tagger.linear_chain.checks import in_front, rows_of
from tagger.linear_chain.implementations import implementation_for
from tagger.linear_chain.log_space import log_ratio, logsumexp
from tagger.linear_chain.padding import real_tokens
from tagger.linear_chain.span_search import Messages, Spellings
from tagger.linear_chain.tracing import not_traced

#: The most pairs of tags for which a score is in memory at once, over all spans.
_MAX_PAIRS = 2**24


class ProbableSpans(NamedTuple):
    """N spans of a batch, sorted.

    Args:
        spans: (N, 4) int64, the row, first token, last token and label of each.
        log_probabilities: (N,).
    """

    spans: torch.Tensor
    log_probabilities: torch.Tensor


@not_traced
def span_log_probabilities(
    scores: ChainScores,
    spans: torch.Tensor,
    allowed: torch.Tensor,
    mask: Optional[torch.Tensor] = None,
) -> torch.Tensor:
    """The log-probability that all tags of a span lie in given sets, whatever the others are.

    This is the constrained forward algorithm. It starts with the forward scores at the span's first
    token and ends with the backward scores at its last (Culotta & McCallum 2004, section 3).
    `tagger.spans.tags_of_span` returns the sets that spell an entity.

    Args:
        scores: The scores of B sequences of up to T tokens over K tags.
        spans: (N, 3) int64, each span's row, first token and last token.
        allowed: (N, W, K) bool, the set of tags allowed at each token of a span, where W is the length
            of the longest span; entries at masked tokens and beyond a span's length are ignored.
        mask: As for every function of the chain (see `tagger.linear_chain.functions`).

    Returns:
        (N,), differentiable; -inf where the span is impossible. The time grows with T + W, not with
        their product.

    Raises:
        ValueError: Also if a span does not begin and end at real tokens of its row.
    """
    scores, lengths, holes = rows_of(scores, mask)
    is_real = real_tokens(lengths, scores.emissions.size(1)) if holes is None else holes
    _check_spans(spans, allowed, is_real, scores.emissions)
    if holes is not None:
        spans, allowed = _without_holes(spans, allowed, holes)
    # In float32, the difference of two sums over long chains would keep few digits.
    exact = ChainScores(*(tensor.double() for tensor in scores))
    implementation = implementation_for(exact)
    rows, firsts, lasts = spans.unbind(1)
    backward = implementation.messages(exact, lengths, from_the_end=True)
    # (N, K)
    messages = implementation.messages(exact, lengths, from_the_end=False)[rows, firsts]
    impossible = torch.full_like(messages, -torch.inf)
    messages = torch.where(allowed[:, 0], messages, impossible)
    # Longest first, so that the spans that have a next token are the first few.
    order = (firsts - lasts).argsort()
    messages, rows, firsts, lasts = (each[order] for each in (messages, rows, firsts, lasts))
    steps = torch.arange(allowed.size(1), device=spans.device)
    num_with_next = ((lasts - firsts).unsqueeze(1) > steps).sum(0).tolist()
    for offset, num_spans in enumerate(num_with_next, start=1):
        if num_spans == 0:
            break
        arriving = _arriving(messages[:num_spans], exact.transitions)
        arriving = arriving + exact.emissions[rows[:num_spans], firsts[:num_spans] + offset]
        is_allowed = allowed[order[:num_spans], offset]
        arriving = torch.where(is_allowed, arriving, impossible[:num_spans])
        messages = torch.cat([arriving, messages[num_spans:]])
    joint = logsumexp(messages + backward[rows, lasts], dim=1)
    log_partitions = implementation.log_steps(exact, None, lengths, is_total=True)[rows]
    return log_ratio(joint, log_partitions)[order.argsort()].to(scores.emissions.dtype)


def _arriving(messages: torch.Tensor, transitions: torch.Tensor) -> torch.Tensor:
    """Takes messages, (N, K), through a transition; for many tags, a few rows at a time."""
    num_rows = max(1, _MAX_PAIRS // transitions.numel())
    # (N, K, K)
    parts = (each.unsqueeze(2) + transitions for each in messages.split(num_rows))
    return torch.cat([logsumexp(each, dim=1) for each in parts])


@not_traced
def probable_spans(
    scores: ChainScores,
    spellings: Spellings,
    least_probability: float,
    mask: Optional[torch.Tensor] = None,
) -> ProbableSpans:
    """Finds all spans that are probable enough, whether or not they are on the best path.

    A span's probability is that of `span_log_probabilities`: its tokens have the tags that spell it,
    and the next token does not continue it.

    Args:
        scores: The scores of B sequences of up to T tokens over K tags.
        spellings: How the tags spell spans of C labels.
        least_probability: The least probability of a span, above 0 and at most 1.
        mask: As for every function of the chain (see `tagger.linear_chain.functions`).

    Returns:
        The spans. Not differentiable. After the forward and backward scores, the time grows with the
        number of tokens times the length of the longest probable span, whatever its label.

    Raises:
        ValueError: Also if `least_probability` is out of range, or the spellings do not fit the tags.
    """
    if not 0 < least_probability <= 1:
        raise ValueError(
            f"`least_probability` must be above 0 and at most 1; got {least_probability}"
        )
    rows = rows_of(scores, mask)
    _check_spellings(spellings, rows.scores.emissions.size(2))
    with torch.no_grad():
        exact = ChainScores(*(tensor.double() for tensor in rows.scores))
        implementation = implementation_for(exact)
        lengths = rows.lengths
        log_partitions = implementation.log_steps(exact, None, lengths, is_total=True)
        forward = implementation.messages(exact, lengths, from_the_end=False)
        forward = log_ratio(forward, log_partitions[:, None, None].expand_as(forward))
        backward = implementation.messages(exact, lengths, from_the_end=True)
        log_least = math.log(least_probability)
        spans, found = implementation.spans_above(
            exact, Messages(forward, backward), spellings, log_least, lengths
        )
    if rows.mask is not None:
        # (B, T), the places of real tokens, in front
        places = in_front(torch.arange(rows.mask.size(1)).expand_as(rows.mask), rows.mask.cpu())
        row, first, last, label = spans.cpu().unbind(1)
        compact = [row, places[row, first], places[row, last], label]
        spans = torch.stack(compact, dim=1).to(spans.device)
    return ProbableSpans(spans, found.to(scores.emissions.dtype))


def _without_holes(
    spans: torch.Tensor, allowed: torch.Tensor, mask: torch.Tensor
) -> Tuple[torch.Tensor, torch.Tensor]:
    """The places of spans among the real tokens, (N, 3), and the sets of tags of their real tokens."""
    rows, firsts, lasts = spans.unbind(1)
    place = mask.cumsum(1) - 1
    compact = torch.stack([rows, place[rows, firsts], place[rows, lasts]], dim=1)
    # (N, W)
    tokens = firsts.unsqueeze(1) + torch.arange(allowed.size(1), device=spans.device)
    is_inside = tokens <= lasts.unsqueeze(1)
    tokens = torch.minimum(tokens, lasts.unsqueeze(1))
    return compact, in_front(allowed, is_inside & mask[rows.unsqueeze(1), tokens])


def _check_spans(
    spans: torch.Tensor, allowed: torch.Tensor, is_real: torch.Tensor, emissions: torch.Tensor
) -> None:
    """Checks the arguments of `span_log_probabilities`; `is_real` is (B, T) bool."""
    batch_size, _, num_tags = emissions.shape
    if spans.dim() != 2 or spans.size(1) != 3 or spans.dtype != torch.int64:
        raise ValueError(
            f"`spans` must be int64 of shape (N, 3), each a row, a first and a last token; got "
            f"{spans.dtype} of shape {tuple(spans.shape)}"
        )
    if allowed.dim() != 3 or allowed.dtype != torch.bool or allowed.size(2) != num_tags:
        raise ValueError(
            f"`allowed` must be bool of shape (N, W, {num_tags}) to fit the emissions' tags; got "
            f"{allowed.dtype} of shape {tuple(allowed.shape)}"
        )
    longest = int((spans[:, 2] - spans[:, 1]).max()) + 1 if len(spans) else 1
    if len(allowed) != len(spans) or allowed.size(1) < longest:
        raise ValueError(
            f"`allowed` must have {len(spans)} rows, one for each span, and at least {longest} tokens, "
            f"as the longest span has; got shape {tuple(allowed.shape)}"
        )
    if not len(spans):
        return
    num_tokens = is_real.size(1)
    rows, firsts, lasts = spans.unbind(1)
    fits = (rows >= 0) & (rows < batch_size) & (firsts >= 0) & (lasts < num_tokens)
    fits = fits & (firsts <= lasts)
    places = [torch.where(fits, each, torch.zeros_like(each)) for each in (rows, firsts, lasts)]
    if bool(fits.any()):
        fits = fits & is_real[places[0], places[1]] & is_real[places[0], places[2]]
    if not bool(fits.all()):
        row, first, last = spans[~fits][0].tolist()
        raise ValueError(
            f"`spans` must begin and end at real tokens of one of {batch_size} rows; got row {row}, "
            f"tokens {first} to {last}"
        )


def _check_spellings(spellings: Spellings, num_tags: int) -> None:
    """Raises a `ValueError` if spellings do not fit K tags."""
    tags, continuing = spellings
    num_labels = len(tags)
    if tags.shape != (num_labels, 4) or tags.dtype != torch.int64 or bool((tags >= num_tags).any()):
        raise ValueError(
            f"`spellings.tags` must be int64 of shape (C, 4), tags below {num_tags}; got "
            f"{tags.dtype} of shape {tuple(tags.shape)}"
        )
    if continuing.shape != (num_labels, num_tags) or continuing.dtype != torch.bool:
        raise ValueError(
            f"`spellings.continuing` must be bool of shape ({num_labels}, {num_tags}); got "
            f"{continuing.dtype} of shape {tuple(continuing.shape)}"
        )
