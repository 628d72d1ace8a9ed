"""What every tagging head provides."""

from typing import Any, Dict, List, Optional

import torch
from allennlp.common import Registrable
from allennlp.common.checks import ConfigurationError

from tagger.linear_chain import ChainMarginals
from tagger_texts.tagged_text import Extras


class TaggingHead(torch.nn.Module, Registrable):
    """Turns emissions into a loss in training, and into tags afterwards; computes their metrics.

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
        """Computes the loss of each sequence, (B,), if instances have soft labels or a head needs them.

        `teacher` is the teacher's marginals; None without soft labels, which is an error if the head
        needs them.
        """
        raise ConfigurationError(
            "the instances have soft labels, which only a head `crf` with `distillation_weight` "
            "takes; set it, or take `soft_labelled` out of the dataset reader"
        )

    def marginals(self, emissions: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Computes the probability of each tag at each token, (B, T, K), undefined in the padding.

        If the head predicts one tag per token, each token has a distribution.
        """
        raise NotImplementedError

    def predict(self, emissions: torch.Tensor, mask: torch.Tensor) -> Dict[str, torch.Tensor]:
        """Returns a model's output: tensors (B, T, ...) by name."""
        raise NotImplementedError

    def give(self, extras: Extras) -> None:
        """Sets what `predict` returns besides tags and entities; an error if the head cannot."""
        for name in ("leak_labels", "candidates"):
            if getattr(extras, name):
                raise ConfigurationError(
                    f"`{name}` needs a tagger with the head `crf` or `softmax`, and tags that spell "
                    f"entities; leave it out"
                )

    def make_readable(
        self, output: Dict[str, torch.Tensor], lengths: List[int]
    ) -> Dict[str, List[Any]]:
        """Removes what `predict` returned from an output, and returns it with names instead of indices.

        `lengths` are the numbers of tokens of the sentences. There is a list for each sentence.
        """
        raise NotImplementedError

    def measure(
        self, predictions: Dict[str, torch.Tensor], gold_tags: torch.Tensor, mask: torch.Tensor
    ) -> None:
        """Adds a batch to the metrics: the output of `predict`, and tags as for `sequence_loss`."""
        raise NotImplementedError

    def get_metrics(self, reset: bool = False) -> Dict[str, float]:
        """Returns the metrics since the last reset."""
        raise NotImplementedError

    def get_confusions(self) -> Dict[str, int]:
        """Returns how often each label was predicted as each other since the last reset, if counted."""
        return {}

    def get_partial_metrics(self) -> Dict[str, float]:
        """Returns metrics of partly right spans since the last reset, if there are any."""
        return {}

    def get_tables(self) -> List[str]:
        """Returns further tables of the pass that the last reset ended, to show below the metrics."""
        return []
