"""The head of an ensemble of chains that averages marginals."""

from typing import Optional, Sequence

import torch
from allennlp.data import Vocabulary

from tagger.linear_chain import viterbi_decode
from tagger.modules.chain_decoder import expected_right
from tagger.modules.heads.softmax import SoftmaxHead
from tagger.modules.heads.tagging_head import TaggingHead, mean_marginals


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
