"""The CRF as a tagging head."""

from typing import Dict, Optional

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary

from tagger.linear_chain import ChainScores
from tagger.modules.conditional_random_field import ConditionalRandomField
from tagger.modules.heads.chain_head import ChainHead
from tagger.modules.heads.legal_transitions import legal_transitions
from tagger.modules.heads.tagging_head import TaggingHead
from tagger.modules.tag_weighting import TagWeighting
from tagger.vocabulary import tags_in_order


@TaggingHead.register("crf")
class CrfHead(ChainHead):
    """A linear-chain CRF over the emissions, its classes weighted if so asked.

    Args:
        vocab: holds the tags; supplied by the model in a config.
        label_namespace: the vocabulary's namespace of the tags; supplied by the model in a config.
        tag_encoding: the encoding of the tags, `None` if they spell no spans; supplied by the model in
            a config.
        weighting: how to weight the classes in training; `None` for the plain likelihood.
        constrain_decoding: whether decoding keeps to sequences that `tag_encoding` allows.
        constrain_training: whether the likelihood does so too.
        include_start_end_transitions: whether starting and ending with a tag have scores of their own.
        decode_bias: see `ChainDecoder`; likewise the next two.
        entity_thresholds: probabilities by label, below which entities are not predicted.
        decoding: `"viterbi"` or `"minimum_risk"`.

    Raises:
        ConfigurationError: if the vocabulary has no tags, or training is to be constrained without an
            encoding that says how, or as `ChainDecoder` does.
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
        decode_bias: Optional[Dict[str, float]] = None,
        entity_thresholds: Optional[Dict[str, float]] = None,
        decoding: str = "viterbi",
    ) -> None:
        constraints = None
        tags = tags_in_order(vocab, label_namespace)
        if tag_encoding is not None and constrain_decoding:
            constraints = legal_transitions(tag_encoding, tags)
        if constrain_training and constraints is None:
            raise ConfigurationError(
                "`constrain_training` needs tags that spell spans, and `constrain_decoding`; set it to "
                "false, or give `tag_encoding`"
            )
        super().__init__(
            vocab, label_namespace, tag_encoding, decode_bias, entity_thresholds, decoding
        )
        self.crf = ConditionalRandomField(
            len(tags), constraints, include_start_end_transitions, weighting, constrain_training
        )

    def sequence_loss(
        self, emissions: torch.Tensor, tags: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        return -self.crf.log_likelihood(emissions, tags, mask)

    def chain_scores(self, emissions: torch.Tensor) -> ChainScores:
        return self.crf.decoding_scores(emissions)
