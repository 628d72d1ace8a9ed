"""Questions to an annotator about the tags of tokens, and a tagger's uncertainty about the answers.

A question is about a run of tokens, either a whole sentence or an uncertain part. Its scores are exact
under the tagger's chain for the whole sentence.

Letters: `B` rows, `T` tokens, `K` tags, `N` questions, `C` labels.
"""

from typing import Callable, Dict, Iterator, List, NamedTuple, Sequence, Tuple

import numpy as np
import torch
from allennlp.data import Instance
from allennlp.models import Model

from tagger.common.ranges import check_is_one_of, check_number
from tagger.linear_chain import (
    ChainScores,
    span_log_probabilities,
    tag_marginals,
    transition_marginals,
    viterbi_decode,
)
from tagger.modules.heads import Chain
from tagger.spans import Span
from tagger.spans.entities import Entities, EntityFinder
from tagger.spans.finding import tag_tables
from tagger.spans.leaks import LeakFinder, expected_entities
from tagger.tools.tuning.decoding import RowBatch
from tagger.tools.tuning.labelled_file import encoded, tuned_chain

#: The row, first token and last token of N questions, (N, 3) int64.
Places = np.ndarray
#: Scores the questions of a batch, (N,), given its chain and mask.
Score = Callable[[ChainScores, Places, torch.Tensor], np.ndarray]

UNITS = ("sentence", "span")
#: Less probable entities are ignored.
_LEAST_PROBABILITY = 0.01


class UncertainSentence(NamedTuple):
    """A tagger's view of a sentence."""

    num_tokens: int  # The number of tokens
    entities: List[Tuple[Span, float]]  # The predicted entities with their probabilities
    open: List[List[int]]  # The first and last token of each uncertain run
    questions: List[List[int]]  # The first and last token of each question
    scores: np.ndarray  # (N,), the uncertainty about each question, per token
    # (N, C), the uncertainty about entities of each label, as the sum of `p (1 - p)`.
    of_labels: np.ndarray
    num_expected: np.ndarray  # (C,), the expected number of entities of each label


def entropy(chain: ChainScores, places: Places, mask: torch.Tensor) -> np.ndarray:
    """Returns the entropy of the tags of each question, (N,), in nats.

    By the chain rule, it is `H(y_a) + sum_t H(y_t | y_{t-1})`. For a whole sentence it is the entropy
    of the sequence (Kim et al. 2006, "MMR-based active machine learning for bio named entity
    recognition"), here over all sequences rather than the best few.
    """
    # (B, T), (B, T - 1)
    of_tags = torch.special.entr(tag_marginals(chain, mask)).sum(2)
    of_pairs = torch.special.entr(transition_marginals(chain, mask)).sum((2, 3))
    steps = (of_pairs - of_tags[:, :-1]) * mask[:, 1:]
    sums = torch.nn.functional.pad(steps.cumsum(1), (1, 0)).cpu().numpy()
    rows, firsts, lasts = places.T
    values = of_tags.cpu().numpy()[rows, firsts] + sums[rows, lasts] - sums[rows, firsts]
    return np.maximum(values, 0)


def least_confidence(chain: ChainScores, places: Places, mask: torch.Tensor) -> np.ndarray:
    """Returns minus the log-probability that the best path is right in each question, (N,), in nats.

    Divided by the number of tokens of a whole sentence, this is the maximum normalized log-probability
    of Shen et al. 2018, "Deep active learning for named entity recognition".
    """
    paths, _ = viterbi_decode(chain, mask)
    width = int((places[:, 2] - places[:, 1]).max(initial=0)) + 1
    spans = torch.from_numpy(places).to(mask.device)
    # (N, W)
    tokens = torch.minimum(spans[:, 1:2] + torch.arange(width, device=mask.device), spans[:, 2:3])
    allowed = torch.nn.functional.one_hot(
        paths[spans[:, :1], tokens], chain.emissions.size(2)
    ).bool()
    found = -span_log_probabilities(chain, spans, allowed, mask)
    values: np.ndarray = found.clamp(min=0).cpu().numpy()
    return values


def _expected_missed(tags: Sequence[str], tag_encoding: str) -> Score:
    """Returns a score: the expected number of missed entities that begin in each question."""
    find = EntityFinder(tags, tag_encoding)
    find_leaks = LeakFinder(tags, tag_encoding, find.labels)

    def expected_missed(chain: ChainScores, places: Places, mask: torch.Tensor) -> np.ndarray:
        predicted = find(viterbi_decode(chain, mask)[0], mask)
        # (B, T + 1)
        leaks = find_leaks(chain, predicted, mask).expected
        sums = torch.nn.functional.pad(leaks.cumsum(1), (1, 0)).cpu()
        rows, firsts, lasts = places.T
        values: np.ndarray = (sums[rows, lasts + 1] - sums[rows, firsts]).numpy()
        return values

    return expected_missed


#: Makes each score, given the tags and their encoding.
SCORES: Dict[str, Callable[[Sequence[str], str], Score]] = {
    "entropy": lambda *_: entropy,
    "least_confidence": lambda *_: least_confidence,
    "expected_missed": _expected_missed,
}


def uncertain_sentences(
    model: Model,
    instances: Sequence[Instance],
    by: str = "sentence",
    score: str = "entropy",
    least_doubt: float = 0.01,
    batch_size: int = 64,
) -> Iterator[UncertainSentence]:
    """Yields a tagger's view of each sentence of instances, in order.

    Tags that an instance already has are known and not asked about: the chain is conditioned on them.

    `by` is `"sentence"` to ask for all tags of a sentence, or `"span"` to ask about each uncertain run
    of tokens. Such a run consists of overlapping entities with probabilities at least `least_doubt`
    from 0 and from 1. `score` is one of `SCORES`.
    """
    check_is_one_of("by", by, UNITS)
    check_is_one_of("score", score, list(SCORES))
    check_number("least_doubt", least_doubt, 0 < least_doubt < 0.5, "above 0 and below 0.5")
    model, head = tuned_chain(model)
    num_chains = head.rows_per_sentence
    assert model.tag_encoding is not None
    finder = EntityFinder(model.tags, model.tag_encoding)
    tables = tag_tables(model.tags, model.tag_encoding)
    score_of = SCORES[score](model.tags, model.tag_encoding)
    for batch, rows, _ in encoded(model, instances, batch_size):
        with torch.no_grad():
            mask, is_known = batch.mask, (batch.gold_tags >= 0) & batch.mask
            chain = _chain_given(head, batch, is_known)
            # A token that is known to each chain of its sentence.
            is_known = is_known.unflatten(0, (-1, num_chains)).all(1)
            candidates, p = finder.candidates(chain, _LEAST_PROBABILITY, mask)
            candidates = _of_sentences(candidates, num_chains)
            doubts = (p * (1 - p)).cpu().numpy()
            uncertain = candidates.where(doubts >= least_doubt * (1 - least_doubt))
            runs = _runs(uncertain, is_known.cpu().numpy())
            places = runs if by == "span" else _whole_rows(rows.mask & ~is_known, rows.mask)
            # The chains of a sentence are independent, so their scores are summed.
            scores = sum(
                score_of(chain, places * (num_chains, 1, 1) + (c, 0, 0), mask)
                for c in range(num_chains)
            ) / (places[:, 2] - places[:, 1] + 1)
            best = finder(viterbi_decode(chain, mask)[0], mask)
            probabilities = finder.probabilities(chain, best, mask).cpu().numpy()
            best = _of_sentences(best, num_chains)
            expected = expected_entities(tables, chain, mask).unflatten(0, (-1, num_chains))
            num_expected = expected.sum(1).cpu().numpy()
        for row in range(len(rows.mask)):
            is_best, own, here = (
                each == row for each in (best.rows, places[:, 0], candidates.rows)
            )
            yield UncertainSentence(
                int(rows.mask[row].sum()),
                _named(finder.labels, best.where(is_best), probabilities[is_best]),
                runs[runs[:, 0] == row, 1:].tolist(),
                places[own, 1:].tolist(),
                scores[own],
                _of_labels(places[own, 1:], candidates.where(here), doubts[here], finder.labels),
                num_expected[row],
            )


def _of_sentences(entities: Entities, num_chains: int) -> Entities:
    """Returns entities in rows of chains as entities in rows of sentences."""
    return entities._replace(rows=entities.rows // num_chains)


def _named(
    labels: Sequence[str], entities: Entities, probabilities: np.ndarray
) -> List[Tuple[Span, float]]:
    columns = (entities.labels, entities.firsts, entities.lasts, probabilities)
    return [
        ((labels[label], (first, last)), probability)
        for label, first, last, probability in zip(*(column.tolist() for column in columns))
    ]


def _of_labels(
    questions: np.ndarray, candidates: Entities, doubts: np.ndarray, labels: Sequence[str]
) -> np.ndarray:
    """Returns the uncertainty about entities of each label inside each question of a row, (N, C)."""
    firsts, lasts = questions.T[..., np.newaxis]
    # (N, M), (M, C)
    is_inside = (candidates.firsts >= firsts) & (candidates.lasts <= lasts)
    has_label = candidates.labels[:, np.newaxis] == np.arange(len(labels))
    found: np.ndarray = is_inside @ (doubts[:, np.newaxis] * has_label)
    return found


def _whole_rows(is_asked: torch.Tensor, mask: torch.Tensor) -> Places:
    """Returns the rows that have a token to ask about."""
    rows = is_asked.any(1).nonzero()[:, 0]
    lasts = mask[rows].sum(1) - 1
    return torch.stack([rows, torch.zeros_like(rows), lasts], dim=1).cpu().numpy()


def _chain_given(head: Chain, batch: RowBatch, is_known: torch.Tensor) -> ChainScores:
    """Returns the chain of a batch, conditioned on known tags, (B, T) bool."""
    chain = ChainScores(*(each.double() for each in head.chain_scores(batch.emissions)))
    tags = torch.arange(batch.emissions.size(2), device=batch.mask.device)
    is_other = is_known.unsqueeze(2) & (tags != batch.gold_tags.unsqueeze(2))
    return chain._replace(emissions=chain.emissions.masked_fill(is_other, -torch.inf))


def _runs(entities: Entities, is_known: np.ndarray) -> Places:
    """Joins overlapping entities, and leaves out known tokens at either end."""
    runs: List[List[int]] = []
    for row, first, last in sorted(zip(*(column.tolist() for column in entities[1:]))):
        if runs and runs[-1][0] == row and first <= runs[-1][2]:
            runs[-1][2] = max(runs[-1][2], last)
        else:
            runs.append([row, first, last])
    kept = []
    for row, first, last in runs:
        unknown = np.flatnonzero(~is_known[row, first : last + 1]) + first
        if len(unknown):
            kept.append([row, int(unknown[0]), int(unknown[-1])])
    return np.array(kept, dtype=np.int64).reshape(-1, 3)
