"""Six transition scores for decoding, in the format of OpenAI's Privacy Filter."""

import json
from pathlib import Path
from typing import Any, Dict, Sequence

import torch
from allennlp.common.checks import ConfigurationError

from tagger.spans import split_tag

#: The prefixes before and after each transition; `E` ends an entity and `S` is a single-token entity.
_TRANSITIONS = {
    "background_stay": ("O", "O"),
    "background_to_start": ("O", "BS"),
    "inside_to_continue": ("BI", "I"),
    "inside_to_end": ("BI", "E"),
    "end_to_background": ("ES", "O"),
    "end_to_start": ("ES", "BS"),
}
_PREFIX = "transition_bias_"


def transition_biases(path: Path, tags: Sequence[str]) -> torch.Tensor:
    """Reads scores to add to the transitions between K tags, (K, K).

    The tags must be IOBES or BIOUL, where `L` and `U` stand for `E` and `S`. The file is JSON, either
    `{"operating_points": {"default": {"biases": {"transition_bias_background_stay": 0.0, ...}}}}` or
    only the innermost object. The prefix `transition_bias_` is optional.
    """
    values = _values(path)
    prefixes = [{"L": "E", "U": "S"}.get(each, each) for each, _ in map(split_tag, tags)]
    if not {"E", "S"} <= set(prefixes):
        raise ConfigurationError(
            f"{path}: these scores are for tags in IOBES or BIOUL, which mark the end of an entity; got "
            f"{', '.join(tags[:8])}"
        )
    scores = torch.zeros(len(tags), len(tags))
    for name, value in values.items():
        before, after = _TRANSITIONS[name]
        rows, columns = (
            torch.tensor([prefix in own for prefix in prefixes]) for own in (before, after)
        )
        scores[rows.unsqueeze(1) & columns] = value
    return scores


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
