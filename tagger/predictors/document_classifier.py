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
    text_key = "text"
    line_formats = 'plain text or {"text": "..."}'

    def _json_to_instance(self, json_dict: JsonDict) -> Instance:
        if not isinstance(json_dict.get("text"), str):
            raise ValueError(
                f"`inputs` must hold `text`, a string; got {json.dumps(json_dict)[:200]}"
            )
        return self._dataset_reader.text_to_instance(json_dict["text"])
