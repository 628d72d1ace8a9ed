"""The base of heads under which tags are a linear chain, and such heads without transition scores."""

from typing import Any, Optional, Sequence

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary

from tagger.common.vocabulary import tags_in_order
from tagger.linear_chain import ChainScores, viterbi_decode
from tagger.modules.chain_decoder import expected_right
from tagger.modules.heads.chain import Chain, legal_transitions
from tagger.modules.heads.tagging_head import HeadDescription, TaggingHead, mean_marginals
from tagger.modules.token_losses import CrossEntropyLoss, TokenLoss


class ChainHead(Chain, TaggingHead):
    """A head for one tag per token, with a linear chain as its distribution of tag sequences.

    A CRF is one, and so is a softmax, which is a chain without transition scores. Subclasses implement
    `sequence_loss` and `chain_scores`. The arguments are those of `Chain`.
    """

    def describe(self) -> HeadDescription:
        return HeadDescription("chain")

    def as_chain(self) -> Chain:
        return self

    def mixture(self, vocab: Vocabulary, label_namespace: str) -> "ChainHead":
        mixture = MixtureHead(vocab, label_namespace, self.tag_encoding)
        mixture.decoder, mixture.recalibration = self.decoder, self.recalibration
        return mixture


@TaggingHead.register("softmax")
class SoftmaxHead(ChainHead):
    """A softmax over the tags of each token, independent of the other tokens.

    Args:
        loss: The loss of each token; cross-entropy by default.
        constrain_decoding: Whether to predict the most probable of the sequences that `tag_encoding`
            allows, instead of the most probable tag of each token.
        **kwargs: The other arguments of `Chain`, which say how to decode.

    Raises:
        ConfigurationError: If `constrain_decoding` is true for plain labels, or as `Chain` does.
    """

    #: (K + 2, K + 2): 0 if a transition may be predicted, else -inf; K is the start, K + 1 the end.
    transitions: torch.Tensor

    def __init__(
        self,
        vocab: Vocabulary,
        label_namespace: str = "labels",
        tag_encoding: Optional[str] = None,
        loss: Optional[TokenLoss] = None,
        constrain_decoding: bool = False,
        **kwargs: Any,
    ) -> None:
        tags = tags_in_order(vocab, label_namespace)
        transitions = torch.zeros(len(tags) + 2, len(tags) + 2)
        if constrain_decoding:
            if tag_encoding is None:
                raise ConfigurationError(
                    f"`constrain_decoding` needs tags that spell spans; got {', '.join(tags)}; set it "
                    f"to false, or give `tag_encoding`"
                )
            transitions.masked_fill_(~legal_transitions(tag_encoding, tags), -torch.inf)
        super().__init__(vocab, label_namespace, tag_encoding, **kwargs)
        self.loss = loss or CrossEntropyLoss()
        self.constrain_decoding = constrain_decoding
        self.register_buffer("transitions", transitions, persistent=False)

    def sequence_loss(
        self, emissions: torch.Tensor, gold_tags: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        return self.loss_beside(emissions, gold_tags, mask, None)

    def loss_beside(
        self,
        emissions: torch.Tensor,
        gold_tags: torch.Tensor,
        mask: torch.Tensor,
        weights: Optional[torch.Tensor],
    ) -> torch.Tensor:
        return self.loss(emissions, gold_tags, mask, weights).sum(1)

    def chain_scores(self, emissions: torch.Tensor) -> ChainScores:
        # Emissions can stand for log-probabilities: at each token the two differ by a constant.
        return ChainScores(
            emissions,
            self.transitions[:-2, :-2],
            start=self.transitions[-2, :-2],
            end=self.transitions[:-2, -1],
        )

    def best_tags(self, emissions: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        if self.constrain_decoding:
            return super().best_tags(emissions, mask)
        # Same as both ways of decoding, but without the rounding errors of sums over long chains.
        best = self.decoder.biased(emissions).argmax(2)
        return torch.where(mask, best, torch.zeros_like(best))

    @property
    def decodes_tokens_apart(self) -> bool:
        return not self.constrain_decoding


class MixtureHead(SoftmaxHead):
    """Decodes log-probabilities of tags to the legal sequence with the fewest expected wrong tags.

    A mixture of chains is not a chain. The marginals of its tags are exact. The probability of an entity
    is approximate: it is computed in a chain with these marginals and without transition scores.
    """

    def __init__(self, vocab: Vocabulary, namespace: str, tag_encoding: Optional[str]) -> None:
        is_constrained = tag_encoding is not None
        super().__init__(vocab, namespace, tag_encoding, constrain_decoding=is_constrained)

    def average(
        self, members: Sequence[TaggingHead], emissions: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        return mean_marginals(members, emissions.unbind(0), mask).log()

    def marginals(self, emissions: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return emissions.float().softmax(2)

    def best_tags(self, emissions: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        probabilities = self.marginals(self.decoder.biased(emissions), mask)
        return viterbi_decode(expected_right(self.chain_scores(emissions), probabilities), mask)[0]
