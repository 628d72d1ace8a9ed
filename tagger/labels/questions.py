"""Questions to an annotator about the tags of tokens, and how much a tagger doubts the answers.

A question is a run of tokens: a whole sentence, or just what is in doubt. Its scores are exact under the
tagger's chain, whatever stands around it.

Letters: `B` rows, `T` tokens, `K` tags, `N` questions, `C` labels.
"""

from typing import Callable, Dict, Iterator, List, NamedTuple, Sequence, Tuple, cast

import numpy as np
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Instance
from allennlp.models import Model

from tagger.common.ranges import check_is_one_of
from tagger.linear_chain import (
    ChainScores,
    span_log_probabilities,
    tag_marginals,
    transition_marginals,
    viterbi_decode,
)
from tagger.modules.heads import ChainHead
from tagger.spans import Span
from tagger.spans.entities import Entities, EntityFinder
from tagger.spans.finding import tag_tables
from tagger.spans.missed import MissFinder, expected_entities
from tagger.tuning.labelled_file import encoded, tuned_model

#: The rows, first and last tokens of N questions, (N, 3) int64.
Places = np.ndarray

UNITS = ("sentence", "span")
#: Entities that are less probable are not looked at.
_LEAST_PROBABILITY = 0.01


class DoubtfulSentence(NamedTuple):
    """What a tagger makes of a sentence.

    Attributes:
        num_tokens: The number of its tokens.
        entities: The predicted entities, with their probabilities.
        open: The first and the last token of each run in doubt.
        questions: The first and the last token of each question.
        scores: (N,), the doubt about each, per token.
        label_doubts: (N, C), how many entities of each label are in doubt, as the sum of `p (1 - p)`.
        num_expected: (C,), the expected number of entities of each label.
    """

    num_tokens: int
    entities: List[Tuple[Span, float]]
    open: List[Tuple[int, int]]
    questions: List[Tuple[int, int]]
    scores: np.ndarray
    label_doubts: np.ndarray
    num_expected: np.ndarray


def entropy(chain: ChainScores, places: Places, mask: torch.Tensor) -> np.ndarray:
    """Returns the entropy of the tags of each question, (N,), in nats.

    By the chain rule it is `H(y_a) + sum_t H(y_t | y_{t-1})`. For a whole sentence it is the entropy of
    the sequence (Kim et al. 2006, "MMR-based active machine learning for bio named entity recognition"),
    here over all sequences, not the best few.
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
    """Returns minus the log-probability that the best path is right about each question, (N,), in nats.

    Per token and for whole sentences this is the maximum normalized log-probability of Shen et al. 2018,
    "Deep active learning for named entity recognition".
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


class _ExpectedMissed:
    """Counts the entities that the best path is expected to miss and that begin in each question."""

    def __init__(self, tags: Sequence[str], tag_encoding: str) -> None:
        self._finder = EntityFinder(tags, tag_encoding)
        self._find_missed = MissFinder(tags, tag_encoding, self._finder.labels)

    def __call__(self, chain: ChainScores, places: Places, mask: torch.Tensor) -> np.ndarray:
        predicted = self._finder(viterbi_decode(chain, mask)[0], mask)
        # (B, T + 1)
        sums = torch.nn.functional.pad(
            self._find_missed(chain, predicted, mask).expected.cumsum(1), (1, 0)
        ).cpu()
        rows, firsts, lasts = places.T
        values: np.ndarray = (sums[rows, lasts + 1] - sums[rows, firsts]).numpy()
        return values


#: What makes a score of the tags and their encoding: (chain, places, mask) to (N,).
SCORES: Dict[str, Callable[[Sequence[str], str], Callable[..., np.ndarray]]] = {
    "entropy": lambda *_: entropy,
    "least_confidence": lambda *_: least_confidence,
    "expected_missed": _ExpectedMissed,
}


@torch.no_grad()
def doubtful_sentences(
    model: Model,
    instances: Sequence[Instance],
    by: str = "sentence",
    score: str = "entropy",
    least_doubt: float = 0.05,
    batch_size: int = 64,
) -> Iterator[DoubtfulSentence]:
    """Yields what a tagger makes of each sentence of instances, in order.

    Tags that an instance has are known, and are not asked for again: the chain is that of the others
    given these.

    Args:
        model: A tagger with a head `crf` or `softmax`.
        instances: Sentences or documents, without tags or with some.
        by: `"sentence"` to ask for all tags of a sentence, `"span"` for those of each run of tokens in
            doubt: of entities that overlap and whose probabilities are neither near 0 nor near 1.
        score: One of `SCORES`.
        least_doubt: How far from 0 and from 1 the probability of an entity in doubt is.
        batch_size: The number of instances at a time.

    Raises:
        ConfigurationError: If the entities of the model have no probabilities, or an argument is out of
            range.
    """
    check_is_one_of("by", by, UNITS)
    check_is_one_of("score", score, SCORES)
    if not 0 < least_doubt < 0.5:
        raise ConfigurationError(
            f"`least_doubt` must be above 0 and below 0.5; got {least_doubt:g}"
        )
    model = tuned_model(model)
    assert model.tag_encoding is not None
    head = cast(ChainHead, model.head)
    finder = EntityFinder(model.tags, model.tag_encoding)
    tables = tag_tables(model.tags, model.tag_encoding)
    score_of = SCORES[score](model.tags, model.tag_encoding)
    for batch, _, _ in encoded(model, instances, batch_size):
        mask, is_known = batch.mask, (batch.gold_tags >= 0) & batch.mask
        chain = ChainScores(*(each.double() for each in head.chain_scores(batch.emissions)))
        chain = chain._replace(emissions=_given(chain.emissions, batch.gold_tags, is_known))
        entities = finder(viterbi_decode(chain, mask)[0], mask)
        probabilities = finder.probabilities(chain, entities, mask).tolist()
        candidates, found = finder.candidates(chain, _LEAST_PROBABILITY, mask)
        # (M,)
        doubts = (found * (1 - found)).cpu().numpy()
        in_doubt = candidates.where(doubts >= least_doubt * (1 - least_doubt))
        runs = _runs(in_doubt, is_known.cpu().numpy())
        whole = torch.stack(
            [torch.arange(len(mask)), 0 * mask.sum(1).cpu(), mask.sum(1).cpu() - 1], 1
        )
        places = runs if by == "span" else whole[(is_known.sum(1) < mask.sum(1)).cpu()].numpy()
        scores = score_of(chain, places, mask) / (places[:, 2] - places[:, 1] + 1)
        num_expected = expected_entities(tables, chain, mask).cpu().numpy()
        # (M, C)
        of_labels = doubts[:, np.newaxis] * (
            candidates.labels[:, np.newaxis] == np.arange(len(finder.labels))
        )
        columns = zip(*(column.tolist() for column in entities), probabilities)
        predicted = [
            (row, ((finder.labels[label], (first, last)), p))
            for label, row, first, last, p in columns
        ]
        for row, length in enumerate(mask.sum(1).tolist()):
            own, here = places[places[:, 0] == row, 1:], candidates.rows == row
            firsts, lasts = own.T[..., np.newaxis]
            is_inside = (candidates.firsts[here] >= firsts) & (candidates.lasts[here] <= lasts)
            yield DoubtfulSentence(
                length,
                [entity for at, entity in predicted if at == row],
                [(first, last) for at, first, last in runs.tolist() if at == row],
                [(first, last) for first, last in own.tolist()],
                scores[places[:, 0] == row],
                is_inside @ of_labels[here],
                num_expected[row],
            )


def _given(
    emissions: torch.Tensor, gold_tags: torch.Tensor, is_known: torch.Tensor
) -> torch.Tensor:
    """Returns emissions, (B, T, K), with which known tags, (B, T), are certain."""
    tags = torch.arange(emissions.size(2), device=emissions.device)
    is_other = is_known.unsqueeze(2) & (tags != gold_tags.unsqueeze(2))
    return emissions.masked_fill(is_other, -torch.inf)


def _runs(entities: Entities, is_known: np.ndarray) -> Places:
    """Joins entities that overlap, and leaves known tokens at the ends out."""
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
