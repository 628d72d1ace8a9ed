"""What parts of the package need besides its own requirements."""

import importlib.util
from typing import Dict, Tuple

from tagger.common.from_allennlp import ConfigurationError

#: By the extra of pyproject.toml that installs them, the libraries that its part imports.
LIBRARIES: Dict[str, Tuple[str, ...]] = {
    "export": ("onnx", "onnxscript"),
    "report": ("jinja2", "matplotlib"),
    "serve": ("fastapi", "httptools", "jinja2", "prometheus_client", "uvicorn"),
}


def check_installed(extra: str) -> None:
    """Raises a `ConfigurationError` if a library of an extra is missing; it says what to install."""
    missing = [name for name in LIBRARIES[extra] if importlib.util.find_spec(name) is None]
    if missing:
        raise ConfigurationError(
            f"`{extra}` needs {', '.join(missing)}, which is not installed; run: "
            f"pip install '.[{extra}]'"
        )
