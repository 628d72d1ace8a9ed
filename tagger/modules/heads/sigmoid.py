"""The tagging head for tokens that may have several labels, or none."""

from typing import Dict, List, Mapping, Optional, Sequence

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary

from tagger.common.vocabulary import tags_in_order
from tagger.modules.heads.tagging_head import HeadDescription, TaggingHead, mean_marginals
from tagger.modules.label_thresholds import LabelThresholds
from tagger.modules.multi_label_losses import BinaryCrossEntropyLoss, MultiLabelLoss
from tagger_texts.prediction import Prediction
from tagger_texts.tagged_text import NO_EXTRAS, Extras


@TaggingHead.register("sigmoid")
class SigmoidHead(TaggingHead):
    """An independent probability for each label of each token: a token may have several labels, or none.

    With a single label this is binary tagging. A label is predicted if its probability reaches its
    threshold. The trainer's callback `tune_thresholds` fits the thresholds to development data.

    Letters: `B` batch, `T` tokens, `C` labels. Gold labels are (B, T, C) as from `LabelSetsField`: 1, 0,
    or -1 if it is unknown whether the token has the label.

    Args:
        vocab: Holds the labels; the model in a config supplies it and the next two.
        label_namespace: The vocabulary's namespace of the labels.
        tag_encoding: Must be `None`, because labels here spell no spans.
        loss: The loss of labels; binary cross-entropy by default.
        threshold: The threshold of every label, until tuned.

    Raises:
        ConfigurationError: If the vocabulary has no labels, they look like tags that spell spans, or the
            threshold is not a probability.
    """

    def __init__(
        self,
        vocab: Vocabulary,
        label_namespace: str = "labels",
        tag_encoding: Optional[str] = None,
        loss: Optional[MultiLabelLoss] = None,
        threshold: float = 0.5,
    ) -> None:
        super().__init__()
        labels = tags_in_order(vocab, label_namespace)
        if tag_encoding is not None:
            raise ConfigurationError(
                f"`head` is sigmoid, with labels that spell no spans, but the labels in the namespace "
                f"`{label_namespace}` look like {tag_encoding} tags: {', '.join(labels)}; rename them, "
                f"`B-PER` to `PER` for instance, or use the head `crf`"
            )
        self.loss = loss or BinaryCrossEntropyLoss()
        self.thresholds = LabelThresholds(vocab, label_namespace, threshold)
        self._labels = labels

    def sequence_loss(
        self, emissions: torch.Tensor, gold_labels: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        return self.loss(emissions, gold_labels, mask).sum(1)

    def marginals(self, emissions: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return torch.sigmoid(emissions.float())

    def describe(self) -> HeadDescription:
        return HeadDescription("sigmoid")

    def adjust(self, biases: Mapping[str, float], thresholds: Mapping[str, float]) -> None:
        if biases:
            raise ConfigurationError(
                "this tagger decides each label by itself and has no biases; use `with_thresholds`"
            )
        self.thresholds.replace(thresholds)

    def mixture(self, vocab: Vocabulary, label_namespace: str) -> "SigmoidHead":
        return self

    def average(
        self, members: Sequence[TaggingHead], emissions: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        return mean_marginals(members, emissions.unbind(0), mask).logit()

    def predict(
        self, emissions: torch.Tensor, mask: torch.Tensor, extras: Extras = NO_EXTRAS
    ) -> Dict[str, torch.Tensor]:
        """Returns `predicted_labels`, (B, T, C) bool, and `probabilities`, (B, T, C)."""
        probabilities = self.marginals(emissions, mask)
        predicted_labels = self.thresholds(probabilities) & mask.unsqueeze(-1)
        return {"predicted_labels": predicted_labels, "probabilities": probabilities}

    def measure(
        self, predictions: Dict[str, torch.Tensor], gold_labels: torch.Tensor, mask: torch.Tensor
    ) -> None:
        self.thresholds.measure(predictions["probabilities"], gold_labels, mask)

    def get_metrics(self, reset: bool = False) -> Dict[str, float]:
        return self.thresholds.get_metrics(reset)

    def predictions(self, output: Dict[str, torch.Tensor], lengths: List[int]) -> List[Prediction]:
        """Returns for each token `labels`, a list of strings, and `probabilities` by label."""
        labels, probabilities = (
            [rows[:length].tolist() for rows, length in zip(output.pop(name), lengths)]
            for name in ("predicted_labels", "probabilities")
        )
        return [
            Prediction(
                labels=[[c for c, has in zip(self._labels, token) if has] for token in own],
                probabilities=[dict(zip(self._labels, token)) for token in of_labels],
            )
            for own, of_labels in zip(labels, probabilities)
        ]
