"""Scores of labels that are linear in the TF-IDF of a text's words."""

import torch
from allennlp.common import FromParams
from allennlp.common.checks import ConfigurationError
from allennlp.data import TextFieldTensors, Vocabulary
from torch.nn.functional import normalize

from tagger.common.did_you_mean import did_you_mean
from tagger.common.vocabulary import tags_in_order


class TermScores(torch.nn.Module, FromParams):
    """Weighs the words of a text for each label, like a linear classifier over TF-IDF features.

    A word that occurs `f` times in a text, and in `d` of `N` texts, has the feature
    `(1 + log f) * log ((N + 1) / (d + 1))`, 0 if `f` is 0. The features of a text have the Euclidean
    norm 1 (Manning et al. 2008, "Introduction to information retrieval", section 6.4). Texts are
    counted in training steps, like the running means of batch normalisation, and the counts are saved
    with the model. Words that are not in the vocabulary are ignored.

    The weights start at 0. Adam makes the steps of rare words too large; with `eps: 1` it is plain
    gradient descent with momentum, which needs a large learning rate: see
    `training_config/reuters_frozen_minilm.jsonnet`.

    Letters: `B` texts, `T` tokens, `V` words, `C` labels. A batch has `B * V` features in memory.

    Args:
        vocab: Holds the words and the labels; supplied by the model in a config.
        indexer: The name of the token indexer, a `single_id`, that gives the words.
        namespace: The vocabulary's namespace of the words.
        label_namespace: The vocabulary's namespace of the labels.

    Attributes:
        weights: (V, C).
        text_counts: (V,) int64, `d`, over all training steps.
        num_texts: () int64, `N`.
    """

    text_counts: torch.Tensor
    num_texts: torch.Tensor

    def __init__(
        self,
        vocab: Vocabulary,
        indexer: str = "words",
        namespace: str = "tokens",
        label_namespace: str = "labels",
    ) -> None:
        super().__init__()
        words = vocab.get_token_to_index_vocabulary(namespace)
        # The padding and the unknown word.
        self._others = [
            words[word] for word in (vocab._padding_token, vocab._oov_token) if word in words
        ]
        if len(words) == len(self._others):
            raise ConfigurationError(
                f"the vocabulary has no words in its namespace `{namespace}`; give the dataset reader a "
                f"token indexer `{indexer}` of the type `single_id` with this `namespace`"
            )
        self.indexer = indexer
        self.weights = torch.nn.Parameter(
            torch.zeros(len(words), len(tags_in_order(vocab, label_namespace)))
        )
        self.register_buffer("text_counts", torch.zeros(len(words), dtype=torch.int64))
        self.register_buffer("num_texts", torch.tensor(0))

    def forward(self, tokens: TextFieldTensors) -> torch.Tensor:
        """Returns the scores, (B, C) log-odds, of indexed texts; `indexer`'s tokens are (B, T) int64."""
        if self.indexer not in tokens:
            raise ConfigurationError(
                f"`term_scores` needs a token indexer `{self.indexer}`, which the dataset reader lacks "
                f"(it has {', '.join(tokens)}){did_you_mean(self.indexer, list(tokens))}; add one of "
                f"the type `single_id`"
            )
        return self.features(tokens[self.indexer]["tokens"]) @ self.weights

    def features(self, words: torch.Tensor) -> torch.Tensor:
        """Returns the TF-IDF, (B, V), of texts, (B, T) int64, and counts the texts in training steps."""
        # (B, V)
        counts = self.weights.new_zeros(len(words), len(self.weights), dtype=torch.float32)
        counts.scatter_add_(1, words, torch.ones_like(words, dtype=torch.float32))
        counts[:, self._others] = 0
        occurs = counts > 0
        if self.training:
            self.text_counts += occurs.sum(0)
            self.num_texts += len(words)
        # (V,)
        rarity = torch.log((self.num_texts + 1) / (self.text_counts + 1))
        frequency = torch.where(occurs, 1 + counts.clamp(min=1).log(), counts)
        return normalize(frequency * rarity, dim=1)
