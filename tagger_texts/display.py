"""How labels and probabilities are displayed in pages, reports and notebooks."""

import math
import re
import unicodedata
from typing import Collection, Dict, List, NamedTuple, Sequence


class Colour(NamedTuple):
    """A colour in hexadecimal red, green and blue, for light and for dark pages."""

    light: str
    dark: str


#: The colours of labels. More than twelve could not be told apart.
LABELS: Sequence[Colour] = (
    Colour("#0d6abb", "#70aff4"),
    Colour("#c55f1d", "#feaf86"),
    Colour("#0b8754", "#6bcb97"),
    Colour("#9b418b", "#d98dc9"),
    Colour("#977e05", "#dcc363"),
    Colour("#068b96", "#44d4e2"),
    Colour("#af3c40", "#ed8b88"),
    Colour("#6a55b8", "#aa9df1"),
    Colour("#61911c", "#aad47f"),
    Colour("#895706", "#d49648"),
    Colour("#0993c1", "#86d7fd"),
    Colour("#c5547c", "#fea6c1"),
)
#: Of Persian and of Indic scripts, and in emoji; they are not printable for `repr`.
_JOINERS = re.compile("([\u200c\u200d])")
#: How much of a label's colour the background of a marked text has, in percent.
MARK_TINT = 18


def label_colours(labels: Sequence[str]) -> Dict[str, int]:
    """Returns the index in `LABELS` of each label's colour; sorted labels take the colours in turn.

    Example:
        >>> label_colours(["PER", "LOC"])
        {'LOC': 0, 'PER': 1}
    """
    return {label: index % len(LABELS) for index, label in enumerate(sorted(labels))}


def num_columns(text: str) -> int:
    """Returns how many columns of a terminal a text takes: Chinese characters two, accents none.

    Example:
        >>> [num_columns(text) for text in ("PER", "北京", "हिन्दी")]
        [3, 4, 5]
    """
    marks = ("Mn", "Me", "Cf")
    wide = sum(unicodedata.east_asian_width(each) in "WF" for each in text)
    return len(text) + wide - sum(unicodedata.category(each) in marks for each in text)


def padded(text: str, width: int, to_the_right: bool = False) -> str:
    """Returns a text padded to so many columns of a terminal.

    Example:
        >>> padded("北京", 6) + "|", padded("北京", 6, to_the_right=True)
        ('北京  |', '  北京')
    """
    blanks = " " * (width - num_columns(text))
    return blanks + text if to_the_right else text + blanks


def aligned(rows: Sequence[Sequence[str]], to_the_left: Collection[int] = (0,)) -> List[str]:
    """Returns the rows of a table as lines; the columns with these numbers are aligned to the left.

    Example:
        >>> aligned([["label", "F1"], ["京", "0.9"]])
        ['label   F1', '京     0.9']
    """
    widths = [max(map(num_columns, column)) for column in zip(*rows)]
    return [
        "  ".join(
            padded(cell, width, number not in to_the_left)
            for number, (cell, width) in enumerate(zip(row, widths))
        ).rstrip()
        for row in rows
    ]


def quoted(text: str) -> str:
    r"""Returns a text in quotes, like `repr`, but with the joiners that some scripts are written with.

    Example:
        >>> print(quoted("a\nb"), quoted("a\u200cb") == "'a\u200cb'")
        'a\nb' True
    """
    if _JOINERS.search(text) is None:
        return repr(text)
    # With a double quote in front, `repr` always takes single quotes.
    parts = (
        each if _JOINERS.fullmatch(each) else repr(f'"{each}')[2:-1]
        for each in _JOINERS.split(text)
    )
    return f"'{''.join(parts)}'"


def spell_probability(probability: float) -> str:
    """Returns a probability in percent, shown as 0 or 100 only if it is exactly that.

    Example:
        >>> [spell_probability(p) for p in (0.0, 0.001, 0.42, 0.9999, 1.0)]
        ['0 %', '<1 %', '42 %', '>99 %', '100 %']
    """
    # Halves go up, as in JavaScript.
    rounded = math.floor(100 * probability + 0.5)
    if rounded == 0 and probability > 0:
        return "<1 %"
    if rounded == 100 and probability < 1:
        return ">99 %"
    return f"{rounded} %"
