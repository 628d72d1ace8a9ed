"""The characters of words, each word taken to pieces once."""

from typing import Any, Dict, List

from allennlp.data import Token, TokenIndexer
from allennlp.data.token_indexers import TokenCharactersIndexer
from allennlp.data.tokenizers import Tokenizer

#: How many words are remembered; a file may have any number.
MAX_WORDS = 100_000


@TokenIndexer.register("cached_characters")
class CachedCharactersIndexer(TokenCharactersIndexer):
    """AllenNLP's `characters`: same arguments, same indices, in half the time.

    It makes an object of every character, which is most of the work; words repeat.

    Args:
        kwargs: as AllenNLP's.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        tokenizer: Any = _CachedTokenizer(self._character_tokenizer)
        self._character_tokenizer = tokenizer


class _CachedTokenizer(Tokenizer):
    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._characters: Dict[str, List[Token]] = {}

    def tokenize(self, text: str) -> List[Token]:
        if text not in self._characters:
            if len(self._characters) == MAX_WORDS:
                self._characters.clear()
            self._characters[text] = self._tokenizer.tokenize(text)
        return self._characters[text]
