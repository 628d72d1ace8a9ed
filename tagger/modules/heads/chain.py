"""A linear chain of tags: what decodes, measures and reports it."""

from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary

from tagger.common.vocabulary import tags_in_order
from tagger.linear_chain import ChainScores, check_is_right_padded, tag_marginals
from tagger.metrics import TagMetrics
from tagger.modules.chain_decoder import ChainDecoder
from tagger.modules.heads.chain_outputs import EntityOutputs, check_extras, with_probabilities
from tagger.modules.recalibration import Recalibration
from tagger.spans import transition_table
from tagger_texts.prediction import Prediction
from tagger_texts.tagged_text import NO_EXTRAS, Extras


class Chain(torch.nn.Module):
    """A linear chain as the distribution of tag sequences; it predicts, but has no loss.

    Probabilities are those of the chain that is decoded: if decoding allows only legal sequences,
    illegal ones have probability 0 and the others sum to 1. `decode_bias` never changes a probability.
    `recalibration` changes only the reported probabilities of entities: thresholds and the search for
    candidates use the chain's own. Subclasses implement `chain_scores`. See `TaggingHead` for the
    letters.

    Args:
        vocab: Holds the tags; the model in a config supplies it and the next two.
        label_namespace: The vocabulary's namespace of the tags.
        tag_encoding: The encoding of the tags; `None` for plain labels.
        decode_bias: A number by label, see `ChainDecoder`.
        entity_thresholds: Probabilities by label, below which entities are not predicted.
        decoding: `"viterbi"` or `"minimum_risk"`.
        recalibration: Three numbers by label that correct the probabilities of entities, see
            `tagger.modules.recalibration`; None leaves them as they are.

    Attributes:
        tags: All tags, in the order of their indices.
        tag_encoding: Their encoding.
        decoder: Chooses the tags; `set_decoder` replaces it by another one for the same tags.
        entities: Finds the entities that tags spell; None if they spell none.
        labels_of_rows: The label of each row of a sentence, see `as_rows`; empty if it is one row.
    """

    labels_of_rows: Sequence[str] = ()

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
        # While an archive is loaded, PyTorch's tensors are limited; NumPy's tables are as large as this.
        torch.empty(len(tags), len(tags))
        self.decoder = ChainDecoder(tags, tag_encoding, decode_bias, entity_thresholds, decoding)
        self.tags, self.tag_encoding = tags, tag_encoding
        self.entities = EntityOutputs(tags, tag_encoding) if tag_encoding else None
        self._num_bins = 10 if self.entities and self.entities.has_probabilities else 0
        self._metrics = TagMetrics(
            vocab, label_namespace, tag_encoding, calibration_bins=self._num_bins
        )
        self.recalibration: Optional[Recalibration] = None
        if recalibration:
            labels = with_probabilities("recalibration", self.entities).find.labels
            self.recalibration = Recalibration(labels, recalibration)

    def set_decoder(self, decoder: ChainDecoder) -> None:
        self.decoder = decoder

    def adjust(self, biases: Mapping[str, float], thresholds: Mapping[str, float]) -> None:
        before = self.decoder
        settings = {**before.decode_bias, **biases}, {**before.entity_thresholds, **thresholds}
        decoder = ChainDecoder(self.tags, self.tag_encoding, *settings, before.decoding)
        self.set_decoder(decoder.to(before.bias.device))

    @property
    def decodes_tokens_apart(self) -> bool:
        """Whether the best tags are the best tag of each token by itself."""
        return False

    @property
    def rows_per_sentence(self) -> int:
        """How many rows of `as_rows` are of a sentence."""
        return len(self.labels_of_rows) or 1

    def as_rows(
        self, emissions: torch.Tensor, gold_tags: torch.Tensor, mask: torch.Tensor
    ) -> Tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Returns a model's emissions, gold tags and mask as rows for this chain."""
        return emissions, gold_tags, mask

    def gold_rows(self, gold_tags: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Returns the gold tags of `as_rows`."""
        return gold_tags

    def chain_scores(self, emissions: torch.Tensor) -> ChainScores:
        """Returns the scores of tag sequences; those that must not be predicted have -inf."""
        raise NotImplementedError

    def marginals(self, emissions: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return tag_marginals(self.chain_scores(emissions), mask)

    def best_tags(self, emissions: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Decodes without the thresholds of entities."""
        return self.decoder(self.chain_scores(emissions), mask)

    def decode(self, emissions: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Chooses the tags to predict, (B, T) int64, 0 in the padding."""
        if self.decoder.entity_thresholds:
            return self.predict(emissions, mask)["predicted_tags"]
        return self.best_tags(emissions, mask)

    def check(self, extras: Extras) -> None:
        check_extras(self.entities, extras)

    @torch.no_grad()
    def predict(
        self, emissions: torch.Tensor, mask: torch.Tensor, extras: Extras = NO_EXTRAS
    ) -> Dict[str, torch.Tensor]:
        """Returns `predicted_tags`, (B, T) int64, and others of the tensors of `chain_outputs`.

        Raises:
            ConfigurationError: If the head cannot return these `extras`.
            ValueError: If `mask` has a hole, because entities and sentences are read from neighbouring
                tokens of the output. Losses, marginals and `decode` without thresholds accept holes.
        """
        check_is_right_padded(mask, emissions)
        self.check(extras)
        output = {"predicted_tags": self.best_tags(emissions, mask)}
        if self.entities is not None:
            thresholds = self.decoder.thresholds(self.entities.find.labels)
            found = self.chain_scores(emissions), output["predicted_tags"], mask, extras
            output = self.entities.predict(*found, thresholds, self.recalibration)
        if extras.probabilities:
            output["marginals"] = self.marginals(emissions, mask)
        return output

    def measure(
        self, predictions: Dict[str, torch.Tensor], gold_tags: torch.Tensor, mask: torch.Tensor
    ) -> None:
        probabilities = predictions.get("entity_probabilities")
        self._metrics(predictions["predicted_tags"], gold_tags, mask, probabilities)

    def get_metrics(self, reset: bool = False) -> Dict[str, float]:
        """Returns the metrics since the last reset, see `TagMetrics`."""
        return self._metrics.get_metric(reset)

    def get_confusions(self) -> Dict[str, int]:
        return self._metrics.get_confusions()

    def get_partial_metrics(self) -> Dict[str, float]:
        return self._metrics.get_partial_metrics()

    def get_tables(self) -> List[str]:
        """Returns a table of how often entities were right, by their probability."""
        return [self._metrics.format_calibration()] if self._num_bins else []

    def predictions(self, output: Dict[str, torch.Tensor], lengths: List[int]) -> List[Prediction]:
        """Returns `tags`; `entities`, if tags spell spans; and what the `extras` ask for.

        Entities have tokens, but no characters. `probabilities` has a number for each tag of each token.
        """
        rows = output.pop("predicted_tags").tolist()
        names = self.tags
        tags = [[names[k] for k in row[:length]] for row, length in zip(rows, lengths)]
        fields: Dict[str, List[Any]] = {"tags": tags}
        if self.entities is not None:
            fields.update(self.entities.read(output, tags))
        if "marginals" in output:
            fields["probabilities"] = [
                [dict(zip(names, token)) for token in sentence[:length]]
                for sentence, length in zip(output.pop("marginals").tolist(), lengths)
            ]
        return [Prediction(**dict(zip(fields, row))) for row in zip(*fields.values())]


def legal_transitions(tag_encoding: str, tags: List[str]) -> torch.Tensor:
    """Returns the `transition_table` of tags in the order of their indices, (K + 2, K + 2) bool."""
    try:
        return torch.from_numpy(transition_table(tag_encoding, tags))
    except ValueError as error:
        raise ConfigurationError(str(error)) from error
