"""Weighting by scaling emissions and transitions."""

from typing import Any

from tagger.common.from_allennlp import ConfigurationError
from tagger.linear_chain import ChainScores
from tagger.modules.tag_weighting.emission import EmissionWeighting
from tagger.modules.tag_weighting.tag_weighting import TagWeighting


@TagWeighting.register("emission_transition")
class EmissionTransitionWeighting(EmissionWeighting):
    """As `emission`, with scaled transitions too; start and end scores stay as they are.

    Precision and recall move as under `emission`: a label's precision rises with its weight, and its
    recall falls.

    Args:
        transition_weight: Which tag's weight scales `A[i, j]`. With `"to"` it is
            `A'[i, j] = c[j] A[i, j]`, as in the formula of the source
            (https://eraldoluis.github.io/2022/05/10/weighted-crf.html); with `"from"` it is
            `A'[i, j] = c[i] A[i, j]`, as in AllenNLP's code.
        **kwargs: The arguments of `EmissionWeighting`.

    Raises:
        ConfigurationError: If `transition_weight` is neither, or as `ClassWeights` does.
    """

    def __init__(self, transition_weight: str = "to", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if transition_weight not in ("to", "from"):
            raise ConfigurationError(
                f"`transition_weight` must be 'to' or 'from', the end of a transition whose tag's "
                f"weight scales it; got {transition_weight!r}"
            )
        self.transition_weight = transition_weight

    def scaled(self, scores: ChainScores) -> ChainScores:
        """The scores of the distribution under which training maximises the likelihood."""
        # (1, K) scales columns, the tags moved to; (K, 1) rows, the tags moved from
        dim = 0 if self.transition_weight == "to" else 1
        weights = self.tag_weights.unsqueeze(dim)
        return super().scaled(scores)._replace(transitions=scores.transitions * weights)
