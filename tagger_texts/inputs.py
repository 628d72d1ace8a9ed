"""Checks of a tagger's inputs, shared by all taggers so that they accept and refuse the same."""

import json
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

#: Allowed at the start of a text. It belongs to the text but not to any token.
BYTE_ORDER_MARK = "\ufeff"
#: The default limit on characters in a row without white space in text that is split into tokens. The
#: time of spaCy's rules grows with the square: 500 brackets take 50 ms, and 40,000 take minutes.
RUN_CHARACTERS = 500
#: The most characters of an input that an error message shows.
_SHOWN = 200


class InputError(ValueError, TypeError):
    """An input of a wrong type or with a wrong value for any tagger."""


def check_text(text: Any, name: str, run_characters: Optional[int] = RUN_CHARACTERS) -> str:
    """Returns a text unchanged, or raises an `InputError` about `name` if no tagger can split it.

    Example:
        >>> check_text(") " * 1000, "sentence") == ") " * 1000
        True
        >>> check_text(["Ada"], "sentence")
        Traceback (most recent call last):
        ...
        tagger_texts.inputs.InputError: `sentence` must be a text; got ['Ada']
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
    """Returns the tokens of a text as a new list, or raises an `InputError` if they are not valid.

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
    """Returns a text or a new list of tokens; arguments and errors as in `check_text`."""
    if isinstance(value, (list, tuple)):
        return check_tokens(value, name)
    if not isinstance(value, str):
        raise InputError(
            f"`{name}` must be a text or a list of non-empty tokens; got {_shown(value)}"
        )
    return check_text(value, name, run_characters)


def check_list(value: Any, name: str) -> Sequence[Any]:
    """Returns a list or tuple and refuses anything else; its items are checked by the caller."""
    if not isinstance(value, (list, tuple)):
        raise InputError(
            f"`{name}` must be a list of texts and of lists of tokens; got {_shown(value)}"
        )
    return value


def check_characters(text: str, name: str = "text") -> str:
    """Returns a text unchanged; refuses lone surrogates, which UTF-8 cannot encode."""
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
    """Returns the name of the field with an object's input.

    Refuses an object with none or several of these fields, or with a field that nothing would read.

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
    """Parses JSON; raises an `InputError` for a repeated field or a number with thousands of digits."""
    return json.loads(text, object_pairs_hook=_object_of, parse_int=_integer_of)


def longest_run(text: str) -> int:
    """Returns the length of the longest run of characters without white space.

    Example:
        >>> longest_run("Ada left.")
        5
    """
    return max(map(len, text.split()), default=0)


def begin_of(text: str) -> int:
    """Returns the offset at which a text begins: 1 after a byte order mark, else 0."""
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
    except ValueError:  # Python refuses numbers that would take long to parse.
        raise InputError(f"a number has {len(digits)} digits; write a shorter one") from None


def _shown(value: Any) -> str:
    """Shortens a value for display, in characters that any terminal can show."""
    text = ascii(value) if not isinstance(value, str) else ascii(value[:_SHOWN])
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
