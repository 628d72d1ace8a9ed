"""Doubts about what was read: signs that a file means something else than what it was taken for.

Each doubt is a function of the texts. Every command checks all of them after it has read a file, and
refuses what cannot be right. `doubtful`, `labels` and `refusals` have them; those in `measured` need
more than texts.
"""

from typing import Callable, Dict, Optional, Sequence, Tuple

from tagger.data.doubts import doubtful, labels, refusals
from tagger.data.doubts.contents import Contents
from tagger.data.doubts.measured import copies, lost_in_text
from tagger.data.formats.annotated_text import AnnotatedText

__all__ = [
    "COPIES",
    "DOUBTS",
    "LOST_IN_TEXT",
    "REFUSALS",
    "check_contents",
    "copies",
    "lost_in_text",
]

Doubt = Callable[[Contents], Optional[str]]

#: What may be right, and what cannot be; their numbers are those of their order.
DOUBTS: Tuple[Doubt, ...] = (
    doubtful.identifiers,
    doubtful.single_tokens,
    doubtful.same_words,
    doubtful.mark_up,
    doubtful.paths_in_entities,
    labels.labels_like_tags,
    labels.outside_label,
    doubtful.inside_words,
    doubtful.cut_off,
    doubtful.inclusive_ends,
    doubtful.misread_bytes,
    doubtful.long_sentences,
)
REFUSALS: Tuple[Doubt, ...] = (
    refusals.lost_letters,
    refusals.texts_are_paths,
    refusals.label_pairs,
    refusals.bracketed_labels,
    refusals.quoted_labels,
    refusals.shifted_offsets,
)
#: The numbers of the measured doubts.
LOST_IN_TEXT, COPIES = len(DOUBTS) + 1, len(DOUBTS) + 2


def check_contents(texts: Sequence[AnnotatedText], path: object) -> Dict[int, str]:
    """Returns each doubt about what was read from a file, by its number.

    Raises:
        ValueError: If it cannot be right.
    """
    contents = Contents(texts)
    for refusal in REFUSALS:
        found = refusal(contents)
        if found is not None:
            raise ValueError(f"{path}: {found}")
    numbered = enumerate(DOUBTS, start=1)
    return {n: found for n, doubt in numbered if (found := doubt(contents)) is not None}
