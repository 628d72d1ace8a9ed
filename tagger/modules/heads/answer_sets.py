"""Sets of answers: the entities that may contain a token, and the tag sequences of a sentence.

Probabilities are the chain's own, without a `recalibration`, which `decode_bias` does not change.

Letters: `B` rows, `T` tokens, `K` tags, `N` entities, `M` the most kept sequences of a row.
"""

from typing import Any, Collection, Dict, List, NamedTuple, Sequence, Tuple

import numpy as np
import torch

from tagger.linear_chain import ChainScores, k_best_decode, log_partition, tag_marginals
from tagger.spans.entities import Entities, EntityFinder
from tagger.spans.finding import tag_tables
from tagger_texts.prediction import AnswerSet, Entity, SequenceSet
from tagger_texts.tagged_text import SetThresholds

Tensors = Dict[str, torch.Tensor]

#: The best sequences of a sentence that are considered.
NUM_SEQUENCES = 64
# (B, T): the probability that no entity contains each token; the least one of an answer.
_PLACES = ("set_none", "set_least")
# (B, T): the number of tokens of the sentence at its first token, else 0. (B, T, M): the probability of
# each kept sequence there, else 0; its tags.
_SEQUENCES = ("sequence_lengths", "sequence_probabilities", "sequence_tags")
#: The names of all these tensors, besides those of the entities in sets.
NAMES = (*_PLACES, *_SEQUENCES)


class BestSequences(NamedTuple):
    """The best `NUM_SEQUENCES` tag sequences of B rows, best first."""

    paths: torch.Tensor  # (B, M, T) int64
    probabilities: torch.Tensor  # (B, M) float64, 0 where there is no further sequence
    before: torch.Tensor  # (B, M) float64, the probability of all better sequences


def best_sequences(scores: ChainScores, mask: torch.Tensor) -> BestSequences:
    """Returns the best sequences with their exact probabilities."""
    exact = ChainScores(*(each.double() for each in scores))
    paths, path_scores = k_best_decode(exact, mask, NUM_SEQUENCES)
    probabilities = (path_scores - log_partition(exact, mask).unsqueeze(1)).exp()
    before = torch.nn.functional.pad(probabilities.cumsum(1)[:, :-1], (1, 0))
    return BestSequences(paths, probabilities, before)


def entities_in_sets(
    find: EntityFinder,
    scores: ChainScores,
    predicted: Entities,
    of_predicted: torch.Tensor,
    least: float,
    mask: torch.Tensor,
) -> Tuple[Entities, torch.Tensor]:
    """Returns all entities of at least a probability, and those predicted, with probabilities, (N,)."""
    probable, of_probable = find.candidates(scores, least, mask)
    keys = [entity_keys(each, mask.size(1)) for each in (predicted, probable)]
    is_other = ~np.isin(keys[0], keys[1])
    joined = Entities(*map(np.concatenate, zip(probable, predicted.where(is_other))))
    is_added = torch.from_numpy(is_other).to(of_predicted.device)
    probabilities = torch.cat([of_probable, of_predicted[is_added]])
    order = entity_keys(joined, mask.size(1)).argsort()
    return joined.where(order), probabilities[torch.from_numpy(order).to(mask.device)]


def entity_keys(entities: Entities, num_tokens: int) -> np.ndarray:
    """Returns a number for each entity of a batch, (N,), in the order of rows, tokens and labels."""
    places = (entities.rows * num_tokens + entities.firsts) * num_tokens + entities.lasts
    return places * 2**16 + entities.labels


def set_tensors(
    tags: Sequence[str],
    tag_encoding: str,
    scores: ChainScores,
    mask: torch.Tensor,
    thresholds: SetThresholds,
) -> Tensors:
    """Returns the tensors `NAMES` that the thresholds ask for."""
    output: Tensors = {}
    if thresholds.least_probability is not None:
        is_outside = tag_tables(tags, tag_encoding).label_of[:-1] < 0
        marginals = tag_marginals(scores, mask)
        none = marginals[:, :, torch.from_numpy(is_outside)].sum(2).clamp(max=1)
        output.update(zip(_PLACES, (none, torch.full_like(none, thresholds.least_probability))))
    if thresholds.most_before is not None:
        best = best_sequences(scores, mask)
        is_kept = (best.before <= thresholds.most_before) & (best.probabilities > 0)
        num_kept = int(is_kept.sum(1).max()) if len(mask) else 0
        lengths = torch.zeros_like(mask, dtype=torch.int64)
        lengths[:, :1] = mask.sum(1, keepdim=True)
        at_firsts = best.probabilities.new_zeros(*mask.shape, num_kept)
        kept = torch.where(is_kept, best.probabilities, 0.0)[:, :num_kept]
        at_firsts[:, :1] = kept.unsqueeze(1)
        of_tokens = best.paths[:, :num_kept].transpose(1, 2)
        output.update(zip(_SEQUENCES, (lengths, at_firsts, of_tokens)))
    return output


def read_sets(
    output: Tensors,
    candidates: Sequence[Sequence[Entity]],
    predicted: Sequence[Sequence[Entity]],
    names: Sequence[str],
) -> Dict[str, List[Any]]:
    """Removes the tensors `NAMES` from an output; returns fields of `Prediction` by row.

    `candidates` are the entities in sets, `predicted` those of the prediction, by row; `names` are the
    tags.
    """
    fields: Dict[str, List[Any]] = {}
    if _PLACES[0] in output:
        none, least = (output.pop(name).tolist() for name in _PLACES)
        fields["sets"] = [
            uncertain_places(own, {each[:6] for each in given}, outside, limits[0] if limits else 0)
            for own, given, outside, limits in zip(candidates, predicted, none, least)
        ]
    if _SEQUENCES[0] in output:
        lengths, probabilities, tags = (output.pop(name).tolist() for name in _SEQUENCES)
        fields["sequences"] = [
            list(_uncertain_sentences(*of_row, names))
            for of_row in zip(lengths, probabilities, tags)
        ]
    return fields


def uncertain_places(
    candidates: Sequence[Entity],
    predicted: Collection[Tuple[Any, ...]],
    none: Sequence[float],
    least: float,
) -> List[AnswerSet]:
    """Groups the entities in sets by tokens, and returns the tokens that are uncertain.

    These have more than one answer, or one that is predicted but not probable enough.

    A token is chosen for the predicted entities first, then for the most probable one that has none yet:
    the token where the entities that contain it are most probable. No entity at all is an answer if it
    is predicted or has at least the probability `least`.

    Args:
        candidates: The entities of a text that may be true.
        predicted: The first six fields of predicted ones.
        none: The probability that no entity contains each token.
        least: The least probability of an answer.
    """

    def covering(token: int) -> List[Entity]:
        return [each for each in candidates if each.first <= token <= each.last]

    def weight(entity: Entity) -> float:
        assert entity.probability is not None
        return entity.probability

    rest = sorted(candidates, key=lambda each: (each[:6] not in predicted, -weight(each)))
    found = []
    while rest:
        tokens = range(rest[0].first, rest[0].last + 1)
        token = max(tokens, key=lambda each: sum(map(weight, covering(each))))
        answers = sorted(covering(token), key=weight, reverse=True)
        rest = [each for each in rest if not each.first <= token <= each.last]
        is_predicted = any(each[:6] in predicted for each in answers)
        num_answers = len(answers) + (none[token] >= least or not is_predicted)
        if num_answers > 1 or weight(answers[0]) < least:
            found.append(AnswerSet(token, answers, none[token]))
    return sorted(found, key=lambda each: each.token)


def _uncertain_sentences(
    lengths: Sequence[int],
    probabilities: Sequence[Sequence[float]],
    tags: Sequence[Sequence[int]],
    names: Sequence[str],
) -> List[SequenceSet]:
    """The sentences of a row with several kept sequences; the arguments are those of `_SEQUENCES`."""
    found = []
    for first, length in enumerate(lengths):
        kept = [(m, p) for m, p in enumerate(probabilities[first]) if p > 0] if length else []
        if len(kept) > 1:
            own = tags[first : first + length]
            sequences = [([names[token[m]] for token in own], p) for m, p in kept]
            found.append(SequenceSet(first, first + length - 1, sequences))
    return found
