"""Labels new documents."""

from typing import List

from allennlp.common.util import JsonDict
from allennlp.data import Instance
from allennlp.predictors import Predictor

from tagger.predictors.batched_predictor import BatchedPredictor
from tagger_texts.inputs import check_text, only_field


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

    def predict_batch_json(self, inputs: List[JsonDict]) -> List[JsonDict]:
        """Labels any number of documents and keeps their order; blank documents get no labels."""
        full = [index for index, each in enumerate(inputs) if self._text(each).strip()]
        predictions: List[JsonDict] = [{"labels": [], "probabilities": {}} for _ in inputs]
        found = super().predict_batch_json([inputs[index] for index in full])
        for index, prediction in zip(full, found):
            predictions[index] = prediction
        return predictions

    def check(self, json_dict: JsonDict) -> None:
        if self._text(json_dict).strip():
            self._json_to_instance(json_dict)

    def _json_to_instance(self, json_dict: JsonDict) -> Instance:
        return self._dataset_reader.text_to_instance(self._text(json_dict))

    def _text(self, json_dict: JsonDict) -> str:
        name = only_field(json_dict, ["text"])
        # No limit on runs of characters, because spaCy's rules do not split the text.
        return check_text(json_dict[name], name, run_characters=None)
