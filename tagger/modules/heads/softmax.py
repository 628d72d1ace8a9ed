"""A token classifier as a tagging head."""

from typing import Optional

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary

from tagger.data.fields import tags_in_order
from tagger.linear_chain import ChainScores, viterbi_decode
from tagger.modules.heads.legal_transitions import legal_transitions
from tagger.modules.heads.tagging_head import TaggingHead
from tagger.modules.token_losses import CrossEntropyLoss, TokenLoss


@TaggingHead.register("softmax")
class SoftmaxHead(TaggingHead):
    """A softmax over the tags of each token, by itself.

    Args:
        vocab: holds the tags; supplied by the model in a config.
        label_namespace: the vocabulary's namespace of the tags; supplied by the model in a config.
        tag_encoding: the encoding of the tags, `None` if they spell no spans; supplied by the model in
            a config.
        loss: of each token; cross-entropy if left out.
        constrain_decoding: whether to predict the most probable of the sequences that `tag_encoding`
            allows, instead of the most probable tag of each token.

    Raises:
        ConfigurationError: if the vocabulary has no tags, or decoding is to be constrained and the tags
            spell no spans.
    """

    #: (K + 2, K + 2): 0 where a transition is legal, else -inf; K is the start, K + 1 the end.
    transitions: Optional[torch.Tensor]

    def __init__(
        self,
        vocab: Vocabulary,
        label_namespace: str = "labels",
        tag_encoding: Optional[str] = None,
        loss: Optional[TokenLoss] = None,
        constrain_decoding: bool = False,
    ) -> None:
        super().__init__()
        tags = tags_in_order(vocab, label_namespace)
        self.loss = loss or CrossEntropyLoss()
        transitions = None
        if constrain_decoding:
            if tag_encoding is None:
                raise ConfigurationError(
                    f"`constrain_decoding` needs tags that spell spans; got {', '.join(tags)}; set it "
                    f"to false, or give `tag_encoding`"
                )
            transitions = torch.full((len(tags) + 2, len(tags) + 2), -torch.inf)
            for i, j in legal_transitions(tag_encoding, tags):
                transitions[i, j] = 0
        self.register_buffer("transitions", transitions, persistent=False)

    def sequence_loss(
        self, emissions: torch.Tensor, tags: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        return self.loss(emissions, tags, mask).sum(1)

    def marginals(self, emissions: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return emissions.float().softmax(2)

    def decode(self, emissions: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        if self.transitions is None:
            best = emissions.argmax(2)
            return torch.where(mask, best, torch.zeros_like(best))
        # Emissions do for log-probabilities: their difference at a token is the same for all tags.
        scores = ChainScores(
            emissions,
            self.transitions[:-2, :-2],
            start=self.transitions[-2, :-2],
            end=self.transitions[:-2, -1],
        )
        return viterbi_decode(scores, mask)[0]
