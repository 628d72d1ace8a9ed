"""What every tagging head provides."""

from typing import Any, Dict, List, Optional

import torch
from allennlp.common import Registrable
from allennlp.data import Vocabulary

from tagger.metrics import TagScores
from tagger.vocabulary import tags_in_order


class TaggingHead(torch.nn.Module, Registrable):
    """Turns emissions into a loss while training, and into tags afterwards.

    A head says what to predict, how to score it and how to make it readable. What is here is for one tag
    a token; such a head implements `sequence_loss` and `decode`.

    Letters: `B` batch, `T` tokens, `K` tags. A mask is (B, T) bool, right-padded.
    """

    default_implementation = "crf"

    def sequence_loss(
        self, emissions: torch.Tensor, tags: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        """The loss of each sequence, summed over its tokens.

        Args:
            emissions: (B, T, K), scores of each tag at each token.
            tags: (B, T) int64, the gold tags.
            mask: (B, T) bool.

        Returns:
            (B,), differentiable, 0 for a sequence without a token.
        """
        raise NotImplementedError

    def decode(self, emissions: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """The tags to predict.

        Args:
            emissions: (B, T, K), scores of each tag at each token.
            mask: (B, T) bool.

        Returns:
            (B, T) int64, 0 in the padding.
        """
        raise NotImplementedError

    def marginals(self, emissions: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """The probability of each tag at each token, whatever the others are.

        Args:
            emissions: (B, T, K), scores of each tag at each token.
            mask: (B, T) bool.

        Returns:
            (B, T, K), of a head for one tag a token a distribution at each; padding is not defined.
        """
        raise NotImplementedError

    def prepare_scores(
        self, vocab: Vocabulary, label_namespace: str, tag_encoding: Optional[str]
    ) -> None:
        """Makes ready to score and to name predictions; the model calls it once.

        Args:
            vocab: holds the tags.
            label_namespace: the vocabulary's namespace of the tags.
            tag_encoding: how tags spell spans, `None` if they spell none.
        """
        self._tags = tags_in_order(vocab, label_namespace)
        self._scores = TagScores(vocab, label_namespace, tag_encoding)

    def predict(self, emissions: torch.Tensor, mask: torch.Tensor) -> Dict[str, torch.Tensor]:
        """What a model puts out: by name, tensors (B, T, ...), here `predicted_tags`."""
        return {"predicted_tags": self.decode(emissions, mask)}

    def score(
        self, predictions: Dict[str, torch.Tensor], tags: torch.Tensor, mask: torch.Tensor
    ) -> None:
        """Scores a batch.

        Args:
            predictions: what `predict` returned.
            tags: the gold tags, as for `sequence_loss`.
            mask: (B, T) bool.
        """
        self._scores(predictions["predicted_tags"], tags, mask)

    def get_metrics(self, reset: bool = False) -> Dict[str, float]:
        """The scores since the last reset, as in `TagScores`."""
        return self._scores.get_metric(reset)

    def get_confusions(self) -> Dict[str, int]:
        """What was taken for what since the last reset, as in `TagScores`."""
        return self._scores.get_confusions()

    def get_tables(self) -> List[str]:
        """Tables to read of what was seen since the last reset, besides that of the scores."""
        return []

    def make_readable(
        self, output: Dict[str, torch.Tensor], lengths: List[int]
    ) -> Dict[str, List[Any]]:
        """Names what is predicted.

        Args:
            output: holds what `predict` returned, which is taken out.
            lengths: the number of tokens of each sentence.

        Returns:
            By name, for each sentence a list of one entry per token, here `tags`, strings.
        """
        rows = output.pop("predicted_tags").tolist()
        return {
            "tags": [[self._tags[k] for k in row[:length]] for row, length in zip(rows, lengths)]
        }
