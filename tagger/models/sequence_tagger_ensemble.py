"""An ensemble of sequence taggers."""

import copy
from typing import List, Optional, cast

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import TextFieldTensors, Vocabulary
from allennlp.models import Model

from tagger.common.ranges import check_is_one_of
from tagger.linear_chain import viterbi_decode
from tagger.models.tagging_model import TaggingModel
from tagger.modules.chain_decoder import expected_right
from tagger.modules.heads import (
    ChainHead,
    LabelChainsHead,
    SigmoidHead,
    SoftmaxHead,
    TaggingHead,
)
from tagger.modules.heads.label_chains import vocabulary_of_chain
from tagger.modules.sentence_rows import SentenceRows
from tagger.spans.overlapping import chain_namespace

AVERAGES = ("emissions", "marginals")


@Model.register("sequence_tagger_ensemble")
class SequenceTaggerEnsemble(TaggingModel):
    """Averages the predictions of taggers, for example of one config trained with several seeds.

    `allennlp ensemble` makes an ensemble's archive from taggers' archives. There are two averages:

    - `"emissions"` averages the emissions and what the heads have learnt: a CRF's transition, start and
      end scores, or the thresholds of labels. The score of a sequence of tags is linear in these, so
      this is the normalised geometric mean of the members' distributions over sequences. The CRF
      decodes it exactly, and the loss is the head's.
    - `"marginals"` averages the members' probabilities of each tag at each token. For CRFs these are
      the exact marginals of the mixture of the members' distributions over sequences. That mixture is
      not a chain, so the ensemble does not search for the most probable sequence. It predicts the
      sequence with the fewest expected wrong tags (minimum risk) among those that the encoding allows.
      The two may differ even if all members are equal. The loss is the cross-entropy of the averaged
      probabilities. For `label_chains`, all this applies to the chain of each label.

    The first member's settings for decoding, such as `decode_bias`, and its `recalibration` apply to
    the ensemble.

    Letters: `B` batch, `T` tokens, `K` tags.

    Args:
        vocab: The vocabulary of all members.
        members: Sequence taggers with heads of the same type and shapes.
        average: `"emissions"` or `"marginals"`.
    """

    def __init__(self, vocab: Vocabulary, members: List[Model], average: str) -> None:
        check_is_one_of("average", average, AVERAGES)
        if not members:
            raise ConfigurationError("`members` must hold at least one tagger; got none")
        taggers: List[TaggingModel] = []
        for index, member in enumerate(members):
            if not isinstance(member, TaggingModel):
                raise ConfigurationError(
                    f"`members` must be of type `sequence_tagger`; got number {index}, a "
                    f"`{type(member).__name__}`"
                )
            taggers.append(member)
        first = taggers[0]
        super().__init__(
            vocab=vocab,
            tag_encoding=first.tag_encoding,
            label_namespace=first.label_namespace,
            loss_reduction=first.loss_reduction,
        )
        self.segment_metrics = first.segment_metrics
        self.average = average
        self.head = _mean_head([tagger.head for tagger in taggers])
        if average == "marginals" and not isinstance(self.head, SigmoidHead):
            self.head = _mixture(self.head, vocab, self.label_namespace)
        self.members = torch.nn.ModuleList(taggers)

    @property
    def uses_documents(self) -> bool:
        return any(cast(TaggingModel, member).uses_documents for member in self.members)

    def emissions(
        self, tokens: TextFieldTensors, mask: torch.Tensor, rows: Optional[SentenceRows] = None
    ) -> torch.Tensor:
        """Returns the scores from which the ensemble's head computes the averages, (S, L, K)."""
        rows = rows or self.sentence_rows(mask)
        taggers = [cast(TaggingModel, member) for member in self.members]
        # (members, S, L, K)
        emissions = torch.stack([tagger.emissions(tokens, mask, rows) for tagger in taggers])
        if self.average == "emissions":
            return emissions.mean(0)
        if isinstance(self.head, LabelChainsHead):
            return self._log_odds_of_chains(emissions, rows.mask)
        pairs = zip(taggers, emissions)
        marginals = [tagger.head.marginals(scores, rows.mask) for tagger, scores in pairs]
        probabilities = torch.stack(marginals).mean(0)
        return probabilities.logit() if isinstance(self.head, SigmoidHead) else probabilities.log()

    def _log_odds_of_chains(self, emissions: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Returns the log-odds of each tag to the `O` of its chain, (S, L, K), and 0 for `O`.

        The probability of `O` differs from chain to chain, so log-probabilities could not share one.
        """
        odds = torch.zeros_like(emissions[0])
        heads = [cast(LabelChainsHead, member.head) for member in self.members]
        by_chain = zip(*(head.chains_of(scores) for head, scores in zip(heads, emissions)))
        for members, indices in zip(by_chain, cast(LabelChainsHead, self.head).tag_indices):
            marginals = [chain.marginals(scores, mask) for chain, scores in members]
            probabilities = torch.stack(marginals).mean(0)
            outside = probabilities[:, :, :1].clamp(min=torch.finfo(probabilities.dtype).tiny)
            odds[:, :, indices[1:]] = probabilities[:, :, 1:].log() - outside.log()
        return odds


class MixtureHead(SoftmaxHead):
    """Decodes log-probabilities of tags to the legal sequence with the fewest expected wrong tags.

    A mixture of chains is not a chain. The marginals of its tags are exact. The probability of an entity
    is approximate: it is computed in a chain with these marginals and without transition scores.
    """

    def __init__(self, vocab: Vocabulary, namespace: str, tag_encoding: Optional[str]) -> None:
        is_constrained = tag_encoding is not None
        super().__init__(vocab, namespace, tag_encoding, constrain_decoding=is_constrained)

    def marginals(self, emissions: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return emissions.float().softmax(2)

    def best_tags(self, emissions: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        probabilities = self.marginals(self.decoder.biased(emissions), mask)
        return viterbi_decode(expected_right(self.chain_scores(emissions), probabilities), mask)[0]


def _mixture(head: TaggingHead, vocab: Vocabulary, namespace: str) -> TaggingHead:
    """Returns a head for averaged marginals, with the decoding settings of `head`."""
    if isinstance(head, LabelChainsHead):
        for index, chain in enumerate(head.by_label):
            own = chain_namespace(namespace, head.labels[index])
            head.chains[index] = _mixture(chain, vocabulary_of_chain(chain.tags, own), own)
        return head
    if not isinstance(head, ChainHead):
        raise ConfigurationError(
            f"`average` must be `emissions` for members with a `{type(head).__name__}`; got `marginals`"
        )
    mixture = MixtureHead(vocab, namespace, head.tag_encoding)
    mixture.decoder, mixture.recalibration = head.decoder, head.recalibration
    return mixture


def _mean_head(heads: List[TaggingHead]) -> TaggingHead:
    """A copy of the first head with the mean weights of all; an archive's weights replace them."""
    states = [head.state_dict() for head in heads]
    shapes = [{name: value.shape for name, value in state.items()} for state in states]
    for index, head in enumerate(heads):
        if type(head) is not type(heads[0]) or shapes[index] != shapes[0]:
            raise ConfigurationError(
                f"`members` must have heads of the same type and shapes; number {index} has a "
                f"`{type(head).__name__}`, which differs from the `{type(heads[0]).__name__}` of the "
                f"first"
            )
    means = {
        name: torch.stack([state[name] for state in states]).mean(0)
        for name, value in states[0].items()
        if value.is_floating_point()
    }
    mean = copy.deepcopy(heads[0])
    mean.load_state_dict({**states[0], **means})
    return mean
