"""Compares texts with those that a tagger was calibrated on, using features from the tagger."""

from typing import Dict, List, NamedTuple, Optional, Tuple

import numpy as np
from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader, Instance
from allennlp.models import Model
from allennlp.predictors import Predictor

from tagger.common.inputs import open_input
from tagger.data.text_encodings import decoded_lines
from tagger.predictors.sequence_tagger import SequenceTaggerPredictor, holds_document
from tagger.tools.tuning.features import SentenceFeatures, features_of
from tagger.tools.tuning.groups import Groups, groups_of_file


class Difference(NamedTuple):
    """The difference between two sets of texts, by `compare_samples`."""

    p_value: float  # For all features together
    unit: str  # What was compared: `"document"`, `"sentence"`, or `"run of 15 sentences"`
    # By name, the means in the first and second set, and a p-value corrected for the number of
    # features; the feature that differs most comes first.
    features: Dict[str, Tuple[float, float, float]]


def features_of_columns(
    model: Model, reader: DatasetReader, path: str, batch_size: int = 16
) -> SentenceFeatures:
    """Returns the features of a file for the tagger's dataset reader."""
    features = _features_of(model, list(reader.read(path)), path, batch_size)
    return features._replace(groups=groups_of_file(reader, path, len(features.num_words)))


def features_of_lines(
    model: Model, predictor: Predictor, path: str, batch_size: int = 16
) -> SentenceFeatures:
    """Like `features_of_columns`, for a file with a text or JSON object per line, each its own group."""
    if not isinstance(predictor, SequenceTaggerPredictor):
        raise ConfigurationError("texts can be compared only with a sequence tagger")
    instances: List[Instance] = []
    num_sentences: List[int] = []
    are_documents = True
    with open_input(path) as file:
        for number, line in decoded_lines(file, path):
            try:
                inputs = predictor.load_line(line)
                of_line = predictor.instances(inputs)
            except ValueError as error:
                raise ConfigurationError(f"{path}:{number}: {error}") from error
            if of_line:
                are_documents = are_documents and holds_document(inputs)
                instances += of_line
                num_sentences.append(sum(_num_sentences(instance) for instance in of_line))
    groups = np.repeat(np.arange(len(num_sentences)), num_sentences)
    features = _features_of(model, instances, path, batch_size)
    return features._replace(groups=Groups("document" if are_documents else "sentence", groups))


def _features_of(
    model: Model, instances: List[Instance], path: str, batch_size: int
) -> SentenceFeatures:
    if not instances:
        raise ConfigurationError(f"{path} holds no word")
    return features_of(model, instances, batch_size)


def _num_sentences(instance: Instance) -> int:
    lengths = instance.get("sentence_lengths")
    return 1 if lengths is None else len(lengths.tensor)  # type: ignore[attr-defined]


def difference(
    first: SentenceFeatures,
    second: SentenceFeatures,
    run: Optional[int] = None,
) -> Difference:
    """Tests whether two sets of texts come from one source.

    The groups are documents if both sets mark documents. If only one set does, both are cut into runs
    as long as its longest document, because sentences of the same document resemble each other.
    Otherwise the groups are sentences, or `run` consecutive sentences.
    """
    both = [first, second]
    told = [each.groups for each in both if each.groups.kind == "document"]
    if run is None and len(told) == 1:
        run = int(np.bincount(told[0].of_sentence).max())
    if run is not None:
        both = [in_runs(each, run) for each in both]
    (names, old), (_, new) = map(feature_table, both)
    result = compare_samples(old, new)
    # A run of all sentences has the means over all words.
    means = [feature_table(in_runs(each, len(each.num_words)))[1][0] for each in both]
    order = np.argsort(-np.abs(result.statistics), kind="stable")
    by_feature = {
        names[k]: (float(means[0][k]), float(means[1][k]), float(result.p_values[k])) for k in order
    }
    return Difference(result.p_value, both[0].groups.kind, by_feature)


def in_runs(features: SentenceFeatures, size: int) -> SentenceFeatures:
    """Makes each run of this many sentences a group."""
    groups = np.arange(len(features.num_words)) // size
    kind = f"run of {size} sentences" if size > 1 else "sentence"
    return features._replace(groups=Groups(kind, groups))


def feature_table(features: SentenceFeatures) -> Tuple[List[str], np.ndarray]:
    """Returns the names of the features, and each group's means over its words, (groups, F)."""
    groups = features.groups
    num_words = groups.sums(features.num_words)
    columns = [num_words / np.bincount(groups.of_sentence)]
    columns += [groups.sums(each) / num_words for each in features.sums.values()]
    return ["words a sentence", *features.sums], np.stack(columns, axis=1)


class PermutationTest(NamedTuple):
    """How a second sample differs from a first."""

    p_value: float  # For all features together
    # (features,), the mean rank of the second sample minus the mean of all ranks, in standard
    # deviations for samples from the same distribution.
    statistics: np.ndarray
    p_values: np.ndarray  # (features,), one for each, corrected for their number


def compare_samples(
    first: np.ndarray, second: np.ndarray, num_permutations: int = 9_999
) -> PermutationTest:
    """Tests whether two samples of groups come from one distribution.

    If they do and the groups are independent, every division of the groups into samples of these
    sizes is equally probable. So the probability of a p-value of at most `p` is at most `p`, however
    few groups there are (Lehmann & Romano 2005, section 15.2). The statistic is the sum of squares of
    the features' standardised rank sums (Wilcoxon 1945). The p-values of features are corrected by
    the largest statistic in each permutation (Westfall & Young 1993).

    The samples are (groups, features). P-values are at least 1 / (num_permutations + 1).
    """
    from scipy.stats import rankdata

    ranks = rankdata(np.concatenate([first, second]), axis=0)
    num_groups, num_second = len(ranks), len(second)
    ranks -= ranks.mean(0)
    deviations = ranks.std(0, ddof=1)
    ranks /= np.where(deviations > 0, deviations, 1)
    ranks /= np.sqrt(num_second * len(first) / num_groups)
    observed = ranks[len(first) :].sum(0)
    rng = np.random.default_rng(0)
    # (P, F)
    samples = (rng.choice(num_groups, num_second, replace=False) for _ in range(num_permutations))
    drawn = np.stack([ranks[each].sum(0) for each in samples])
    largest = np.abs(drawn).max(1)
    return PermutationTest(
        _p_value((drawn**2).sum(1), (observed**2).sum()),
        observed,
        np.array([_p_value(largest, each) for each in np.abs(observed)]),
    )


def _p_value(drawn: np.ndarray, observed: float) -> float:
    # The last digits of sums depend on the order.
    return float((1 + (drawn >= observed - 1e-9).sum()) / (1 + len(drawn)))
