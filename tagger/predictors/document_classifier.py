"""Labels new documents."""

from typing import List

from allennlp.common.util import JsonDict
from allennlp.data import Instance
from allennlp.predictors import Predictor

from tagger.predictors.batched_predictor import BatchedPredictor
from tagger.predictors.recordings import check_kind, origin
from tagger_texts.inputs import check_text, only_field


@Predictor.register("document_classifier")
class DocumentClassifierPredictor(BatchedPredictor):
    """Labels documents.

    An input line is plain text, a JSON object with a `text`, or one with `numbers` if the model reads
    recordings: `{"numbers": [[0.1, 0.2], ...]}`, a row for each step. Each prediction is a JSON object
    with `labels`, a list, and `probabilities`, an object that maps labels to numbers; and `recording`,
    its name, if it is from a table with several. The arguments are those of `BatchedPredictor`.
    """

    gold_field = "labels"
    text_key = "text"
    line_formats = 'plain text, {"text": "..."} or {"numbers": [[0.1, 0.2], ...]}'

    def predict_batch_json(self, inputs: List[JsonDict]) -> List[JsonDict]:
        """Labels any number of documents and keeps their order; blank documents get no labels."""
        full = [index for index, each in enumerate(inputs) if self._is_full(each)]
        predictions: List[JsonDict] = [{"labels": [], "probabilities": {}} for _ in inputs]
        found = super().predict_batch_json([inputs[index] for index in full])
        for index, prediction in zip(full, found):
            predictions[index] = prediction
        return predictions

    def predict_batch_instance(self, instances: List[Instance]) -> List[JsonDict]:
        """Labels any number of the dataset reader's instances and keeps their order."""
        predictions = []
        for instance, found in zip(instances, self.predict_instances(instances)):
            item = found.to_json()
            # A document is one item.
            prediction = {name: item[name][0] for name in ("probabilities", "labels")}
            recording = origin(instance)["recording"] if self.reads_numbers else ""
            predictions.append({"recording": recording} | prediction if recording else prediction)
        return predictions

    def check(self, json_dict: JsonDict) -> None:
        if self._is_full(json_dict):
            self._json_to_instance(json_dict)

    def _is_full(self, json_dict: JsonDict) -> bool:
        check_kind("numbers" in json_dict, self.reads_numbers)
        return self.reads_numbers or bool(self._text(json_dict).strip())

    def _json_to_instance(self, json_dict: JsonDict) -> Instance:
        if self._numbers is not None:
            numbers = json_dict[only_field(json_dict, ["numbers"])]
            (instance,) = self._numbers.recording_to_instances(numbers)
            return instance
        return self._dataset_reader.text_to_instance(self._text(json_dict))

    def _text(self, json_dict: JsonDict) -> str:
        name = only_field(json_dict, ["text"])
        # No limit on runs of characters, because spaCy's rules do not split the text.
        return check_text(json_dict[name], name, run_characters=None)
