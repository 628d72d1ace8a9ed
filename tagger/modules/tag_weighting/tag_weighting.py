"""What all weighting strategies share: where the weights come from, and the method they implement."""

import difflib
import math
from typing import Dict, List, Optional, Sequence

import torch
from allennlp.common import Registrable
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary

from tagger.label_encoding import split_tag
from tagger.linear_chain import ChainScores


class TagWeighting(torch.nn.Module, Registrable):
    """Weights the tags of a linear-chain CRF during training.

    The weights are a buffer, `tag_weights` (K,), saved with the model. Give them in one of two ways.

    Args:
        tag_weights: one positive weight per tag index.
        label_weights: weights by label (`PER: 2.0` covers `B-PER`, `I-PER`, ...) or by tag
            (`B-PER: 2.0`, which wins over its label); what is not named weighs 1. Needs `vocab`.
        vocab: the vocabulary that holds the tags; supplied by the model in a config.
        label_namespace: the vocabulary's namespace of the tags.

    Raises:
        ConfigurationError: if a weight is not a positive finite number, a name is no label of the
            vocabulary, or not exactly one of `tag_weights` and `label_weights` is given.
    """

    tag_weights: torch.Tensor

    def __init__(
        self,
        tag_weights: Optional[List[float]] = None,
        label_weights: Optional[Dict[str, float]] = None,
        vocab: Optional[Vocabulary] = None,
        label_namespace: str = "labels",
    ) -> None:
        super().__init__()
        if (tag_weights is None) == (label_weights is None):
            raise ConfigurationError(
                "a weighting needs exactly one of `tag_weights`, one weight per tag index, and "
                "`label_weights`, a mapping from labels or tags to weights"
            )
        if label_weights is not None:
            if vocab is None:
                raise ConfigurationError(
                    "`label_weights` needs a vocabulary to look its labels up; pass `vocab`, or give "
                    "`tag_weights`, one weight per tag index"
                )
            tags = vocab.get_index_to_token_vocabulary(label_namespace)
            tag_weights = tag_weights_from_labels(
                label_weights, [tags[k] for k in range(len(tags))]
            )
        assert tag_weights is not None
        for k, weight in enumerate(tag_weights):
            _check_weight("tag_weights", str(k), weight)
        self.register_buffer("tag_weights", torch.tensor(tag_weights, dtype=torch.float))

    def weighted_log_likelihood(
        self, scores: ChainScores, tags: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        """What training maximises, for each sequence; at unit weights the log-likelihood.

        Args:
            scores: of B sequences over K tags.
            tags: (B, T) int64, the gold tags.
            mask: (B, T) bool, right-padded.

        Returns:
            (B,), differentiable with respect to the scores.
        """
        raise NotImplementedError

    def decoding_scores(self, scores: ChainScores) -> ChainScores:
        """The scores to decode with: the plain ones, unless a strategy says otherwise."""
        return scores


def tag_weights_from_labels(label_weights: Dict[str, float], tags: Sequence[str]) -> List[float]:
    """Spreads weights named by label or by tag over all tags.

    Args:
        label_weights: a positive weight for each named label or tag.
        tags: all tags, in the order of their indices.

    Returns:
        One weight per tag: its own, else its label's, else 1.

    Raises:
        ConfigurationError: if a name is neither a label nor a tag, or a weight is not positive.

    Example:
        >>> tag_weights_from_labels({"PER": 2.0, "B-LOC": 3.0}, ["O", "B-PER", "I-PER", "B-LOC"])
        [1.0, 2.0, 2.0, 3.0]
    """
    labels = {tag: split_tag(tag)[1] for tag in tags}
    known_labels = list(dict.fromkeys(label for label in labels.values() if label is not None))
    known = [*known_labels, *tags]
    for name, weight in label_weights.items():
        if name not in known:
            similar = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
            raise ConfigurationError(
                f"`label_weights` names `{name}`, which is no label of this vocabulary "
                f"({', '.join(known_labels)}) and no tag of it ({', '.join(tags)})"
                + (f"; did you mean `{similar[0]}`?" if similar else "")
            )
        _check_weight("label_weights", name, weight)
    return [
        float(label_weights.get(tag, label_weights.get(labels[tag] or tag, 1.0))) for tag in tags
    ]


def _check_weight(argument: str, name: str, weight: float) -> None:
    if not (isinstance(weight, (int, float)) and math.isfinite(weight) and weight > 0):
        raise ConfigurationError(
            f"`{argument}` gives `{name}` the weight {weight!r}; a weight must be a positive finite "
            f"number, and 1 leaves a label as it is"
        )
