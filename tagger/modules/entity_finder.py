"""The entities that predicted tags spell, and how probable each of them is."""

from functools import lru_cache
from typing import List, NamedTuple, Sequence

import numpy as np
import torch

from tagger.label_encoding import split_tag, tags_of_span
from tagger.linear_chain import ChainScores, span_log_probabilities
from tagger.metrics.span_counts import find_spans, lay_end_to_end, rows_and_tokens, tag_tables


class Entities(NamedTuple):
    """N entities of a batch, in the order of its rows and tokens.

    Attributes:
        labels: (N,) int64, indices of labels.
        rows: (N,) int64, each one's sequence.
        firsts: (N,) int64, its first token.
        lasts: (N,) int64, its last token, inclusive.
    """

    labels: np.ndarray
    rows: np.ndarray
    firsts: np.ndarray
    lasts: np.ndarray


class EntityFinder:
    """Finds entities in tags, and their probabilities under a linear chain.

    Args:
        tags: all tags, in the order of their indices.
        tag_encoding: how they spell spans; not IOB1.

    Attributes:
        labels: the label of each index, the name `_` standing for spans without one.

    Raises:
        ValueError: if a tag is not one of this encoding.
    """

    def __init__(self, tags: Sequence[str], tag_encoding: str) -> None:
        self._tags = list(tags)
        self._tag_encoding = tag_encoding
        self._tables = tag_tables(tags, tag_encoding)
        self.labels: List[str] = self._tables.labels
        self._spans_like = lru_cache(maxsize=4096)(self._sets_of)

    def __call__(self, tags: torch.Tensor, mask: torch.Tensor) -> Entities:
        """Finds the entities that tags, (B, T), spell where the mask is true.

        By the rules of `tagger.label_encoding.tags_to_spans`, which read illegal sequences too.
        """
        flat = lay_end_to_end(tags.cpu().numpy(), mask.cpu().numpy(), len(self._tags))
        spans = find_spans(self._tables, flat)
        rows, firsts = rows_and_tokens(spans.starts, mask.size(1))
        return Entities(spans.labels, rows, firsts, firsts + spans.ends - spans.starts)

    def probabilities(
        self, scores: ChainScores, entities: Entities, mask: torch.Tensor
    ) -> torch.Tensor:
        """The exact probability of each entity: that its tokens, and no others, make up one.

        It is the sum of the probabilities of all legal sequences that hold the entity, found as in
        `tagger.linear_chain.span_log_probabilities`, here of all entities at once. An entity that the
        tags spell illegally, such as an `I-PER` that nothing opened, has that of the legal spelling.

        Args:
            scores: of the batch.
            entities: found in it.
            mask: (B, T) bool, right-padded.

        Returns:
            (N,), differentiable.
        """
        lengths = mask.sum(1).cpu().numpy()
        # The token after the last decides whether the entity ends there.
        ends = np.minimum(entities.lasts + 1, lengths[entities.rows] - 1)
        is_followed = ends > entities.lasts
        kinds, kind_of = np.unique(
            np.stack([entities.labels, entities.lasts - entities.firsts, is_followed], axis=1),
            axis=0,
            return_inverse=True,
        )
        sets = [self._spans_like(*kind) for kind in kinds.tolist()]
        # (kinds, W, K), padded to the longest
        allowed = np.zeros((len(sets), max(map(len, sets), default=1), len(self._tags)), dtype=bool)
        for row, each in zip(allowed, sets):
            row[: len(each)] = each
        spans = np.stack([entities.rows, entities.firsts, ends], axis=1)
        device = scores.emissions.device
        return span_log_probabilities(
            scores,
            torch.from_numpy(spans).to(device),
            torch.from_numpy(allowed[kind_of.reshape(-1)]).to(device),
            mask,
        ).exp()

    def _sets_of(self, label: int, offset: int, is_followed: int) -> List[List[bool]]:
        """The sets of tags that spell a span of `offset` tokens after its first."""
        tag = self._tags[self._tables.label_of.tolist().index(label)]
        span = split_tag(tag)[1] or "", (0, offset)
        return tags_of_span(span, offset + 1 + is_followed, self._tags, self._tag_encoding)
