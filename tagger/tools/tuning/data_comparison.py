"""Compares texts with those that a tagger was calibrated on, by what the tagger sees in them.

Letters: `S` sentences, `U` units, `F` features.
"""

from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np
from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader, Instance
from allennlp.models import Model
from allennlp.predictors import Predictor

from tagger.common.inputs import open_input
from tagger.data.decoded_lines import decoded_lines
from tagger.predictors.sequence_tagger import SequenceTaggerPredictor, holds_document
from tagger.tools.tuning.estimates import by_unit
from tagger.tools.tuning.sights import Sights, sights_of
from tagger.tools.tuning.two_samples import Comparison, compare_samples
from tagger.tools.tuning.units import Units, units_of_file


class SeenTexts(NamedTuple):
    """Texts as a tagger sees them.

    Attributes:
        sights: What it sees.
        units: Which sentences belong to one text.
    """

    sights: Sights
    units: Units


class Difference(NamedTuple):
    """The difference between two sets of texts, by the tests of `tagger.tools.tuning.two_samples`.

    Attributes:
        p_value: Of all features together.
        unit: What was compared: `"document"`, `"sentence"`, or `"run of 15 sentences"`.
        features: By name, the mean in the first and in the second set, and the p-value, corrected for
            the number of features; the one that differs most comes first.
    """

    p_value: float
    unit: str
    features: Dict[str, Tuple[float, float, float]]


def see_columns(model: Model, reader: DatasetReader, path: str, batch_size: int = 16) -> SeenTexts:
    """Has a tagger see a file of its dataset reader.

    Args:
        model: The tagger.
        reader: Reads the file.
        path: The file.
        batch_size: The number of instances at a time.

    Raises:
        ConfigurationError: If the file holds no sentence, or the tagger gives no probabilities.
    """
    sights = _seen(model, list(reader.read(path)), path, batch_size)
    return SeenTexts(sights, units_of_file(reader, path, len(sights.num_words)))


def see_lines(model: Model, predictor: Predictor, path: str, batch_size: int = 16) -> SeenTexts:
    """As `see_columns`, for a file with a text or a JSON object on each line, each a unit.

    Raises:
        ConfigurationError: If a line cannot be predicted, or the file holds no word.
    """
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
    sights = _seen(model, instances, path, batch_size)
    units = np.repeat(np.arange(len(num_sentences)), num_sentences)
    return SeenTexts(sights, Units("document" if are_documents else "sentence", units))


def difference(
    first: SeenTexts, second: SeenTexts, run: Optional[int] = None, num_permutations: int = 9_999
) -> Difference:
    """Tests whether two sets of texts come from one source.

    The units are documents if both sets mark documents. If one does, both are cut into runs of as
    many sentences as its longest document has, because the sentences of a document resemble each
    other. Otherwise the units are sentences.

    Args:
        first: A set of texts.
        second: Another.
        run: How many sentences in a row make a unit; None for the units above.
        num_permutations: See `compare_samples`.
    """
    both = [first, second]
    told = [each for each in both if each.units.unit == "document"]
    if run is None and len(told) == 1:
        run = int(np.bincount(told[0].units.of_sentence).max())
    if run is not None:
        both = [in_runs(each.sights, run) for each in both]
    (names, old), (_, new) = (feature_table(*each) for each in both)
    result = compare_samples(old, new, num_permutations)
    return Difference(result.p_value, both[0].units.unit, _by_feature(names, both, result))


def in_runs(sights: Sights, size: int) -> SeenTexts:
    """Makes a unit of each run of this number of sentences."""
    units = np.arange(len(sights.num_words)) // size
    return SeenTexts(sights, Units(f"run of {size} sentences" if size > 1 else "sentence", units))


def feature_table(sights: Sights, units: Units) -> Tuple[List[str], np.ndarray]:
    """Returns the names of the features, and the features of each unit, (U, F): means over its words."""
    num_sentences = np.bincount(units.of_sentence)
    num_words = by_unit(sights.num_words, units.of_sentence)
    columns = [num_words / num_sentences] + [
        by_unit(each, units.of_sentence) / num_words for each in sights.features.values()
    ]
    return ["words a sentence", *sights.features], np.stack(columns, axis=1)


def _by_feature(
    names: Sequence[str], both: Sequence[SeenTexts], result: Comparison
) -> Dict[str, Tuple[float, float, float]]:
    whole = [
        feature_table(sights, Units("all", np.zeros(len(sights.num_words), dtype=np.int64)))[1][0]
        for sights, _ in both
    ]
    order = np.argsort(-np.abs(result.statistics), kind="stable")
    return {
        names[k]: (float(whole[0][k]), float(whole[1][k]), float(result.p_values[k])) for k in order
    }


def _seen(model: Model, instances: List[Instance], path: str, batch_size: int) -> Sights:
    if not instances:
        raise ConfigurationError(f"{path} holds no word")
    return sights_of(model, instances, batch_size)


def _num_sentences(instance: Instance) -> int:
    """How many sentences an instance has."""
    lengths = instance.get("sentence_lengths")
    return 1 if lengths is None else len(lengths.tensor)  # type: ignore[attr-defined]
