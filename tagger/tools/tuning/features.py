"""Features of texts: a tagger's uncertainty, the entities it expects, and how it represents the words.

Letters: `S` sentences, `C` labels, `N` candidates.
"""

from typing import Dict, List, NamedTuple, Sequence, cast

import numpy as np
import torch
from allennlp.data import Instance
from allennlp.data.fields import TextField
from allennlp.models import Model

from tagger.linear_chain import ChainScores, tag_marginals
from tagger.modules.heads import Chain
from tagger.modules.heads.answer_sets import entity_keys
from tagger.modules.token_embedders.word_vectors import are_unknown
from tagger.spans.entities import Entities, EntityFinder
from tagger.spans.finding import tag_tables
from tagger.spans.leaks import expected_entities
from tagger.tools.tuning.decoding import RowBatch
from tagger.tools.tuning.groups import Groups
from tagger.tools.tuning.labelled_file import encoded, tuned_chain

#: Less probable spans are only candidates if they are predicted.
LEAST_PROBABILITY = 0.001


class CandidateSpans(NamedTuple):
    """N spans that are predicted or sufficiently probable."""

    sentences: np.ndarray  # (N,) int64
    labels: np.ndarray  # (N,) int64, indices of labels
    probabilities: np.ndarray  # (N,), the tagger's own, without a `recalibration`
    is_predicted: np.ndarray  # (N,) bool
    is_right: np.ndarray  # (N,) bool; false where gold tags are unknown


class SentenceFeatures(NamedTuple):
    """A tagger's features of S sentences."""

    labels: List[str]  # The C labels
    num_words: np.ndarray  # (S,) int64
    # By the name of a feature, (S,) each: the sum over the words of each sentence.
    sums: Dict[str, np.ndarray]
    # (S, C), the number of entities that the tagger expects, without a `recalibration`.
    num_expected: np.ndarray
    num_gold: np.ndarray  # (S, C) int64
    has_gold: np.ndarray  # (S,) bool, whether all gold tags of a sentence are known
    candidates: CandidateSpans
    groups: Groups  # Which sentences belong together


@torch.no_grad()
def features_of(
    model: Model, instances: Sequence[Instance], batch_size: int = 16
) -> SentenceFeatures:
    """Returns the features of instances, in order, with each sentence in a separate group."""
    model, head = tuned_chain(model)
    num_chains = head.rows_per_sentence
    assert model.tag_encoding is not None
    finder = EntityFinder(model.tags, model.tag_encoding)
    tables = tag_tables(model.tags, model.tag_encoding)
    parts: List[Dict[str, np.ndarray]] = []
    candidates: List[CandidateSpans] = []
    num_sentences = 0
    for batch, rows, tokens in encoded(model, instances, batch_size):
        scores = head.chain_scores(batch.emissions)
        gold = finder(batch.gold_tags, batch.mask)
        of_chains = {
            "doubt": torch.special.entr(tag_marginals(scores, batch.mask)).sum(2).sum(1),
            "strength": (batch.emissions.logsumexp(2) * batch.mask).sum(1),
            "num_expected": expected_entities(tables, scores, batch.mask),
        }
        has_gold = ((batch.gold_tags >= 0) | ~batch.mask).all(1)
        of_batch = {
            "num_words": rows.mask.sum(1),
            "num_gold": torch.zeros(len(rows.mask), len(finder.labels), dtype=torch.long),
            "has_gold": has_gold.unflatten(0, (-1, num_chains)).all(1),
            # The chains of a sentence are independent, so what each adds is summed.
            **{k: each.unflatten(0, (-1, num_chains)).sum(1) for k, each in of_chains.items()},
        }
        unknown = are_unknown(model, tokens)
        if unknown is not None:
            of_batch["unknown"] = (rows.split(unknown) & rows.mask).sum(1)
        parts.append({name: values.cpu().numpy() for name, values in of_batch.items()})
        np.add.at(parts[-1]["num_gold"], (gold.rows // num_chains, gold.labels), 1)
        found = _candidates(head, finder, batch, gold, scores)
        candidates.append(found._replace(sentences=found.sentences // num_chains + num_sentences))
        num_sentences += len(rows.mask)
    joined = {name: np.concatenate([each[name] for each in parts]) for name in parts[0]}
    found = CandidateSpans(*map(np.concatenate, zip(*candidates)))
    return SentenceFeatures(
        labels=finder.labels,
        sums=_sums(finder.labels, joined, found, instances),
        candidates=found,
        groups=Groups("sentence", np.arange(num_sentences)),
        **{name: joined[name] for name in ("num_words", "num_expected", "num_gold", "has_gold")},
    )


def _candidates(
    head: Chain, finder: EntityFinder, batch: RowBatch, gold: Entities, scores: ChainScores
) -> CandidateSpans:
    predicted = finder(head.decode(batch.emissions, batch.mask), batch.mask)
    probable, of_probable = finder.candidates(scores, LEAST_PROBABILITY, batch.mask)
    of_predicted = finder.probabilities(scores, predicted, batch.mask)
    keys = [entity_keys(each, batch.mask.size(1)) for each in (predicted, probable, gold)]
    is_other = ~np.isin(keys[1], keys[0])
    rest = probable.where(is_other)
    numbers = torch.cat([of_predicted, of_probable[torch.from_numpy(is_other)]])
    return CandidateSpans(
        np.concatenate([predicted.rows, rest.rows]),
        np.concatenate([predicted.labels, rest.labels]),
        numbers.cpu().numpy().astype(np.float64),
        np.arange(len(numbers)) < len(predicted.rows),
        np.isin(np.concatenate([keys[0], keys[1][is_other]]), keys[2]),
    )


def _sums(
    labels: Sequence[str],
    parts: Dict[str, np.ndarray],
    found: CandidateSpans,
    instances: Sequence[Instance],
) -> Dict[str, np.ndarray]:
    """Returns features under descriptive names, summed over the words of each sentence."""
    sizes = [
        len(token.text or "")
        for instance in instances
        for token in cast(TextField, instance["tokens"]).tokens
    ]
    firsts = np.cumsum(parts["num_words"]) - parts["num_words"]
    sums = {
        "characters a word": np.add.reduceat(np.array(sizes), firsts),
        "doubt about a word's tag": parts["doubt"],
        "strength of a word's scores": parts["strength"],
    }
    if "unknown" in parts:
        sums["words without a vector"] = parts["unknown"]
    num_sentences = len(parts["num_words"])
    of_predicted = found.sentences[found.is_predicted], found.probabilities[found.is_predicted]
    num_right = np.bincount(*of_predicted, minlength=num_sentences)
    num_predicted = np.bincount(of_predicted[0], minlength=num_sentences)
    sums["expected wrong entities a word"] = num_predicted - num_right
    sums["expected missed entities a word"] = parts["num_expected"].sum(1) - num_right
    for label, numbers in zip(labels, parts["num_expected"].T):
        sums[f"expected {label} entities a word"] = numbers
    return sums
