"""The cross-entropy between two linear chains over the same tokens and tags.

Letters: `B` rows (sequences), `T` tokens, `K` tags.
"""

from typing import NamedTuple, Optional, Tuple, Union

import torch

from tagger.linear_chain.chain_scores import ChainScores, in_float64_on_cpu
from tagger.linear_chain.checks import checked_mask, checked_scores, rows_of
from tagger.linear_chain.functions import log_partition, tag_marginals, transition_marginals
from tagger.linear_chain.tracing import holds_anywhere, not_traced


class ChainMarginals(NamedTuple):
    """How often each score of a chain is expected to occur in a path's score, for each row.

    This is the gradient of log Z with respect to the scores, and all that `chain_cross_entropy` needs
    to know about a teacher.

    Args:
        tags: (B, T, K), the probability of each tag at each token; 0 at masked tokens.
        transitions: (B, K, K), the expected number of transitions from tag i to tag j: the sum over
            tokens of `transition_marginals`.
        start: (B, K), the probability of opening the row with each tag.
        end: (B, K), the probability of closing the row with each tag.
    """

    tags: torch.Tensor
    transitions: torch.Tensor
    start: torch.Tensor
    end: torch.Tensor

    @classmethod
    def of_rows(
        cls, tags: torch.Tensor, transitions: torch.Tensor, lengths: torch.Tensor
    ) -> "ChainMarginals":
        """Adds the first and the last token's marginals to those of tags and transitions.

        The real tokens of each row come first.
        """
        if tags.size(1) == 0:
            ends = tags.sum(1)
            return cls(tags, transitions, ends, ends)
        rows = torch.arange(len(tags), device=tags.device)
        return cls(tags, transitions, tags[:, 0], tags[rows, (lengths - 1).clamp(min=0)])


@not_traced
def chain_marginals(scores: ChainScores, mask: Optional[torch.Tensor] = None) -> ChainMarginals:
    """The tag marginals of each row, and the sums of its transition marginals.

    Args:
        scores: The scores of B sequences of up to T tokens over K tags.
        mask: As for every function of the chain (see `tagger.linear_chain.functions`).

    Returns:
        Differentiable; all 0 for a row without a token and where no path is possible.
    """
    rows = rows_of(scores, mask)
    transitions = transition_marginals(rows.scores, rows.lengths).sum(1)
    tags = tag_marginals(rows.scores, rows.lengths)
    marginals = ChainMarginals.of_rows(tags, transitions, rows.lengths)
    return marginals._replace(tags=rows.at_tokens(tags))


@not_traced
def chain_cross_entropy(
    teacher: Union[ChainScores, ChainMarginals],
    student: ChainScores,
    mask: Optional[torch.Tensor] = None,
) -> torch.Tensor:
    """Minus the expected log-likelihood of the student's chain under the teacher's distribution.

    This is `-sum_y p_teacher(y) log p_student(y) = log Z(student) - E_teacher[score_student]`. The
    score is a sum of terms that depend on at most two neighbouring tags, so the expectation needs only
    the teacher's marginals. The gradient with respect to each of the student's scores is the student's
    marginal minus the teacher's. Subtracting the teacher's entropy gives the Kullback-Leibler
    divergence.

    Args:
        teacher: The teacher's scores, or its `chain_marginals`, which may be computed once and kept.
            Neither gets a gradient.
        student: The scores of B sequences of up to T tokens over K tags.
        mask: As for every function of the chain (see `tagger.linear_chain.functions`).

    Returns:
        (B,), in nats, differentiable with respect to the student. inf, without a gradient, where
        something that the teacher considers possible is impossible for the student.

    Raises:
        ValueError: Also if the teacher's shapes differ from the student's.
    """
    student = checked_scores(student)
    dtype, student = student.emissions.dtype, in_float64_on_cpu(student)
    # (B,)
    num_real, _ = checked_mask(mask, student.emissions)
    with torch.no_grad():
        marginals = _marginals_of_teacher(teacher, student, mask)
    of_tokens, of_rows = _expected_scores(marginals, student)
    is_impossible = None
    if holds_anywhere(~of_tokens.isfinite()) or holds_anywhere(~of_rows.isfinite()):
        # Scores to which the teacher gives probability 0 do not count, even if they are -inf or NaN.
        counted = (torch.where(p > 0, x, torch.zeros_like(p)) for p, x in zip(marginals, student))
        of_tokens, of_rows = _expected_scores(marginals, ChainScores(*counted))
        is_impossible = (of_tokens == -torch.inf).any(1) | (of_rows == -torch.inf)
        of_tokens = of_tokens.masked_fill(is_impossible.unsqueeze(1), 0)
        of_rows = of_rows.masked_fill(is_impossible, 0)
    # Subtracting a number from all emissions of a token subtracts it from log Z. Done token by token,
    # the expected score cannot cancel the leading digits of a large log Z.
    expected = (of_tokens + (of_rows / num_real.clamp(min=1)).unsqueeze(1)).detach()
    relative = student._replace(emissions=student.emissions - expected.unsqueeze(2))
    # Both differences are 0; they only contribute the gradient of minus the expected score.
    zeros = (of_tokens - of_tokens.detach()).sum(1) + (of_rows - of_rows.detach())
    values = log_partition(relative, mask) - zeros
    if is_impossible is not None:
        values = values.masked_fill(is_impossible, torch.inf)
    return values.to(dtype)


def _marginals_of_teacher(
    teacher: Union[ChainScores, ChainMarginals], student: ChainScores, mask: Optional[torch.Tensor]
) -> ChainMarginals:
    """The teacher's marginals in the student's type, checked."""
    if isinstance(teacher, ChainScores):
        _check_shape("emissions", teacher.emissions, student.emissions.shape)
    marginals = teacher if isinstance(teacher, ChainMarginals) else chain_marginals(teacher, mask)
    _check_marginals(marginals, student)
    return ChainMarginals(*(each.to(student.emissions) for each in marginals))


def _expected_scores(
    marginals: ChainMarginals, scores: ChainScores
) -> Tuple[torch.Tensor, torch.Tensor]:
    """The expected emissions of tokens, (B, T), and the expected sums of rows' other scores, (B,)."""
    of_rows = (
        (marginals.transitions * scores.transitions).sum((1, 2))
        + (marginals.start * scores.start).sum(1)
        + (marginals.end * scores.end).sum(1)
    )
    return (marginals.tags * scores.emissions).sum(2), of_rows


def _check_marginals(teacher: ChainMarginals, student: ChainScores) -> None:
    batch_size, _, num_tags = student.emissions.shape
    shapes = {
        "tags": student.emissions.shape,
        "transitions": (batch_size, num_tags, num_tags),
        "start": (batch_size, num_tags),
        "end": (batch_size, num_tags),
    }
    for name, shape in shapes.items():
        _check_shape(name, getattr(teacher, name), shape)


def _check_shape(name: str, tensor: torch.Tensor, shape: Tuple[int, ...]) -> None:
    if tensor.shape != shape:
        raise ValueError(
            f"`{name}` of the teacher must have shape {tuple(shape)} to fit the student's emissions; "
            f"got {tuple(tensor.shape)}"
        )
