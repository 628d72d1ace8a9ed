"""The sequence tagger: embedder, encoder, projection to emissions, head."""

import logging
from typing import Any, Dict, List, Optional, Sequence

import torch
from allennlp.common import Lazy
from allennlp.common.checks import ConfigurationError
from allennlp.data import TextFieldTensors, Vocabulary
from allennlp.models import Model
from allennlp.modules import Seq2SeqEncoder, TextFieldEmbedder
from allennlp.nn import InitializerApplicator, RegularizerApplicator
from allennlp.nn.util import get_text_field_mask

from tagger.common.vocabulary import tags_in_order
from tagger.linear_chain import ChainMarginals
from tagger.linear_chain.declared import declare_right_padded
from tagger.models.measured_model import MeasuredModel
from tagger.modules.document_contexts import DocumentContext, encode_sentences
from tagger.modules.heads import TaggingHead
from tagger.modules.sentence_rows import SentenceRows
from tagger.modules.token_embedders import share_without_vector
from tagger.spans import complete_tags, infer_encoding

logger = logging.getLogger(__name__)

LOSS_REDUCTIONS = ("sentence", "token", "sum")


@Model.register("sequence_tagger", constructor="from_partial_objects")
class SequenceTagger(MeasuredModel):
    """Gives each token of a sentence a tag, or any number of labels with the head `sigmoid`.

    Where the dataset reader keeps documents, an instance is a document, and its sentences are encoded
    and tagged as rows of their own, so no entity crosses the border of a sentence. What else of the
    document a sentence sees is up to `document_contexts`.

    Letters: `B` batch, `T` tokens, `K` tags; with documents `S` sentences, `L` tokens of the longest. In
    a config `encoder` needs no input size, and the default `head` is a plain CRF.

    Args:
        vocab: The vocabulary with the tags.
        text_field_embedder: Embeds the tokens.
        encoder: Encodes the embedded tokens in context.
        head: Turns emissions into a loss and into tags.
        tag_encoding: How tags spell spans: BIO, IOB1, BIOUL, BMES or IOBES. `None` derives it from
            the vocabulary's tags. IOB1 must be named, because its tags look like BIO tags.
        label_namespace: The vocabulary's namespace of the tags.
        loss_reduction: Whether a batch's loss is the mean over its sentences (`"sentence"`), the mean
            over its tokens (`"token"`) or the sum (`"sum"`, as in AllenNLP's CRF tagger). With a
            mean the learning rate does not depend on the batch size.
        training_metrics: Whether to decode and compute metrics in training steps too, which is slow.
        initializer: Initialises the parameters.
        regularizer: Penalises the parameters.
        document_contexts: What a sentence sees of the document around it; the features of all of them
            are put beside the encoder's states.

    Raises:
        ConfigurationError: If the vocabulary holds no tags, or arguments do not fit together.
    """

    default_predictor = "sequence_tagger"

    def __init__(
        self,
        vocab: Vocabulary,
        text_field_embedder: TextFieldEmbedder,
        encoder: Seq2SeqEncoder,
        head: TaggingHead,
        tag_encoding: Optional[str] = None,
        label_namespace: str = "labels",
        loss_reduction: str = "sentence",
        training_metrics: bool = False,
        initializer: Optional[InitializerApplicator] = None,
        regularizer: Optional[RegularizerApplicator] = None,
        document_contexts: Sequence[DocumentContext] = (),
    ) -> None:
        super().__init__(vocab, regularizer)  # type: ignore[arg-type]  # AllenNLP's default is None
        if loss_reduction not in LOSS_REDUCTIONS:
            raise ConfigurationError(
                f"`loss_reduction` must be one of {', '.join(LOSS_REDUCTIONS)}; got {loss_reduction!r}"
            )
        if encoder.get_input_dim() != text_field_embedder.get_output_dim():
            raise ConfigurationError(
                f"`encoder` takes {encoder.get_input_dim()} features, but `text_field_embedder` gives "
                f"{text_field_embedder.get_output_dim()}; leave the encoder's input size out of the "
                f"config to have it derived"
            )
        self.text_field_embedder = text_field_embedder
        self.encoder = encoder
        self.head = head
        self.label_namespace = label_namespace
        self.loss_reduction = loss_reduction
        self.training_metrics = training_metrics
        self.tags = tags_in_order(vocab, label_namespace)
        self.tag_encoding = tag_encoding or infer_encoding(self.tags)
        self._has_warned = False
        self.document_contexts = torch.nn.ModuleList(document_contexts)
        num_features = sum(context.get_output_dim() for context in document_contexts)
        self.projection = torch.nn.Linear(encoder.get_output_dim() + num_features, len(self.tags))
        head.prepare_metrics(vocab, label_namespace, self.tag_encoding)
        if initializer is not None:
            initializer(self)

    @classmethod
    def from_partial_objects(
        cls,
        vocab: Vocabulary,
        text_field_embedder: TextFieldEmbedder,
        encoder: Lazy[Seq2SeqEncoder],
        head: Lazy[TaggingHead] = Lazy(TaggingHead),
        tag_encoding: Optional[str] = None,
        label_namespace: str = "labels",
        loss_reduction: str = "sentence",
        training_metrics: bool = False,
        initializer: Optional[InitializerApplicator] = None,
        regularizer: Optional[RegularizerApplicator] = None,
        document_contexts: Optional[List[Lazy[DocumentContext]]] = None,
    ) -> "SequenceTagger":
        """Builds the tagger from a config and passes sizes and the tag encoding to its parts.

        The vocabulary gets all tags of its labels: a `U-EVENT` that is in no training sentence can then
        be predicted, and other data may contain it.
        """
        embedding_dim = text_field_embedder.get_output_dim()
        # AllenNLP's encoders use one name or the other, and ignore the unknown one.
        built_encoder = encoder.construct(input_size=embedding_dim, input_dim=embedding_dim)
        tag_encoding = tag_encoding or infer_encoding(tags_in_order(vocab, label_namespace))
        if tag_encoding is not None:
            _complete_vocabulary(vocab, label_namespace, tag_encoding)
        return cls(
            vocab,
            text_field_embedder,
            built_encoder,
            head.construct(vocab=vocab, label_namespace=label_namespace, tag_encoding=tag_encoding),
            tag_encoding,
            label_namespace,
            loss_reduction,
            training_metrics,
            initializer,
            regularizer,
            [
                context.construct(input_size=built_encoder.get_output_dim())
                for context in document_contexts or []
            ],
        )

    def forward(
        self,
        tokens: TextFieldTensors,
        tags: Optional[torch.Tensor] = None,
        metadata: Optional[List[Dict[str, Any]]] = None,
        sentence_lengths: Optional[torch.Tensor] = None,
        word_ids: Optional[torch.Tensor] = None,
        soft_tags: Optional[torch.Tensor] = None,
        soft_transitions: Optional[torch.Tensor] = None,
    ) -> Dict[str, Any]:
        """Computes the loss if there are gold tags, and predicts tags except in training steps.

        Args:
            tokens: The indexed tokens of B sentences, or of B documents.
            tags: Gold tags, if there are any: (B, T) int64, -1 where unknown; or (B, T, K) bool, the set
                of tags that each token may have. For the head `sigmoid`, gold labels, (B, T, K).
            metadata: The words of each sentence, or document, under `"words"`, if available.
            sentence_lengths: (B, sentences) int64, the number of tokens of each sentence of a document,
                0 in the padding; None for sentences.
            word_ids: (B, T) int64, the same number for the same words of a document.
            soft_tags: (B, T, K), a teacher's probability of each tag at each token of a sentence.
            soft_transitions: (B, K, K), how often the teacher expects each transition in a sentence.

        Returns:
            `loss`, a scalar, if `tags` are given. Except in training steps without `training_metrics`,
            also the head's predictions, such as `predicted_tags`, (B, T) int64, 0 in the padding;
            `mask`, (B, T) bool; `words`; and `sentence_lengths` of documents.

        Raises:
            ConfigurationError: If a model with `document_contexts` is trained on sentences.
        """
        mask = declare_right_padded(get_text_field_mask(tokens))
        rows = self.sentence_rows(mask, sentence_lengths, word_ids)
        emissions = self.emissions(tokens, mask, rows)
        output: Dict[str, Any] = {}
        gold_tags = None if tags is None else rows.split(tags)
        if gold_tags is not None:
            if self.training:
                teacher = marginals_of_teacher(soft_tags, soft_transitions, rows.mask)
                losses = self.head.distillation_loss(emissions, gold_tags, rows.mask, teacher)
            else:
                losses = self.head.sequence_loss(emissions, gold_tags, rows.mask)
            output["loss"] = self._loss(losses, mask)
        if tags is not None and self.training and not self.training_metrics:
            return output
        predictions = self.head.predict(emissions, rows.mask)
        output.update({name: rows.join(values) for name, values in predictions.items()}, mask=mask)
        if sentence_lengths is not None:
            output["sentence_lengths"] = sentence_lengths
        if metadata is not None:
            output["words"] = [sentence["words"] for sentence in metadata]
        if gold_tags is not None:
            self.head.measure(predictions, gold_tags, rows.mask)
        return output

    @property
    def uses_documents(self) -> bool:
        """Whether predictions depend on the document around a sentence."""
        return len(self.document_contexts) > 0

    def sentence_rows(
        self,
        mask: torch.Tensor,
        sentence_lengths: Optional[torch.Tensor] = None,
        word_ids: Optional[torch.Tensor] = None,
    ) -> SentenceRows:
        """Returns the sentences of a batch, on which the head works.

        Args:
            mask: (B, T) bool, right-padded.
            sentence_lengths: As for `forward`.
            word_ids: As for `forward`.

        Raises:
            ConfigurationError: If a model with `document_contexts` is trained on sentences.
        """
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
        """Returns the scores of the tags at each token, (S, L, K); undefined in the padding.

        Args:
            tokens: The indexed tokens of B sentences, or of B documents.
            mask: (B, T) bool, false in the padding.
            rows: The sentences of the documents, from `sentence_rows`; None for sentences, so that S is
                B and L is T.
        """
        rows = rows or self.sentence_rows(mask)
        embedded = self.text_field_embedder(tokens)
        states = encode_sentences(self.encoder, self.document_contexts, embedded, rows)
        return self.projection(states)

    def warn_of_sentences(self, remedy: str) -> None:
        """Warns, the first time, that a model that learnt from documents gets single sentences.

        Args:
            remedy: What to do.
        """
        if not self._has_warned:
            self._has_warned = True
            logger.warning(
                "This tagger has learnt to tag sentences in their documents, and gets them alone, "
                "where it is less accurate; %s",
                remedy,
            )

    def make_output_human_readable(self, output_dict: Dict[str, Any]) -> Dict[str, Any]:
        """Replaces predicted indices by strings, as the head's `make_readable` does.

        For a CRF, `tags` replace `predicted_tags`.
        """
        if "mask" in output_dict:
            lengths = output_dict.pop("mask").sum(1).tolist()
            output_dict.update(self.head.make_readable(output_dict, lengths))
        if "sentence_lengths" in output_dict:
            rows = output_dict["sentence_lengths"].tolist()
            output_dict["sentence_lengths"] = [[n for n in row if n > 0] for row in rows]
        return output_dict

    def get_all_metrics(self, reset: bool) -> Dict[str, float]:
        metrics = self.head.get_metrics(reset)
        share = share_without_vector(self, reset)
        return metrics if share is None else {**metrics, "words-without-vector": share}

    def get_confusions(self) -> Dict[str, int]:
        return self.head.get_confusions()

    def get_tables(self) -> List[str]:
        return self.head.get_tables()

    def _loss(self, sequence_losses: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        if self.loss_reduction == "sentence":
            return sequence_losses.mean()
        if self.loss_reduction == "token":
            return sequence_losses.sum() / mask.sum().clamp(min=1)
        return sequence_losses.sum()


def marginals_of_teacher(
    soft_tags: Optional[torch.Tensor], soft_transitions: Optional[torch.Tensor], mask: torch.Tensor
) -> Optional[ChainMarginals]:
    """Returns what a teacher makes of sentences, None without soft labels.

    Args:
        soft_tags: (B, T, K), 0 in the padding.
        soft_transitions: (B, K, K).
        mask: (B, T) bool, right-padded.
    """
    if soft_tags is None or soft_transitions is None:
        return None
    return ChainMarginals.of_rows(soft_tags, soft_transitions, mask.sum(1))


def _complete_vocabulary(vocab: Vocabulary, label_namespace: str, tag_encoding: str) -> None:
    try:
        tags = complete_tags(tags_in_order(vocab, label_namespace), tag_encoding)
    except ValueError as error:
        raise ConfigurationError(
            f"`tag_encoding` is {tag_encoding!r}, which does not fit the vocabulary's namespace "
            f"`{label_namespace}`: {error}"
        ) from error
    for tag in tags:
        vocab.add_token_to_namespace(tag, label_namespace)
