"""Makes the site show examples in docstrings as code, through an extension of griffe."""

import re
from typing import Any

import griffe


class Examples(griffe.Extension):
    """Renames sections `Example:`, which griffe would treat as a note."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Renames these sections in the docstring of an object."""
        if obj.docstring:
            obj.docstring.value = re.sub(
                r"^( *)Example:$", r"\1Examples:", obj.docstring.value, flags=re.M
            )
