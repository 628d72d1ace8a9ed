"""The base of the heads under which a sequence of tags is a linear chain."""

from typing import Any, Dict, List, Optional, Tuple

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary

from tagger.common.vocabulary import tags_in_order
from tagger.linear_chain import ChainScores, check_is_right_padded, tag_marginals
from tagger.metrics import CalibrationError
from tagger.modules.chain_decoder import ChainDecoder
from tagger.modules.heads.tagging_head import TaggingHead
from tagger.spans import allowed_transitions
from tagger.spans.encodings import split_tag
from tagger.spans.entities import Entities, EntityFinder


class ChainHead(TaggingHead):
    """A head for one tag per token, whose distribution of tag sequences is a linear chain.

    This class decodes, and computes the probabilities of tags and of entities. It does so for a CRF and
    for a softmax, which is a chain without transition scores. The probabilities are those of the chain
    that is decoded: if decoding allows legal sequences only, illegal ones have probability 0 and the
    others sum to 1. `decode_bias` never changes a probability.

    A head implements `sequence_loss` and `chain_scores`.

    Args:
        vocab: Holds the tags.
        label_namespace: The vocabulary's namespace of the tags.
        tag_encoding: The encoding of the tags; `None` for plain labels.
        decode_bias: A number by label, see `ChainDecoder`.
        entity_thresholds: Probabilities by label, below which entities are not predicted.
        decoding: `"viterbi"` or `"minimum_risk"`.

    Attributes:
        decoder: Chooses the tags. It may be replaced by another decoder for the same tags.
        predicts_marginals: Whether the output of `predict` includes the probabilities of tags.

    Raises:
        ConfigurationError: If the vocabulary has no tags, or `ChainDecoder` refuses a setting.
    """

    def __init__(
        self,
        vocab: Vocabulary,
        label_namespace: str = "labels",
        tag_encoding: Optional[str] = None,
        decode_bias: Optional[Dict[str, float]] = None,
        entity_thresholds: Optional[Dict[str, float]] = None,
        decoding: str = "viterbi",
    ) -> None:
        super().__init__()
        tags = tags_in_order(vocab, label_namespace)
        self.decoder = ChainDecoder(tags, tag_encoding, decode_bias, entity_thresholds, decoding)
        self.predicts_marginals = False
        self._outside = tags.index("O") if "O" in tags else -1
        self._find_entities = EntityFinder(tags, tag_encoding) if tag_encoding else None
        self._calibration: Optional[CalibrationError] = None
        # In IOB1 the tags of an entity depend on the tag before it.
        if tag_encoding not in (None, "IOB1"):
            self._calibration = CalibrationError(vocab, label_namespace, tag_encoding)

    def chain_scores(self, emissions: torch.Tensor) -> ChainScores:
        """Returns the scores of tag sequences; those that must not be predicted have -inf."""
        raise NotImplementedError

    def marginals(self, emissions: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return tag_marginals(self.chain_scores(emissions), mask)

    def best_tags(self, emissions: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Decodes without the thresholds of entities."""
        return self.decoder(self.chain_scores(emissions), mask)

    def decode(self, emissions: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        if self.decoder.entity_thresholds:
            return self.predict(emissions, mask)["predicted_tags"]
        return self.best_tags(emissions, mask)

    @torch.no_grad()
    def predict(self, emissions: torch.Tensor, mask: torch.Tensor) -> Dict[str, torch.Tensor]:
        """Returns a model's output.

        Returns:
            `predicted_tags`, (B, T) int64. If tags spell spans, also `entity_lengths`, (B, T) int64, the
            number of tokens of each entity at its first token and 0 elsewhere; and, but not in IOB1,
            `entity_probabilities`, (B, T), its exact probability there and -1 elsewhere. With
            `predicts_marginals` also `marginals`, (B, T, K).

        Raises:
            ValueError: If `mask` has a hole: what reads entities and sentences from the output needs
                neighbours side by side. Losses, marginals and `decode` without thresholds take holes.
        """
        check_is_right_padded(mask, emissions)
        tags = self.best_tags(emissions, mask)
        predictions = {"predicted_tags": tags}
        if self._find_entities is not None:
            entities = self._find_entities(tags, mask)
            probabilities = None
            if self._calibration is not None:
                probabilities = self._find_entities.probabilities(
                    self.chain_scores(emissions), entities, mask
                )
            predictions = self._with_entities(tags, entities, probabilities)
        if self.predicts_marginals:
            predictions["marginals"] = self.marginals(emissions, mask)
        return predictions

    def measure(
        self, predictions: Dict[str, torch.Tensor], gold_tags: torch.Tensor, mask: torch.Tensor
    ) -> None:
        super().measure(predictions, gold_tags, mask)
        if self._calibration is not None:
            self._calibration(
                predictions["entity_probabilities"], predictions["predicted_tags"], gold_tags, mask
            )

    def get_metrics(self, reset: bool = False) -> Dict[str, float]:
        """Returns the metrics since the last reset, with the `calibration-error` of entities."""
        metrics = super().get_metrics(reset)
        if self._calibration is not None:
            metrics["calibration-error"] = self._calibration.get_metric(reset)
        return metrics

    def get_tables(self) -> List[str]:
        """Returns a table of how often entities are right, by their probability."""
        return [] if self._calibration is None else [self._calibration.format_table()]

    def make_readable(
        self, output: Dict[str, torch.Tensor], lengths: List[int]
    ) -> Dict[str, List[Any]]:
        """Returns `tags`; `entities`, if tags spell spans; and `probabilities`, if they were predicted.

        An entity is a dictionary with its `label`; `tokens`, its first and its last token; and, but not
        in IOB1, its `probability`. `probabilities` has a number for each tag of each token.
        """
        readable = super().make_readable(output, lengths)
        if "entity_lengths" in output:
            rows = output.pop("entity_lengths").tolist()
            probabilities = output.pop("entity_probabilities", None)
            readable["entities"] = [
                _entities(tags, *of_sentence)
                for tags, *of_sentence in zip(
                    readable["tags"],
                    rows,
                    [None] * len(rows) if probabilities is None else probabilities.tolist(),
                )
            ]
        if "marginals" in output:
            sentences = output.pop("marginals").tolist()
            readable["probabilities"] = [
                [dict(zip(self._tags, token)) for token in sentence[:length]]
                for sentence, length in zip(sentences, lengths)
            ]
        return readable

    def _with_entities(
        self, tags: torch.Tensor, entities: Entities, probabilities: Optional[torch.Tensor]
    ) -> Dict[str, torch.Tensor]:
        """Drops the entities below their thresholds, and lays out the others as `predict` says."""
        assert self._find_entities is not None
        labels, rows, firsts, lasts = (torch.from_numpy(x).to(tags.device) for x in entities)
        lengths = torch.zeros_like(tags)
        if probabilities is None:
            lengths[rows, firsts] = lasts - firsts + 1
            return {"predicted_tags": tags, "entity_lengths": lengths}
        thresholds = self.decoder.thresholds(self._find_entities.labels)
        is_kept = probabilities >= probabilities.new_tensor(thresholds)[labels]
        lengths[rows[is_kept], firsts[is_kept]] = (lasts - firsts + 1)[is_kept]
        places = torch.arange(tags.size(1), device=tags.device)
        # (N, T), the tokens of each of the N entities to drop
        first, last = (ends[~is_kept].unsqueeze(1) for ends in (firsts, lasts))
        is_inside = (places >= first) & (places <= last)
        is_dropped = torch.zeros_like(tags).index_add(0, rows[~is_kept], is_inside.long()) > 0
        at_firsts = probabilities.new_full(tags.shape, -1)
        at_firsts[rows[is_kept], firsts[is_kept]] = probabilities[is_kept]
        return {
            "predicted_tags": tags.masked_fill(is_dropped, self._outside),
            "entity_lengths": lengths,
            "entity_probabilities": at_firsts,
        }


def _entities(
    tags: List[str], lengths: List[int], probabilities: Optional[List[float]]
) -> List[Dict[str, Any]]:
    """Names the entities of a sentence; `lengths` and `probabilities` are as from `predict`."""
    entities = []
    for first, tag in enumerate(tags):
        if lengths[first] > 0:
            tokens = [first, first + lengths[first] - 1]
            entity: Dict[str, Any] = {"label": split_tag(tag)[1] or "", "tokens": tokens}
            if probabilities is not None:
                entity["probability"] = probabilities[first]
            entities.append(entity)
    return entities


def legal_transitions(tag_encoding: str, tags: List[str]) -> List[Tuple[int, int]]:
    """Returns `allowed_transitions` between tags in the order of their indices.

    Raises:
        ConfigurationError: If a tag is not one of this encoding.
    """
    try:
        return allowed_transitions(tag_encoding, dict(enumerate(tags)))
    except ValueError as error:
        raise ConfigurationError(str(error)) from error
