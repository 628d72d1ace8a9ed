"""Estimates which labels of a corpus are errors.

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

#: The share of entities with a synthetic error.
RATE = 0.1
#: How often an error is repeated on other entities with the same words, and how many at most.
_REPEATED, _MOST_REPEATED = 0.5, 20
#: How an error may move the first and last token of an entity.
_SHIFTS = ((-1, 0), (1, 0), (0, -1), (0, 1))
#: How far probabilities stay from 0 and 1.
_MARGIN = 1e-6
#: The largest shift of log-odds.
_FARTHEST = 20.0
#: Synthetic errors are added to copies of the labels until there are about this many.
_NUM_SYNTHETIC = 3000
_MOST_COPIES = 30
#: The number of parts of a corpus; each is classified by a model trained on the others.
_NUM_PARTS = 5
#: The trees of the classifier, each of which has three splits.
NUM_TREES = 150


class ErrorProbabilities(NamedTuple):
    """The probabilities of errors in the labels of a corpus."""

    items: List[Item]  # The N labelled or possibly missed entities, in order
    of_items: np.ndarray  # (N,), the probability that an item is an error
    of_sentences: np.ndarray  # (S,), the probability that a sentence has an error


def error_probabilities(
    taggers: LabelProbabilities,
    sentences: Sequence[Sentence],
    seed: int = 0,
    from_elsewhere: bool = False,
) -> ErrorProbabilities:
    """Estimates the probability that each label of a corpus is wrong; `sentences` are its rows.

    A gradient-boosted classifier is trained on synthetic errors with the features of `features_of`. The
    taggers never see the synthetic errors, and the classifier never sees a correction. Each sentence is
    classified by a model that was not trained on it, because in training its own errors count as right.

    The corpus may have more or fewer errors than the synthetic ones, or different ones. So if the
    taggers were trained on other parts of the same corpus, `with_shares_of_errors` corrects the
    probabilities; not those of rows of labels, which lack rivals that are other labels.

    `from_elsewhere` says that the taggers were trained on another corpus.
    """
    spans, num_rows = [sentence.spans for sentence in sentences], rows_of_sentence(sentences)
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
        np.array([item.sentence // num_rows for item in each], dtype=int) % _NUM_PARTS
        for each in (items, synthetic_items)
    )
    probabilities = np.zeros(len(items))
    for held_out in np.unique(own_part):
        is_own, is_learnt = own_part == held_out, part != held_out
        if not is_learnt.any():
            raise ConfigurationError(
                f"expected entities in several sentences of the corpus, got {num_entities} in all, too "
                "few to train a classifier of errors; take a larger corpus"
            )
        classifier = _classifier(own_features.shape[1], seed)
        classifier.fit(synthetic_features[is_learnt], is_synthetic[is_learnt])
        probabilities[is_own] = classifier.predict_proba(own_features[is_own])[:, 1]
    if not from_elsewhere and num_rows == 1:
        probabilities = with_shares_of_errors(probabilities, items, synthetic_items, is_synthetic)
    log_right = np.zeros(len(sentences) // num_rows)
    np.add.at(log_right, [item.sentence // num_rows for item in items], np.log1p(-probabilities))
    return ErrorProbabilities(items, probabilities, -np.expm1(log_right))


def rows_of_sentence(rows: Sequence[Sentence]) -> int:
    """Returns how many rows a sentence has, see `Corpus`."""
    return max(1, len({row.row_label for row in rows}))


def _classifier(num_features: int, seed: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(
        learning_rate=0.05,
        max_iter=NUM_TREES,
        max_leaf_nodes=4,
        monotonic_cst=DIRECTIONS[:num_features],
        early_stopping=False,
        random_state=seed,
    )


def are_errors(
    items: Sequence[Item], spans: Sequence[List[Span]], right: Sequence[List[Span]]
) -> np.ndarray:
    """Returns which of the items of `spans` are errors, (N,) bool, given the correct entities.

    A missed entity is one that overlaps no labelled one.
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
    """Returns the entities of each sentence, with errors of all kinds added.

    There are equally many of each kind: an entity gets another label, a border moves by one token, an
    entity is removed, or a capitalised word outside of entities becomes one. Half of the errors affect
    all entities with the same words, because annotators repeat their errors. If sentences have a row
    for each label, another label is the same place in another row.
    """
    changed = [list(sentence.spans) for sentence in sentences]
    places = [(number, span) for number, own in enumerate(changed) for span in own]
    num_rows = rows_of_sentence(sentences)
    labels = [span[0] for _, span in places]
    by_text: Dict[Tuple[Optional[str], ...], List[Tuple[int, Span]]] = defaultdict(list)
    for number, span in places:
        by_text[_text(sentences[number], span)].append((number, span))
    for index in random.permutation(len(places))[: round(RATE * len(places))].tolist():
        number, span = places[index]
        label = labels[int(random.integers(len(labels)))]
        change = int(random.integers(4))
        if change == 3:
            row = places[int(random.integers(len(places)))][0] % num_rows if num_rows > 1 else 0
            _add(changed, sentences, (label, row, num_rows), random)
            continue
        struck = [(number, span)]
        if random.random() < _REPEATED:
            struck = by_text[_text(sentences[number], span)][:_MOST_REPEATED]
        shift = _SHIFTS[int(random.integers(4))]
        row = int(random.integers(num_rows)) if num_rows > 1 else 0
        for at, each in struck:
            if each in changed[at] and change == 0 and num_rows > 1:
                other = at - at % num_rows + row
                new = (sentences[other].span_label, each[1])
                if not any(overlap(new, span) for span in changed[other]):
                    changed[at].remove(each)
                    changed[other] = sorted([*changed[other], new], key=lambda span: span[1])
            elif each in changed[at]:
                moved = (each[1][0] + shift[0], each[1][1] + shift[1])
                replaced = ((label, each[1]), (each[0], moved), None)[change]
                _replace(changed[at], each, replaced, len(sentences[at].tokens))
    return changed


def _text(sentence: Sentence, span: Span) -> Tuple[Optional[str], ...]:
    return (sentence.row_label, *sentence.tokens[span[1][0] : span[1][1] + 1])


def _replace(spans: List[Span], old: Span, new: Optional[Span], num_tokens: int) -> None:
    """Replaces an entity, if there is room for the new one."""
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
    drawn: Tuple[str, int, int],
    random: np.random.Generator,
) -> None:
    """Turns a capitalised word outside of all entities into one; gives up after some tries.

    `drawn` has a label, a row, and the number of rows of a sentence. A document may begin with any
    letter.
    """
    label, row, num_rows = drawn
    for _ in range(100):
        number = int(random.integers(len(sentences) // num_rows)) * num_rows + row
        first = int(random.integers(len(sentences[number].tokens)))
        is_text = num_rows > 1 and len(sentences[number].tokens) == 1
        new = (sentences[number].span_label or label, (first, first))
        is_free = not any(overlap(new, span) for span in changed[number])
        if is_free and (is_text or sentences[number].tokens[first][0].isupper()):
            changed[number] = sorted([*changed[number], new], key=lambda span: span[1])
            return


def with_shares_of_errors(
    probabilities: np.ndarray,
    items: Sequence[Item],
    synthetic_items: Sequence[Item],
    is_synthetic: np.ndarray,
) -> np.ndarray:
    """Corrects probabilities of errors, (N,), for the shares of errors in the corpus itself.

    The log-odds of all labelled entities are shifted by one constant, and those of possibly missed
    entities by another. Afterwards the mean probabilities of the two kinds are in the proportion of
    `shares_of_errors`. Their sum is the number of errors estimated by `share_like_synthetic`, but not
    more than those shares.

    The taggers of the N `items` were trained on labels of the same annotators. `is_synthetic`, (M,)
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
    """Estimates the share `e` of errors like synthetic ones, given the latters' share `r`; at most 1.

    The classifier is trained as if all other labels were right, though a share `e` of them are such
    errors. So it gives each such error the probability `r / (r + e)`. Without synthetic errors, its
    mean is `m = e r / (r + e)`, so `e = m r / (r - m)`.
    """
    return min(mean * synthetic / (synthetic - mean), 1.0) if mean < synthetic else 1.0


def shares_of_errors(items: Sequence[Item]) -> Tuple[float, float]:
    """Estimates the shares of wrong labelled entities, and of missed ones where nothing is labelled.

    The taggers behind the items must be trained on labels of the same annotators. The share of wrong
    labels is how often the taggers, given that there is an entity, prefer another label or border.

    If annotators miss entities, taggers trained on their labels underestimate all of them. Let `c` be
    the share of labelled places among those where an entity has a probability above one half. Let `p`
    be the probability of an entity at a place without a label. If annotators miss all entities
    equally often, the probability that they missed one there is `(1 - c) / c * p / (1 - p)`, at most
    1 (Elkan & Noto 2008, "Learning classifiers from only positive and unlabeled data"; they estimate
    `c` as the mean probability at labelled entities, which spurious ones would lower).

    Both shares are 0 if there are no items.
    """
    beliefs = np.array([(item.agreement, item.presence) for item in items]).reshape(-1, 2)
    labelled, others = (beliefs.clip(_MARGIN, 1 - _MARGIN)[kind] for kind in _kinds(items))
    wrong = 1 - np.minimum(labelled[:, 0] / labelled[:, 1], 1)
    num_known, num_unknown = ((each[:, 1] > 0.5).sum() for each in (labelled, others))
    presence = others[:, 1]
    missed = np.minimum(num_unknown / max(num_known, 1) * presence / (1 - presence), 1)
    return _mean(wrong), _mean(missed)


def shifted_to_mean(probabilities: np.ndarray, mean: float) -> np.ndarray:
    """Adds a constant to log-odds so that the mean becomes `mean`; adds nothing if that is impossible.

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
    """Returns which items are labelled and which are not, (N,) bool each."""
    is_labelled = np.array([item.labelled is not None for item in items], dtype=bool)
    return is_labelled, ~is_labelled


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else 0.0
