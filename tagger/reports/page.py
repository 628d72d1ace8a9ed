"""Pages of HTML that need nothing beside them: figures are inline SVG, no script, no font, no link."""

import re
from html import escape
from pathlib import Path
from typing import Any, Mapping, Optional

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup


def write_page(
    template: str,
    path: Path,
    figures: Mapping[str, str],
    figure_folder: Optional[Path] = None,
    **values: Any,
) -> None:
    """Renders a template and writes it, and its figures as files of their own if asked to.

    Args:
        template: A file of the folder `templates`.
        path: The page's file.
        figures: SVG documents by name, for the template to show.
        figure_folder: Gets a file `NAME.svg` for each figure.
        **values: What the template is filled with; everything is escaped.
    """
    environment = Environment(
        loader=PackageLoader("tagger.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["inline"] = inline_svg
    page = environment.get_template(template).render(figures=figures, **values)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page, encoding="utf-8")
    if figure_folder is not None:
        figure_folder.mkdir(parents=True, exist_ok=True)
        for name, svg in figures.items():
            (figure_folder / f"{name}.svg").write_text(svg, encoding="utf-8")


def inline_svg(svg: str, name: str, description: str) -> Markup:
    """Returns an SVG document as an element of a page.

    Args:
        svg: The document.
        name: The figure's, which makes its ids different from other figures'.
        description: What it shows, for those who do not see it.
    """
    element = svg[svg.index("<svg") :]
    element = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{name}-", element)
    return Markup(element.replace("<svg", f'<svg role="img" aria-label="{escape(description)}"', 1))
