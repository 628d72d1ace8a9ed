"""The base of models that give tags to tokens: everything but the computation of emissions."""

import logging
from typing import Any, Dict, List, Optional, Tuple

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import TextFieldTensors, Vocabulary
from allennlp.nn import RegularizerApplicator
from allennlp.nn.util import get_text_field_mask

from tagger.common.ranges import check_is_one_of
from tagger.common.vocabulary import tags_in_order
from tagger.linear_chain import ChainMarginals
from tagger.linear_chain.declared import declare_right_padded
from tagger.metrics import SegmentMetrics
from tagger.models.measured_model import MeasuredModel
from tagger.modules.building import type_name
from tagger.modules.heads import Chain, TaggingHead
from tagger.modules.loss_formulas import LEAST_WEIGHT, weighted_mean
from tagger.modules.sentence_rows import SentenceRows
from tagger.modules.token_embedders.word_vectors import share_unknown_words
from tagger.spans import infer_encoding, tags_to_spans
from tagger_texts.prediction import Entity, Prediction
from tagger_texts.tagged_text import NO_EXTRAS, Extras
from tagger_texts.text import spans_of

logger = logging.getLogger(__name__)

LOSS_REDUCTIONS = ("sentence", "token", "sum")


class TaggingModel(MeasuredModel):
    """A model with a head that turns emissions into a loss and into tags.

    A subclass computes the emissions and sets `head`. The arguments are those of `SequenceTagger`.

    Letters: `B` batch, `T` tokens, `K` tags; with documents `S` sentences, `L` tokens of the longest.
    """

    default_predictor = "sequence_tagger"
    head: TaggingHead
    #: If set, measures segments, too.
    segment_metrics: Optional[SegmentMetrics] = None

    def __init__(
        self,
        vocab: Vocabulary,
        tag_encoding: Optional[str] = None,
        label_namespace: str = "labels",
        loss_reduction: str = "sentence",
        training_metrics: bool = False,
        regularizer: Optional[RegularizerApplicator] = None,
    ) -> None:
        super().__init__(vocab, regularizer)  # type: ignore[arg-type]  # AllenNLP's default is None
        check_is_one_of("loss_reduction", loss_reduction, LOSS_REDUCTIONS)
        self.label_namespace = label_namespace
        self.loss_reduction = loss_reduction
        self.training_metrics = training_metrics
        self.tags = tags_in_order(vocab, label_namespace)
        self.tag_encoding = tag_encoding or infer_encoding(self.tags)
        self._has_warned = False

    def forward(
        self,
        tokens: TextFieldTensors,
        tags: Optional[torch.Tensor] = None,
        metadata: Optional[List[Dict[str, Any]]] = None,
        sentence_lengths: Optional[torch.Tensor] = None,
        word_ids: Optional[torch.Tensor] = None,
        soft_tags: Optional[torch.Tensor] = None,
        soft_transitions: Optional[torch.Tensor] = None,
        extras: Extras = NO_EXTRAS,
        weights: Optional[torch.Tensor] = None,
    ) -> Dict[str, Any]:
        """Computes the loss if there are gold tags, and predicts tags except in training steps.

        Args:
            tokens: The indexed tokens of B sentences, or of B documents.
            tags: Gold tags, if there are any: (B, T) int64, -1 where unknown; or (B, T, K) bool, the set
                of tags that each token may have. For the head `sigmoid`, gold labels, (B, T, K).
            metadata: The words of each sentence, or document, under `"words"`, if available.
            sentence_lengths: Of documents, as for `SentenceRows`.
            word_ids: Of documents, as for `SentenceRows`.
            soft_tags: (B, T, K), a teacher's probability of each tag at each token, 0 in the padding.
            soft_transitions: (B, N, K, K), how often the teacher expects each transition in each of up
                to N sentences of a document; N is 1 if the instances are sentences.
            extras: What to return besides tags and entities.
            weights: (B, N), how much each of these sentences counts in the loss. A weight of 2 counts
                like the sentence twice in the batch.

        Returns:
            `loss`, a scalar, if `tags` are given. Except in training steps without `training_metrics`,
            also the head's predictions, such as `predicted_tags`, (B, T) int64, 0 in the padding;
            `mask`, (B, T) bool; `words`; and `sentence_lengths` of documents.
        """
        mask = declare_right_padded(get_text_field_mask(tokens))
        rows = self.sentence_rows(mask, sentence_lengths, word_ids)
        emissions = self.emissions(tokens, mask, rows)
        output: Dict[str, Any] = {}
        gold_tags = None if tags is None else rows.split(tags)
        if gold_tags is not None:
            teacher = soft_tags, soft_transitions
            output["loss"] = self._loss(emissions, gold_tags, rows, teacher, weights)
            if self.training and not self.training_metrics:
                return output
        predictions = self.head.predict(emissions, rows.mask, extras)
        if extras.probabilities and not predictions.keys() & {"marginals", "probabilities"}:
            predictions["marginals"] = self.head.marginals(emissions, rows.mask)
        output.update({name: rows.join(values) for name, values in predictions.items()}, mask=mask)
        if sentence_lengths is not None:
            output["sentence_lengths"] = sentence_lengths
        if metadata is not None:
            output["words"] = [sentence["words"] for sentence in metadata]
        if gold_tags is not None:
            self.head.measure(predictions, gold_tags, rows.mask)
        if self.segment_metrics is not None and tags is not None and metadata is not None:
            name = "predicted_tags" if "predicted_tags" in output else "predicted_labels"
            self.segment_metrics(output[name], tags, mask, metadata)
        return output

    @property
    def uses_documents(self) -> bool:
        """Whether predictions depend on the document around a sentence."""
        raise NotImplementedError

    def sentence_rows(
        self,
        mask: torch.Tensor,
        sentence_lengths: Optional[torch.Tensor] = None,
        word_ids: Optional[torch.Tensor] = None,
    ) -> SentenceRows:
        """Returns the sentences of a batch, on which the head works; arguments as for `forward`."""
        if sentence_lengths is None and self.uses_documents:
            if self.training:
                raise ConfigurationError(
                    "`document_contexts` needs documents, but the instances are sentences; set "
                    "`documents` of the dataset reader, such as 'docstart' or 'blank_lines', or leave "
                    "`document_contexts` out"
                )
            self.warn_of_sentences("set `documents` of the dataset reader")
            # No two words are known to be the same.
            word_ids = torch.arange(mask.size(1), device=mask.device).expand_as(mask)
        return SentenceRows(mask, sentence_lengths, word_ids)

    def emissions(
        self, tokens: TextFieldTensors, mask: torch.Tensor, rows: Optional[SentenceRows] = None
    ) -> torch.Tensor:
        """Returns the scores of the tags at each token, (S, L, K); undefined in the padding."""
        raise NotImplementedError

    def warn_of_sentences(self, remedy: str) -> None:
        """Warns once that a model that learnt from documents gets single sentences."""
        if not self._has_warned:
            self._has_warned = True
            logger.warning(
                "This tagger was trained on sentences in their documents, but gets single "
                "sentences, on which it is less accurate; %s",
                remedy,
            )

    def make_output_human_readable(self, output_dict: Dict[str, Any]) -> Dict[str, Any]:
        """Replaces the tensors of predictions by their fields, as in JSON.

        For a CRF, `tags` replace `predicted_tags`.
        """
        if "mask" in output_dict:
            found = [each.to_json() for each in self._of_head(output_dict)]
            output_dict.update({name: [each[name] for each in found] for name in found[0]})
        if "sentence_lengths" in output_dict:
            output_dict["sentence_lengths"] = _lengths(output_dict)
        return output_dict

    def predictions(self, output: Dict[str, Any]) -> List[Prediction]:
        """Returns the head's predictions with the tokens, if known, and the sentences of documents."""
        found = self._of_head(output)
        if "words" in output:
            found = [each._replace(tokens=own) for each, own in zip(found, output["words"])]
        if "sentence_lengths" in output:
            spans = map(spans_of, _lengths(output))
            found = [each._replace(sentences=own) for each, own in zip(found, spans)]
        return found

    def _of_head(self, output: Dict[str, Any]) -> List[Prediction]:
        """Returns the head's predictions, with the entities and probabilities that it leaves out.

        These follow from its tags, so a head that chooses only tags has every exit.
        """
        lengths = output.pop("mask").sum(1).tolist()
        found = self.head.predictions(output, lengths)
        if "marginals" in output:
            rows = [row[:n] for row, n in zip(output.pop("marginals").tolist(), lengths)]
            of_tokens = [[dict(zip(self.tags, token)) for token in row] for row in rows]
            found = [each._replace(probabilities=own) for each, own in zip(found, of_tokens)]
        encoding = self.tag_encoding
        if encoding is None:
            return found
        return [
            each if each.entities is not None else each._replace(entities=spelled(each, encoding))
            for each in found
        ]

    def get_all_metrics(self, reset: bool) -> Dict[str, float]:
        metrics = self.head.get_metrics(reset)
        # Only once a pass, because windows are put together.
        if self.segment_metrics is not None and reset:
            metrics = {**metrics, **self.segment_metrics.get_metric(reset)}
        share = share_unknown_words(self, reset)
        return metrics if share is None else {**metrics, "unknown-words": share}

    def get_confusions(self) -> Dict[str, int]:
        return self.head.get_confusions()

    def get_partial_metrics(self) -> Dict[str, float]:
        return self.head.get_partial_metrics()

    def get_tables(self) -> List[str]:
        return self.head.get_tables()

    def _loss(
        self,
        emissions: torch.Tensor,
        gold_tags: torch.Tensor,
        rows: SentenceRows,
        soft: Tuple[Optional[torch.Tensor], Optional[torch.Tensor]],
        weights: Optional[torch.Tensor],
    ) -> torch.Tensor:
        """The loss of a batch; `soft` are soft tags and transitions, others as for `forward`."""
        row_weights, mask = None, rows.mask
        if weights is not None:
            row_weights = rows.rows_of(weights)
            # So that not even a loss that depends on the batch, or is infinite, sees them.
            mask = declare_right_padded(mask & (row_weights > 0).unsqueeze(1))
        soft_tags, soft_transitions = soft
        if self.training and (self.head.needs_teacher or soft_tags is not None):
            teacher = None
            if soft_tags is not None and soft_transitions is not None:
                soft_tags = rows.split(soft_tags) * rows.mask.unsqueeze(2)
                soft_transitions = rows.rows_of(soft_transitions)
                teacher = ChainMarginals.of_rows(soft_tags, soft_transitions, rows.mask.sum(1))
            losses = self.head.distillation_loss(emissions, gold_tags, mask, teacher)
        else:
            losses = self.head.loss_beside(emissions, gold_tags, mask, row_weights)
        return self._reduced(losses, mask, row_weights)

    def _reduced(
        self, sequence_losses: torch.Tensor, mask: torch.Tensor, weights: Optional[torch.Tensor]
    ) -> torch.Tensor:
        if self.loss_reduction == "sentence":
            return weighted_mean(sequence_losses, weights)
        losses, lengths, least = sequence_losses, mask.sum(1), 1.0
        if weights is not None:
            losses, lengths, least = weights * losses, weights * lengths, LEAST_WEIGHT
        if self.loss_reduction == "token":
            return losses.sum() / lengths.sum().clamp(min=least)
        return losses.sum()


def _lengths(output: Dict[str, Any]) -> List[List[int]]:
    """The lengths of the sentences of each document."""
    return [[n for n in row if n > 0] for row in output["sentence_lengths"].tolist()]


def spelled(prediction: Prediction, tag_encoding: str) -> List[Entity]:
    """Returns the entities that a prediction's tags spell, without probabilities."""
    spans = tags_to_spans(prediction.tags or [], tag_encoding)
    return [Entity.of_tokens(label, *place) for label, place in spans]


def spell_model(model: torch.nn.Module) -> str:
    """Says what a model is, for errors: its type, the head, and what its tags spell."""
    text = f"a `{type_name(type(model))}`"
    if not isinstance(model, TaggingModel):
        return text
    spelling = f"{model.tag_encoding} tags" if model.tag_encoding else "plain labels"
    return f"{text} with the head `{type_name(type(model.head))}` and {spelling}"


def chain_of(model: torch.nn.Module) -> Optional[Chain]:
    """Returns the chain behind a model's predictions; None for a model without one."""
    return model.head.as_chain() if isinstance(model, TaggingModel) else None
