"""Predictions as `TaggedText`."""

from typing import Sequence

from allennlp.common.util import JsonDict

from tagger_onnx.tagged_text import Entity, Extras, TaggedText


def tagged_text(prediction: JsonDict, extras: Extras, known_labels: Sequence[str]) -> TaggedText:
    """Returns a prediction of `SequenceTaggerPredictor` as a `TaggedText`."""
    return TaggedText(
        prediction["text"],
        prediction["tokens"],
        prediction.get("tags", []),
        prediction.get("labels", []),
        [_entity(entity) for entity in prediction.get("entities", [])],
        prediction["probabilities"] if extras.probabilities else [],
        [(first, last) for first, last in prediction["sentences"]]
        if "sentences" in prediction
        else (),
        prediction.get("leak_probability"),
        prediction.get("expected_missed"),
        [_entity(entity) for entity in prediction.get("candidates", [])],
        known_labels,
    )


def _entity(entity: JsonDict) -> Entity:
    return Entity(
        entity["label"],
        entity["text"],
        entity["start"],
        entity["end"],
        first=entity["first"],
        last=entity["last"],
        probability=entity.get("probability"),
    )
