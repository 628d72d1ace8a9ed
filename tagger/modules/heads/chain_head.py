"""What the heads share whose sequences of tags are linear chains."""

from typing import Any, Dict, List, Optional

import torch
from allennlp.data import Vocabulary

from tagger.linear_chain import ChainScores, tag_marginals
from tagger.metrics import CalibrationError
from tagger.modules.chain_decoder import ChainDecoder
from tagger.modules.entity_finder import Entities, EntityFinder
from tagger.modules.heads.tagging_head import TaggingHead
from tagger.vocabulary import tags_in_order


class ChainHead(TaggingHead):
    """A head for one tag a token, whose distribution of sequences of tags is a linear chain.

    Decoding and the probabilities of tags and of entities are here, alike for a CRF and for a softmax,
    which is a chain without transition scores. Probabilities are those of the chain as decoding sees
    it: where decoding keeps to legal sequences, illegal ones have probability 0 and the others sum to
    1. They are always the model's own, without `decode_bias`.

    A head implements `sequence_loss` and `chain_scores`.

    Letters: `B` batch, `T` tokens, `K` tags.

    Args:
        vocab: holds the tags.
        label_namespace: the vocabulary's namespace of the tags.
        tag_encoding: the encoding of the tags, `None` if they spell no spans.
        decode_bias: see `ChainDecoder`; likewise the next two.
        entity_thresholds: probabilities by label, below which entities are not predicted.
        decoding: `"viterbi"` or `"minimum_risk"`.

    Attributes:
        decoder: chooses the tags; may be replaced by another for the same tags.
        predicts_marginals: whether `predict` puts out the probabilities of tags too.

    Raises:
        ConfigurationError: if the vocabulary has no tags, or as `ChainDecoder` does.
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
        self._find_entities: Optional[EntityFinder] = None
        self._calibration: Optional[CalibrationError] = None
        # In IOB1 what spells an entity depends on what lies before it.
        if tag_encoding is not None and tag_encoding != "IOB1":
            self._find_entities = EntityFinder(tags, tag_encoding)
            self._calibration = CalibrationError(vocab, label_namespace, tag_encoding)

    def chain_scores(self, emissions: torch.Tensor) -> ChainScores:
        """The scores of sequences of tags, with -inf for what must not be predicted.

        Args:
            emissions: (B, T, K), scores of each tag at each token.
        """
        raise NotImplementedError

    def marginals(self, emissions: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return tag_marginals(self.chain_scores(emissions), mask)

    def best_tags(self, emissions: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """As `decode`, without regard to the thresholds of entities."""
        return self.decoder(self.chain_scores(emissions), mask)

    def decode(self, emissions: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        if self.decoder.entity_thresholds:
            return self.predict(emissions, mask)["predicted_tags"]
        return self.best_tags(emissions, mask)

    @torch.no_grad()
    def predict(self, emissions: torch.Tensor, mask: torch.Tensor) -> Dict[str, torch.Tensor]:
        """What a model puts out.

        Returns:
            `predicted_tags`, (B, T) int64; where these spell spans, but not in IOB1,
            `entity_probabilities`, (B, T), which hold at the first token of each entity its exact
            probability, and -1 elsewhere; with `predicts_marginals` also `marginals`, (B, T, K).
        """
        tags = self.best_tags(emissions, mask)
        predictions = {"predicted_tags": tags}
        if self._find_entities is not None:
            entities = self._find_entities(tags, mask)
            probabilities = self._find_entities.probabilities(
                self.chain_scores(emissions), entities, mask
            )
            predictions = self._of_sure_entities(tags, entities, probabilities)
        if self.predicts_marginals:
            predictions["marginals"] = self.marginals(emissions, mask)
        return predictions

    def score(
        self, predictions: Dict[str, torch.Tensor], tags: torch.Tensor, mask: torch.Tensor
    ) -> None:
        super().score(predictions, tags, mask)
        if self._calibration is not None:
            self._calibration(
                predictions["entity_probabilities"], predictions["predicted_tags"], tags, mask
            )

    def get_metrics(self, reset: bool = False) -> Dict[str, float]:
        """The scores since the last reset; of entities also their `calibration-error`."""
        scores = super().get_metrics(reset)
        if self._calibration is not None:
            scores["calibration-error"] = self._calibration.get_metric(reset)
        return scores

    def get_tables(self) -> List[str]:
        """How often entities are right by their probability."""
        return [] if self._calibration is None else [self._calibration.format_table()]

    def make_readable(
        self, output: Dict[str, torch.Tensor], lengths: List[int]
    ) -> Dict[str, List[Any]]:
        """Returns `tags`, and what else there is of these.

        `entity_probabilities` are one number for each entity, in the order of a sentence's; and
        `probabilities`, if marginals are predicted, for each token those of all tags.
        """
        readable = super().make_readable(output, lengths)
        if "entity_probabilities" in output:
            rows = output.pop("entity_probabilities").tolist()
            readable["entity_probabilities"] = [[p for p in row if p >= 0] for row in rows]
        if "marginals" in output:
            sentences = output.pop("marginals").tolist()
            readable["probabilities"] = [
                [dict(zip(self._tags, token)) for token in sentence[:length]]
                for sentence, length in zip(sentences, lengths)
            ]
        return readable

    def _of_sure_entities(
        self, tags: torch.Tensor, entities: Entities, probabilities: torch.Tensor
    ) -> Dict[str, torch.Tensor]:
        """Drops the entities below their thresholds, and places the probabilities of the others."""
        assert self._find_entities is not None
        labels, rows, firsts, lasts = (torch.from_numpy(x).to(tags.device) for x in entities)
        thresholds = self.decoder.thresholds(self._find_entities.labels)
        is_sure = probabilities >= probabilities.new_tensor(thresholds)[labels]
        places = torch.arange(tags.size(1), device=tags.device)
        # (N, T), where each entity to drop lies
        is_inside = (places >= firsts.unsqueeze(1)) & (places <= lasts.unsqueeze(1))
        is_inside = is_inside & ~is_sure.unsqueeze(1)
        is_dropped = torch.zeros_like(tags).index_add(0, rows, is_inside.long()) > 0
        at_firsts = probabilities.new_full(tags.shape, -1)
        at_firsts[rows[is_sure], firsts[is_sure]] = probabilities[is_sure]
        return {
            "predicted_tags": tags.masked_fill(is_dropped, self._outside),
            "entity_probabilities": at_firsts,
        }
