"""The tensors that hold a chain's predictions, and how they are read.

Letters: `B` batch, `T` tokens, `K` tags, `N` entities, `M` the most candidates that begin at one token,
`C` labels.
"""

import math
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

import numpy as np
import torch
from allennlp.common.checks import ConfigurationError
from torch.nn.functional import pad

from tagger.common.ranges import check_number
from tagger.common.vocabulary import check_is_label
from tagger.linear_chain import ChainScores
from tagger.modules.heads.answer_sets import (
    NAMES as NAMES_OF_SETS,
    entities_in_sets,
    read_sets,
    set_tensors,
)
from tagger.modules.recalibration import Recalibration
from tagger.spans.encodings import AMBIGUOUS, split_tag
from tagger.spans.entities import Entities, EntityFinder
from tagger.spans.leaks import LeakFinder
from tagger_texts.prediction import Entity
from tagger_texts.tagged_text import Extras

Tensors = Dict[str, torch.Tensor]

# (B, T): the number of tokens of each entity at its first token, else 0; its probability there, else -1.
_ENTITIES = ("entity_lengths", "entity_probabilities")
# (B, T): how many missed entities are expected to begin at each token; numbers that sum to the
# log-probability that nothing in a sentence is missed.
_LEAKS = ("expected_missed", "log_none_missed")
# (B, T, M): the number of tokens, 0 where there is no candidate; the label; the probability.
_CANDIDATES = ("candidate_lengths", "candidate_labels", "candidate_probabilities")
# The same of the entities in sets.
_IN_SETS = ("set_lengths", "set_labels", "set_probabilities")
#: The names of all tensors that a prediction may have; `marginals` are (B, T, K).
NAMES = (
    "predicted_tags",
    *_ENTITIES,
    *_LEAKS,
    *_CANDIDATES,
    *_IN_SETS,
    *NAMES_OF_SETS,
    "marginals",
)


class EntityOutputs:
    """Finds the entities that tags spell, what may be missed, and candidates; reads them from tensors.

    In IOB1, there are no probabilities, because the tags of an entity depend on the tag before it.
    """

    def __init__(self, tags: List[str], tag_encoding: str) -> None:
        self.find = EntityFinder(tags, tag_encoding)
        self.has_probabilities = tag_encoding not in AMBIGUOUS
        self._tags, self.tag_encoding = tags, tag_encoding

    def predict(
        self,
        scores: ChainScores,
        tags: torch.Tensor,
        mask: torch.Tensor,
        extras: Extras,
        thresholds: Sequence[float],
        recalibration: Optional[Recalibration],
    ) -> Tensors:
        """Returns the tensors (B, T, ...) of the entities that the tags, (B, T) int64, spell.

        Entities below the thresholds of their labels, (C,), are dropped from the tags, too.
        """
        correct = recalibration or (lambda values, _: values)
        entities, probabilities, own = self.find(tags, mask), None, None
        if self.has_probabilities:
            probabilities = own = self.find.probabilities(scores, entities, mask)
            least = probabilities.new_tensor(thresholds)
            is_kept = probabilities >= least[_on(probabilities, entities.labels)]
            if not bool(is_kept.all()):
                is_dropped = _is_inside(entities.where((~is_kept).cpu().numpy()), mask)
                tags = tags.masked_fill(is_dropped, self._tags.index("O"))
                entities = entities.where(is_kept.cpu().numpy())
                probabilities = own = probabilities[is_kept]
            probabilities = correct(probabilities, _on(probabilities, entities.labels))
        rows, firsts = _on(tags, entities.rows), _on(tags, entities.firsts)
        lengths = torch.zeros_like(tags)
        lengths[rows, firsts] = _on(tags, entities.lasts) - firsts + 1
        output = {"predicted_tags": tags, "entity_lengths": lengths}
        if probabilities is not None:
            output["entity_probabilities"] = probabilities.new_full(lengths.shape, -1)
            output["entity_probabilities"][rows, firsts] = probabilities
        if extras.leak_labels:
            find_leaks = LeakFinder(self._tags, self.tag_encoding, extras.leak_labels)
            expected, log_none = find_leaks(scores, entities, mask)
            at_firsts = torch.zeros_like(expected)
            at_firsts[:, :1] = log_none.unsqueeze(1)
            output.update(zip(_LEAKS, (expected, at_firsts)))
        if extras.candidates is not None:
            found, probabilities = self.find.candidates(scores, extras.candidates, mask)
            probabilities = correct(probabilities, _on(probabilities, found.labels))
            output.update(zip(_CANDIDATES, _at_firsts(found, probabilities, mask)))
        if extras.sets is not None and own is not None:
            output.update(set_tensors(self._tags, self.tag_encoding, scores, mask, extras.sets))
            if extras.sets.least_probability is not None:
                given = entities, own, extras.sets.least_probability, mask
                found, probabilities = entities_in_sets(self.find, scores, *given)
                output.update(zip(_IN_SETS, _at_firsts(found, probabilities, mask)))
        return output

    def read(self, output: Tensors, tags: List[List[str]]) -> Dict[str, List[Any]]:
        """Removes these tensors but the tags from an output; returns fields of `Prediction` by row."""
        spans = _read_spans(output.pop(_ENTITIES[0]), output.pop(_ENTITIES[1], None))
        entities: List[List[Entity]] = [[] for _ in tags]
        for row, first, last, probability in spans:
            label = split_tag(tags[row][first], self.tag_encoding)[1] or ""
            entities[row].append(Entity.of_tokens(label, first, last, probability))
        fields: Dict[str, List[Any]] = {"entities": entities}
        if _LEAKS[0] in output:
            expected, log_none = (output.pop(name) for name in _LEAKS)
            fields["leak_probability"] = (-torch.expm1(log_none.sum(1))).tolist()
            # Exactly rounded, and so the same with any padding.
            fields["expected_missed"] = list(map(math.fsum, expected.tolist()))
        if _CANDIDATES[0] in output:
            fields["candidates"] = self._read_candidates(output, _CANDIDATES, len(tags))
        in_sets: List[List[Entity]] = []
        if _IN_SETS[0] in output:
            in_sets = self._read_candidates(output, _IN_SETS, len(tags))
        return {**fields, **read_sets(output, in_sets, entities, self._tags)}

    def _read_candidates(
        self, output: Tensors, names: Sequence[str], num_rows: int
    ) -> List[List[Entity]]:
        lengths, labels, probabilities = (output.pop(name) for name in names)
        candidates: List[List[Entity]] = [[] for _ in range(num_rows)]
        indices = labels[lengths.nonzero(as_tuple=True)].tolist()
        spans = _read_spans(lengths, probabilities)
        for index, (row, first, last, probability) in zip(indices, spans):
            label = self.find.labels[index]
            label = "" if label == "_" else label
            candidates[row].append(Entity.of_tokens(label, first, last, probability))
        return candidates


def check_extras(entities: Optional[EntityOutputs], extras: Extras) -> None:
    """Raises a `ConfigurationError` if a chain, with `entities` or None, cannot return these extras."""
    if extras.leak_labels:
        if entities is None:
            raise ConfigurationError(
                "`leak_labels` needs tags that spell entities; these are plain labels; leave it out"
            )
        for label in extras.leak_labels:
            check_is_label("leak_labels", label, entities.find.labels, of="tagger")
    if extras.sets is not None:
        with_probabilities("sets", entities)
    if extras.candidates is not None:
        with_probabilities("candidates", entities)
        is_valid = 0 < extras.candidates <= 1
        check_number(
            "candidates", extras.candidates, is_valid, "a probability above 0 and at most 1"
        )


def with_probabilities(argument: str, entities: Optional[EntityOutputs]) -> EntityOutputs:
    """Refuses an argument that needs probabilities of entities where there are none."""
    if entities is None or not entities.has_probabilities:
        encoding = "plain labels" if entities is None else entities.tag_encoding
        raise ConfigurationError(
            f"`{argument}` needs tags that spell entities in BIO, BIOUL, BMES or IOBES; these are "
            f"{encoding}; leave it out"
        )
    return entities


def stacked(tensors: Sequence[Optional[torch.Tensor]]) -> torch.Tensor:
    """Stacks what C chains give, (B, T) or (B, T, M), to (B, T, C, ...), 0 where there is nothing."""
    given = [tensor for tensor in tensors if tensor is not None]
    shape = [max(sizes) for sizes in zip(*(tensor.shape for tensor in given))]
    nothing = given[0].new_zeros(shape)
    filled = [nothing if each is None else each for each in tensors]
    return torch.stack([pad(each, (0, shape[-1] - each.shape[-1])) for each in filled], 2)


def _at_firsts(
    found: Entities, probabilities: torch.Tensor, mask: torch.Tensor
) -> Tuple[torch.Tensor, ...]:
    """The lengths, labels and probabilities of candidates at their first tokens, (B, T, M) each."""
    labels, rows, firsts, lasts = found
    # (N,): the number of each among the candidates of its first token
    places = rows * mask.size(1) + firsts
    _, begins = np.unique(places, return_index=True)
    counts = np.diff(begins, append=len(places))
    numbers = np.arange(len(places)) - np.repeat(begins, counts)
    at = tuple(_on(probabilities, each) for each in (rows, firsts, numbers))
    shape = (*mask.shape, int(counts.max(initial=0)))
    columns = (_on(probabilities, lasts - firsts + 1), _on(probabilities, labels), probabilities)
    return tuple(each.new_zeros(shape).index_put(at, each) for each in columns)


def _read_spans(
    lengths: torch.Tensor, probabilities: Optional[torch.Tensor]
) -> Iterator[Tuple[int, int, int, Optional[float]]]:
    """Yields row, first and last token and probability of spans, given lengths at first tokens."""
    at = rows, firsts, *_ = lengths.nonzero(as_tuple=True)
    lasts = (firsts + lengths[at] - 1).tolist()
    of_spans = [None] * len(lasts) if probabilities is None else probabilities[at].tolist()
    return zip(rows.tolist(), firsts.tolist(), lasts, of_spans)


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
