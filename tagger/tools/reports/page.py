"""Self-contained HTML pages: figures are inline SVG, styles and scripts are part of the page."""

import re
from html import escape
from pathlib import Path
from typing import Any, Mapping, Optional

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from tagger.common.files import write_atomically
from tagger.tools.reports.colours import as_variable, style_variables
from tagger.tools.reports.run_tables import percent
from tagger_onnx.display import spell_probability


def write_page(
    template: str,
    path: Path,
    figures: Mapping[str, str],
    figure_folder: Optional[Path] = None,
    **values: Any,
) -> None:
    """Renders a template and writes the page.

    `values` are escaped. Each figure, an SVG document, is also a file `NAME.svg` in `figure_folder` if
    that is given.
    """
    environment = Environment(
        loader=PackageLoader("tagger.tools.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(inline=inline_svg, percent=percent, probability=spell_probability)
    light, dark = (Markup(";".join(variables)) for variables in style_variables())
    page = environment.get_template(template).render(
        figures=figures, light=light, dark=dark, **values
    )
    files = {path: page}
    if figure_folder is not None:
        files.update({figure_folder / f"{name}.svg": svg for name, svg in figures.items()})
    for file, text in files.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        with write_atomically(file, overwrite=True) as new:
            new.write_text(text, encoding="utf-8")


def inline_svg(svg: str, name: str, description: str) -> Markup:
    """Returns an SVG document as an element of a page, in the colours of its style sheet.

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
