"""An ensemble of sequence taggers."""

import copy
from typing import List, Optional, Type, TypeVar, cast

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import TextFieldTensors, Vocabulary
from allennlp.models import Model

from tagger.common.ranges import check_is_one_of
from tagger.models.tagging_model import TaggingModel
from tagger.modules.heads import TaggingHead
from tagger.modules.sentence_rows import SentenceRows

AVERAGES = ("emissions", "marginals")
_Kind = TypeVar("_Kind", bound=Model)


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
        members: Sequence taggers with heads of the same type and shapes. The average `"marginals"` takes
            any heads with one tag per token, also with other weightings.
        average: `"emissions"` or `"marginals"`.
    """

    def __init__(self, vocab: Vocabulary, members: List[Model], average: str) -> None:
        check_is_one_of("average", average, AVERAGES)
        taggers = checked_members(members, TaggingModel, "tagger", "sequence_tagger")
        first = taggers[0]
        super().__init__(
            vocab=vocab,
            tag_encoding=first.tag_encoding,
            label_namespace=first.label_namespace,
            loss_reduction=first.loss_reduction,
        )
        self.segment_metrics = first.segment_metrics
        self.average = average
        self.head = _joint_head([tagger.head for tagger in taggers], average)
        if average == "marginals":
            self.head = self.head.mixture(vocab, self.label_namespace)
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
        return self.head.average([tagger.head for tagger in taggers], emissions, rows.mask)


def checked_members(members: List[Model], kind: Type[_Kind], noun: str, name: str) -> List[_Kind]:
    """Returns the members of an ensemble, unless one is of another kind than the type `name`."""
    if not members:
        raise ConfigurationError(f"`members` must hold at least one {noun}; got none")
    checked = []
    for index, member in enumerate(members):
        if not isinstance(member, kind):
            raise ConfigurationError(
                f"`members` must be of type `{name}`; got number {index}, a `{type(member).__name__}`"
            )
        checked.append(member)
    return checked


def _joint_head(heads: List[TaggingHead], average: str) -> TaggingHead:
    """The head that says how the ensemble decodes; it needs the weights of all only for emissions."""
    chains = [head.as_chain() for head in heads]
    are_plain = all(chain is not None and not chain.labels_of_rows for chain in chains)
    if average == "marginals" and are_plain:
        return copy.deepcopy(heads[0])
    return _mean_head(heads)


def _mean_head(heads: List[TaggingHead]) -> TaggingHead:
    """A copy of the first head with the mean weights of all; an archive's weights replace them."""
    states = [head.state_dict() for head in heads]
    shapes = [{name: value.shape for name, value in state.items()} for state in states]
    for index, head in enumerate(heads):
        if type(head) is not type(heads[0]) or shapes[index] != shapes[0]:
            raise ConfigurationError(
                f"`members` must have heads of the same type and shapes; number {index} has a "
                f"`{type(head).__name__}`, which differs from the `{type(heads[0]).__name__}` of the "
                f"first; if both have one tag per token, average `marginals`"
            )
    means = {
        name: torch.stack([state[name] for state in states]).mean(0)
        for name, value in states[0].items()
        if value.is_floating_point()
    }
    mean = copy.deepcopy(heads[0])
    mean.load_state_dict({**states[0], **means})
    return mean
