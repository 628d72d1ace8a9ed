"""The document classifier: embed, encode into one vector, a score for each label."""

from typing import Any, Dict, List, Optional

import torch
from allennlp.common import Lazy
from allennlp.data import TextFieldTensors, Vocabulary
from allennlp.models import Model
from allennlp.modules import Seq2VecEncoder, TextFieldEmbedder
from allennlp.nn import InitializerApplicator, RegularizerApplicator
from allennlp.nn.util import get_text_field_mask

from tagger.models.scored_model import ScoredModel
from tagger.modules.label_thresholds import LabelThresholds
from tagger.modules.multi_label_losses import BinaryCrossEntropyLoss, MultiLabelLoss
from tagger.vocabulary import tags_in_order


@Model.register("document_classifier", constructor="from_partial_objects")
class DocumentClassifier(ScoredModel):
    """Gives a document its labels, several or none.

    A label is predicted where its probability reaches its threshold; the trainer's callback
    `tune_thresholds` fits these to development data.

    Letters: `B` batch, `T` tokens, `C` labels. In a config `encoder` needs no input size.

    Args:
        vocab: holds the labels.
        text_field_embedder: embeds the tokens.
        encoder: encodes the embedded tokens into one vector.
        loss: of labels; binary cross-entropy if left out.
        dropout: the share of the vector's features that are left out while training.
        threshold: at which labels are predicted, until tuned.
        label_namespace: the vocabulary's namespace of the labels.
        initializer: initialises the parameters.
        regularizer: penalises the parameters.

    Raises:
        ConfigurationError: if the vocabulary has no labels, or the threshold is no probability.
    """

    default_predictor = "document_classifier"

    def __init__(
        self,
        vocab: Vocabulary,
        text_field_embedder: TextFieldEmbedder,
        encoder: Seq2VecEncoder,
        loss: Optional[MultiLabelLoss] = None,
        dropout: float = 0.0,
        threshold: float = 0.5,
        label_namespace: str = "labels",
        initializer: Optional[InitializerApplicator] = None,
        regularizer: Optional[RegularizerApplicator] = None,
    ) -> None:
        super().__init__(vocab, regularizer)  # type: ignore[arg-type]  # AllenNLP's default is None
        self.labels = tags_in_order(vocab, label_namespace)
        self.text_field_embedder = text_field_embedder
        self.encoder = encoder
        self.loss = loss or BinaryCrossEntropyLoss()
        self.dropout = torch.nn.Dropout(dropout)
        self.projection = torch.nn.Linear(encoder.get_output_dim(), len(self.labels))
        self.thresholds = LabelThresholds(vocab, label_namespace, threshold)
        if initializer is not None:
            initializer(self)

    @classmethod
    def from_partial_objects(
        cls,
        vocab: Vocabulary,
        text_field_embedder: TextFieldEmbedder,
        encoder: Lazy[Seq2VecEncoder],
        loss: Optional[MultiLabelLoss] = None,
        dropout: float = 0.0,
        threshold: float = 0.5,
        label_namespace: str = "labels",
        initializer: Optional[InitializerApplicator] = None,
        regularizer: Optional[RegularizerApplicator] = None,
    ) -> "DocumentClassifier":
        """Builds the classifier from a config, with the embedder's size handed on to the encoder."""
        size = text_field_embedder.get_output_dim()
        return cls(
            vocab,
            text_field_embedder,
            # Encoders of AllenNLP go by one name or another; each ignores those it does not know.
            encoder.construct(input_size=size, input_dim=size, embedding_dim=size),
            loss,
            dropout,
            threshold,
            label_namespace,
            initializer,
            regularizer,
        )

    def forward(
        self,
        tokens: TextFieldTensors,
        labels: Optional[torch.Tensor] = None,
        metadata: Optional[List[Dict[str, Any]]] = None,
    ) -> Dict[str, Any]:
        """Computes the loss where there are gold labels, and predicts labels.

        Args:
            tokens: the indexed tokens of B documents.
            labels: (B, C), 1 where the document has the label, 0 where it has not, -1 where unknown.
            metadata: not used.

        Returns:
            `loss`, a scalar, the mean over documents, given `labels`; `probabilities`, (B, C), and
            `predicted_labels`, (B, C) bool.
        """
        mask = get_text_field_mask(tokens)
        encoded = self.encoder(self.text_field_embedder(tokens), mask)
        # (B, C)
        scores = self.projection(self.dropout(encoded))
        output: Dict[str, Any] = {}
        if labels is not None:
            output["loss"] = self.loss(scores, labels).mean()
            if self.training:
                return output
        probabilities = torch.sigmoid(scores.float())
        output["probabilities"] = probabilities
        output["predicted_labels"] = self.thresholds(probabilities)
        if labels is not None:
            self.thresholds.measure(probabilities, labels)
        return output

    def make_output_human_readable(self, output_dict: Dict[str, Any]) -> Dict[str, Any]:
        """Names the labels: `labels`, a list, and `probabilities` by label, of each document."""
        if "predicted_labels" in output_dict:
            predicted = output_dict.pop("predicted_labels").tolist()
            output_dict["labels"] = [
                [label for label, has in zip(self.labels, row) if has] for row in predicted
            ]
            output_dict["probabilities"] = [
                dict(zip(self.labels, row)) for row in output_dict["probabilities"].tolist()
            ]
        return output_dict

    def get_scores(self, reset: bool) -> Dict[str, float]:
        return self.thresholds.get_metrics(reset)
