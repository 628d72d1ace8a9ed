"""The `crf_tagger` of allennlp-models with a CRF that can weight classes.

In a config with `model: { type: 'crf_tagger', ... }`, change the type and optionally add a weighting:

    model: {
      type: 'weighted_crf_tagger',
      weighting: { type: 'emission', label_weights: { PER: 2 } },
      ...
    }

The `label_weights` and `weight_strategy` of a `crf_tagger` work too.

Train with `--include-package examples.weighted_crf_tagger` from this project's root, or with
`--include-package weighted_crf_tagger` from the folder of a copy of this file.
"""

from typing import Any, Optional

from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary
from allennlp.models import Model
from allennlp_models.tagging.models.crf_tagger import CrfTagger

from tagger.modules import ConditionalRandomField, TagWeighting


@Model.register("weighted_crf_tagger")
class WeightedCrfTagger(CrfTagger):
    """A `crf_tagger` with another CRF. Without a `weighting`, weights are interchangeable.

    Args:
        vocab: The vocabulary with the tags, which AllenNLP supplies.
        weighting: How to weight the classes in training; `None` for the plain likelihood.
        **kwargs: The other arguments of `CrfTagger`. `label_weights` and `weight_strategy` become the
            weighting of that name. With `ignore_loss_on_o_tags`, the loss is computed on the sequences
            without the tokens tagged `O`.

    Raises:
        ConfigurationError: If both `weighting` and `label_weights` are given.
    """

    crf: ConditionalRandomField

    def __init__(
        self, vocab: Vocabulary, weighting: Optional[TagWeighting] = None, **kwargs: Any
    ) -> None:
        super().__init__(vocab, **kwargs)
        state = self.crf.state_dict()
        weights = state.get("label_weights")
        if weights is not None:
            if weighting is not None:
                raise ConfigurationError(
                    "`weighting` and `label_weights` exclude each other; give `label_weights` to "
                    "`weighting` alone"
                )
            strategy = kwargs.get("weight_strategy") or "emission"
            # AllenNLP weights a transition by the tag it comes from.
            options = {"transition_weight": "from"} if strategy == "emission_transition" else {}
            weighting = TagWeighting.by_name(strategy)(tag_weights=weights.tolist(), **options)
            # Save the weights under AllenNLP's name, so that archives load in both models.
            weighting.register_buffer("tag_weights", weighting.tag_weights, persistent=False)
        crf = ConditionalRandomField(
            self.num_tags,
            include_start_end_transitions=self.include_start_end_transitions,
            weighting=weighting,
        )
        if weights is not None:
            crf.register_buffer("label_weights", weights)
        # Keep the constraints and initial scores of the replaced CRF.
        crf.load_state_dict({**crf.state_dict(), **state})
        self.crf = crf
