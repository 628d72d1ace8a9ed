"""Calibrates how large sets of answers must be to hold the truth: conformal prediction by document.

The sentences and entities of a document are alike, so only documents are exchangeable. Each of D
documents gets the weight 1 / (D + 1), spread evenly over its items, and the last 1 / (D + 1) is put on
infinity; the threshold is a quantile of these scores (Lee, Barber & Willett 2023, "Distribution-free
inference with hierarchical data"). So a random item of a new document has its truth in its set with the
stated probability, whatever the tagger's probabilities are worth.

Letters: `S` sentences, `N` gold entities, `D` documents, `R` rows of a sentence, `M` sequences.
"""

import math
from typing import List, NamedTuple, Sequence, Tuple

import numpy as np
import torch
from allennlp.data import Instance
from allennlp.models import Model

from tagger.modules.heads.answer_sets import NUM_SEQUENCES, best_sequences
from tagger.spans.entities import Entities, EntityFinder
from tagger.tools.tuning.labelled_file import encoded, tuned_chain

#: Less probable entities are in no set: they would be in the sets of almost every token.
LEAST_PROBABILITY = 1e-4


class Items(NamedTuple):
    """What sets must hold: N gold entities, or S sentences.

    Attributes:
        scores: (N,), how large the set must be to hold the truth, inf if no set does.
        sentences: (N,) int64, the sentence of each.
        ranks: (N,), the place of the truth among the answers, from 1; inf if no set holds it.
        owners: (A,) int64, the item of each possible answer of any item.
        answer_scores: (A,), how large a set must be to hold this answer.
    """

    scores: np.ndarray
    sentences: np.ndarray
    ranks: np.ndarray
    owners: np.ndarray
    answer_scores: np.ndarray

    def sizes(self, threshold: float) -> np.ndarray:
        """Returns how many answers the set of each item has, (N,)."""
        return np.bincount(self.owners[self.answer_scores <= threshold], minlength=len(self.scores))


@torch.no_grad()
def scored_items(
    model: Model, instances: Sequence[Instance], batch_size: int = 64
) -> Tuple[Items, Items, int]:
    """Returns the gold entities and the sentences of instances, and the number of sentences.

    The score of an entity is 1 minus its probability; its answers are the probable entities that overlap
    it. The score of a sentence is the probability of the sequences that are better than the gold one,
    among the best `NUM_SEQUENCES`. Sentences without all gold tags are left out. With the head
    `label_chains`, a sentence has the largest score of its labels, and its set is every combination of
    theirs.
    """
    model, chain = tuned_chain(model)
    assert model.tag_encoding is not None
    finder = EntityFinder(model.tags, model.tag_encoding)
    num_rows, first = chain.rows_per_sentence, 0
    entities: List[Items] = []
    sentences: List[Items] = []
    for batch, rows, _ in encoded(model, instances, batch_size):
        scores, mask = chain.chain_scores(batch.emissions), batch.mask
        has_gold = ((batch.gold_tags >= 0) | ~mask).all(1).unflatten(0, (-1, num_rows)).all(1)
        known = has_gold.nonzero()[:, 0].cpu().numpy()
        best = best_sequences(scores, mask)
        is_gold = ((best.paths == batch.gold_tags.unsqueeze(1)) | ~mask.unsqueeze(1)).all(2)
        is_gold &= best.probabilities > 0
        tensors = (is_gold, best.before, best.probabilities)
        of_rows = [each.unflatten(0, (-1, num_rows))[has_gold].cpu().numpy() for each in tensors]
        sentences.append(_sentences(of_rows[0], of_rows[1], of_rows[2], known + first))
        gold = finder(batch.gold_tags, mask)
        gold = gold.where(np.isin(gold.rows // num_rows, known))
        probabilities = finder.probabilities(scores, gold, mask).double().cpu().numpy()
        answers, of_answers = finder.candidates(scores, LEAST_PROBABILITY, mask)
        found = _entities(gold, probabilities, answers, of_answers.double().cpu().numpy())
        entities.append(found._replace(sentences=gold.rows // num_rows + first))
        first += len(rows.mask)
    return joined(entities), joined(sentences), first


def hierarchical_quantile(scores: np.ndarray, groups: np.ndarray, confidence: float) -> float:
    """Returns the score that a random item of a new group does not exceed, with this probability.

    `scores` and `groups` are (N,); inf if the groups are too few, or too many scores are inf.
    """
    _, group_of, counts = np.unique(groups, return_inverse=True, return_counts=True)
    order = np.argsort(scores, kind="stable")
    shares = (1 / (counts[group_of] * (len(counts) + 1)))[order].cumsum()
    reached = np.flatnonzero(shares >= confidence - 1e-9)
    return float(scores[order][reached[0]]) if len(reached) else math.inf


def largest_confidence(scores: np.ndarray, groups: np.ndarray) -> float:
    """Returns the largest confidence with a finite `hierarchical_quantile`, rounded down to 3 digits."""
    _, group_of, counts = np.unique(groups, return_inverse=True, return_counts=True)
    share = (1 / counts[group_of])[np.isfinite(scores)].sum() / (len(counts) + 1)
    return math.floor(1000 * share + 1e-6) / 1000


def num_groups_needed(confidence: float) -> int:
    """Returns how many groups `hierarchical_quantile` needs.

    Example:
        >>> num_groups_needed(0.95), num_groups_needed(0.9)
        (19, 9)
    """
    return math.ceil(1 / (1 - confidence) - 1e-6) - 1


def _sentences(
    is_gold: np.ndarray, before: np.ndarray, probabilities: np.ndarray, sentences: np.ndarray
) -> Items:
    """Items of S sentences; the first three are (S, R, M)."""
    num = len(sentences)
    ranks = np.where(is_gold.any(2), is_gold.argmax(2) + 1.0, math.inf)
    at_gold = np.take_along_axis(before, is_gold.argmax(2)[:, :, None], 2)[:, :, 0]
    scores = np.where(np.isfinite(ranks), at_gold, math.inf).max(1)
    before = np.where(probabilities > 0, before, math.inf)
    # A combination needs the largest of its scores.
    combined = before[:, 0]
    for row in range(1, before.shape[1]):
        both = np.maximum(combined[:, :, None], before[:, row, None]).reshape(num, -1)
        combined = np.sort(both, axis=1)[:, :NUM_SEQUENCES]
    owner, answer = np.isfinite(combined).nonzero()
    return Items(scores, sentences, ranks.max(1), owner, combined[owner, answer])


def _entities(
    gold: Entities, of_gold: np.ndarray, answers: Entities, of_answers: np.ndarray
) -> Items:
    """Items of gold entities, with their probabilities, (N,), and all probable entities, (A,)."""
    overlaps = (gold.rows[:, None] == answers.rows) & (gold.firsts[:, None] <= answers.lasts)
    overlaps &= answers.firsts <= gold.lasts[:, None]
    owner, answer = overlaps.nonzero()
    # The same probability may differ in its last digits.
    is_better = of_answers[answer] > of_gold[owner] * (1 + 1e-5)
    ranks = 1.0 + np.bincount(owner[is_better], minlength=len(of_gold))
    is_possible = of_gold >= LEAST_PROBABILITY
    scores, ranks = (np.where(is_possible, each, math.inf) for each in (1 - of_gold, ranks))
    return Items(scores, gold.rows, ranks, owner, 1 - of_answers[answer])


def joined(parts: Sequence[Items]) -> Items:
    """Joins items that are numbered from 0 in each part; the numbers of sentences stay."""
    firsts = np.cumsum([0, *(len(each.scores) for each in parts)])
    moved = [p._replace(owners=p.owners + first) for p, first in zip(parts, firsts)]
    return Items(*map(np.concatenate, zip(*moved)))
