"""How large a request may be."""

import math
from typing import NamedTuple

from allennlp.common.checks import ConfigurationError

from tagger.commands.command_line import parse_object
from tagger.common.did_you_mean import did_you_mean
from tagger_onnx.inputs import RUN_CHARACTERS


class Limits(NamedTuple):
    """The limits of requests; what exceeds one is refused before the model sees it.

    They bound the memory and the time that one request takes. spaCy's tokenizer takes time quadratic in
    the length of a run of characters without a blank, hence `run_characters`.

    Attributes:
        body_bytes: The size of a request's body.
        body_seconds: How long the body may take to arrive.
        texts: How many texts a request may have.
        text_characters: How long a text may be.
        run_characters: How long a run of characters without white space may be, or a token.
        text_tokens: How many tokens a text may have.
        request_tokens: How many tokens all texts of a request may have together.
        waiting_requests: How many requests may wait for the model.
    """

    body_bytes: int = 1_000_000
    body_seconds: float = 10.0
    texts: int = 256
    text_characters: int = 20_000
    run_characters: int = RUN_CHARACTERS
    text_tokens: int = 2_000
    request_tokens: int = 20_000
    waiting_requests: int = 256


def parse_limits(text: str) -> Limits:
    """Returns the default limits with those that a JSON object names instead.

    Args:
        text: Such as `{"texts": 1000}`.

    Raises:
        ConfigurationError: If there is no such limit, or it is no number above 0.
    """
    given = parse_object("--limits", text)
    for name, value in given.items():
        if name not in Limits._fields:
            raise ConfigurationError(
                f"`--limits` names `{name}`, which is no limit ({', '.join(Limits._fields)})"
                + did_you_mean(name, Limits._fields)
            )
        expected = float if name == "body_seconds" else int
        is_number = isinstance(value, (int, expected)) and not isinstance(value, bool)
        if not is_number or not 0 < value < math.inf:
            raise ConfigurationError(
                f"`--limits` gives `{name}` {value!r}; it must be a number above 0"
                + ("" if expected is float else ", without a fraction")
            )
    return Limits(**given)
