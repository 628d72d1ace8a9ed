"""The parts of a chain head's output: each adds tensors to a prediction, and makes them readable.

Letters: `B` batch, `T` tokens, `K` tags, `N` entities, `M` the most candidates that begin at one token.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Optional, Sequence, Tuple, Type

import numpy as np
import torch
from allennlp.common.checks import ConfigurationError

from tagger.common.vocabulary import check_is_label
from tagger.linear_chain import ChainScores
from tagger.spans.encodings import AMBIGUOUS, split_tag
from tagger.spans.entities import Entities, EntityFinder
from tagger.spans.missed import MissFinder
from tagger_texts.tagged_text import Extras

if TYPE_CHECKING:
    from tagger.modules.heads.chain_head import ChainHead

Tensors = Tuple[torch.Tensor, ...]
Readable = Dict[str, List[Any]]


@dataclass
class Tagged:
    """The prediction for a batch; `EntityPart` finds the entities and may change the tags.

    Attributes:
        emissions: (B, T, K).
        mask: (B, T) bool, right-padded.
        tags: (B, T) int64.
        scores: The chain that is decoded.
        entities: Those that the tags spell, once they are found.
    """

    emissions: torch.Tensor
    mask: torch.Tensor
    tags: torch.Tensor
    scores: ChainScores
    entities: Optional[Entities] = None


class OutputPart:
    """Adds tensors, named `names`, to a head's output, and later turns them into readable lists."""

    names: Tuple[str, ...]

    def predict(self, head: "ChainHead", tagged: Tagged) -> Tensors:
        """Returns the tensors (B, T, ...); the last ones may be missing."""
        raise NotImplementedError

    @staticmethod
    def read(head: "ChainHead", tags: List[List[str]], *tensors: Any) -> Readable:
        """Returns lists with an entry for each sentence, given its tags and the tensors or None."""
        raise NotImplementedError


class EntityPart(OutputPart):
    """The entities that the tags spell, without those below the thresholds, and their probabilities.

    In IOB1, there are no probabilities, because the tags of an entity depend on the tag before it.
    """

    #: The number of tokens of each entity at its first token, else 0; its probability there, else -1.
    names = ("entity_lengths", "entity_probabilities")

    def __init__(self, tags: List[str], encoding: str) -> None:
        self.find = EntityFinder(tags, encoding)
        self.tags, self.encoding = tags, encoding
        self.has_probabilities = encoding not in AMBIGUOUS

    def predict(self, head: "ChainHead", tagged: Tagged) -> Tensors:
        entities = self.find(tagged.tags, tagged.mask)
        probabilities = None
        if self.has_probabilities:
            probabilities = self.find.probabilities(tagged.scores, entities, tagged.mask)
            thresholds = probabilities.new_tensor(head.decoder.thresholds(self.find.labels))
            is_kept = probabilities >= thresholds[_on(probabilities, entities.labels)]
            if not bool(is_kept.all()):
                is_dropped = _is_inside(entities.where((~is_kept).cpu().numpy()), tagged.mask)
                tagged.tags = tagged.tags.masked_fill(is_dropped, self.tags.index("O"))
                entities = entities.where(is_kept.cpu().numpy())
                probabilities = probabilities[is_kept]
            probabilities = corrected(head, entities, probabilities)
        tagged.entities = entities
        rows, firsts = _on(tagged.tags, entities.rows), _on(tagged.tags, entities.firsts)
        lengths = torch.zeros_like(tagged.tags)
        lengths[rows, firsts] = _on(tagged.tags, entities.lasts) - firsts + 1
        if probabilities is None:
            return (lengths,)
        at_firsts = probabilities.new_full(lengths.shape, -1)
        at_firsts[rows, firsts] = probabilities
        return lengths, at_firsts

    @staticmethod
    def read(head: "ChainHead", tags: List[List[str]], *tensors: Any) -> Readable:
        entities: List[List[Dict[str, Any]]] = [[] for _ in tags]
        for row, entity in _read_spans(*(each for each in tensors if each is not None)):
            label = split_tag(tags[row][entity["first"]], head.tag_encoding)[1] or ""
            entities[row].append({"label": label, **entity})
        return {"entities": entities}


class MissedPart(OutputPart):
    """What the prediction misses of some labels, as defined by `MissFinder`, in float64."""

    #: How many missed entities are expected to begin at each token; numbers that sum to the
    #: log-probability that nothing in a sentence is missed.
    names = ("expected_missed", "log_none_missed")

    def __init__(self, entities: Optional[EntityPart], labels: Sequence[str]) -> None:
        if entities is None:
            raise ConfigurationError(
                "`leak_labels` needs tags that spell entities; these are plain labels; leave it out"
            )
        for label in labels:
            check_is_label("leak_labels", label, entities.find.labels, of="tagger")
        self._find = MissFinder(entities.tags, entities.encoding, labels)

    def predict(self, head: "ChainHead", tagged: Tagged) -> Tensors:
        assert tagged.entities is not None
        expected, log_none = self._find(tagged.scores, tagged.entities, tagged.mask)
        at_firsts = torch.zeros_like(expected)
        at_firsts[:, :1] = log_none.unsqueeze(1)
        return expected, at_firsts

    @staticmethod
    def read(head: "ChainHead", tags: List[List[str]], *tensors: Any) -> Readable:  # noqa: ARG004
        expected, log_none = tensors
        return {
            "leak_probability": (-torch.expm1(log_none.sum(1))).tolist(),
            # Exactly rounded, and so the same with any padding.
            "expected_missed": list(map(math.fsum, expected.tolist())),
        }


class CandidatePart(OutputPart):
    """All entities that are probable enough, whether predicted or not."""

    #: (B, T, M): the number of tokens, 0 where there is no candidate; the label; the probability.
    names = ("candidate_lengths", "candidate_labels", "candidate_probabilities")

    def __init__(self, entities: Optional[EntityPart], least: float) -> None:
        self._find = with_probabilities("candidates", entities).find
        if not 0 < least <= 1:
            raise ConfigurationError(
                f"`candidates` must be a probability above 0 and at most 1; got {least!r}"
            )
        self._least = least

    def predict(self, head: "ChainHead", tagged: Tagged) -> Tensors:
        found, probabilities = self._find.candidates(tagged.scores, self._least, tagged.mask)
        probabilities = corrected(head, found, probabilities)
        labels, rows, firsts, lasts = found
        # (N,): the number of each among the candidates of its first token
        places = rows * tagged.mask.size(1) + firsts
        _, begins = np.unique(places, return_index=True)
        counts = np.diff(begins, append=len(places))
        numbers = np.arange(len(places)) - np.repeat(begins, counts)
        at = tuple(_on(probabilities, each) for each in (rows, firsts, numbers))
        shape = (*tagged.mask.shape, int(counts.max(initial=0)))
        columns = (
            _on(probabilities, lasts - firsts + 1),
            _on(probabilities, labels),
            probabilities,
        )
        return tuple(each.new_zeros(shape).index_put(at, each) for each in columns)

    @staticmethod
    def read(head: "ChainHead", tags: List[List[str]], *tensors: Any) -> Readable:
        lengths, labels, probabilities = tensors
        names = with_probabilities("candidates", head.entities).find.labels
        candidates: List[List[Dict[str, Any]]] = [[] for _ in tags]
        indices = labels[lengths.nonzero(as_tuple=True)].tolist()
        for index, (row, candidate) in zip(indices, _read_spans(lengths, probabilities)):
            label = names[index]
            candidates[row].append({"label": "" if label == "_" else label, **candidate})
        return {"candidates": candidates}


class MarginalPart(OutputPart):
    """The probability of each tag at each token."""

    #: (B, T, K).
    names = ("marginals",)

    def predict(self, head: "ChainHead", tagged: Tagged) -> Tensors:
        return (head.marginals(tagged.emissions, tagged.mask),)

    @staticmethod
    def read(head: "ChainHead", tags: List[List[str]], *tensors: Any) -> Readable:
        (marginals,) = tensors
        probabilities = [
            [dict(zip(head.tags, token)) for token in sentence[: len(own)]]
            for own, sentence in zip(tags, marginals.tolist())
        ]
        return {"probabilities": probabilities}


#: All parts, in the order in which they are read.
PARTS: Tuple[Type[OutputPart], ...] = (EntityPart, MissedPart, CandidatePart, MarginalPart)
#: The names of all tensors that a prediction may have.
OUTPUT_NAMES = ("predicted_tags", *(name for part in PARTS for name in part.names))


def parts_of(head: "ChainHead", extras: Extras) -> List[OutputPart]:
    """Returns the parts of a head's output with these extras; an error if it cannot give them."""
    parts: List[OutputPart] = [head.entities] if head.entities else []
    if extras.leak_labels:
        parts.append(MissedPart(head.entities, extras.leak_labels))
    if extras.candidates is not None:
        parts.append(CandidatePart(head.entities, extras.candidates))
    if extras.probabilities:
        parts.append(MarginalPart())
    return parts


def with_probabilities(argument: str, entities: Optional[EntityPart]) -> EntityPart:
    """Refuses an argument that needs probabilities of entities where there are none."""
    if entities is None or not entities.has_probabilities:
        encoding = "plain labels" if entities is None else entities.encoding
        raise ConfigurationError(
            f"`{argument}` needs tags that spell entities in BIO, BIOUL, BMES or IOBES; these are "
            f"{encoding}; leave it out"
        )
    return entities


def corrected(head: "ChainHead", entities: Entities, probabilities: torch.Tensor) -> torch.Tensor:
    """The probabilities of entities, (N,), with the head's recalibration."""
    if head.recalibration is None:
        return probabilities
    return head.recalibration(probabilities, _on(probabilities, entities.labels))


def _read_spans(
    lengths: torch.Tensor, probabilities: Optional[torch.Tensor] = None
) -> Iterator[Tuple[int, Dict[str, Any]]]:
    """Yields the row and the place of each span, given its length at its first token."""
    at = rows, firsts, *_ = lengths.nonzero(as_tuple=True)
    ends = (firsts + lengths[at]).tolist()
    of_spans = [None] * len(ends) if probabilities is None else probabilities[at].tolist()
    for row, first, end, probability in zip(rows.tolist(), firsts.tolist(), ends, of_spans):
        place = {"first": first, "last": end - 1}
        yield row, place if probability is None else {**place, "probability": probability}


def _on(like: torch.Tensor, values: Any) -> torch.Tensor:
    """Values as a tensor on the device of another."""
    return torch.as_tensor(values, device=like.device)


def _is_inside(entities: Entities, mask: torch.Tensor) -> torch.Tensor:
    """Which tokens lie in one of the N entities, (B, T) bool."""
    rows, firsts, lasts = (_on(mask, each) for each in entities[1:])
    places = torch.arange(mask.size(1), device=mask.device)
    # (N, T)
    is_inside = (places >= firsts.unsqueeze(1)) & (places <= lasts.unsqueeze(1))
    return torch.zeros_like(mask, dtype=torch.int64).index_add(0, rows, is_inside.long()) > 0
