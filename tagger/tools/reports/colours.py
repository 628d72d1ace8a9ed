"""The colours of reports, each for a light and for a dark page.

Figures are drawn in the light colours. On a page, every colour is a variable of its style sheet, and the
reader's system decides between light and dark. No colour says anything that a word beside it does not.
"""

from typing import Dict, List, Tuple

from tagger_onnx.display import LABELS, MARK_TINT, Colour

#: Colours that are no label's, by the name of their variable.
PAGE: Dict[str, Colour] = {
    "page": Colour("#f3f5f7", "#101317"),
    "card": Colour("#ffffff", "#1a1e24"),
    "ink": Colour("#1a1a1a", "#eceff3"),
    "muted": Colour("#565d66", "#a9b1bc"),
    "line": Colour("#dddddd", "#3a414b"),
    "track": Colour("#e9ecef", "#2b313a"),
    "right": Colour("#0a6cb8", "#4f9fe0"),
    "wrong": Colour("#a63a07", "#ff9a5e"),
    "first": Colour("#0072b2", "#63b3ed"),
    "second": Colour("#d55e00", "#ff9852"),
    "third": Colour("#000000", "#ffffff"),
    "fourth": Colour("#767676", "#9aa3ae"),
    "pale": Colour("#9fc5df", "#3f6f94"),
}
#: How much of a colour the background of a number has at most, in percent.
CELL_TINT = 45

_VARIABLES: Dict[str, Colour] = {
    **PAGE,
    **{f"label-{index}": colour for index, colour in enumerate(LABELS)},
}


def style_variables() -> Tuple[List[str], List[str]]:
    """Returns the declarations of all variables for a light page, and for a dark one."""
    light, dark = (
        [f"--{name}:{colour[side]}" for name, colour in _VARIABLES.items()] for side in (0, 1)
    )
    tints = [f"--mark-tint:{MARK_TINT}%", f"--cell-tint:{CELL_TINT / 100}%"]
    return light + tints, dark


def as_variable(light: str) -> str:
    """Returns the style sheet's name of a light colour, or the colour itself if it has none.

    Example:
        >>> as_variable("#DDDDDD"), as_variable("#123456")
        ('var(--line)', '#123456')
    """
    for name, colour in _VARIABLES.items():
        if colour.light == light.lower():
            return f"var(--{name})"
    return light
