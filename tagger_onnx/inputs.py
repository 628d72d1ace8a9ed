"""What a tagger takes. All taggers check their inputs here, so that they accept and refuse the same."""

import json
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

#: A text may begin with it. It is part of the text, but of no token.
BYTE_ORDER_MARK = "\ufeff"
#: The most characters in a row without white space that are split into tokens, unless a tagger is told
#: otherwise. The time of spaCy's rules grows with their square: 500 brackets take 50 ms, 40,000 minutes.
RUN_CHARACTERS = 500
#: The most characters of an input that a message shows.
_SHOWN = 200


class InputError(ValueError, TypeError):
    """An input that no tagger takes: its type or its value is wrong."""


def check_text(text: Any, name: str, run_characters: Optional[int] = RUN_CHARACTERS) -> str:
    """Returns a text as it is; refuses what no tagger can split by an `InputError` about `name`.

    Example:
        >>> check_text(") " * 1000, "sentence") == ") " * 1000
        True
        >>> check_text(["Ada"], "sentence")
        Traceback (most recent call last):
        ...
        tagger_onnx.inputs.InputError: `sentence` must be a text; got ['Ada']
    """
    if not isinstance(text, str):
        raise InputError(f"`{name}` must be a text; got {_shown(text)}")
    check_characters(text, name)
    longest = longest_run(text)
    if run_characters is not None and longest > run_characters:
        raise InputError(
            f"`{name}` has {longest} characters in a row without a blank, and at most {run_characters} "
            f"can be split into tokens; remove them, put blanks between words, or give `tokens`"
        )
    return text


def check_tokens(tokens: Any, name: str = "tokens") -> List[str]:
    """Returns the tokens of one text as a new list; refuses what are none by an `InputError`.

    Example:
        >>> check_tokens(("New York", "is"))
        ['New York', 'is']
    """
    is_list = isinstance(tokens, (list, tuple))
    if not is_list or not all(isinstance(token, str) and token for token in tokens):
        raise InputError(f"`{name}` must be a list of non-empty tokens; got {_shown(tokens)}")
    check_characters("".join(tokens), name)
    return list(tokens)


def check_text_or_tokens(
    value: Any, name: str, run_characters: Optional[int] = RUN_CHARACTERS
) -> Any:
    """Returns a text, or a new list of tokens; arguments and errors as for `check_text`."""
    if isinstance(value, (list, tuple)):
        return check_tokens(value, name)
    if not isinstance(value, str):
        raise InputError(
            f"`{name}` must be a text or a list of non-empty tokens; got {_shown(value)}"
        )
    return check_text(value, name, run_characters)


def check_list(value: Any, name: str) -> Sequence[Any]:
    """Returns a list or tuple, whose items the caller checks; refuses anything else."""
    if not isinstance(value, (list, tuple)):
        raise InputError(
            f"`{name}` must be a list of texts and of lists of tokens; got {_shown(value)}"
        )
    return value


def check_characters(text: str, name: str = "text") -> str:
    """Returns a text as it is; refuses what UTF-8 cannot spell, but Python and JSON can."""
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise InputError(
                f"`{name}` holds {text[error.start]!a}, half of a surrogate pair, which is not a "
                f"character; decode the text again, or remove it"
            ) from None
    return text


def only_field(given: Mapping[str, Any], names: Sequence[str]) -> str:
    """Returns the name under which an object holds its input.

    Refuses an object with none of these fields, several, or another one, which nothing would read.

    Example:
        >>> only_field({"tokens": ["Ada"], "sentence": None}, ["sentence", "tokens"])
        'tokens'
    """
    found = [str(name) for name, value in given.items() if value is not None]
    if len(found) == 1 and found[0] in names:
        return found[0]
    got = ", ".join(f"`{name}`" for name in found) or "none"
    raise InputError(
        f"an input must have exactly one of {', '.join(f'`{name}`' for name in names)}, and no other "
        f"field; got {got:.{_SHOWN}}"
    )


def parse_json(text: Union[str, bytes]) -> Any:
    """Parses JSON; a field named twice, or a number of thousands of digits, is an `InputError`."""
    return json.loads(text, object_pairs_hook=_object_of, parse_int=_integer_of)


def longest_run(text: str) -> int:
    """Returns the length of the longest run of characters without white space.

    Example:
        >>> longest_run("Ada left.")
        5
    """
    return max(map(len, text.split()), default=0)


def begin_of(text: str) -> int:
    """Returns the offset at which a text begins: 1 behind a byte order mark, else 0."""
    return int(text.startswith(BYTE_ORDER_MARK))


def _object_of(pairs: List[Tuple[str, Any]]) -> Dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"an object has `{twice:.{_SHOWN}}` twice; keep one of them")
    return found


def _integer_of(digits: str) -> int:
    try:
        return int(digits)
    except ValueError:  # Python refuses what would take long.
        raise InputError(f"a number has {len(digits)} digits; write a shorter one") from None


def _shown(value: Any) -> str:
    """A value, cut short, in characters that any terminal shows."""
    text = ascii(value) if not isinstance(value, str) else ascii(value[:_SHOWN])
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
