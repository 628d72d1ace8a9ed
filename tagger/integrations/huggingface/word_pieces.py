"""Words and their tags as the word pieces that a transformer takes, in windows that it can hold."""

from typing import Any, Dict, List, NamedTuple, Optional, Sequence

from tagger.transformers.windows import longest_window, overlapping_windows
from tagger.transformers.word_pieces import special_pieces

#: The label of pieces that are no word's first: to the CRF they are absent.
MASKED = -100
#: The label of a word whose tag is unknown.
UNKNOWN = -1


class Window(NamedTuple):
    """Some words of a text as word pieces.

    `inputs` are an item of the trainer's dataset; `words` the indices of the words that this window
    stands for; `pieces` the position of the first piece of each.
    """

    inputs: Dict[str, List[int]]
    words: List[int]
    pieces: List[int]


def window_size(tokenizer: Any, config: Any) -> int:
    """Returns the most word pieces that tokenizer and model take, special tokens included."""
    sizes = [tokenizer.model_max_length, longest_window(config)]
    return int(min(size for size in sizes if size is not None))


def encode_words(
    tokenizer: Any, words: Sequence[str], size: int, labels: Optional[Sequence[int]] = None
) -> List[Window]:
    """Splits the words of a text into word pieces.

    A text of too many pieces becomes several windows that overlap, so that nothing is cut off, and each
    word stands in the window where it has the most context. A word of which the tokenizer leaves
    nothing, such as a lone control character, is in no window.

    Args:
        tokenizer: A fast tokenizer of `transformers`.
        words: The words of the text.
        size: The most pieces of a window, special tokens included; see `window_size`.
        labels: The index of each word's tag, `UNKNOWN` where it is not known.

    Raises:
        ValueError: If the tokenizer is a slow one, `size` leaves no room, or `labels` are not as many as
            the words.
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
        # By word, the place of its first piece.
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
        windows.append(Window(inputs, list(places), list(places.values())))
    return windows
