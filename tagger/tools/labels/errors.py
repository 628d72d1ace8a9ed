"""The errors in a corpus's labels, most suspicious first.

Letters: `N` items, `S` sentences.
"""

from collections import defaultdict
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np
from allennlp.common.checks import ConfigurationError
from scipy.optimize import brentq
from scipy.special import expit, logit

from tagger.spans import Span
from tagger.tools.labels.corpus import Sentence
from tagger.tools.labels.features import DIRECTIONS, features_of
from tagger.tools.labels.probabilities import Item, LabelProbabilities, overlap

#: The share of entities that get an error.
RATE = 0.1
#: How often other entities of the same words get the same error, and how many at most.
_REPEATED, _MOST_REPEATED = 0.5, 20
#: How the first and the last token of an entity may move.
_SHIFTS = ((-1, 0), (1, 0), (0, -1), (0, 1))
#: How far probabilities are kept from 0 and 1.
_MARGIN = 1e-6
#: How far log-odds may be shifted.
_FARTHEST = 20.0
#: Synthetic errors are made until there are about this many, in copies of the labels.
_NUM_SYNTHETIC = 3000
_MOST_COPIES = 30
#: The parts of a corpus, of which each is classified by what is learnt from the others.
_NUM_PARTS = 5


class ErrorProbabilities(NamedTuple):
    """How probable errors in the labels of a corpus are."""

    items: List[Item]  # The N labelled and perhaps missed entities, in order
    of_items: np.ndarray  # (N,), how probable it is that an item is an error
    of_sentences: np.ndarray  # (S,), how probable it is that a sentence has one


def error_probabilities(
    taggers: LabelProbabilities,
    sentences: Sequence[Sentence],
    seed: int = 0,
    from_elsewhere: bool = False,
) -> ErrorProbabilities:
    """Says how probable it is that each label of a corpus is wrong.

    A gradient-boosted classifier learns from synthetic errors how the features of `features_of` count.
    The taggers know nothing of these errors, and the classifier of no correction. A sentence is
    classified by a classifier that has not learnt from it, since its errors count as right there.

    The corpus may have more errors or fewer than were made, or others. So if the taggers have learnt
    from other parts of it, the probabilities are corrected by `with_shares_of_errors`.

    `from_elsewhere` says that they have learnt from another corpus.
    """
    spans = [sentence.spans for sentence in sentences]
    num_entities = sum(map(len, spans))
    num_copies = min(_MOST_COPIES, -(-_NUM_SYNTHETIC // max(1, round(RATE * num_entities))))
    random = np.random.default_rng(seed)
    features, is_error = [], []
    synthetic_items: List[Item] = []
    for _ in range(num_copies):
        changed = with_synthetic_errors(sentences, random)
        items = taggers.items(changed)
        features.append(features_of(items, taggers, sentences, changed, from_elsewhere))
        is_error.append(are_errors(items, changed, spans))
        synthetic_items += items
    synthetic_features, is_synthetic = np.concatenate(features), np.concatenate(is_error)
    items = taggers.items(spans)
    own_features = features_of(items, taggers, sentences, spans, from_elsewhere)
    own_part, part = (
        np.array([item.sentence for item in each], dtype=int) % _NUM_PARTS
        for each in (items, synthetic_items)
    )
    probabilities = np.zeros(len(items))
    for held_out in np.unique(own_part):
        is_own, is_learnt = own_part == held_out, part != held_out
        if not is_learnt.any():
            raise ConfigurationError(
                f"expected entities in several sentences of the corpus, got {num_entities} in all, "
                "from which no classifier of errors can learn; take a larger corpus"
            )
        classifier = _classifier(own_features.shape[1], seed)
        classifier.fit(synthetic_features[is_learnt], is_synthetic[is_learnt])
        probabilities[is_own] = classifier.predict_proba(own_features[is_own])[:, 1]
    if not from_elsewhere:
        probabilities = with_shares_of_errors(probabilities, items, synthetic_items, is_synthetic)
    log_right = np.zeros(len(sentences))
    np.add.at(log_right, [item.sentence for item in items], np.log1p(-probabilities))
    return ErrorProbabilities(items, probabilities, -np.expm1(log_right))


def _classifier(num_features: int, seed: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(
        learning_rate=0.05,
        max_iter=150,
        max_leaf_nodes=4,
        monotonic_cst=DIRECTIONS[:num_features],
        early_stopping=False,
        random_state=seed,
    )


def are_errors(
    items: Sequence[Item], spans: Sequence[List[Span]], right: Sequence[List[Span]]
) -> np.ndarray:
    """Returns which of the items of `spans` are errors, (N,) bool, given the right entities.

    A missed entity overlaps no labelled one.
    """
    missed = [
        [span for span in true if not any(overlap(span, each) for each in own)]
        for own, true in zip(spans, right)
    ]
    return np.array(
        [
            item.labelled not in right[item.sentence]
            if item.labelled
            else any(overlap((each[0], item.place), each) for each in missed[item.sentence])
            for item in items
        ],
        dtype=bool,
    )


def with_synthetic_errors(
    sentences: Sequence[Sentence], random: np.random.Generator
) -> List[List[Span]]:
    """Returns the entities of each sentence, some of them with errors of all kinds.

    Equally often an entity gets another label, gets a border that is off by a token, is taken away, or a
    capitalised word elsewhere becomes one. Half of the errors strike all entities of the same words,
    because annotators repeat theirs.
    """
    changed = [list(sentence.spans) for sentence in sentences]
    places = [(number, span) for number, own in enumerate(changed) for span in own]
    labels = [span[0] for _, span in places]
    by_text: Dict[Tuple[str, ...], List[Tuple[int, Span]]] = defaultdict(list)
    for number, span in places:
        by_text[_text(sentences[number], span)].append((number, span))
    for index in random.permutation(len(places))[: round(RATE * len(places))].tolist():
        number, span = places[index]
        label = labels[int(random.integers(len(labels)))]
        change = int(random.integers(4))
        if change == 3:
            _add(changed, sentences, label, random)
            continue
        struck = [(number, span)]
        if random.random() < _REPEATED:
            struck = by_text[_text(sentences[number], span)][:_MOST_REPEATED]
        shift = _SHIFTS[int(random.integers(4))]
        for at, each in struck:
            if each in changed[at]:
                moved = (each[1][0] + shift[0], each[1][1] + shift[1])
                new = ((label, each[1]), (each[0], moved), None)[change]
                _replace(changed[at], each, new, len(sentences[at].tokens))
    return changed


def _text(sentence: Sentence, span: Span) -> Tuple[str, ...]:
    return tuple(sentence.tokens[span[1][0] : span[1][1] + 1])


def _replace(spans: List[Span], old: Span, new: Optional[Span], num_tokens: int) -> None:
    """Replaces an entity where the new one has room."""
    others = [span for span in spans if span != old]
    if new is not None:
        first, last = new[1]
        if not 0 <= first <= last < num_tokens or any(overlap(new, span) for span in others):
            return
        others.append(new)
    spans[:] = sorted(others, key=lambda span: span[1])


def _add(
    changed: List[List[Span]],
    sentences: Sequence[Sentence],
    label: str,
    random: np.random.Generator,
) -> None:
    """Makes an entity of a capitalised word that is outside of all; gives up after some tries."""
    for _ in range(100):
        number = int(random.integers(len(sentences)))
        first = int(random.integers(len(sentences[number].tokens)))
        new = (label, (first, first))
        is_free = not any(overlap(new, span) for span in changed[number])
        if is_free and sentences[number].tokens[first][0].isupper():
            changed[number] = sorted([*changed[number], new], key=lambda span: span[1])
            return


def with_shares_of_errors(
    probabilities: np.ndarray,
    items: Sequence[Item],
    synthetic_items: Sequence[Item],
    is_synthetic: np.ndarray,
) -> np.ndarray:
    """Corrects probabilities of errors, (N,), that were learnt where other shares of items were wrong.

    The log-odds of all labelled entities are shifted by a constant, and those of all that may have been
    missed by another. The mean probabilities of the two kinds then stand in the proportion of
    `shares_of_errors`. They sum to as many errors as `share_like_synthetic` counts, but no more than
    those shares.

    The taggers of the N `items` have learnt from labels of the same annotators; `is_synthetic`, (M,)
    bool, says which of the M `synthetic_items` are errors.
    """
    kinds, synthetic_kinds = _kinds(items), _kinds(synthetic_items)
    numbers = np.array([kind.sum() for kind in kinds])
    expected = numbers * shares_of_errors(items)
    like_synthetic = numbers * [
        share_like_synthetic(_mean(probabilities[kind]), _mean(is_synthetic[of_synthetic]))
        for kind, of_synthetic in zip(kinds, synthetic_kinds)
    ]
    scale = min(like_synthetic.sum() / max(expected.sum(), _MARGIN), 1.0)
    corrected = probabilities.copy()
    for kind, number, count in zip(kinds, numbers, scale * expected):
        corrected[kind] = shifted_to_mean(probabilities[kind], count / max(number, 1))
    return corrected


def share_like_synthetic(mean: float, synthetic: float) -> float:
    """Estimates the share `e` of errors like synthetic ones, whose share is `r`; at most 1.

    The classifier takes all other labels for right, though a share `e` of them are such errors. So it
    gives each such error the probability `r / (r + e)`. Where there are no synthetic errors its mean is
    `m = e r / (r + e)`, so `e = m r / (r - m)`.
    """
    return min(mean * synthetic / (synthetic - mean), 1.0) if mean < synthetic else 1.0


def shares_of_errors(items: Sequence[Item]) -> Tuple[float, float]:
    """Estimates the shares of wrong labelled entities, and of missed ones where nothing is labelled.

    The taggers behind the items must have learnt from labels of the same annotators. A label is wrong as
    often as taggers, given that there is an entity, take another label or another border.

    Where annotators miss entities, taggers learn to doubt all. Of the places where an entity has a
    probability above one half, let `c` be the share that is labelled. Let `p` be the probability of an
    entity where none is labelled. If annotators miss all alike, one was missed there with probability
    `(1 - c) / c * p / (1 - p)`, at most 1 (Elkan & Noto 2008, "Learning classifiers from only positive
    and unlabeled data"; they estimate `c` as the mean probability at labelled entities, which spurious
    ones lower).

    Both shares are 0 for no item.
    """
    beliefs = np.array([(item.agreement, item.presence) for item in items]).reshape(-1, 2)
    labelled, others = (beliefs.clip(_MARGIN, 1 - _MARGIN)[kind] for kind in _kinds(items))
    wrong = 1 - np.minimum(labelled[:, 0] / labelled[:, 1], 1)
    num_known, num_unknown = ((each[:, 1] > 0.5).sum() for each in (labelled, others))
    presence = others[:, 1]
    missed = np.minimum(num_unknown / max(num_known, 1) * presence / (1 - presence), 1)
    return _mean(wrong), _mean(missed)


def shifted_to_mean(probabilities: np.ndarray, mean: float) -> np.ndarray:
    """Adds a constant to log-odds, so that the mean is `mean`; where none does, adds nothing.

    Example:
        >>> shifted_to_mean(np.array([0.1, 0.5]), 0.5).round(3)
        array([0.25, 0.75])
    """
    if not len(probabilities):
        return probabilities
    log_odds = logit(probabilities.clip(_MARGIN, 1 - _MARGIN))

    def excess(shift: float) -> float:
        return float(expit(log_odds + shift).mean()) - mean

    if not excess(-_FARTHEST) < 0 < excess(_FARTHEST):
        return probabilities
    return expit(log_odds + brentq(excess, -_FARTHEST, _FARTHEST))


def _kinds(items: Sequence[Item]) -> Tuple[np.ndarray, np.ndarray]:
    """Returns which items are labelled, and which are not, (N,) bool."""
    is_labelled = np.array([item.labelled is not None for item in items], dtype=bool)
    return is_labelled, ~is_labelled


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else 0.0
