"""How well predicted entities hide what is sensitive if they are masked, whatever their labels."""

from typing import Collection, Dict, Iterable, Tuple

import numpy as np

from tagger.spans.places import Place
from tagger.spans.repeats import with_repeats

#: The names of the metrics, and what a table calls them.
MASKING_METRICS = {
    "masked-sensitive-characters": "sensitive characters that are masked",
    "masked-entities": "entities that are masked whole",
    "masked-in-vain": "masked characters that are not sensitive",
    "texts-without-leak": "texts that show nothing sensitive",
    "texts-masked-unevenly": "texts that mask a string here and show it there",
}
#: What precedes these names if other occurrences of what was found are masked, too.
REPEATS = "repeats-"


def masking_metrics(
    texts: Iterable[Tuple[str, Collection[Place], Collection[Place]]],
) -> Dict[str, float]:
    """Returns `MASKING_METRICS` of texts with their gold and their predicted entities.

    White space does not count as characters. Each metric comes twice: for the entities as they are, and
    with the prefix `REPEATS` for those of `with_repeats`. A share of nothing is 0.
    """
    # By row: the parts, and the wholes of which they are shares.
    counts = np.zeros((2, 2, len(MASKING_METRICS)), dtype=np.int64)
    for text, gold, predicted in texts:
        is_shown = np.array([not character.isspace() for character in text], dtype=bool)
        repeated = with_repeats(text, list(predicted))
        is_sensitive, *masks = (
            _covered(places, len(text)) & is_shown for places in (gold, predicted, repeated)
        )
        for (parts, wholes), is_masked in zip(counts, masks):
            num_hidden, num_sensitive = (is_sensitive & is_masked).sum(), is_sensitive.sum()
            is_hidden = is_masked | ~is_shown
            num_whole = sum(is_hidden[start:end].all() for _, start, end in gold)
            num_in_vain = is_masked.sum() - num_hidden
            is_safe, is_uneven = num_hidden == num_sensitive, (masks[1] & ~is_masked).any()
            parts += [num_hidden, num_whole, num_in_vain, is_safe, is_uneven]
            wholes += [num_sensitive, len(gold), is_masked.sum(), 1, 1]
    return {
        f"{prefix}{name}": int(part) / int(whole) if whole else 0.0
        for prefix, (parts, wholes) in zip(("", REPEATS), counts)
        for name, part, whole in zip(MASKING_METRICS, parts, wholes)
    }


def _covered(places: Collection[Place], length: int) -> np.ndarray:
    """Returns which characters lie in any of the places, (length,) bool."""
    is_covered = np.zeros(length, dtype=bool)
    for _, start, end in places:
        is_covered[start:end] = True
    return is_covered
