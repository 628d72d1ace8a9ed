"""A token embedder that knows every word of a vector file, and trains those in its vocabulary."""

from typing import NamedTuple, Optional

import torch
from allennlp.data import TextFieldTensors, Vocabulary
from allennlp.modules import TokenEmbedder
from allennlp.modules.text_field_embedders import BasicTextFieldEmbedder
from allennlp.nn.util import dist_reduce_sum

from tagger.common.ranges import check_dropouts, check_sizes
from tagger.modules.token_embedders.hash_table import VectorTable
from tagger_texts.words import word_hash

# AllenNLP's vocabularies start with padding and the unknown word.
_UNKNOWN = 1


class Found(NamedTuple):
    """Where the vectors of words are."""

    #: (B, T, F) bool, whether a form has a trained vector.
    is_trained: torch.Tensor
    #: (B, T, F) int64, the form's row in the table of the file; below 0 if it has none.
    rows: torch.Tensor
    #: (B, T, 1) int64, the first form that has a vector.
    first: torch.Tensor
    #: (B, T) bool, whether a form has one.
    is_known: torch.Tensor


def share_unknown_words(model: torch.nn.Module, reset: bool) -> Optional[float]:
    """Returns `share_unknown` of a model's `WordVectors`; None if it has none."""
    embedders = [module for module in model.modules() if isinstance(module, WordVectors)]
    # The members of an ensemble see the same words.
    shares = [embedder.share_unknown(reset) for embedder in embedders]
    return shares[0] if shares else None


def are_unknown(model: torch.nn.Module, tokens: TextFieldTensors) -> Optional[torch.Tensor]:
    """Returns which words, (B, T) bool, a model's `WordVectors` do not know; None if it has none."""
    for module in model.modules():
        if isinstance(module, BasicTextFieldEmbedder):
            for name, embedder in module._token_embedders.items():
                if isinstance(embedder, WordVectors):
                    return ~embedder.find(**tokens[name]).is_known
    return None


@TokenEmbedder.register("word_vectors")
class WordVectors(TokenEmbedder):
    """Word vectors, trained for the words of the vocabulary, and fixed for all others of a file.

    With the indexer `word_forms` a word has several forms. Its vector is that of the first form that has
    one: a trained one if the vocabulary holds the form, else the one of the file. A word without any has
    the trained vector of unknown words.

    Letters: `B` batch, `T` tokens, `F` forms of a word, `D` features.

    Args:
        embedding_dim: The features of a vector.
        vocab: The vocabulary; supplied by AllenNLP in a config.
        pretrained_file: A text file of vectors, such as GloVe's, with a word and its numbers on each
            line. Trained vectors start from these. An archive contains the vectors and does not need
            the file.
        vocab_namespace: The namespace of the words' forms, the same as the indexer's.
        word_dropout: The probability, in training, that a word is treated as unknown.
    """

    _counts: torch.Tensor

    def __init__(
        self,
        embedding_dim: int,
        vocab: Vocabulary,
        pretrained_file: Optional[str] = None,
        vocab_namespace: str = "tokens",
        word_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        check_sizes(embedding_dim=embedding_dim)
        check_dropouts(word_dropout=word_dropout)
        self.table = VectorTable(embedding_dim)
        self.trained = torch.nn.Embedding(
            vocab.get_vocab_size(vocab_namespace), embedding_dim, padding_idx=0
        )
        self.word_dropout = word_dropout
        # (2,): words seen since the last reset, and those of them without a vector
        self.register_buffer("_counts", torch.zeros(2, dtype=torch.int64), persistent=False)
        if pretrained_file is None:
            torch.nn.init.xavier_uniform_(self.trained.weight)
            torch.nn.init.zeros_(self.trained.weight[0])
            return
        self.table.read(pretrained_file)
        self._start_from_table(vocab, vocab_namespace)

    def get_output_dim(self) -> int:
        return self.trained.embedding_dim

    def forward(self, indices: torch.Tensor, hashes: torch.Tensor) -> torch.Tensor:
        """Embeds words, (B, T, D), of the indices and hashes of their forms, (B, T, F) int64."""
        is_trained, rows, first, is_known = self.find(indices, hashes)
        if self.training and self.word_dropout > 0:
            is_known = is_known & (
                torch.rand(is_known.shape, device=is_known.device) >= self.word_dropout
            )
        elif not self.training:
            is_real = indices[:, :, 0] != 0
            self._counts += torch.stack([is_real.sum(), (is_real & ~is_known).sum()])
        from_table = is_known & ~is_trained.gather(2, first).squeeze(2)
        known = indices.gather(2, first).squeeze(2)
        vectors = self.trained(torch.where(is_known & ~from_table, known, _UNKNOWN))
        if len(self.table) == 0:
            return vectors
        row = rows.gather(2, first).squeeze(2).clamp(min=0)
        kept = self.table.rows[row].to(vectors.dtype)
        return torch.where(from_table.unsqueeze(2), kept, vectors)

    def find(self, indices: torch.Tensor, hashes: torch.Tensor) -> "Found":
        """Looks words up; the arguments are those of `forward`."""
        is_trained = indices != _UNKNOWN
        rows = self.table.find(hashes)
        has_vector = is_trained | (rows >= 0)
        return Found(is_trained, rows, has_vector.int().argmax(2, keepdim=True), has_vector.any(2))

    def share_unknown(self, reset: bool) -> Optional[float]:
        """Returns the share of words without a vector since the last reset; None if there were none."""
        num_words, num_unknown = dist_reduce_sum(self._counts).tolist()
        if reset:
            self._counts.zero_()
        return num_unknown / num_words if num_words else None

    def _start_from_table(self, vocab: Vocabulary, namespace: str) -> None:
        """Gives each word of the vocabulary its vector, or a random one of the same distribution."""
        words = vocab.get_token_to_index_vocabulary(namespace)
        hashes = torch.tensor([word_hash(word) for word in words], dtype=torch.int64)
        rows = self.table.find(hashes)
        places = torch.tensor(list(words.values()))
        vectors = self.table.rows.float()
        with torch.no_grad():
            torch.nn.init.normal_(self.trained.weight, vectors.mean().item(), vectors.std().item())
            self.trained.weight[places[rows >= 0]] = vectors[rows[rows >= 0]]
            self.trained.weight[0] = 0.0
        # The words of the vocabulary are looked up there first.
        self.table.drop(rows[rows >= 0])
