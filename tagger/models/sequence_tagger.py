"""The sequence tagger: embedder, encoder, projection to emissions, head."""

from typing import List, Optional

import torch
from allennlp.common import Lazy
from allennlp.common.checks import ConfigurationError
from allennlp.data import TextFieldTensors, Vocabulary
from allennlp.models import Model
from allennlp.modules import Seq2SeqEncoder, TextFieldEmbedder
from allennlp.nn import InitializerApplicator, RegularizerApplicator

from tagger.common.vocabulary import tags_in_order
from tagger.metrics import SegmentMetrics
from tagger.models.tagging_model import TaggingModel
from tagger.modules.building import build, build_encoder
from tagger.modules.document_contexts import DocumentContext
from tagger.modules.heads import TaggingHead
from tagger.modules.linear import Linear
from tagger.modules.sentence_rows import SentenceRows
from tagger.spans import complete_tags, infer_encoding


@Model.register("sequence_tagger")
class SequenceTagger(TaggingModel):
    """Gives each token of a sentence a tag, or any number of labels with the head `sigmoid`.

    If the dataset reader keeps documents, an instance is a document. Its sentences are encoded and
    tagged as separate rows, so no entity crosses the border of a sentence. `document_contexts` decide
    what else of the document a sentence sees.

    Letters: `B` batch, `T` tokens, `K` tags; with documents `S` sentences, `L` tokens of the longest. In
    a config `encoder` needs no input size, and the default `head` is a plain CRF.

    Args:
        vocab: The vocabulary with the tags.
        text_field_embedder: Embeds the tokens.
        encoder: Encodes the embedded tokens in context.
        head: Turns emissions into a loss and into tags.
        tag_encoding: How tags spell spans: BIO, IOB1, BIOUL, BMES, IOBES or IO. `None` derives it from
            the vocabulary's tags. IOB1 and IO must be named, because their tags look like BIO tags or
            plain labels.
        label_namespace: The vocabulary's namespace of the tags.
        loss_reduction: Whether a batch's loss is the mean over its sentences (`"sentence"`), the mean
            over its tokens (`"token"`) or the sum (`"sum"`, as in AllenNLP's CRF tagger). With a
            mean the learning rate does not depend on the batch size.
        training_metrics: Whether to decode and compute metrics in training steps too, which is slow.
        initializer: Initialises the parameters.
        regularizer: Penalises the parameters.
        document_contexts: What a sentence sees of the document around it; their features are
            concatenated to the encoder's states.
        extensions: Encoders that each read what the encoder reads and all these features, and
            concatenate theirs. `add-label` adds one, and trains nothing that was there before. With an
            extension, dropout is disabled in the frozen parts.
        segment_tolerance: If given, segments are measured, too, with borders that may differ by this
            many steps; see `tagger.metrics.SegmentMetrics`.
    """

    def __init__(
        self,
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
        extensions: Optional[List[Lazy[Seq2SeqEncoder]]] = None,
        segment_tolerance: Optional[int] = None,
    ) -> None:
        tag_encoding = tag_encoding or infer_encoding(tags_in_order(vocab, label_namespace))
        if tag_encoding is not None:
            _complete_vocabulary(vocab, label_namespace, tag_encoding)
        super().__init__(
            vocab=vocab,
            tag_encoding=tag_encoding,
            label_namespace=label_namespace,
            loss_reduction=loss_reduction,
            training_metrics=training_metrics,
            regularizer=regularizer,
        )
        self.text_field_embedder = text_field_embedder
        embedding_dim = text_field_embedder.get_output_dim()
        # Parts draw their initial weights in this order.
        self.encoder = build_encoder(encoder, embedding_dim)
        _check_size(self.encoder.get_input_dim(), embedding_dim)
        self.head = build(
            head, vocab=vocab, label_namespace=label_namespace, tag_encoding=tag_encoding
        )
        if segment_tolerance is not None:
            if self.head.describe().overlaps:
                raise ConfigurationError(
                    "`segment_tolerance` needs the head `crf`, `softmax` or `sigmoid`; leave it out"
                )
            self.segment_metrics = SegmentMetrics(
                vocab, segment_tolerance, label_namespace, tag_encoding
            )
        num_states = self.encoder.get_output_dim()
        contexts = [build(each, input_size=num_states) for each in document_contexts or []]
        num_states += sum(each.get_output_dim() for each in contexts)
        others = [build_encoder(each, embedding_dim + num_states) for each in extensions or []]
        num_states += sum(each.get_output_dim() for each in others)
        self.document_contexts = torch.nn.ModuleList(contexts)
        self.extensions = torch.nn.ModuleList(others)
        self.projection = Linear(num_states, len(self.tags))
        if initializer is not None:
            initializer(self)

    @property
    def uses_documents(self) -> bool:
        return len(self.document_contexts) > 0

    def emissions(
        self, tokens: TextFieldTensors, mask: torch.Tensor, rows: Optional[SentenceRows] = None
    ) -> torch.Tensor:
        rows = rows or self.sentence_rows(mask)
        # (S, L, features)
        embedded = rows.split(self.text_field_embedder(tokens))
        states = self.encoder(embedded, rows.mask)
        states = _beside(states, [context(states, rows) for context in self.document_contexts])
        inputs = _beside(embedded, [states]) if self.extensions else states
        states = _beside(states, [each(inputs, rows.mask) for each in self.extensions])
        return self.projection(states)

    def train(self, mode: bool = True) -> "SequenceTagger":
        super().train(mode)
        for part in (*self.children(), *self.extensions) if self.extensions else ():
            if not any(weights.requires_grad for weights in part.parameters()):
                part.eval()
        return self


def _beside(states: torch.Tensor, others: List[torch.Tensor]) -> torch.Tensor:
    return torch.cat([states, *others], dim=2) if others else states


def _check_size(taken: int, given: int) -> None:
    if taken != given:
        raise ConfigurationError(
            f"`encoder` takes {taken} features, but `text_field_embedder` gives {given}; leave the "
            f"encoder's input size out of the config to have it derived"
        )


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
