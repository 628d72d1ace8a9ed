"""The document classifier: embedder, encoder to one vector, projection to scores of labels."""

from typing import Optional, Tuple

import torch
from allennlp.common import Lazy
from allennlp.data import TextFieldTensors, Vocabulary
from allennlp.models import Model
from allennlp.modules import Seq2VecEncoder, TextFieldEmbedder
from allennlp.nn import InitializerApplicator, RegularizerApplicator
from allennlp.nn.util import get_text_field_mask

from tagger.models.classifying_model import ClassifyingModel
from tagger.modules.building import build_encoder
from tagger.modules.linear import Linear
from tagger.modules.multi_label_losses import MultiLabelLoss
from tagger.modules.term_scores import TermScores


@Model.register("document_classifier")
class DocumentClassifier(ClassifyingModel):
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
        super().__init__(vocab, loss, threshold, label_namespace, regularizer, group_quantiles)
        self.text_field_embedder = text_field_embedder
        self.encoder = build_encoder(encoder, text_field_embedder.get_output_dim())
        self.dropout = torch.nn.Dropout(dropout)
        self.projection = Linear(self.encoder.get_output_dim(), len(self.labels))
        self.term_scores = term_scores
        if initializer is not None:
            initializer(self)

    def scores(self, tokens: TextFieldTensors) -> torch.Tensor:
        """Returns the scores of the labels, (B, C) log-odds."""
        terms = self.term_scores
        embedded = (
            tokens if terms is None else {k: v for k, v in tokens.items() if k != terms.indexer}
        )
        encoded = self.encoder(self.text_field_embedder(embedded), get_text_field_mask(embedded))
        # (B, C)
        scores = self.projection(self.dropout(encoded))
        return scores if terms is None else scores + terms(tokens)
