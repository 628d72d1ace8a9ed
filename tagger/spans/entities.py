"""The entities that predicted tags spell, and the probability of each."""

from functools import cached_property, lru_cache
from typing import List, NamedTuple, Sequence, Tuple

import numpy as np
import torch

from tagger.linear_chain import ChainScores, Spellings, probable_spans, span_log_probabilities
from tagger.spans.conversion import spans_to_tags, tags_of_span
from tagger.spans.encodings import rules_of, split_tag
from tagger.spans.finding import find_spans, lay_end_to_end, rows_and_tokens, tag_tables


class Entities(NamedTuple):
    """N entities of a batch, in the order of its rows and tokens.

    They are indices of labels and of rows, and positions of first and last tokens, (N,) int64 each.
    """

    labels: np.ndarray
    rows: np.ndarray
    firsts: np.ndarray
    lasts: np.ndarray

    def where(self, is_kept: np.ndarray) -> "Entities":
        """Returns those of the entities for which `is_kept`, (N,) bool, is true."""
        return Entities(*(column[is_kept] for column in self))


class EntityFinder:
    """Finds the entities in tags and, except in IOB1, their probabilities under a linear chain."""

    def __init__(self, tags: Sequence[str], tag_encoding: str) -> None:
        self._tags = tuple(tags)
        self._tag_encoding = tag_encoding
        self._tables = tag_tables(tags, tag_encoding)
        self.labels: List[str] = self._tables.labels
        # By index, the labels that tags have: none where `labels` has `_`.
        self._names = [""] * len(self.labels)
        for tag, index in zip(reversed(tags), self._tables.label_of[-2::-1].tolist()):
            if index >= 0:
                self._names[index] = split_tag(tag, tag_encoding)[1] or ""

    def __call__(self, tags: torch.Tensor, mask: torch.Tensor) -> Entities:
        """Finds the entities that tags, (B, T), spell where the mask is true, like `tags_to_spans`."""
        flat = lay_end_to_end(tags.cpu().numpy(), mask.cpu().numpy(), len(self._tags))
        spans = find_spans(self._tables, flat)
        rows, firsts = rows_and_tokens(spans.starts, mask.size(1))
        return Entities(spans.labels, rows, firsts, firsts + spans.ends - spans.starts)

    def probabilities(
        self, scores: ChainScores, entities: Entities, mask: torch.Tensor
    ) -> torch.Tensor:
        """Returns the exact probability of each entity: that it consists of these tokens and no others.

        This is the sum of the probabilities of all legal sequences that contain the entity. An entity
        with illegal tags, such as an `I-PER` that nothing opened, has the probability of its legal
        spelling. The mask is right-padded.
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
        sets = [
            _sets_of(self._names[label], offset, is_followed, self._tags, self._tag_encoding)
            for label, offset, is_followed in kinds.tolist()
        ]
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

    def candidates(
        self, scores: ChainScores, least_probability: float, mask: torch.Tensor
    ) -> Tuple[Entities, torch.Tensor]:
        """Returns all entities that are probable enough, in order, with their probabilities, (N,).

        `least_probability` is above 0 and at most 1, the mask right-padded.
        """
        device = scores.emissions.device
        spellings = Spellings(*(each.to(device) for each in self._spellings))
        spans, log_probabilities = probable_spans(scores, spellings, least_probability, mask)
        rows, firsts, lasts, labels = spans.cpu().numpy().T
        return Entities(labels, rows, firsts, lasts), log_probabilities.exp()

    @cached_property
    def _spellings(self) -> Spellings:
        bound = rules_of(self._tag_encoding).bound
        is_bound = np.array([split_tag(tag)[0] in bound for tag in self._tags])
        number_of = {tag: number for number, tag in enumerate(self._tags)}
        tags = []
        for name in self._names:
            spelt = spans_to_tags([(name, (0, 2)), (name, (3, 3))], 4, self._tag_encoding)
            tags.append([number_of.get(tag, -1) for tag in spelt])
        labels = np.arange(len(self.labels))[:, np.newaxis]
        return Spellings(
            torch.tensor(tags, dtype=torch.int64).view(-1, 4),
            torch.from_numpy((self._tables.label_of[:-1] == labels) & is_bound),
        )


@lru_cache(maxsize=4096)
def _sets_of(
    name: str, offset: int, is_followed: int, tags: Tuple[str, ...], tag_encoding: str
) -> List[List[bool]]:
    """Returns the sets of tags that spell a span from one token to the one `offset` after it."""
    return tags_of_span((name, (0, offset)), offset + 1 + is_followed, tags, tag_encoding)
