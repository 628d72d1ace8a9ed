"""Word pieces: the vocabulary entries of a pretrained transformer that make up a word."""

import json
from typing import TYPE_CHECKING, Dict, List, Sequence

from allennlp.common.checks import ConfigurationError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

# The most words whose pieces are remembered.
_MAX_WORDS = 100_000


class WordPieces:
    """Splits words into the word pieces of a pretrained transformer.

    Each word is split alone, as one inside a sentence, where a tokenizer of bytes expects a space in
    front of it. A word without a piece, such as an invisible character, is an unknown word.

    Args:
        tokenizer: A tokenizer of the library `tokenizers`; it is left as it is.
        padding: The piece that pads.
        unknown: The piece of unknown words.

    Attributes:
        tokenizer: The one that splits a word when it is called with that word alone.
        start: The special pieces before a text, such as `[CLS]`.
        end: The special pieces after it, such as `[SEP]`.
        padding: As given.
        unknown: As given.
    """

    def __init__(self, tokenizer: "Tokenizer", padding: int = 0, unknown: int = 0) -> None:
        self.tokenizer = _for_single_words(tokenizer)
        self.padding, self.unknown = padding, unknown
        own = self.tokenizer.encode("a", add_special_tokens=False).ids
        special = self.tokenizer.encode("a").ids
        begin = next(
            begin
            for begin in range(len(special) - len(own) + 1)
            if special[begin : begin + len(own)] == own
        )
        self.start: List[int] = special[:begin]
        self.end: List[int] = special[begin + len(own) :]
        self._pieces: Dict[str, List[int]] = {}

    @classmethod
    def load(cls, model_name: str) -> "WordPieces":
        """Returns the word pieces of a pretrained transformer.

        Args:
            model_name: A folder, or a name of the Hugging Face hub.

        Raises:
            ConfigurationError: If there is no such tokenizer, or it is not one of the fast ones.
        """
        from transformers import AutoTokenizer

        try:
            tokenizer = AutoTokenizer.from_pretrained(model_name)
        except (OSError, ValueError) as error:
            raise not_found(model_name, "tokenizer", error) from error
        fast = getattr(tokenizer, "backend_tokenizer", None)
        if fast is None:
            raise ConfigurationError(
                f"`model_name` is {model_name!r}, whose tokenizer `{type(tokenizer).__name__}` is not "
                f"one of the fast ones; save it with a `tokenizer.json`"
            )
        return cls(fast, tokenizer.pad_token_id or 0, tokenizer.unk_token_id or 0)

    @property
    def num_special(self) -> int:
        """The number of special pieces around a text."""
        return len(self.start) + len(self.end)

    def split(self, words: Sequence[str]) -> List[List[int]]:
        """Returns the pieces of each word, at least one."""
        if len(self._pieces) > _MAX_WORDS:
            self._pieces.clear()
        new = list(dict.fromkeys(word for word in words if word not in self._pieces))
        for word, encoded in zip(new, self.tokenizer.encode_batch(new, add_special_tokens=False)):
            self._pieces[word] = encoded.ids or [self.unknown]
        return [self._pieces[word] for word in words]


def not_found(model_name: str, part: str, error: Exception) -> ConfigurationError:
    """Returns the error of a transformer that cannot be read.

    Args:
        model_name: Its folder or name.
        part: What of it is missing.
        error: What the library said.
    """
    reason = str(error).strip().split("\n")[0]
    return ConfigurationError(
        f"`model_name` is {model_name!r}, where no {part} of a transformer can be read ({reason}); give "
        f"a folder with `config.json`, weights and tokenizer, or the name of one on the Hugging Face hub"
    )


def _for_single_words(tokenizer: "Tokenizer") -> "Tokenizer":
    """Returns a copy that neither cuts nor pads, and splits a word as it does after a space."""
    from tokenizers import Tokenizer, normalizers

    copy = Tokenizer.from_str(tokenizer.to_str())
    copy.no_truncation()
    copy.no_padding()
    settings = json.dumps(json.loads(copy.to_str())["pre_tokenizer"])
    if '"ByteLevel"' in settings and '"add_prefix_space": true' not in settings:
        own = [] if copy.normalizer is None else [copy.normalizer]
        copy.normalizer = normalizers.Sequence([*own, normalizers.Prepend(" ")])
    return copy
