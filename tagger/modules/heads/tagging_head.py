"""What every tagging head provides."""

from typing import Dict, List, Mapping, NamedTuple, Optional, Sequence

import torch
from allennlp.common import Registrable
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary

from tagger.linear_chain import ChainMarginals
from tagger.modules.heads.chain import Chain
from tagger_texts.prediction import Prediction
from tagger_texts.tagged_text import NO_EXTRAS, Extras


class HeadDescription(NamedTuple):
    """What a head answers, for callers that treat answers differently.

    Attributes:
        kind: `"chain"` for one tag per token, `"label_chains"` for entities that may overlap,
            `"sigmoid"` for any number of labels per token, or `"other"`.
        takes_new_labels: Whether `add-label` can add labels to it.
    """

    kind: str
    takes_new_labels: bool = False

    @property
    def overlaps(self) -> bool:
        """Whether entities of different labels may overlap."""
        return self.kind == "label_chains"

    @property
    def has_label_sets(self) -> bool:
        """Whether a token may have several labels, in place of a tag."""
        return self.kind == "sigmoid"


class TaggingHead(torch.nn.Module, Registrable):
    """Turns emissions into a loss in training, and into tags afterwards; computes their metrics.

    Other code asks a head what it can answer, never for its class: see `describe` and `as_chain`.

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

    def loss_beside(
        self,
        emissions: torch.Tensor,
        gold_tags: torch.Tensor,
        mask: torch.Tensor,
        weights: Optional[torch.Tensor],
    ) -> torch.Tensor:
        """Computes `sequence_loss` in a batch in which sentences have weights, (B,), or None.

        The losses are not multiplied by the weights, which matter only if the loss of a sentence depends
        on the other sentences of the batch.
        """
        return self.sequence_loss(emissions, gold_tags, mask)

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

    def describe(self) -> HeadDescription:
        """Returns what the head answers."""
        return HeadDescription("other")

    def as_chain(self) -> Optional[Chain]:
        """Returns the chain behind the predictions, for all that works on chains; None without one."""
        return None

    def predict(
        self, emissions: torch.Tensor, mask: torch.Tensor, extras: Extras = NO_EXTRAS
    ) -> Dict[str, torch.Tensor]:
        """Returns a model's output: tensors (B, T, ...) by name, such as `predicted_tags`.

        The model adds `marginals`, if `extras` asks for probabilities and there are none.
        `extras` are what to return besides tags and entities; `check` says whether the head can.
        """
        raise NotImplementedError

    def check(self, extras: Extras) -> None:
        """Raises a `ConfigurationError` if `predict` cannot return these extras."""
        for name in ("leak_labels", "candidates", "sets"):
            if getattr(extras, name):
                raise ConfigurationError(
                    f"`{name}` needs a tagger with the head `crf`, `softmax` or `label_chains`, and "
                    f"tags that spell entities; leave it out"
                )

    def adjust(self, biases: Mapping[str, float], thresholds: Mapping[str, float]) -> None:
        """Replaces settings of decoding: biases and thresholds by label; others stay as they are."""
        raise ConfigurationError(
            f"the head `{type(self).__name__}` has no biases and no thresholds; leave them out"
        )

    def mixture(self, vocab: Vocabulary, label_namespace: str) -> "TaggingHead":
        """Returns a head, perhaps this one, that decodes what `average` gives, with these settings."""
        raise ConfigurationError(
            f"`average` must be `emissions` for members with a `{type(self).__name__}`; got `marginals`"
        )

    def average(
        self, members: Sequence["TaggingHead"], emissions: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        """Returns the emissions of a `mixture`, (B, T, K), that stand for averaged marginals.

        `members` are the heads of an ensemble; their emissions are stacked, (members, B, T, K).
        """
        raise NotImplementedError

    def known_weights(self, old: "TaggingHead") -> Dict[str, str]:
        """Returns the names that this head gives the weights of one with fewer labels, with theirs."""
        return {name: name for name in old.state_dict()}

    def grown_weights(self, old: "TaggingHead") -> Dict[str, torch.Tensor]:
        """Returns weights for this head, made from those of one with fewer labels."""
        return old.state_dict()

    def predictions(self, output: Dict[str, torch.Tensor], lengths: List[int]) -> List[Prediction]:
        """Removes what `predict` returned from an output, and returns a prediction for each sentence.

        The model adds the entities that tags spell to predictions that have none. `lengths` are the
        numbers of tokens of the sentences.
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


def mean_marginals(
    heads: Sequence[TaggingHead], emissions: Sequence[torch.Tensor], mask: torch.Tensor
) -> torch.Tensor:
    """Returns the mean of the heads' marginals, (B, T, K)."""
    marginals = [head.marginals(scores, mask) for head, scores in zip(heads, emissions)]
    return torch.stack(marginals).mean(0)
