"""What every tagging head provides."""

from typing import Any, Dict, List, Optional

import torch
from allennlp.common import Registrable
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary

from tagger.common.vocabulary import tags_in_order
from tagger.linear_chain import ChainMarginals
from tagger.metrics import TagMetrics
from tagger_onnx.tagged_text import Extras


class TaggingHead(torch.nn.Module, Registrable):
    """Turns emissions into a loss in training, and into tags afterwards.

    A head also measures its predictions and makes them readable. This class is written for one tag per
    token; such a head implements `sequence_loss` and `decode`.

    Letters: `B` batch, `T` tokens, `K` tags. Emissions are (B, T, K), scores of each tag at each token.
    A mask is (B, T) bool, right-padded unless a method says otherwise.
    """

    default_implementation = "crf"

    #: Whether training needs instances with soft labels.
    needs_teacher = False

    def sequence_loss(
        self, emissions: torch.Tensor, gold_tags: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        """Computes the loss of each sequence, summed over its tokens: (B,), 0 for one without tokens.

        `gold_tags` are (B, T) int64, -1 where unknown; or (B, T, K) bool, the set of tags that each
        token may have.
        """
        raise NotImplementedError

    def distillation_loss(
        self,
        emissions: torch.Tensor,
        gold_tags: torch.Tensor,
        mask: torch.Tensor,
        teacher: Optional[ChainMarginals],
    ) -> torch.Tensor:
        """Computes the loss of each sequence, (B,), in training on soft labels.

        Training calls it instead of `sequence_loss` if the instances have soft labels, or the head
        `needs_teacher`. `teacher` is the teacher's marginals; None if there are no soft labels.

        Raises:
            ConfigurationError: If there are soft labels for a head that takes none, or the reverse.
        """
        raise ConfigurationError(
            "the instances have soft labels, which only a head `crf` with `distillation_weight` "
            "takes; set it, or take `soft_labelled` out of the dataset reader"
        )

    def decode(self, emissions: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Chooses the tags to predict, (B, T) int64, 0 in the padding."""
        raise NotImplementedError

    def marginals(self, emissions: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Computes the probability of each tag at each token, (B, T, K), undefined in the padding.

        If the head predicts one tag per token, each token has a distribution.
        """
        raise NotImplementedError

    def prepare_metrics(
        self, vocab: Vocabulary, label_namespace: str, tag_encoding: Optional[str]
    ) -> None:
        """Prepares the head to measure and to name its predictions. The model calls this once."""
        self._tags = tags_in_order(vocab, label_namespace)
        self._metrics = TagMetrics(vocab, label_namespace, tag_encoding)

    def predict(self, emissions: torch.Tensor, mask: torch.Tensor) -> Dict[str, torch.Tensor]:
        """Returns a model's output: tensors (B, T, ...) by name, here `predicted_tags`."""
        return {"predicted_tags": self.decode(emissions, mask)}

    def measure(
        self, predictions: Dict[str, torch.Tensor], gold_tags: torch.Tensor, mask: torch.Tensor
    ) -> None:
        """Adds a batch to the metrics: the output of `predict`, and tags as for `sequence_loss`."""
        self._metrics(predictions["predicted_tags"], gold_tags, mask)

    def get_metrics(self, reset: bool = False) -> Dict[str, float]:
        """Returns the metrics since the last reset, see `TagMetrics`."""
        return self._metrics.get_metric(reset)

    def get_confusions(self) -> Dict[str, int]:
        """Returns how often which label was taken for which since the last reset, see `TagMetrics`."""
        return self._metrics.get_confusions()

    def get_partial_metrics(self) -> Dict[str, float]:
        """Returns metrics of partly right spans since the last reset, see `TagMetrics`."""
        return self._metrics.get_partial_metrics()

    def get_tables(self) -> List[str]:
        """Returns tables to read, besides that of the metrics, of the pass that the last reset ended."""
        return []

    def give(self, extras: Extras) -> None:
        """Sets what `predict` returns besides tags and entities, from now on.

        Raises:
            ConfigurationError: If the head cannot give it.
        """
        for name in ("leak_labels", "candidates"):
            if getattr(extras, name):
                raise ConfigurationError(
                    f"`{name}` needs a tagger with the head `crf` or `softmax`, whose tags spell "
                    f"entities; leave it out"
                )

    def make_readable(
        self, output: Dict[str, torch.Tensor], lengths: List[int]
    ) -> Dict[str, List[Any]]:
        """Replaces indices by names.

        Args:
            output: Holds the output of `predict`, which this method removes.
            lengths: The number of tokens of each sentence.

        Returns:
            By name, a list for each sentence with an entry for each token; here `tags`, strings.
        """
        rows = output.pop("predicted_tags").tolist()
        return {
            "tags": [[self._tags[k] for k in row[:length]] for row, length in zip(rows, lengths)]
        }
