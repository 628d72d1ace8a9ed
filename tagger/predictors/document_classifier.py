"""Gives labels to new documents."""

import json

from allennlp.common.util import JsonDict
from allennlp.data import Instance
from allennlp.predictors import Predictor

from tagger.predictors.batched_predictor import BatchedPredictor


@Predictor.register("document_classifier")
class DocumentClassifierPredictor(BatchedPredictor):
    """Labels documents.

    A line of input is plain text, or a JSON object with a `text`. Each prediction is a JSON object with
    `labels`, a list, and `probabilities`, an object from labels to numbers.

    Args: those of `BatchedPredictor`.
    """

    gold = "labels"

    def load_line(self, line: str) -> JsonDict:
        """Reads a line of input: a JSON object, or else plain text.

        Raises:
            ValueError: if a JSON object has no text.
        """
        try:
            document = json.loads(line)
        except ValueError:
            document = None
        if not isinstance(document, dict):
            return {"text": line.strip()}
        if not isinstance(document.get("text"), str):
            raise ValueError(
                f"a line of input must be plain text, or a JSON object with a `text`; got "
                f"{line.strip()!r}"
            )
        return document

    def _json_to_instance(self, json_dict: JsonDict) -> Instance:
        return self._dataset_reader.text_to_instance(json_dict["text"])
