"""Self-contained HTML pages with figures as inline SVG and with styles and scripts included.

Each colour has a light and a dark variant. Figures are drawn in light colours. On a page, every
colour is a variable of the style sheet, and the reader's system chooses between light and dark.
Colour is never the only way in which a page says something.
"""

import re
from html import escape
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Tuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from tagger.common.files import write_atomically
from tagger.tools.reports.run_tables import percent
from tagger_texts.display import LABELS, MARK_TINT, Colour, quoted, spell_probability

#: Colours that do not stand for labels, by variable name.
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
#: The strongest colour in the background of a number, in percent.
CELL_TINT = 45

_VARIABLES: Dict[str, Colour] = {
    **PAGE,
    **{f"label-{index}": colour for index, colour in enumerate(LABELS)},
}


def style_variables() -> Tuple[List[str], List[str]]:
    """Returns the declarations of all style variables for light and for dark pages."""
    light, dark = (
        [f"--{name}:{colour[side]}" for name, colour in _VARIABLES.items()] for side in (0, 1)
    )
    tints = [f"--mark-tint:{MARK_TINT}%", f"--cell-tint:{CELL_TINT / 100}%"]
    return light + tints, dark


def as_variable(light: str) -> str:
    """Returns the style variable of a light colour, or the colour itself if it has none.

    Example:
        >>> as_variable("#DDDDDD"), as_variable("#123456")
        ('var(--line)', '#123456')
    """
    for name, colour in _VARIABLES.items():
        if colour.light == light.lower():
            return f"var(--{name})"
    return light


def render(package: str, template: str, **values: Any) -> str:
    """Renders a template of a package; `values` are escaped, and the colours are already defined."""
    environment = Environment(
        loader=PackageLoader(package),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        inline=inline_svg, percent=percent, probability=spell_probability, quoted=quoted
    )
    light, dark = (Markup(";".join(variables)) for variables in style_variables())
    return environment.get_template(template).render(light=light, dark=dark, **values)


def write_page(
    template: str,
    path: Path,
    figures: Mapping[str, str],
    figure_folder: Optional[Path] = None,
    **values: Any,
) -> None:
    """Renders one of the templates here and writes the page.

    If `figure_folder` is given, each figure (an SVG document) is also written there as `NAME.svg`.
    """
    files = {path: render("tagger.tools.reports", template, figures=figures, **values)}
    if figure_folder is not None:
        files.update({figure_folder / f"{name}.svg": svg for name, svg in figures.items()})
    for file, text in files.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        with write_atomically(file, overwrite=True) as new:
            new.write_text(text, encoding="utf-8")


def inline_svg(svg: str, name: str, description: str) -> Markup:
    """Returns an SVG document as an element of a page, with colours from the style sheet.

    The name becomes part of the figure's ids, which must be unique on a page; `description` is for
    screen readers.
    """
    element = svg[svg.index("<svg") :]
    element = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{name}-", element)
    element = re.sub(
        r"(fill|stroke): (#[0-9a-f]{6})",
        lambda found: f"{found[1]}: {as_variable(found[2])}",
        element,
    )
    return Markup(element.replace("<svg", f'<svg role="img" aria-label="{escape(description)}"', 1))
