"""The probability of a span of tags."""

from typing import Optional

import torch

from tagger.linear_chain.chain_scores import ChainScores, checked
from tagger.linear_chain.implementations import implementation_for
from tagger.linear_chain.reference import log_ratio, logsumexp


def span_log_probabilities(
    scores: ChainScores,
    spans: torch.Tensor,
    allowed: torch.Tensor,
    mask: Optional[torch.Tensor] = None,
) -> torch.Tensor:
    """The log-probability that all tags of a span lie in given sets, whatever the others are.

    This is the constrained forward algorithm, begun with the forward scores at the span's first token
    and closed with the backward scores at its last (Culotta & McCallum 2004, section 3). In which sets
    the tags of an entity lie, `tagger.spans.tags_of_span` says.

    Args:
        scores: of B sequences of up to T tokens over K tags.
        spans: (N, 3) int64, for each span its sequence's row, its first and its last token.
        allowed: (N, W, K) bool, the set of tags allowed at each token of a span, W being the length
            of the longest; what exceeds a span's length is ignored.
        mask: as for every function of the chain (see `tagger.linear_chain.functions`).

    Returns:
        (N,), differentiable; -inf where it cannot be. The time grows with T + W, not with their
        product.

    Raises:
        ValueError: also if a span does not lie within the real tokens of its row.
    """
    scores, lengths = checked(scores, mask)
    _check_spans(spans, allowed, lengths, scores.emissions)
    # The difference of two sums over long chains leaves few digits of float32.
    exact = ChainScores(*(tensor.double() for tensor in scores))
    implementation = implementation_for(exact)
    rows, firsts, lasts = spans.unbind(1)
    backward = implementation.backward_scores(exact, lengths)
    # (N, K)
    messages = implementation.forward_scores(exact, lengths)[rows, firsts]
    impossible = torch.full_like(messages, -torch.inf)
    messages = torch.where(allowed[:, 0], messages, impossible)
    # Longest first, so that those with a next token are the first few.
    order = (firsts - lasts).argsort()
    messages, rows, firsts, lasts = (each[order] for each in (messages, rows, firsts, lasts))
    steps = torch.arange(allowed.size(1), device=spans.device)
    num_with_next = ((lasts - firsts).unsqueeze(1) > steps).sum(0).tolist()
    for offset, num_spans in enumerate(num_with_next, start=1):
        if num_spans == 0:
            break
        arriving = logsumexp(messages[:num_spans].unsqueeze(2) + exact.transitions, dim=1)
        arriving = arriving + exact.emissions[rows[:num_spans], firsts[:num_spans] + offset]
        is_allowed = allowed[order[:num_spans], offset]
        arriving = torch.where(is_allowed, arriving, impossible[:num_spans])
        messages = torch.cat([arriving, messages[num_spans:]])
    joint = logsumexp(messages + backward[rows, lasts], dim=1)
    log_partitions = implementation.log_partition(exact, lengths)[rows]
    return log_ratio(joint, log_partitions)[order.argsort()].to(scores.emissions.dtype)


def _check_spans(
    spans: torch.Tensor, allowed: torch.Tensor, lengths: torch.Tensor, emissions: torch.Tensor
) -> None:
    batch_size, _, num_tags = emissions.shape
    if spans.dim() != 2 or spans.size(1) != 3 or spans.dtype != torch.int64:
        raise ValueError(
            f"`spans` must be int64 of shape (N, 3), a row, a first and a last token each; got "
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
    num_tokens = lengths.tolist()
    for row, first, last in spans.tolist():
        if not 0 <= row < batch_size or not 0 <= first <= last < num_tokens[row]:
            raise ValueError(
                f"`spans` must lie within the real tokens of one of {batch_size} rows; got "
                f"row {row}, tokens {first} to {last}"
            )
