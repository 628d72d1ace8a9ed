"""Tags texts with a CRF on a transformer."""

from functools import cached_property
from pathlib import Path
from typing import Any, List, Optional, Sequence, Union

import numpy as np
import torch
from transformers import AutoTokenizer

from tagger.common.from_allennlp import ConfigurationError
from tagger.common.word_splitter import WordSplitter
from tagger.integrations.huggingface.crf_for_token_classification import CrfForTokenClassification
from tagger.integrations.huggingface.word_pieces import PieceWindow, encode_words, window_size
from tagger.linear_chain import ChainScores, tag_marginals, viterbi_decode
from tagger.spans import labels_of_tags
from tagger.spans.entities import EntityFinder
from tagger_compat import outside_transformers
from tagger_texts.batches import batches_within
from tagger_texts.prediction import Entity
from tagger_texts.segments import PATTERNS, splitter_at
from tagger_texts.tagged_text import Extras, TaggedText
from tagger_texts.text import Text
from tagger_texts.text_tagger import TextTagger

# The most word pieces of a batch, padding included.
_BATCH_PIECES = 4096


class WordPieceTagger(TextTagger[str]):
    """Tags texts and lists of tokens like `tagger.SavedTagger`.

    A text of any length is one chain. If it is too long for the transformer, its emissions are computed
    in windows with context on both sides.

    Args:
        model: The model; it is switched to evaluation mode.
        tokenizer: Its tokenizer.
        language: The language (spaCy code) to split texts into words with, or `blanks`, `punctuation`,
            `words`, `words_and_numbers` or `characters`, which split like these tokenizers.
    """

    def __init__(
        self, model: CrfForTokenClassification, tokenizer: Any, language: str = "en"
    ) -> None:
        self._model = model.eval()
        self._tokenizer = tokenizer
        self._language = language
        if language in PATTERNS:
            self.run_characters = None
        self._tags = model.config.tags
        self._labels = sorted({label for label in labels_of_tags(self._tags) if label is not None})
        self._size = window_size(tokenizer, model.config.backbone)
        self._find_entities: Optional[EntityFinder] = None
        if model.config.tag_encoding is not None:
            self._find_entities = EntityFinder(self._tags, model.config.tag_encoding)

    @property
    def finds_entities(self) -> bool:
        """Whether the tags spell spans."""
        return self._find_entities is not None

    @classmethod
    def from_pretrained(
        cls, path: Union[str, Path], language: str = "en", **kwargs: Any
    ) -> "WordPieceTagger":
        """Loads a model and its tokenizer from a folder.

        Code that comes with the model is refused unless TAGGER_TRUST_REMOTE_CODE is 1.
        """
        model = CrfForTokenClassification.from_pretrained(path, **kwargs)
        may_run_code = outside_transformers.may_run_code()
        with outside_transformers.transformer_loaded(path):
            tokenizer = AutoTokenizer.from_pretrained(path, trust_remote_code=may_run_code)
        return cls(model, tokenizer, language)

    def _tag_all(self, inputs: List[Union[str, Sequence[str]]], extras: Extras) -> List[TaggedText]:
        self._check(extras)
        texts = [self._split(each) for each in inputs]
        windows = [encode_words(self._tokenizer, text.words, self._size) for text in texts]
        emissions = self._emissions(texts, windows)
        known = [sorted(word for window in own for word in window.words) for own in windows]
        return [self._tagged(*each, extras) for each in zip(texts, emissions, known)]

    def _check(self, extras: Extras) -> None:
        """Raises a `ConfigurationError` if the tagger does not support what is asked for."""
        for name in ("leak_labels", "candidates"):
            if getattr(extras, name):
                raise ConfigurationError(
                    f"`{name}` is for taggers of `tagger.load`; this one gives tags, entities and "
                    f"`probabilities`"
                )

    def _split(self, text_or_words: Union[str, Sequence[str]]) -> Text:
        if not isinstance(text_or_words, str):
            return Text.of_words(text_or_words)
        if self._language in PATTERNS:
            found = splitter_at(PATTERNS[self._language])(text_or_words)
            words, starts = [word for word, _ in found], [at for _, at in found]
        else:
            words, starts = self._word_splitter(text_or_words)
        return Text(text_or_words, words, starts, [len(words)])

    @cached_property
    def _word_splitter(self) -> WordSplitter:
        return WordSplitter(self._language)

    @torch.no_grad()
    def _emissions(
        self, texts: Sequence[Text], windows: Sequence[Sequence[PieceWindow]]
    ) -> List[torch.Tensor]:
        """Returns the emissions of each text, (words, K), 0 for words without a piece."""
        device = self._model.crf.transitions.device
        emissions = [torch.zeros(len(text.words), len(self._tags), device=device) for text in texts]
        flat = [(row, window) for row, of_text in enumerate(windows) for window in of_text]
        lengths = np.array([len(window.inputs["input_ids"]) for _, window in flat])
        for part in batches_within(lengths, _BATCH_PIECES):
            batch = [flat[index] for index in part]
            padded = self._tokenizer.pad(
                [window.inputs for _, window in batch], return_tensors="pt"
            ).to(device)
            logits = self._model(**padded).logits.to(emissions[0].dtype)
            for (row, window), each in zip(batch, logits):
                emissions[row][window.words] = each[window.pieces]
        return emissions

    @torch.no_grad()
    def _tagged(
        self, text: Text, emissions: torch.Tensor, known: List[int], extras: Extras
    ) -> TaggedText:
        """Tags a text. Only the words `known` have emissions; the others are skipped and get `O`."""
        scores = self._model.chain_scores(emissions[known].unsqueeze(0))
        scores = ChainScores(*(each.to(emissions.dtype) for each in scores))
        paths, _ = viterbi_decode(scores)
        tags = ["O"] * len(text.words)
        for word, index in zip(known, paths[0].tolist()):
            tags[word] = self._tags[index]
        by_word: List[Any] = [{} for _ in text.words] if extras.probabilities else []
        if extras.probabilities:
            for word, row in zip(known, tag_marginals(scores)[0].tolist()):
                by_word[word] = dict(zip(self._tags, row))
        entities = self._entities(text, paths, scores, known)
        return TaggedText(
            *(text.text, text.words, tags, [], entities, by_word), known_labels=self._labels
        )

    def _entities(
        self, text: Text, paths: torch.Tensor, scores: ChainScores, known: List[int]
    ) -> List[Entity]:
        if self._find_entities is None or not known:
            return []
        mask = torch.ones_like(paths, dtype=torch.bool)
        found = self._find_entities(paths, mask)
        probabilities = self._find_entities.probabilities(scores, found, mask).tolist()
        return [
            text.entity(self._find_entities.labels[label], known[first], known[last], probability)
            for label, first, last, probability in zip(
                found.labels, found.firsts, found.lasts, probabilities
            )
        ]
