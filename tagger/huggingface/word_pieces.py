"""Words and their tags as the word pieces that a transformer takes, in windows that it can hold."""

from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence

#: The label of pieces that are no word's first: to the CRF they are absent.
MASKED = -100
#: The label of a word whose tag is unknown.
UNKNOWN = -1


class Window(NamedTuple):
    """Some words of a text as word pieces.

    Attributes:
        inputs: `input_ids`, `attention_mask` and what else the model takes, a list for each. If labels
            were given, `labels` too. This is an item of the trainer's dataset.
        words: The indices, in the text, of the words that this window stands for.
        pieces: The position of the first piece of each of these words.
    """

    inputs: Dict[str, List[int]]
    words: List[int]
    pieces: List[int]


def window_size(tokenizer: Any, config: Any) -> int:
    """Returns the most word pieces that a model takes, special tokens included.

    This is the smaller of the tokenizer's `model_max_length` and the configuration's
    `max_position_embeddings`.
    """
    num_positions = getattr(config, "max_position_embeddings", None) or tokenizer.model_max_length
    return int(min(tokenizer.model_max_length, num_positions))


def encode_words(
    tokenizer: Any, words: Sequence[str], size: int, labels: Optional[Sequence[int]] = None
) -> List[Window]:
    """Splits the words of a text into word pieces.

    A text of too many pieces becomes several windows of whole words, each with up to a quarter of its
    pieces before and after as context, so that nothing is cut off. Only a word that alone has too many
    pieces loses the last of them. A word of which the tokenizer leaves nothing, such as a lone control
    character, is in no window.

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
    room = size - tokenizer.num_special_tokens_to_add()
    if room < 4:
        raise ValueError(f"`size` must leave room for 4 pieces and special tokens; got {size}")
    counts = [0] * len(words)
    for word in _pieces(tokenizer, words).word_ids():
        counts[word] += 1
    return [
        _window(tokenizer, words, span, size, labels)
        for span in _spans(counts, room)
        if any(counts[span.first : span.end])
    ]


class _Span(NamedTuple):
    """Words from `first` to before `end`, with context from `before` to before `after`."""

    before: int
    first: int
    end: int
    after: int


def _spans(counts: Sequence[int], room: int) -> Iterator[_Span]:
    """Parts of a text that have room with their context; `counts` are pieces by word."""
    num_words = len(counts)
    if sum(counts) <= room:
        yield _Span(0, 0, num_words, num_words)
        return
    context = room // 4
    own_room = room - 2 * context
    first = 0
    while first < num_words:
        end = first + _num_fitting(counts[first:], own_room, at_least=1)
        before = first - _num_fitting(counts[:first][::-1], context)
        yield _Span(before, first, end, end + _num_fitting(counts[end:], context))
        first = end


def _num_fitting(counts: Sequence[int], room: int, at_least: int = 0) -> int:
    """How many words, from the first on, have at most `room` pieces together."""
    total = 0
    for number, count in enumerate(counts):
        total += count
        if total > room:
            return max(number, at_least)
    return len(counts)


def _window(
    tokenizer: Any, words: Sequence[str], span: _Span, size: int, labels: Optional[Sequence[int]]
) -> Window:
    encoded = _pieces(
        tokenizer,
        words[span.before : span.after],
        add_special_tokens=True,
        truncation=True,
        max_length=size,
    )
    first_pieces: Dict[int, int] = {}
    for piece, word in enumerate(encoded.word_ids()):
        if word is not None and span.first <= word + span.before < span.end:
            first_pieces.setdefault(word + span.before, piece)
    inputs = dict(encoded)
    if labels is not None:
        inputs["labels"] = [MASKED] * len(inputs["input_ids"])
        for word, piece in first_pieces.items():
            inputs["labels"][piece] = labels[word]
    return Window(inputs, list(first_pieces), list(first_pieces.values()))


def _pieces(tokenizer: Any, words: Sequence[str], **options: Any) -> Any:
    options = {"add_special_tokens": False, "verbose": False, **options}
    return tokenizer(list(words), is_split_into_words=True, **options)
