"""The base of the heads under which a sequence of tags is a linear chain."""

import math
from typing import Any, Dict, List, Optional, Tuple

import numpy as np
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary

from tagger.common.vocabulary import check_is_label, tags_in_order
from tagger.linear_chain import ChainScores, check_is_right_padded, tag_marginals
from tagger.metrics import TagMetrics
from tagger.modules.chain_decoder import ChainDecoder
from tagger.modules.heads.entity_output import (
    lay_out_candidates,
    readable_candidates,
    readable_entities,
)
from tagger.modules.heads.tagging_head import TaggingHead
from tagger.modules.recalibration import Recalibration
from tagger.spans import AMBIGUOUS, allowed_transitions
from tagger.spans.entities import Entities, EntityFinder
from tagger.spans.missed import MissFinder
from tagger_onnx.tagged_text import Extras


class ChainHead(TaggingHead):
    """A head for one tag per token, whose distribution of tag sequences is a linear chain.

    This class decodes, and computes the probabilities of tags and of entities. It does so for a CRF and
    for a softmax, which is a chain without transition scores. The probabilities are those of the chain
    that is decoded: if decoding allows legal sequences only, illegal ones have probability 0 and the
    others sum to 1. `decode_bias` never changes a probability. `recalibration` changes those of entities
    after all decisions, which thresholds and the search for candidates take by the chain's own.

    A head implements `sequence_loss` and `chain_scores`.

    Args:
        vocab: Holds the tags.
        label_namespace: The vocabulary's namespace of the tags.
        tag_encoding: The encoding of the tags; `None` for plain labels.
        decode_bias: A number by label, see `ChainDecoder`.
        entity_thresholds: Probabilities by label, below which entities are not predicted.
        decoding: `"viterbi"` or `"minimum_risk"`.
        recalibration: Three numbers by label that correct the probabilities of entities, see
            `tagger.modules.recalibration`; None leaves them as they are.

    Attributes:
        decoder: Chooses the tags. It may be replaced by another decoder for the same tags.
        recalibration: Corrects the probabilities of entities; None leaves them as they are.
        extras: What else `predict` gives; `give` sets it.

    Raises:
        ConfigurationError: If the vocabulary has no tags, or `ChainDecoder` or `Recalibration` refuses a
            setting.
    """

    def __init__(
        self,
        vocab: Vocabulary,
        label_namespace: str = "labels",
        tag_encoding: Optional[str] = None,
        decode_bias: Optional[Dict[str, float]] = None,
        entity_thresholds: Optional[Dict[str, float]] = None,
        decoding: str = "viterbi",
        recalibration: Optional[Dict[str, List[float]]] = None,
    ) -> None:
        super().__init__()
        tags = tags_in_order(vocab, label_namespace)
        self.decoder = ChainDecoder(tags, tag_encoding, decode_bias, entity_thresholds, decoding)
        self.extras = Extras()
        self._tag_names, self._tag_encoding = tags, tag_encoding
        self._find_missed: Optional[MissFinder] = None
        self._outside = tags.index("O") if "O" in tags else -1
        self._find_entities = EntityFinder(tags, tag_encoding) if tag_encoding else None
        # In IOB1 the tags of an entity depend on the tag before it.
        self._has_probabilities = tag_encoding not in (None, *AMBIGUOUS)
        self.recalibration: Optional[Recalibration] = None
        if recalibration:
            if self._find_entities is None or not self._has_probabilities:
                raise ConfigurationError(
                    f"`recalibration` needs tags that spell entities in BIO, BIOUL, BMES or IOBES; "
                    f"these are {tag_encoding or 'plain labels'}; leave it out"
                )
            self.recalibration = Recalibration(self._find_entities.labels, recalibration)

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

    def give(self, extras: Extras) -> None:
        self._find_missed = None
        if extras.leak_labels:
            if self._find_entities is None or self._tag_encoding is None:
                raise ConfigurationError(
                    "`leak_labels` needs tags that spell entities; these are plain labels; leave it out"
                )
            for label in extras.leak_labels:
                check_is_label("leak_labels", label, self._find_entities.labels, of="tagger")
            self._find_missed = MissFinder(self._tag_names, self._tag_encoding, extras.leak_labels)
        if extras.candidates is not None:
            if not self._has_probabilities:
                raise ConfigurationError(
                    f"`candidates` needs tags that spell entities in BIO, BIOUL, BMES or IOBES; these "
                    f"are {self._tag_encoding or 'plain labels'}; leave it out"
                )
            if not 0 < extras.candidates <= 1:
                raise ConfigurationError(
                    f"`candidates` must be a probability above 0 and at most 1; got "
                    f"{extras.candidates!r}"
                )
        self.extras = extras

    @torch.no_grad()
    def predict(self, emissions: torch.Tensor, mask: torch.Tensor) -> Dict[str, torch.Tensor]:
        """Returns a model's output.

        Returns:
            `predicted_tags`, (B, T) int64. If tags spell spans, also `entity_lengths`, (B, T) int64, the
            number of tokens of each entity at its first token and 0 elsewhere; and, but not in IOB1,
            `entity_probabilities`, (B, T), its probability there, exact but for `recalibration`, and -1
            elsewhere. By the `extras` also `marginals`, (B, T, K); `expected_missed`, (B, T) float64,
            how many entities that begin at a token are expected to be missed, and `log_none_missed`,
            (B, T) float64, whose sum is the log-probability that none is; and the tensors of
            `lay_out_candidates`.

        Raises:
            ValueError: If `mask` has a hole: what reads entities and sentences from the output needs
                neighbours side by side. Losses, marginals and `decode` without thresholds take holes.
        """
        check_is_right_padded(mask, emissions)
        tags = self.best_tags(emissions, mask)
        predictions = {"predicted_tags": tags}
        if self._find_entities is not None:
            scores = self.chain_scores(emissions)
            entities = self._find_entities(tags, mask)
            probabilities = None
            if self._has_probabilities:
                probabilities = self._find_entities.probabilities(scores, entities, mask)
                is_kept = self._is_kept(entities, probabilities)
                tags = tags.masked_fill(_is_inside(entities.where(~is_kept), mask), self._outside)
                probabilities = probabilities[torch.from_numpy(is_kept).to(tags.device)]
                entities = entities.where(is_kept)
                probabilities = self._corrected(entities, probabilities)
            predictions = _with_entities(tags, entities, probabilities)
            if self._find_missed is not None:
                missed = self._find_missed(scores, entities, mask)
                predictions["expected_missed"] = missed.expected
                predictions["log_none_missed"] = _at_first_tokens(missed.log_none, mask)
            if self.extras.candidates is not None:
                least = self.extras.candidates
                found, of_found = self._find_entities.candidates(scores, least, mask)
                of_found = self._corrected(found, of_found)
                predictions.update(lay_out_candidates(found, of_found, mask))
        if self.extras.probabilities:
            predictions["marginals"] = self.marginals(emissions, mask)
        return predictions

    def prepare_metrics(
        self, vocab: Vocabulary, label_namespace: str, tag_encoding: Optional[str]
    ) -> None:
        super().prepare_metrics(vocab, label_namespace, tag_encoding)
        if self._has_probabilities:
            self._metrics = TagMetrics(vocab, label_namespace, tag_encoding, calibration_bins=10)

    def measure(
        self, predictions: Dict[str, torch.Tensor], gold_tags: torch.Tensor, mask: torch.Tensor
    ) -> None:
        probabilities = predictions.get("entity_probabilities")
        self._metrics(predictions["predicted_tags"], gold_tags, mask, probabilities)

    def get_tables(self) -> List[str]:
        """Returns a table of how often entities were right, by their probability."""
        return [self._metrics.format_calibration()] if self._has_probabilities else []

    def make_readable(
        self, output: Dict[str, torch.Tensor], lengths: List[int]
    ) -> Dict[str, List[Any]]:
        """Returns `tags`; `entities`, if tags spell spans; and what the `extras` ask for.

        An entity is a dictionary with its `label`; `tokens`, its first and its last token; and, but not
        in IOB1, its `probability`; so is each of the `candidates`. `probabilities` has a number for each
        tag of each token. `leak_probability` and `expected_missed` have a number for each sentence.
        """
        readable = super().make_readable(output, lengths)
        if "entity_lengths" in output:
            rows = output.pop("entity_lengths").tolist()
            probabilities = output.pop("entity_probabilities", None)
            readable["entities"] = [
                readable_entities(tags, entity_lengths, of_entities, self._tag_encoding)
                for tags, entity_lengths, of_entities in zip(
                    readable["tags"],
                    rows,
                    [None] * len(rows) if probabilities is None else probabilities.tolist(),
                )
            ]
        if "log_none_missed" in output:
            log_none = output.pop("log_none_missed").sum(1)
            readable["leak_probability"] = (-torch.expm1(log_none)).tolist()
            # Exactly rounded, and so the same with any padding.
            missed = output.pop("expected_missed").tolist()
            readable["expected_missed"] = list(map(math.fsum, missed))
        if "candidate_lengths" in output:
            assert self._find_entities is not None
            names = ["" if label == "_" else label for label in self._find_entities.labels]
            readable["candidates"] = readable_candidates(output, names)
        if "marginals" in output:
            sentences = output.pop("marginals").tolist()
            readable["probabilities"] = [
                [dict(zip(self._tags, token)) for token in sentence[:length]]
                for sentence, length in zip(sentences, lengths)
            ]
        return readable

    def _corrected(self, entities: Entities, probabilities: torch.Tensor) -> torch.Tensor:
        if self.recalibration is None:
            return probabilities
        labels = torch.from_numpy(entities.labels).to(probabilities.device)
        return self.recalibration(probabilities, labels)

    def _is_kept(self, entities: Entities, probabilities: torch.Tensor) -> np.ndarray:
        """Which entities, (N,) bool, reach the thresholds of their labels."""
        assert self._find_entities is not None
        thresholds = self.decoder.thresholds(self._find_entities.labels)
        labels = torch.from_numpy(entities.labels).to(probabilities.device)
        is_kept = probabilities >= probabilities.new_tensor(thresholds)[labels]
        return is_kept.cpu().numpy()


def _is_inside(entities: Entities, mask: torch.Tensor) -> torch.Tensor:
    """Which tokens lie in one of the N entities, (B, T) bool."""
    rows, firsts, lasts = (torch.from_numpy(x).to(mask.device) for x in entities[1:])
    places = torch.arange(mask.size(1), device=mask.device)
    # (N, T)
    is_inside = (places >= firsts.unsqueeze(1)) & (places <= lasts.unsqueeze(1))
    return torch.zeros_like(mask, dtype=torch.int64).index_add(0, rows, is_inside.long()) > 0


def _with_entities(
    tags: torch.Tensor, entities: Entities, probabilities: Optional[torch.Tensor]
) -> Dict[str, torch.Tensor]:
    """Lays out the tags and the entities in them as `predict` says."""
    _, rows, firsts, lasts = (torch.from_numpy(x).to(tags.device) for x in entities)
    lengths = torch.zeros_like(tags)
    lengths[rows, firsts] = lasts - firsts + 1
    predictions = {"predicted_tags": tags, "entity_lengths": lengths}
    if probabilities is not None:
        at_firsts = probabilities.new_full(tags.shape, -1)
        at_firsts[rows, firsts] = probabilities
        predictions["entity_probabilities"] = at_firsts
    return predictions


def _at_first_tokens(values: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """A value of each row, (B,), at its first token, and 0 elsewhere, (B, T)."""
    at_firsts = values.new_zeros(mask.shape)
    at_firsts[:, :1] = values.unsqueeze(1)
    return at_firsts


def legal_transitions(tag_encoding: str, tags: List[str]) -> List[Tuple[int, int]]:
    """Returns `allowed_transitions` between tags in the order of their indices."""
    try:
        return allowed_transitions(tag_encoding, dict(enumerate(tags)))
    except ValueError as error:
        raise ConfigurationError(str(error)) from error
