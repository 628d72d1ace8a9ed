"""The implementations of the linear chain's functions, and the choice between them.

Each implementation is a module with the same functions as `reference`; `cpu.functions` and
`cuda.functions` compute them with kernels.
"""

import importlib
import logging
from contextlib import contextmanager
from contextvars import ContextVar
from types import ModuleType
from typing import Any, Dict, Iterator, Optional, Set

from tagger.linear_chain import reference
from tagger.linear_chain.chain_scores import ChainScores
from tagger.linear_chain.kernel_check import may_use_kernels
from tagger.linear_chain.tracing import needs_plain_pytorch

logger = logging.getLogger(__name__)

#: The library that each implementation needs. Both are imported lazily: many machines have no GPU, or
#: no Triton.
_NEEDED = {"cpu": "numba", "cuda": "triton"}

_implementations: Dict[str, ModuleType] = {"reference": reference}
#: The implementations that cannot be imported.
_missing: Set[str] = set()
_chosen: ContextVar[Optional[str]] = ContextVar("implementation", default=None)


@contextmanager
def use_implementation(name: str) -> Iterator[None]:
    """Makes all functions use one implementation, for tests and comparisons.

    Args:
        name: `reference`, or `cpu` or `cuda` if its library can be imported.

    Raises:
        ValueError: If no implementation has that name.
    """
    if _find(name) is None:
        raise ValueError(
            f"`name` must be an implementation that can be imported here "
            f"({', '.join(_implementations)}); got `{name}`"
        )
    token = _chosen.set(name)
    try:
        yield
    finally:
        _chosen.reset(token)


def implementation_for(scores: ChainScores) -> ModuleType:
    """The implementation that `use_implementation` chose, or else the one for the scores' device.

    Kernels never get a batch without rows or tokens, or tensors of `torch.func`.
    """
    if not scores.emissions.numel() or needs_plain_pytorch():
        return reference
    chosen = _chosen.get()
    if chosen is not None:
        return _find(chosen) or reference
    name = _device_type(scores)
    found = _find(name) or reference
    # The tests run Numba's kernels, but Triton's only in an interpreter.
    if name == "cuda" and found is not reference and not may_use_kernels(found, scores):
        return reference
    return found


def _device_type(scores: ChainScores) -> str:
    return scores.emissions.device.type


def _find(name: str) -> Optional[ModuleType]:
    if name in _NEEDED and name not in _implementations and name not in _missing:
        _import(name)
    return _implementations.get(name)


def _import(name: str) -> None:
    library = _NEEDED[name]
    try:
        # The next import works without the library, but its kernels do not.
        importlib.import_module(library)
        found = importlib.import_module(f"tagger.linear_chain.{name}.functions")
    except ImportError as error:
        _missing.add(name)
        logger.info(
            "linear chains on %s are computed in plain PyTorch, slowly, because %s is missing: %s",
            name.upper(),
            library.capitalize(),
            error,
        )
    else:
        _implementations[name] = found


def __getattr__(name: str) -> Any:
    if name == "IMPLEMENTATIONS":
        _find("cpu")
        return _implementations
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
