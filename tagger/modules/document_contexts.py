"""Features of a sentence that depend on the document around it."""

import torch
from allennlp.common import Registrable

import tagger.common.needs_allennlp  # noqa: F401
from tagger.common.ranges import check_dropouts, check_sizes
from tagger.modules.linear import Linear
from tagger.modules.sentence_rows import SentenceRows


class DocumentContext(torch.nn.Module, Registrable):
    """Gives the tokens of a sentence features that depend on the document around it.

    Letters: `S` sentences of all documents, `L` tokens of the longest, `D` features of a state, `F`
    features that a context adds.
    """

    def get_output_dim(self) -> int:
        """Returns F, the number of features that the context adds to each token."""
        raise NotImplementedError

    def forward(self, states: torch.Tensor, rows: SentenceRows) -> torch.Tensor:
        """Computes the features of tokens, (S, L, F), undefined in the padding.

        `states` are the encoder's, (S, L, D), finite in the padding; `rows` say where the sentences lie
        in their documents.
        """
        raise NotImplementedError


@DocumentContext.register("pooled_states")
class PooledStates(DocumentContext):
    """Combines each token with the means of its sentence and of its document.

    A ReLU layer reads a token's state, the mean state of its sentence, and the mean state of its
    document. After Luo, Xiao & Zhao (2020), Hierarchical contextualized representation for named entity
    recognition, who use attention instead of means.

    Args:
        input_size: The features of a state; supplied by the model in a config.
        size: The number of features to add.
        dropout: The dropout of these features.
    """

    def __init__(self, input_size: int, size: int = 128, dropout: float = 0.2) -> None:
        super().__init__()
        check_sizes(size=size)
        check_dropouts(dropout=dropout)
        self.size = size
        self.of_tokens = Linear(input_size, size)
        self.of_means = Linear(2 * input_size, size, bias=False)
        self.dropout = torch.nn.Dropout(dropout)

    def get_output_dim(self) -> int:
        return self.size

    def forward(self, states: torch.Tensor, rows: SentenceRows) -> torch.Tensor:
        # (S, 1), (S, D)
        lengths = rows.mask.sum(1, keepdim=True).to(states.dtype)
        sums = states.masked_fill(~rows.mask.unsqueeze(2), 0).sum(1)
        # (B, D + 1): sums over documents, and their numbers of tokens
        totals = states.new_zeros(len(rows.document_mask), sums.size(1) + 1)
        totals = totals.index_add(0, rows.documents, torch.cat([sums, lengths], dim=1))
        of_documents = (totals[:, :-1] / totals[:, -1:].clamp(min=1))[rows.documents]
        means = torch.cat([sums / lengths.clamp(min=1), of_documents], dim=1)
        # (S, L, F)
        features = self.of_tokens(states) + self.of_means(means).unsqueeze(1)
        return self.dropout(features.relu())


# The most pairs of tokens that are compared at a time; each takes about ten bytes.
_PAIRS_AT_ONCE = 1 << 24


@DocumentContext.register("same_words")
class SameWords(DocumentContext):
    """Attends over the states of the same word elsewhere in the document.

    If the context of one occurrence gives the label of a name away, the other occurrences benefit.
    Words that differ only in case are the same. The features are a mean of states, 0 for a word that
    occurs once. After Luo, Xiao & Zhao (2020), Hierarchical contextualized representation for named
    entity recognition, who keep a memory of all words of the corpus, and Hu et al. (2020), Leveraging
    multi-token entities in document-level named entity recognition.

    Args:
        input_size: D, the features of a state; supplied by the model in a config.
        size: The features of queries and keys; their products decide how much an occurrence counts.
        dropout: The dropout of the features, drawn for each feature of each token.
    """

    def __init__(self, input_size: int, size: int = 64, dropout: float = 0.0) -> None:
        super().__init__()
        check_sizes(size=size)
        check_dropouts(dropout=dropout)
        self.input_size = input_size
        self.query = Linear(input_size, size)
        self.key = Linear(input_size, size, bias=False)
        self.dropout = torch.nn.Dropout(dropout)

    def get_output_dim(self) -> int:
        return self.input_size

    def forward(self, states: torch.Tensor, rows: SentenceRows) -> torch.Tensor:
        if rows.word_ids is None:
            raise ValueError(
                "`word_ids` is missing, the field that says what words of a document are the same; "
                "let the dataset reader `column` read documents, or add this field to your own"
            )
        # (B, T, D)
        states = rows.join(states)
        # A batch of many documents is processed in parts, and a long document word by word.
        num_documents = _PAIRS_AT_ONCE // max(1, states.size(1)) ** 2
        mean = self._in_batch if num_documents else self._in_document
        batch = states, rows.word_ids, rows.document_mask
        parts = zip(*(each.split(max(1, num_documents)) for each in batch))
        features = torch.cat([mean(*part) for part in parts])
        return self.dropout(rows.split(features))

    def _in_batch(
        self, states: torch.Tensor, word_ids: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        """Returns the weighted mean of the other occurrences' states, (B, T, D)."""
        # (B, T, T)
        is_other = word_ids.unsqueeze(2) == word_ids.unsqueeze(1)
        is_other &= mask.unsqueeze(1)
        is_other.diagonal(dim1=1, dim2=2).fill_(False)
        return self._mean(states, states, is_other)

    def _in_document(
        self, states: torch.Tensor, word_ids: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        """Like `_in_batch`, for B = 1; its memory does not grow with the square of T."""
        places = mask[0].nonzero().squeeze(1)
        places = places[word_ids[0, places].argsort(stable=True)]
        counts = word_ids[0, places].unique_consecutive(return_counts=True)[1]
        pairs = [
            (own, of_word)
            for of_word in places.split(counts.tolist())
            if len(of_word) > 1
            for own in of_word.split(max(1, _PAIRS_AT_ONCE // len(of_word)))
        ]
        if not pairs:
            return torch.zeros_like(states)
        means = [
            self._mean(states[0, own], states[0, of_word], own.unsqueeze(1) != of_word)
            for own, of_word in pairs
        ]
        owners = torch.cat([own for own, _ in pairs])
        return torch.zeros_like(states).index_copy(1, owners, torch.cat(means).unsqueeze(0))

    def _mean(
        self, states: torch.Tensor, others: torch.Tensor, is_other: torch.Tensor
    ) -> torch.Tensor:
        """Returns the weighted mean of (..., O, D) for each of (..., N, D), where `is_other` is true."""
        scores = self.query(states) @ self.key(others).transpose(-1, -2)
        scores = scores * self.query.out_features**-0.5
        weights = scores.masked_fill(~is_other, torch.finfo(scores.dtype).min).softmax(-1)
        # A word that occurs once has equal weights everywhere.
        return weights.masked_fill(~is_other, 0) @ others
