"""Checks of a request whose form is right: its sizes, and its labels."""

from typing import Dict, List, Sequence, Union

from tagger.common.did_you_mean import did_you_mean
from tagger.service.limits import Limits
from tagger.service.request_error import RequestError
from tagger.service.schemas import TagRequest
from tagger_onnx.inputs import InputError, longest_run, only_field

#: The fields of a request that hold inputs; exactly one of them does.
FIELDS = ("text", "tokens", "inputs")


def inputs_of(request: TagRequest) -> List[Union[str, List[str]]]:
    """Returns the texts and lists of tokens of a request.

    Raises:
        RequestError: If the request does not have exactly one of the fields for them.
    """
    try:
        only_field({name: getattr(request, name) for name in FIELDS}, FIELDS)
    except InputError as error:
        raise RequestError(422, "invalid", str(error)) from None
    if request.text is not None:
        return [request.text]
    return [request.tokens] if request.tokens is not None else request.inputs or []


def check_sizes(inputs: Sequence[Union[str, List[str]]], limits: Limits) -> None:
    """Counts texts and characters. Tokens are counted when texts are split.

    Raises:
        RequestError: If there are too many.
    """
    if len(inputs) > limits.texts:
        raise RequestError(
            413,
            "too_many_texts",
            f"a request may have at most {limits.texts} texts; got {len(inputs)}; send them in several "
            f"requests",
            limits.texts,
            len(inputs),
        )
    for number, each in enumerate(inputs):
        size = len(each) if isinstance(each, str) else sum(map(len, each))
        if size > limits.text_characters:
            raise RequestError(
                413,
                "text_too_long",
                f"a text may have at most {limits.text_characters} characters; text {number} has "
                f"{size}; split it, for example into sentences",
                limits.text_characters,
                size,
            )
        run = longest_run(each) if isinstance(each, str) else max(map(len, each), default=0)
        if run > limits.run_characters:
            raise RequestError(
                413,
                "word_too_long",
                f"a token, or characters without a blank between them, may be at most "
                f"{limits.run_characters} long; text {number} has {run} in a row; remove them, or put "
                f"blanks between words",
                limits.run_characters,
                run,
            )


def check_biases(biases: Dict[str, float], known: Dict[str, float]) -> None:
    """Looks for labels that the model does not have.

    Args:
        biases: By label.
        known: The labels that may have one.

    Raises:
        RequestError: If there is such a label.
    """
    for label in biases:
        if not known:
            message = "`decode_bias` must be left out: this tagger decides each label by itself"
            raise RequestError(422, "no_bias", message)
        if label not in known:
            raise RequestError(
                422,
                "unknown_label",
                f"`decode_bias` names `{label[:100]}`, which is no label of this model "
                f"({', '.join(known)})" + did_you_mean(label[:100], known),
            )
