"""Splits words and their tags into windows of word pieces that fit a transformer."""

from typing import Any, Dict, List, NamedTuple, Optional, Sequence

from tagger.transformers.windows import longest_window, overlapping_windows
from tagger.transformers.word_pieces import special_pieces

#: The label of all pieces but the first of each word; the CRF skips them.
MASKED = -100
#: The label of a word with an unknown tag.
UNKNOWN = -1


class PieceWindow(NamedTuple):
    """Some words of a text as word pieces.

    `inputs` is an item for the trainer's dataset. `words` are the indices of the words that take their
    emissions from this window, and `pieces` the position of the first piece of each.
    """

    inputs: Dict[str, List[int]]
    words: List[int]
    pieces: List[int]


def window_size(tokenizer: Any, config: Any) -> int:
    """Returns the largest number of word pieces, special tokens included, for tokenizer and model."""
    sizes = [tokenizer.model_max_length, longest_window(config)]
    return int(min(size for size in sizes if size is not None))


def encode_words(
    tokenizer: Any, words: Sequence[str], size: int, labels: Optional[Sequence[int]] = None
) -> List[PieceWindow]:
    """Splits the words of a text into word pieces.

    A text with too many pieces becomes several overlapping windows, so nothing is cut off. Each word
    belongs to the window where it has the most context. A word that the tokenizer reduces to nothing,
    such as a lone control character, is in no window.

    Args:
        tokenizer: A fast tokenizer of `transformers`.
        words: The words of the text.
        size: The most pieces of a window, special tokens included; see `window_size`.
        labels: The index of each word's tag, `UNKNOWN` where it is not known.

    Raises:
        ValueError: If the tokenizer is a slow one, if `size` leaves no room, or if the number of
            `labels` differs from the number of words.
    """
    if not tokenizer.is_fast:
        raise ValueError(
            f"`tokenizer` must be a fast one, which knows the word of each piece; got "
            f"{type(tokenizer).__name__}; load it with `AutoTokenizer.from_pretrained`"
        )
    if labels is not None and len(labels) != len(words):
        raise ValueError(f"expected {len(words)} `labels`, one for each word; got {len(labels)}")
    start, end = special_pieces(tokenizer)
    room = size - len(start) - len(end)
    if room < 4:
        raise ValueError(f"`size` must leave room for 4 pieces and special tokens; got {size}")
    encoded = tokenizer(
        list(words), is_split_into_words=True, add_special_tokens=False, verbose=False
    )
    pieces, word_of = encoded["input_ids"], encoded.word_ids()
    windows = []
    for own in overlapping_windows(len(pieces), room, overlap=room // 2):
        # The place of each word's first piece, by word.
        places = {
            word_of[piece]: len(start) + piece - own.start
            for piece in range(own.first, own.last)
            if piece == 0 or word_of[piece] != word_of[piece - 1]
        }
        if not places:
            continue
        ids = [*start, *pieces[own.start : own.end], *end]
        inputs = {"input_ids": ids, "attention_mask": [1] * len(ids)}
        if labels is not None:
            inputs["labels"] = [MASKED] * len(ids)
            for word, place in places.items():
                inputs["labels"][place] = labels[word]
        windows.append(PieceWindow(inputs, list(places), list(places.values())))
    return windows
