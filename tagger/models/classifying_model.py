"""The base of models that give labels to documents: everything but the computation of scores."""

from typing import Any, Dict, List, Optional, Tuple

import torch
from allennlp.data import TextFieldTensors, Vocabulary
from allennlp.nn import RegularizerApplicator

from tagger.common.vocabulary import tags_in_order
from tagger.models.measured_model import MeasuredModel
from tagger.modules.label_thresholds import LabelThresholds
from tagger.modules.loss_formulas import weighted_mean
from tagger.modules.multi_label_losses import BinaryCrossEntropyLoss, MultiLabelLoss
from tagger_texts.prediction import Prediction


class ClassifyingModel(MeasuredModel):
    """A model that gives a document any number of labels: those that reach their thresholds.

    A subclass computes the scores. The arguments are those of `DocumentClassifier`.

    Letters: `B` batch, `C` labels.
    """

    default_predictor = "document_classifier"

    def __init__(
        self,
        vocab: Vocabulary,
        loss: Optional[MultiLabelLoss] = None,
        threshold: float = 0.5,
        label_namespace: str = "labels",
        regularizer: Optional[RegularizerApplicator] = None,
        group_quantiles: Optional[Tuple[float, float]] = None,
    ) -> None:
        super().__init__(vocab, regularizer)  # type: ignore[arg-type]  # AllenNLP's default is None
        self.label_namespace = label_namespace
        self.labels = tags_in_order(vocab, label_namespace)
        self.loss = loss or BinaryCrossEntropyLoss()
        self.thresholds = LabelThresholds(vocab, label_namespace, threshold, group_quantiles)

    def scores(self, tokens: TextFieldTensors) -> torch.Tensor:
        """Returns the scores of the labels, (B, C) log-odds."""
        raise NotImplementedError

    def forward(
        self,
        tokens: TextFieldTensors,
        labels: Optional[torch.Tensor] = None,
        metadata: Optional[List[Dict[str, Any]]] = None,
        weights: Optional[torch.Tensor] = None,
    ) -> Dict[str, Any]:
        """Computes the loss if there are gold labels, and predicts labels except in training steps.

        Gold labels are (B, C): 1 if the document has the label, 0 if not, -1 if unknown. `weights`,
        (B, 1), say how much each document counts in the loss: 2 counts like the document twice.

        Returns:
            `loss`, a scalar, the mean over documents with a known label, if `labels` are given. Except
            in training steps with `labels`, also `probabilities`, (B, C), and `predicted_labels`, (B, C)
            bool.
        """
        scores = self.scores(tokens)
        output = {}
        if labels is not None:
            # (B,)
            has_known = (labels >= 0).any(1).to(scores.dtype)
            row_weights = has_known if weights is None else has_known * weights[:, 0]
            losses = self.loss(scores, labels, row_weights > 0)
            output["loss"] = weighted_mean(losses, row_weights)
        if labels is not None and self.training:
            return output
        probabilities = torch.sigmoid(scores.float())
        if labels is not None:
            self.thresholds.measure(probabilities, labels)
        predicted = self.thresholds(probabilities)
        return {**output, "probabilities": probabilities, "predicted_labels": predicted}

    def make_output_human_readable(self, output_dict: Dict[str, Any]) -> Dict[str, Any]:
        """Gives each document a list of `labels`, and `probabilities` by label."""
        if "predicted_labels" in output_dict:
            predicted = output_dict.pop("predicted_labels").tolist()
            output_dict["labels"] = [
                [label for label, has in zip(self.labels, row) if has] for row in predicted
            ]
            output_dict["probabilities"] = [
                dict(zip(self.labels, row)) for row in output_dict["probabilities"].tolist()
            ]
        return output_dict

    def predictions(self, output: Dict[str, Any]) -> List[Prediction]:
        """Returns predictions with `labels` and `probabilities`, in which a document is one item."""
        found = self.make_output_human_readable(output)
        return [
            Prediction(labels=[labels], probabilities=[probabilities])
            for labels, probabilities in zip(found["labels"], found["probabilities"])
        ]

    def get_all_metrics(self, reset: bool) -> Dict[str, float]:
        return self.thresholds.get_metrics(reset)
