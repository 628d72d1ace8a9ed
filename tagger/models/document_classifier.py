"""The document classifier: embedder, encoder to one vector, projection to scores of labels."""

from typing import Any, Dict, List, Optional, Tuple

import torch
from allennlp.common import Lazy
from allennlp.data import TextFieldTensors, Vocabulary
from allennlp.models import Model
from allennlp.modules import Seq2VecEncoder, TextFieldEmbedder
from allennlp.nn import InitializerApplicator, RegularizerApplicator
from allennlp.nn.util import get_text_field_mask

from tagger.common.vocabulary import tags_in_order
from tagger.models.measured_model import MeasuredModel
from tagger.modules.building import build_encoder
from tagger.modules.label_thresholds import LabelThresholds
from tagger.modules.linear import Linear
from tagger.modules.loss_formulas import weighted_mean
from tagger.modules.multi_label_losses import BinaryCrossEntropyLoss, MultiLabelLoss
from tagger.modules.term_scores import TermScores
from tagger_texts.prediction import Prediction


@Model.register("document_classifier")
class DocumentClassifier(MeasuredModel):
    """Gives a document any number of labels.

    A label is predicted if its probability reaches its threshold. The trainer's callback
    `tune_thresholds` fits the thresholds to development data.

    Letters: `B` batch, `T` tokens, `C` labels. In a config `encoder` needs no input size.

    Args:
        vocab: The vocabulary with the labels.
        text_field_embedder: Embeds the tokens.
        encoder: Encodes the embedded tokens into one vector.
        loss: The loss of the labels; binary cross-entropy by default.
        dropout: The share of the vector's features that training steps drop.
        threshold: The initial threshold of all labels.
        label_namespace: The vocabulary's namespace of the labels.
        initializer: Initialises the parameters.
        regularizer: Penalises the parameters.
        term_scores: Adds scores that are linear in the words to those of the encoded text. It needs a
            separate token indexer, without an embedder in `text_field_embedder`.
        group_quantiles: As in `LabelThresholds`.
    """

    default_predictor = "document_classifier"

    def __init__(
        self,
        vocab: Vocabulary,
        text_field_embedder: TextFieldEmbedder,
        encoder: Lazy[Seq2VecEncoder],
        loss: Optional[MultiLabelLoss] = None,
        dropout: float = 0.0,
        threshold: float = 0.5,
        label_namespace: str = "labels",
        initializer: Optional[InitializerApplicator] = None,
        regularizer: Optional[RegularizerApplicator] = None,
        term_scores: Optional[TermScores] = None,
        group_quantiles: Optional[Tuple[float, float]] = None,
    ) -> None:
        super().__init__(vocab, regularizer)  # type: ignore[arg-type]  # AllenNLP's default is None
        self.labels = tags_in_order(vocab, label_namespace)
        self.text_field_embedder = text_field_embedder
        self.encoder = build_encoder(encoder, text_field_embedder.get_output_dim())
        self.loss = loss or BinaryCrossEntropyLoss()
        self.dropout = torch.nn.Dropout(dropout)
        self.projection = Linear(self.encoder.get_output_dim(), len(self.labels))
        self.thresholds = LabelThresholds(vocab, label_namespace, threshold, group_quantiles)
        self.term_scores = term_scores
        if initializer is not None:
            initializer(self)

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
        scores = self._scores(tokens)
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

    def _scores(self, tokens: TextFieldTensors) -> torch.Tensor:
        """Returns the scores of the labels, (B, C) log-odds."""
        terms = self.term_scores
        embedded = (
            tokens if terms is None else {k: v for k, v in tokens.items() if k != terms.indexer}
        )
        encoded = self.encoder(self.text_field_embedder(embedded), get_text_field_mask(embedded))
        # (B, C)
        scores = self.projection(self.dropout(encoded))
        return scores if terms is None else scores + terms(tokens)

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
