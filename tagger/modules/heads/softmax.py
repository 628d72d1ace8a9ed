"""A token classifier as a tagging head."""

from typing import Dict, Optional

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary

from tagger.linear_chain import ChainScores
from tagger.modules.heads.chain_head import ChainHead
from tagger.modules.heads.legal_transitions import legal_transitions
from tagger.modules.heads.tagging_head import TaggingHead
from tagger.modules.token_losses import CrossEntropyLoss, TokenLoss
from tagger.vocabulary import tags_in_order


@TaggingHead.register("softmax")
class SoftmaxHead(ChainHead):
    """A softmax over the tags of each token, by itself.

    Args:
        vocab: holds the tags; supplied by the model in a config.
        label_namespace: the vocabulary's namespace of the tags; supplied by the model in a config.
        tag_encoding: the encoding of the tags, `None` if they spell no spans; supplied by the model in
            a config.
        loss: of each token; cross-entropy if left out.
        constrain_decoding: whether to predict the most probable of the sequences that `tag_encoding`
            allows, instead of the most probable tag of each token.
        decode_bias: see `ChainDecoder`; likewise the next two.
        entity_thresholds: probabilities by label, below which entities are not predicted.
        decoding: `"viterbi"` or `"minimum_risk"`.

    Raises:
        ConfigurationError: if the vocabulary has no tags, or decoding is to be constrained and the tags
            spell no spans, or as `ChainDecoder` does.
    """

    #: (K + 2, K + 2): 0 where a transition may be predicted, else -inf; K is the start, K + 1 the end.
    transitions: torch.Tensor

    def __init__(
        self,
        vocab: Vocabulary,
        label_namespace: str = "labels",
        tag_encoding: Optional[str] = None,
        loss: Optional[TokenLoss] = None,
        constrain_decoding: bool = False,
        decode_bias: Optional[Dict[str, float]] = None,
        entity_thresholds: Optional[Dict[str, float]] = None,
        decoding: str = "viterbi",
    ) -> None:
        tags = tags_in_order(vocab, label_namespace)
        transitions = torch.zeros(len(tags) + 2, len(tags) + 2)
        if constrain_decoding:
            if tag_encoding is None:
                raise ConfigurationError(
                    f"`constrain_decoding` needs tags that spell spans; got {', '.join(tags)}; set it "
                    f"to false, or give `tag_encoding`"
                )
            transitions.fill_(-torch.inf)
            for i, j in legal_transitions(tag_encoding, tags):
                transitions[i, j] = 0
        super().__init__(
            vocab, label_namespace, tag_encoding, decode_bias, entity_thresholds, decoding
        )
        self.loss = loss or CrossEntropyLoss()
        self.constrain_decoding = constrain_decoding
        self.register_buffer("transitions", transitions, persistent=False)

    def sequence_loss(
        self, emissions: torch.Tensor, tags: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        return self.loss(emissions, tags, mask).sum(1)

    def chain_scores(self, emissions: torch.Tensor) -> ChainScores:
        # Emissions do for log-probabilities: their difference at a token is the same for all tags.
        return ChainScores(
            emissions,
            self.transitions[:-2, :-2],
            start=self.transitions[-2, :-2],
            end=self.transitions[:-2, -1],
        )

    def best_tags(self, emissions: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        if self.constrain_decoding:
            return super().best_tags(emissions, mask)
        # Both ways of decoding come to this, which no sum over a long chain blurs.
        best = self.decoder.biased(emissions).argmax(2)
        return torch.where(mask, best, torch.zeros_like(best))
