"""The optional dependencies of parts of the package."""

import importlib.util
from typing import Dict, Tuple

from tagger.common.from_allennlp import ConfigurationError

#: The libraries that each extra of pyproject.toml installs.
LIBRARIES: Dict[str, Tuple[str, ...]] = {
    "export": ("onnx", "onnxscript"),
    "report": ("jinja2", "matplotlib"),
    "search": ("optuna",),
    "serve": ("fastapi", "httptools", "jinja2", "prometheus_client", "uvicorn"),
}


def check_installed(extra: str) -> None:
    """Raises a `ConfigurationError` with an install command if a library of an extra is missing."""
    missing = [name for name in LIBRARIES[extra] if importlib.util.find_spec(name) is None]
    if missing:
        raise ConfigurationError(
            f"`{extra}` needs {', '.join(missing)}, which is not installed; run: "
            f"pip install '.[{extra}]'"
        )
