"""The `crf_tagger` of allennlp-models, on a CRF whose classes can be weighted.

A config with `model: { type: 'crf_tagger', ... }` needs another type and, if you like, a weighting:

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
    """A `crf_tagger` with another CRF; without weighting, the weights of either fit the other.

    Args:
        vocab: holds the tags; supplied by AllenNLP.
        weighting: how to weight the classes in training; `None` for the plain likelihood.
        **kwargs: those of `CrfTagger`, but for `label_weights` and `weight_strategy`, which `weighting`
            replaces. `ignore_loss_on_o_tags` makes holes in the mask, which the CRF refuses.
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
        # The CRF that it replaces hands over its constraints and its initial scores.
        crf.load_state_dict({**crf.state_dict(), **self.crf.state_dict()})
        self.crf = crf
