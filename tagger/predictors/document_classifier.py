"""Labels new documents."""

import json

from allennlp.common.util import JsonDict
from allennlp.data import Instance
from allennlp.predictors import Predictor

from tagger.predictors.batched_predictor import BatchedPredictor


@Predictor.register("document_classifier")
class DocumentClassifierPredictor(BatchedPredictor):
    """Labels documents.

    An input line is plain text or a JSON object with a `text`. Each prediction is a JSON object with
    `labels`, a list, and `probabilities`, an object that maps labels to numbers. The arguments are those
    of `BatchedPredictor`.
    """

    gold_field = "labels"

    def load_line(self, line: str) -> JsonDict:
        """Reads an input line: a JSON object or plain text.

        Raises:
            ValueError: If a JSON object has no text.
        """
        try:
            document = json.loads(line)
        except ValueError:
            document = None
        if not isinstance(document, dict):
            return {"text": line.strip()}
        if not isinstance(document.get("text"), str):
            raise ValueError(
                f"an input line must be plain text or a JSON object with a `text`; got "
                f"{line.strip()!r}"
            )
        return document

    def _json_to_instance(self, json_dict: JsonDict) -> Instance:
        return self._dataset_reader.text_to_instance(json_dict["text"])
