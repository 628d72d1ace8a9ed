"""The errors in a corpus's labels, most suspicious first.

Letters: `N` items, `S` sentences.
"""

from typing import List, NamedTuple, Sequence

import numpy as np
from allennlp.common.checks import ConfigurationError

from tagger.spans import Span
from tagger.tools.labels.corpus import Sentence
from tagger.tools.labels.error_shares import with_shares_of_errors
from tagger.tools.labels.judge import Item, Judge, overlap
from tagger.tools.labels.planting import RATE, plant_errors
from tagger.tools.labels.signs import DIRECTIONS, signs_of

#: Errors are planted until there are about this many, in copies of the labels.
_NUM_PLANTED = 3000
_MOST_COPIES = 30
#: The parts of a corpus that are judged by what is learnt from the others.
_NUM_PARTS = 5


class Doubts(NamedTuple):
    """How much the labels of a corpus are in doubt.

    Attributes:
        items: The N labelled and perhaps missed entities, in order.
        probabilities: (N,), how probable it is that an item is an error.
        of_sentences: (S,), how probable it is that a sentence has one.
    """

    items: List[Item]
    probabilities: np.ndarray
    of_sentences: np.ndarray


def doubt(
    judge: Judge, sentences: Sequence[Sentence], seed: int = 0, from_elsewhere: bool = False
) -> Doubts:
    """Says how probable it is that each label of a corpus is wrong.

    A gradient-boosted classifier learns from planted errors how the signs of `signs_of` count. The
    taggers know nothing of these errors, and the classifier of no correction. A sentence is judged by a
    classifier that has not learnt from it, since its errors count as right there.

    The corpus may have more errors or fewer than were planted, or others. So if the taggers have learnt
    from other parts of it, the probabilities are corrected by `with_shares_of_errors`.

    Args:
        judge: What taggers make of the sentences, which they have not been trained on.
        sentences: The sentences of the corpus, with their labels.
        seed: The seed of the planted errors.
        from_elsewhere: Whether the taggers have learnt from another corpus, and not from other parts of
            this one.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier

    signs, is_error = [], []
    planted_items: List[Item] = []
    num_entities = sum(len(sentence.spans) for sentence in sentences)
    num_copies = min(_MOST_COPIES, -(-_NUM_PLANTED // max(1, round(RATE * num_entities))))
    random = np.random.default_rng(seed)
    for _ in range(num_copies):
        planted = plant_errors(sentences, random)
        items = judge.items(planted)
        signs.append(signs_of(items, judge, sentences, planted, from_elsewhere))
        is_error.append(are_errors(items, planted, [each.spans for each in sentences]))
        planted_items += items
    spans = [sentence.spans for sentence in sentences]
    items = judge.items(spans)
    own_signs = signs_of(items, judge, sentences, spans, from_elsewhere)
    own_part, part = (
        np.array([item.sentence for item in each], dtype=int) % _NUM_PARTS
        for each in (items, planted_items)
    )
    planted_signs, is_planted = np.concatenate(signs), np.concatenate(is_error)
    probabilities = np.zeros(len(items))
    for held_out in np.unique(own_part):
        classifier = HistGradientBoostingClassifier(
            learning_rate=0.05,
            max_iter=150,
            max_leaf_nodes=4,
            monotonic_cst=DIRECTIONS[: own_signs.shape[1]],
            early_stopping=False,
            random_state=seed,
        )
        is_learnt = part != held_out
        _check_is_enough(is_learnt, num_entities)
        classifier.fit(planted_signs[is_learnt], is_planted[is_learnt])
        is_own = own_part == held_out
        probabilities[is_own] = classifier.predict_proba(own_signs[is_own])[:, 1]
    if not from_elsewhere:
        probabilities = with_shares_of_errors(probabilities, items, planted_items, is_planted)
    log_right = np.zeros(len(sentences))
    np.add.at(log_right, [item.sentence for item in items], np.log1p(-probabilities))
    return Doubts(items, probabilities, -np.expm1(log_right))


def _check_is_enough(is_learnt: np.ndarray, num_entities: int) -> None:
    if not is_learnt.any():
        raise ConfigurationError(
            f"expected entities in several sentences of the corpus, got {num_entities} in all, from "
            "which no classifier of errors can learn; take a larger corpus"
        )


def are_errors(
    items: Sequence[Item], spans: Sequence[List[Span]], right: Sequence[List[Span]]
) -> np.ndarray:
    """Returns which items, (N,) bool, are errors.

    Args:
        items: The items of `spans`.
        spans: The labelled entities of each sentence.
        right: The true entities of each sentence. A missed one overlaps no labelled one.
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
