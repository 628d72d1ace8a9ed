"""The tagging head for entities that overlap: a linear chain for each label.

Letters: `B` sentences, `T` tokens, `C` labels, `K` tags of one label and `O`, `N` tags of all labels
and `O`. Row `b * C + c` of `B * C` rows is the chain of label c over sentence b.
"""

from typing import Collection, Dict, List, Mapping, Optional, Sequence, cast

import torch
from allennlp.common import Lazy, Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary

from tagger.common.vocabulary import check_is_label, tags_in_order
from tagger.linear_chain import check_is_right_padded
from tagger.modules.chain_decoder import ChainDecoder
from tagger.modules.heads.chain_outputs import NAMES, stacked
from tagger.modules.heads.crf import CrfHead
from tagger.modules.heads.joint_chain import JointChain, LabelChains
from tagger.modules.heads.tagging_head import HeadDescription, TaggingHead, mean_marginals
from tagger.modules.tag_weighting import TagWeighting
from tagger.spans import split_tag
from tagger.spans.overlapping import chain_namespace
from tagger_texts.merging import merged_chains
from tagger_texts.prediction import Prediction
from tagger_texts.tagged_text import NO_EXTRAS, Extras

#: The arguments of weightings that give numbers by label.
_BY_LABEL = ("label_weights", "missing", "inventing", "confusing")


@TaggingHead.register("label_chains")
class LabelChainsHead(TaggingHead):
    """A CRF for each label over its own tags and `O`, so that entities of different labels may overlap.

    Entities of the same label cannot overlap. Each label is learnt where it is annotated: gold tags are
    (B, T, N) as from `LabelChainsField`, with -1 for the tags of labels that are not annotated. All
    chains share the emission of `O`, which learns what distinguishes entities of any label from other
    words. Without it, `label_chains` finds fewer entities than `crf`.

    Args:
        vocab: Holds the tags of all labels; the model in a config supplies it and the next two.
        label_namespace: The vocabulary's namespace of the tags.
        tag_encoding: The encoding of the tags.
        weighting: How each chain weights its tags; numbers by label go to the chain of the label.
        constrain_decoding: As for the head `crf`, and so are the next two.
        constrain_training: Whether the likelihood is over legal sequences only.
        include_start_end_transitions: Whether there are scores for starting and for ending with a tag.
        average_labels: Whether the loss is the mean over labels, not their sum.
        decode_bias: A number by label, see `ChainDecoder`.
        entity_thresholds: Probabilities by label, below which entities are not predicted.
        decoding: `"viterbi"` or `"minimum_risk"`.
        recalibration: Three numbers by label that correct the probabilities of entities.

    Attributes:
        chains: The head of each label, in the order of `labels`.
        labels: The labels, sorted.
    """

    def __init__(
        self,
        vocab: Vocabulary,
        label_namespace: str = "labels",
        tag_encoding: Optional[str] = None,
        weighting: Optional[Lazy[TagWeighting]] = None,
        constrain_decoding: bool = True,
        constrain_training: bool = False,
        include_start_end_transitions: bool = True,
        average_labels: bool = False,
        decode_bias: Optional[Dict[str, float]] = None,
        entity_thresholds: Optional[Dict[str, float]] = None,
        decoding: str = "viterbi",
        recalibration: Optional[Dict[str, List[float]]] = None,
    ) -> None:
        super().__init__()
        tags = tags_in_order(vocab, label_namespace)
        of_labels = _tags_by_label(tags, tag_encoding)
        settings = decode_bias, entity_thresholds, decoding, recalibration
        number_of = {tag: number for number, tag in enumerate(tags)}
        indices = torch.tensor([[number_of[tag] for tag in own] for own in of_labels.values()])
        self.chains = LabelChains(list(of_labels), indices, len(tags))
        self.joint = JointChain(self.chains, vocab, label_namespace, tag_encoding, *settings)
        self.labels = self.chains.labels
        self.average_labels = average_labels
        _check_names(weighting, dict.fromkeys([*self.labels, *tags]))
        for label, own in of_labels.items():
            namespace = chain_namespace(label_namespace, label)
            own_vocab = vocabulary_of_chain(own, namespace)
            own_weighting = _weighting_of(label, weighting, own, own_vocab, namespace)
            chain = CrfHead(
                vocab=own_vocab,
                label_namespace=namespace,
                tag_encoding=tag_encoding,
                weighting=own_weighting,
                constrain_decoding=constrain_decoding,
                constrain_training=constrain_training,
                include_start_end_transitions=include_start_end_transitions,
                recalibration={k: v for k, v in (recalibration or {}).items() if k == label},
            )
            self.chains.append(chain)
        self.set_decoder(self.decoder)

    @property
    def decoder(self) -> ChainDecoder:
        """The settings of all labels; set them by `set_decoder`."""
        return self.joint.decoder

    def describe(self) -> HeadDescription:
        return HeadDescription("label_chains", takes_new_labels=True)

    def as_chain(self) -> "JointChain":
        return self.joint

    def adjust(self, biases: Mapping[str, float], thresholds: Mapping[str, float]) -> None:
        self.joint.adjust(biases, thresholds)
        self.set_decoder(self.decoder)

    def mixture(self, vocab: Vocabulary, label_namespace: str) -> "LabelChainsHead":
        for index, chain in enumerate(self.chains.by_label):
            own = chain_namespace(label_namespace, self.labels[index])
            self.chains[index] = chain.mixture(vocabulary_of_chain(chain.tags, own), own)
        return self

    def average(
        self, members: Sequence[TaggingHead], emissions: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        """Returns the log-odds of each tag to the `O` of its chain, (B, T, N), and 0 for `O`.

        The probability of `O` differs from chain to chain, so log-probabilities could not share one.
        """
        odds = torch.zeros_like(emissions[0])
        for index, indices in enumerate(self.chains.tag_indices):
            heads = [cast(LabelChainsHead, member).chains.by_label[index] for member in members]
            probabilities = mean_marginals(heads, emissions[..., indices].unbind(0), mask)
            outside = probabilities[:, :, :1].clamp(min=torch.finfo(probabilities.dtype).tiny)
            odds[:, :, indices[1:]] = probabilities[:, :, 1:].log() - outside.log()
        return odds

    def known_weights(self, old: TaggingHead) -> Dict[str, str]:
        places = {label: place for place, label in enumerate(cast(LabelChainsHead, old).labels)}
        return {
            f"chains.{place}.{name}": f"chains.{places[label]}.{name}"
            for place, (label, chain) in enumerate(zip(self.labels, self.chains.by_label))
            if label in places
            for name in chain.state_dict()
        }

    def grown_weights(self, old: TaggingHead) -> Dict[str, torch.Tensor]:
        """Returns the weights of the old chains, and for each new chain the mean of these."""
        weights, chains = old.state_dict(), cast(LabelChainsHead, old).chains.by_label
        grown = {name: weights[before] for name, before in self.known_weights(old).items()}
        for place, chain in enumerate(self.chains.by_label):
            for name in ("transitions", "start_transitions", "end_transitions"):
                own = f"chains.{place}.crf.{name}"
                if own in grown or f"chains.0.crf.{name}" not in weights:
                    continue
                values = []
                for number, each in enumerate(chains):
                    prefixes = [split_tag(tag)[0] for tag in each.tags]
                    rows = [prefixes.index(split_tag(tag)[0]) for tag in chain.tags]
                    before = weights[f"chains.{number}.crf.{name}"][rows]
                    values.append(before if before.dim() == 1 else before[:, rows])
                grown[own] = torch.stack(values).mean(0)
        return grown

    def set_decoder(self, decoder: ChainDecoder) -> None:
        """Gives each chain the settings of its label."""
        self.joint.decoder = decoder
        for label, chain in zip(self.labels, self.chains.by_label):
            bias, thresholds = (
                {name: value for name, value in values.items() if name == label}
                for values in (decoder.decode_bias, decoder.entity_thresholds)
            )
            settings = bias, thresholds, decoder.decoding
            own = ChainDecoder(chain.tags, self.joint.tag_encoding, *settings)
            chain.set_decoder(own.to(decoder.bias.device))

    def sequence_loss(
        self, emissions: torch.Tensor, gold_tags: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        gold = self.chains.gold_of_chains(gold_tags, mask)
        losses = [
            chain.sequence_loss(scores, own, mask)
            for (chain, scores), own in zip(self.chains.with_emissions(emissions), gold.unbind(2))
        ]
        total = torch.stack(losses).sum(0)
        return total / len(losses) if self.average_labels else total

    def marginals(self, emissions: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """The probability of each tag in the chain of its label, (B, T, N); 1 for `O`."""
        marginals = torch.ones_like(emissions)
        for (chain, scores), indices in zip(
            self.chains.with_emissions(emissions), self.chains.tag_indices
        ):
            marginals[:, :, indices[1:]] = chain.marginals(scores, mask)[:, :, 1:]
        return marginals

    def check(self, extras: Extras) -> None:
        self.joint.check(extras)

    @torch.no_grad()
    def predict(
        self, emissions: torch.Tensor, mask: torch.Tensor, extras: Extras = NO_EXTRAS
    ) -> Dict[str, torch.Tensor]:
        """Returns the tensors of the chains' predictions, stacked to (B, T, C, ...).

        `predicted_tags` are (B, T, C) int64, indices of the chain's own tags. See `Chain.predict`.
        """
        check_is_right_padded(mask, emissions)
        outputs = []
        for label, (chain, scores) in zip(self.labels, self.chains.with_emissions(emissions)):
            own = tuple(each for each in extras.leak_labels if each == label)
            outputs.append(chain.predict(scores, mask, extras._replace(leak_labels=own)))
        names = dict.fromkeys(name for output in outputs for name in output)
        return {name: stacked([output.get(name) for output in outputs]) for name in names}

    def measure(
        self, predictions: Dict[str, torch.Tensor], gold_tags: torch.Tensor, mask: torch.Tensor
    ) -> None:
        """Adds a batch to the metrics, see `TagMetrics`, for which each chain is a sentence."""
        rows = {"predicted_tags": self.chains.tag_rows(predictions["predicted_tags"])}
        if "entity_probabilities" in predictions:
            rows["entity_probabilities"] = self.chains.rows(predictions["entity_probabilities"])
        self.joint.measure(rows, self.chains.gold_rows(gold_tags, mask), self.chains.rows(mask))

    def get_metrics(self, reset: bool = False) -> Dict[str, float]:
        return self.joint.get_metrics(reset)

    def get_confusions(self) -> Dict[str, int]:
        return self.joint.get_confusions()

    def get_partial_metrics(self) -> Dict[str, float]:
        return self.joint.get_partial_metrics()

    def get_tables(self) -> List[str]:
        return self.joint.get_tables()

    def predictions(self, output: Dict[str, torch.Tensor], lengths: List[int]) -> List[Prediction]:
        """Returns what `Chain.predictions` does, of all labels together.

        A token's `tags` are joined by `|`; its `probabilities` are of all tags but `O`.
        """
        tensors = {name: output.pop(name) for name in NAMES if name in output}
        of_chains = [
            chain.predictions({name: each[:, :, c] for name, each in tensors.items()}, lengths)
            for c, chain in enumerate(self.chains.by_label)
        ]
        return [merged_chains(of_labels) for of_labels in zip(*of_chains)]


def vocabulary_of_chain(tags: Sequence[str], namespace: str) -> Vocabulary:
    """Returns a vocabulary of the tags of one chain."""
    vocab = Vocabulary(non_padded_namespaces=[namespace])
    for tag in tags:
        vocab.add_token_to_namespace(tag, namespace)
    return vocab


def _tags_by_label(tags: List[str], tag_encoding: Optional[str]) -> Dict[str, List[str]]:
    """Returns `O` and the tags of each label, by label, sorted."""
    if tag_encoding is None or "O" not in tags:
        raise ConfigurationError(
            f"`head` is label_chains, which needs tags that spell entities, and `O`; got "
            f"{', '.join(tags)}; set `label_chains` of the dataset reader, or use another head"
        )
    of_labels: Dict[str, List[str]] = {}
    for tag in tags:
        label = split_tag(tag, tag_encoding)[1]
        if label is not None:
            of_labels.setdefault(label or "_", ["O"]).append(tag)
    if len({len(own) for own in of_labels.values()}) != 1:
        raise ConfigurationError(
            f"`head` is label_chains, which needs all tags of each label; got {', '.join(tags)}; "
            f"complete them by `tagger.spans.complete_tags`"
        )
    return dict(sorted(of_labels.items()))


def _check_names(weighting: Optional[Lazy[TagWeighting]], known: Collection[str]) -> None:
    """Refuses numbers for labels or tags that no chain has."""
    params = {} if weighting is None else weighting._params.as_dict(quiet=True)
    for argument in _BY_LABEL:
        numbers = params.get(argument)
        for name in numbers if isinstance(numbers, dict) else ():
            check_is_label(argument, name, known)


def _weighting_of(
    label: str,
    weighting: Optional[Lazy[TagWeighting]],
    tags: List[str],
    vocab: Vocabulary,
    namespace: str,
) -> Optional[TagWeighting]:
    """Builds the weighting of a label's chain, with those of the numbers by label that concern it."""
    if weighting is None:
        return None
    params = {**weighting._params.as_dict(quiet=True), "label_namespace": namespace}
    for argument in _BY_LABEL:
        if isinstance(params.get(argument), dict):
            numbers = params[argument].items()
            params[argument] = {name: value for name, value in numbers if name in (label, *tags)}
    return Lazy(TagWeighting, Params(params)).construct(vocab=vocab)
