"""Has the site show examples of docstrings as code: an extension of griffe, which reads docstrings."""

import re
from typing import Any

import griffe


class Examples(griffe.Extension):
    """Renames sections `Example:`, which griffe takes for a note."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Renames them in the docstring of an object."""
        if obj.docstring:
            obj.docstring.value = re.sub(
                r"^( *)Example:$", r"\1Examples:", obj.docstring.value, flags=re.M
            )
