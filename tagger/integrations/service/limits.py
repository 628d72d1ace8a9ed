"""Limits on requests, and the error for requests that exceed one or are invalid otherwise."""

import json
import math
from typing import Any, Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Union

from allennlp.common.checks import ConfigurationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from tagger.common.did_you_mean import did_you_mean
from tagger.integrations.service.schemas import TagRequest
from tagger.predictors.saved_tagger import SavedTagger
from tagger.spans import AMBIGUOUS
from tagger_texts.inputs import RUN_CHARACTERS, InputError, longest_run, only_field
from tagger_texts.tagged_text import Extras, SetThresholds

#: The fields for inputs; a request has exactly one of them.
FIELDS = ("text", "tokens", "inputs")
Number = Union[int, float]


class RequestError(HTTPException):
    """Rejects a request with an error that the client can correct.

    `code` identifies the error for programs, such as `too_many_texts`. `got` is the value that exceeded
    `limit`, if any.
    """

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        limit: Optional[Number] = None,
        got: Optional[Number] = None,
        headers: Optional[Dict[str, str]] = None,
    ) -> None:
        super().__init__(status, message, headers)
        self.code, self.limit, self.got = code, limit, got

    def response(self) -> Response:
        """Returns the response, a JSON object."""
        error: Dict[str, Any] = {"code": self.code, "message": self.detail}
        if self.limit is not None:
            error.update(limit=self.limit, got=self.got)
        # ASCII, because a message may quote a lone surrogate.
        content = json.dumps({"error": error}).encode()
        return Response(content, self.status_code, self.headers, "application/json")


class Limits(NamedTuple):
    """Limits of requests, all checked before the model runs.

    They bound the memory and time that a single request can take.

    Attributes:
        connections: The number of open connections.
        address_connections: The number of open connections from one address.
        idle_seconds: How long a connection may stay open without a request.
        head_seconds: How long the headers of a request may take to arrive.
        read_seconds: How long a client may take to read 16 KB of a response, or the rest of it.
        body_bytes: The size of a request's body.
        body_seconds: How long the body may take to arrive.
        texts: The number of texts in a request.
        text_characters: The length of a text.
        run_characters: The length of a token, or of a run of characters without white space.
        text_tokens: The number of tokens in a text.
        request_tokens: The total number of tokens in a request.
        waiting_requests: How many requests may wait for the model.
    """

    connections: int = 512
    address_connections: int = 256
    idle_seconds: float = 5.0
    head_seconds: float = 10.0
    read_seconds: float = 10.0
    body_bytes: int = 1_000_000
    body_seconds: float = 10.0
    texts: int = 256
    text_characters: int = 20_000
    run_characters: int = RUN_CHARACTERS
    text_tokens: int = 2_000
    request_tokens: int = 20_000
    waiting_requests: int = 256


def make_limits(given: Mapping[str, Any]) -> Limits:
    """Returns the default limits, with those in `given` replaced."""
    for name, value in given.items():
        if name not in Limits._fields:
            raise ConfigurationError(
                f"`--limits` names `{name}`, which is no limit ({', '.join(Limits._fields)})"
                + did_you_mean(name, Limits._fields)
            )
        expected = float if name.endswith("_seconds") else int
        is_number = isinstance(value, (int, expected)) and not isinstance(value, bool)
        if not is_number or not 0 < value < math.inf:
            raise ConfigurationError(
                f"`--limits` gives `{name}` {value!r}; it must be a number above 0"
                + ("" if expected is float else ", without a fraction")
            )
    return Limits(**given)


def inputs_of(request: TagRequest) -> List[Union[str, List[str]]]:
    """Returns the texts and lists of tokens in a request, which must have exactly one input field."""
    try:
        only_field({name: getattr(request, name) for name in FIELDS}, FIELDS)
    except InputError as error:
        raise RequestError(422, "invalid", str(error)) from None
    if request.text is not None:
        return [request.text]
    return [request.tokens] if request.tokens is not None else request.inputs or []


def check_sizes(inputs: Sequence[Union[str, List[str]]], limits: Limits) -> None:
    """Refuses too many texts or characters. Tokens are counted later, when texts are split."""
    refuse_above(
        limits.texts,
        len(inputs),
        "too_many_texts",
        f"a request may have at most {limits.texts} texts; got {len(inputs)}; send them in several "
        f"requests",
    )
    for number, each in enumerate(inputs):
        size = len(each) if isinstance(each, str) else sum(map(len, each))
        refuse_above(
            limits.text_characters,
            size,
            "text_too_long",
            f"a text may have at most {limits.text_characters} characters; text {number} has {size}; "
            f"split it, for example into sentences",
        )
        run = longest_run(each) if isinstance(each, str) else max(map(len, each), default=0)
        refuse_above(
            limits.run_characters,
            run,
            "word_too_long",
            f"a token, or characters without a blank between them, may be at most "
            f"{limits.run_characters} long; text {number} has {run} in a row; remove them, or put "
            f"blanks between words",
        )


def refuse_above(limit: int, got: int, code: str, message: str) -> None:
    """Raises a `RequestError` with this code and message if `got` exceeds `limit`."""
    if got > limit:
        raise RequestError(413, code, message, limit, got)


def check_biases(biases: Dict[str, float], known: Dict[str, float]) -> None:
    """Raises a `RequestError` if `biases` contains an unknown label."""
    if biases and not known:
        message = "`decode_bias` must be left out: this tagger decides each label by itself"
        raise RequestError(422, "no_bias", message)
    _check_labels("decode_bias", biases, list(known))


def check_extras(extras: Extras, model: SavedTagger) -> None:
    """Raises a `RequestError` if the tagger does not support what is asked for."""
    _check_labels("leak_labels", extras.leak_labels, model.labels)
    # Entities have no probability in IOB1.
    can_give = {
        "leak_labels": model.finds_entities,
        "candidates": model.tag_encoding not in AMBIGUOUS,
    }
    for name, can in can_give.items():
        if getattr(extras, name) and not (can and model.finds_entities):
            message = f"`{name}` must be left out: this tagger has no probabilities of entities"
            raise RequestError(422, "no_entities", message)


def set_thresholds_of(model: SavedTagger) -> SetThresholds:
    """Returns the thresholds of a tagger's sets of answers, or raises a `RequestError` without any."""
    try:
        return model.set_thresholds()
    except ConfigurationError:
        message = (
            "`sets` must be left out: this tagger was not calibrated for them; serve an archive that "
            "`allennlp tune-decoding --sets` has written"
        )
        raise RequestError(422, "no_sets", message) from None


def _check_labels(argument: str, labels: Iterable[str], known: Sequence[str]) -> None:
    for label in labels:
        if label not in known:
            raise RequestError(
                422,
                "unknown_label",
                f"`{argument}` names `{label[:100]}`, which is no label of this model "
                f"({', '.join(known)})" + did_you_mean(label[:100], known),
            )
