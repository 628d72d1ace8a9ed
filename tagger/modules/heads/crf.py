"""The CRF as a tagging head."""

from typing import Any, Optional

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary

from tagger.common.ranges import check_number
from tagger.linear_chain import ChainMarginals, ChainScores
from tagger.modules.conditional_random_field import ConditionalRandomField
from tagger.modules.heads.chain import legal_transitions
from tagger.modules.heads.chain_head import ChainHead
from tagger.modules.heads.tagging_head import HeadDescription, TaggingHead
from tagger.modules.loss_formulas import are_known
from tagger.modules.tag_weighting import TagWeighting


@TaggingHead.register("crf")
class CrfHead(ChainHead):
    """A linear-chain CRF over the emissions, with optional class weights.

    Args:
        weighting: How to weight the classes in training; `None` for the plain likelihood.
        constrain_decoding: Whether only sequences that `tag_encoding` allows are predicted.
        constrain_training: Whether the likelihood is also restricted to these sequences.
        include_start_end_transitions: Whether there are scores for starting and for ending with a tag.
        distillation_weight: In training on soft labels, the share of the teacher in the loss, from 0 to
            1; None for training without a teacher. A sentence with only unknown gold tags learns from
            the teacher alone.
        **kwargs: The other arguments of `ChainHead`, which say how to decode.

    Raises:
        ConfigurationError: If `constrain_training` is true for plain labels or without
            `constrain_decoding`, `distillation_weight` is out of range, or as `ChainHead` does.
    """

    def __init__(
        self,
        vocab: Vocabulary,
        label_namespace: str = "labels",
        tag_encoding: Optional[str] = None,
        weighting: Optional[TagWeighting] = None,
        constrain_decoding: bool = True,
        constrain_training: bool = False,
        include_start_end_transitions: bool = True,
        distillation_weight: Optional[float] = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(vocab, label_namespace, tag_encoding, **kwargs)
        constraints, tags = None, self.tags
        if tag_encoding is not None and constrain_decoding:
            constraints = legal_transitions(tag_encoding, tags)
        if constrain_training and constraints is None:
            raise ConfigurationError(
                "`constrain_training` needs tags that spell spans, and `constrain_decoding`; set it to "
                "false, or give `tag_encoding`"
            )
        if distillation_weight is not None:
            expected = "from 0, gold tags alone, to 1, the teacher alone"
            is_valid = 0 <= distillation_weight <= 1
            check_number("distillation_weight", distillation_weight, is_valid, expected)
        self._distillation_weight = distillation_weight
        self.needs_teacher = distillation_weight is not None
        self.crf = ConditionalRandomField(
            len(tags), constraints, include_start_end_transitions, weighting, constrain_training
        )

    def describe(self) -> HeadDescription:
        return super().describe()._replace(takes_new_labels=True)

    def sequence_loss(
        self, emissions: torch.Tensor, gold_tags: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        return -self.crf.log_likelihood(emissions, gold_tags, mask)

    def distillation_loss(
        self,
        emissions: torch.Tensor,
        gold_tags: torch.Tensor,
        mask: torch.Tensor,
        teacher: Optional[ChainMarginals],
    ) -> torch.Tensor:
        """Mixes the loss on gold tags with the cross-entropy to the teacher's distribution."""
        if self._distillation_weight is None:
            return super().distillation_loss(emissions, gold_tags, mask, teacher)
        if teacher is None:
            raise ConfigurationError(
                "`distillation_weight` needs instances with soft labels; set the dataset reader to "
                "`soft_labelled`, or leave `distillation_weight` out"
            )
        weight = self._distillation_weight
        taught = self.crf.cross_entropy(emissions, teacher, mask)
        if bool((taught == torch.inf).any()):
            raise ConfigurationError(
                "the teacher holds tags possible that `constrain_training` forbids; leave it out, or "
                "take a teacher with `constrain_decoding`"
            )
        mixed = (1 - weight) * self.sequence_loss(emissions, gold_tags, mask) + weight * taught
        has_gold = (are_known(gold_tags) & mask).any(1)
        return torch.where(has_gold, mixed, taught)

    def chain_scores(self, emissions: torch.Tensor) -> ChainScores:
        return self.crf.decoding_scores(emissions)
