"""The service's page: one file of HTML without anything from elsewhere."""

import base64
import hashlib
import re
from typing import Dict, Tuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from tagger.reports.colours import LABELS, style_variables
from tagger.tuning.decoding import LARGEST_BIAS


def render_page(model: str) -> Tuple[str, Dict[str, str]]:
    """Returns the page, and the headers to send with it.

    The headers forbid a browser to load anything from elsewhere, or to run any other script.

    Args:
        model: What the model is called.
    """
    environment = Environment(
        loader=PackageLoader("tagger.service"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    light, dark = (Markup(";".join(variables)) for variables in style_variables())
    page = environment.get_template("page.html").render(
        model=model, light=light, dark=dark, num_colours=len(LABELS), largest_bias=LARGEST_BIAS
    )
    hashes = {tag: _hash_of(page, tag) for tag in ("script", "style")}
    policy = (
        f"default-src 'none'; script-src '{hashes['script']}'; style-src '{hashes['style']}'; "
        "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    )
    return page, {
        "Content-Security-Policy": policy,
        "Referrer-Policy": "no-referrer",
        "Cache-Control": "no-cache",
    }


def _hash_of(page: str, tag: str) -> str:
    """Returns the hash by which a browser knows the only element of this kind."""
    (content,) = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
