"""The `crf_tagger` of allennlp-models with a CRF whose classes can be weighted.

In a config with `model: { type: 'crf_tagger', ... }`, change the type and, if you like, add a weighting:

    model: {
      type: 'weighted_crf_tagger',
      weighting: { type: 'emission', label_weights: { PER: 2 } },
      ...
    }

Train with `--include-package examples.weighted_crf_tagger` from this project's root, or with
`--include-package weighted_crf_tagger` from the folder of a copy of this file.
"""

from typing import Any, Optional

from allennlp.data import Vocabulary
from allennlp.models import Model
from allennlp_models.tagging.models.crf_tagger import CrfTagger

from tagger.modules import ConditionalRandomField, TagWeighting


@Model.register("weighted_crf_tagger")
class WeightedCrfTagger(CrfTagger):
    """A `crf_tagger` with another CRF. Without a weighting, each model can load the other's weights.

    Args:
        vocab: The vocabulary with the tags, which AllenNLP supplies.
        weighting: How to weight the classes in training; `None` for the plain likelihood.
        **kwargs: The other arguments of `CrfTagger`. `weighting` replaces `label_weights` and
            `weight_strategy`. With `ignore_loss_on_o_tags`, the loss is that of
            the sequences without the tokens tagged `O`.
    """

    crf: ConditionalRandomField

    def __init__(
        self, vocab: Vocabulary, weighting: Optional[TagWeighting] = None, **kwargs: Any
    ) -> None:
        super().__init__(vocab, **kwargs)
        crf = ConditionalRandomField(
            self.num_tags,
            include_start_end_transitions=self.include_start_end_transitions,
            weighting=weighting,
        )
        # Take the constraints and the initial scores from the CRF that is replaced.
        crf.load_state_dict({**crf.state_dict(), **self.crf.state_dict()})
        self.crf = crf
