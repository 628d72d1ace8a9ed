"""Six transition scores for a decoder, in the form of OpenAI's Privacy Filter."""

import json
from pathlib import Path
from typing import Any, Callable, Dict, Sequence

import torch
from allennlp.common.checks import ConfigurationError

from tagger.spans import split_tag

#: The transitions of each key, by the prefixes of their tags: `E` is an entity's end, `S` all of it.
_TRANSITIONS: Dict[str, Callable[[str, str], bool]] = {
    "background_stay": lambda before, after: before == after == "O",
    "background_to_start": lambda before, after: before == "O" and after in "BS",
    "inside_to_continue": lambda before, after: before in "BI" and after == "I",
    "inside_to_end": lambda before, after: before in "BI" and after == "E",
    "end_to_background": lambda before, after: before in "ES" and after == "O",
    "end_to_start": lambda before, after: before in "ES" and after in "BS",
}
_PREFIX = "transition_bias_"


def transition_biases(path: Path, tags: Sequence[str]) -> torch.Tensor:
    """Reads transition scores.

    The file is JSON: `{"operating_points": {"default": {"biases": {"transition_bias_background_stay":
    0.0, ...}}}}`, or the inner object alone, with or without the prefix `transition_bias_`.

    Args:
        path: The file.
        tags: K tags in IOBES or BIOUL, whose `L` and `U` stand for `E` and `S`.

    Returns:
        (K, K), what to add to the score of each transition.

    Raises:
        ConfigurationError: If the file is not as described, or the tags do not mark the ends of
            entities.
    """
    values = _values(path)
    prefixes = [_prefix(tag) for tag in tags]
    if not {"E", "S"} <= set(prefixes):
        raise ConfigurationError(
            f"{path}: these scores are for tags in IOBES or BIOUL, which mark the end of an entity; got "
            f"{', '.join(tags[:8])}"
        )
    scores = torch.zeros(len(tags), len(tags))
    for name, value in values.items():
        for i, before in enumerate(prefixes):
            for j, after in enumerate(prefixes):
                if _TRANSITIONS[name](before, after):
                    scores[i, j] = value
    return scores


def _prefix(tag: str) -> str:
    prefix = split_tag(tag)[0]
    return {"L": "E", "U": "S"}.get(prefix, prefix)


def _values(path: Path) -> Dict[str, float]:
    try:
        found: Any = json.loads(path.read_text(encoding="utf-8"))
        if "operating_points" in found:
            found = found["operating_points"]["default"]["biases"]
        values = {str(key).removeprefix(_PREFIX): float(value) for key, value in found.items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigurationError(
            f"{path}: expected JSON with numbers under {', '.join(_TRANSITIONS)}; {error!r}"
        ) from None
    unknown = sorted(values.keys() - _TRANSITIONS.keys())
    if unknown:
        raise ConfigurationError(
            f"{path}: {unknown[0]!r} is no known transition; expected {', '.join(_TRANSITIONS)}"
        )
    return values
