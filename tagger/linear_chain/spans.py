"""The probability of a span of tags."""

from typing import Optional

import torch

from tagger.linear_chain.chain_scores import ChainScores
from tagger.linear_chain.checks import checked, checked_spans
from tagger.linear_chain.holes import takes_holes
from tagger.linear_chain.implementations import implementation_for
from tagger.linear_chain.log_space import log_ratio, logsumexp
from tagger.linear_chain.padding import real_tokens
from tagger.linear_chain.tracing import not_traced


@not_traced
@takes_holes()
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
    scores, lengths = checked(scores, mask)
    checked_spans(spans, allowed, real_tokens(lengths, scores.emissions.size(1)), scores.emissions)
    # The difference of two sums over long chains would keep few digits of float32.
    exact = ChainScores(*(tensor.double() for tensor in scores))
    implementation = implementation_for(exact)
    rows, firsts, lasts = spans.unbind(1)
    backward = implementation.backward_scores(exact, lengths)
    # (N, K)
    messages = implementation.forward_scores(exact, lengths)[rows, firsts]
    impossible = torch.full_like(messages, -torch.inf)
    messages = torch.where(allowed[:, 0], messages, impossible)
    # Longest first, so that the spans with a next token are the first few.
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
