"""Encodes the sentences of documents, with what they see of their documents."""

from typing import Iterable, cast

import torch
from allennlp.modules import Seq2SeqEncoder

from tagger.modules.document_contexts.document_context import DocumentContext
from tagger.modules.document_contexts.sentence_rows import SentenceRows


def encode_sentences(
    encoder: Seq2SeqEncoder,
    contexts: Iterable[torch.nn.Module],
    embedded: torch.Tensor,
    rows: SentenceRows,
) -> torch.Tensor:
    """Returns the encoder's states of each sentence, and beside them the features of the contexts.

    Letters: `B` documents, `T` tokens, `S` sentences of all documents, `L` tokens of the longest.

    Args:
        encoder: Encodes rows of tokens to D features.
        contexts: Each a `DocumentContext`, together with F features.
        embedded: (B, T, ...), the embedded tokens of documents.
        rows: Where the sentences lie in their documents.

    Returns:
        (S, L, D + F), undefined in the padding.
    """
    each = [cast(DocumentContext, context) for context in contexts]
    margin = max([context.margin for context in each], default=0)
    if margin and rows.are_documents:
        windows = rows.widened(margin)
        states = windows.inner(encoder(windows.split(embedded), windows.mask))
    else:
        states = encoder(rows.split(embedded), rows.mask)
    features = [context(states, rows) for context in each]
    return torch.cat([states, *features], dim=2) if features else states
