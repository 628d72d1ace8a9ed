"""The errors in a corpus's labels, most suspicious first.

Letters: `N` items, `S` sentences.
"""

from typing import Any, List, NamedTuple, Sequence

import numpy as np
from allennlp.common.checks import ConfigurationError

from tagger.spans import Span
from tagger.tools.labels.corpus import Sentence
from tagger.tools.labels.error_shares import with_shares_of_errors
from tagger.tools.labels.features import DIRECTIONS, features_of
from tagger.tools.labels.probabilities import Item, LabelProbabilities, overlap
from tagger.tools.labels.synthetic_errors import RATE, with_synthetic_errors

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

    `from_elsewhere` says that the taggers have learnt from another corpus, and not from other parts of
    this one.
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
