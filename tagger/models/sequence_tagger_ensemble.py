"""Several sequence taggers that decide together."""

import copy
from typing import List, Optional, cast

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import TextFieldTensors, Vocabulary
from allennlp.models import Model

from tagger.linear_chain import viterbi_decode
from tagger.models.sequence_tagger import SequenceTagger
from tagger.modules.chain_decoder import expected_right
from tagger.modules.heads import ChainHead, SigmoidHead, SoftmaxHead, TaggingHead

AVERAGES = ("emissions", "marginals")


@Model.register("sequence_tagger_ensemble")
class SequenceTaggerEnsemble(SequenceTagger):
    """Averages taggers that were trained on the same data from different seeds, say.

    `scripts/make_ensemble.py` makes an archive of one from archives of taggers. There are two averages:

    - `"emissions"`, and with them what the heads have learnt: a CRF's transition, start and end scores,
      the thresholds of labels. As the score of a sequence of tags is linear in these, this is the
      geometric mean of the members' distributions of sequences, normalised again; the CRF decodes
      it exactly, and the loss is that of the head.
    - `"marginals"`: the arithmetic mean of the members' probabilities of each tag at each token. Of
      CRFs these are exactly the marginals of the mixture of the members' distributions of
      sequences. That mixture is no chain, so no best sequence is sought: predicted is, among those
      that the encoding allows, the one with the least expected number of wrong tags (minimum risk).
      This need not be the best sequence even if all members are the same. The loss is the
      cross-entropy of the averaged probabilities.

    Of the members' settings for decoding, such as `decode_bias`, the first one's hold for all.

    Letters: `B` batch, `T` tokens, `K` tags.

    Args:
        vocab: of all members.
        members: sequence taggers with heads that are alike.
        average: `"emissions"` or `"marginals"`.

    Raises:
        ConfigurationError: if `average` is none of these, or the members do not go together.
    """

    def __init__(self, vocab: Vocabulary, members: List[Model], average: str) -> None:
        # The parts that make a single tagger's emissions are the members'.
        super(SequenceTagger, self).__init__(vocab)
        if average not in AVERAGES:
            raise ConfigurationError(
                f"`average` must be one of {', '.join(AVERAGES)}; got {average!r}"
            )
        taggers = _checked(members)
        first = taggers[0]
        self.average = average
        self.tags = first.tags
        self.tag_encoding = first.tag_encoding
        self.label_namespace = first.label_namespace
        self.loss_reduction = first.loss_reduction
        self.training_metrics = False
        self.head = _mean_head([tagger.head for tagger in taggers])
        if average == "marginals" and isinstance(self.head, ChainHead):
            decoder = self.head.decoder
            self.head = MixtureHead(vocab, self.label_namespace, self.tag_encoding)
            self.head.decoder = decoder
            self.head.prepare_metrics(vocab, self.label_namespace, self.tag_encoding)
        self.members = torch.nn.ModuleList(taggers)

    def emissions(self, tokens: TextFieldTensors, mask: torch.Tensor) -> torch.Tensor:
        """Returns what the ensemble's head turns into the averages, (B, T, K)."""
        # (members, B, T, K)
        emissions = torch.stack(
            [cast(SequenceTagger, member).emissions(tokens, mask) for member in self.members]
        )
        if self.average == "emissions":
            return emissions.mean(0)
        marginals = [
            cast(SequenceTagger, member).head.marginals(scores, mask)
            for member, scores in zip(self.members, emissions)
        ]
        probabilities = torch.stack(marginals).mean(0)
        if isinstance(self.head, SigmoidHead):
            return torch.logit(probabilities)
        return probabilities.log()


class MixtureHead(SoftmaxHead):
    """Decodes log-probabilities of tags to the legal tags of which the fewest are expected to be wrong.

    A mixture of chains is no chain. Its tags' marginals are exact; the probability of an entity is that
    of the chain of these marginals, without transition scores, which is an approximation.

    Args:
        vocab: holds the tags.
        label_namespace: the vocabulary's namespace of the tags.
        tag_encoding: the encoding of the tags, `None` if they spell no spans.
    """

    def __init__(
        self, vocab: Vocabulary, label_namespace: str, tag_encoding: Optional[str]
    ) -> None:
        super().__init__(
            vocab, label_namespace, tag_encoding, constrain_decoding=tag_encoding is not None
        )

    def marginals(self, emissions: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return emissions.float().softmax(2)

    def best_tags(self, emissions: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        probabilities = self.marginals(self.decoder.biased(emissions), mask)
        return viterbi_decode(expected_right(self.chain_scores(emissions), probabilities), mask)[0]


def _checked(members: List[Model]) -> List[SequenceTagger]:
    if not members:
        raise ConfigurationError("`members` must hold at least one tagger; got none")
    taggers = []
    for index, member in enumerate(members):
        if not isinstance(member, SequenceTagger):
            raise ConfigurationError(
                f"`members` must be of type `sequence_tagger`; number {index} is a "
                f"`{type(member).__name__}`"
            )
        taggers.append(member)
    return taggers


def _mean_head(heads: List[TaggingHead]) -> TaggingHead:
    """A copy of the first head with the mean of all heads' parameters and buffers.

    When an archive is loaded, its weights take the place of these.
    """
    states = [head.state_dict() for head in heads]
    shapes = [{name: value.shape for name, value in state.items()} for state in states]
    for index, head in enumerate(heads):
        if type(head) is not type(heads[0]) or shapes[index] != shapes[0]:
            raise ConfigurationError(
                f"`members` must have heads that are alike; that of number {index}, a "
                f"`{type(head).__name__}`, has not the parameters of the first, a "
                f"`{type(heads[0]).__name__}`"
            )
    mean = copy.deepcopy(heads[0])
    mean.load_state_dict(
        {
            name: torch.stack([state[name] for state in states]).mean(0)
            if value.is_floating_point()
            else value
            for name, value in states[0].items()
        }
    )
    return mean
