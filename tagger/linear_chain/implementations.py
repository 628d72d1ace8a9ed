"""The implementations of the linear chain's functions, and the choice between them."""

import logging
from contextlib import contextmanager
from contextvars import ContextVar
from types import ModuleType
from typing import Dict, Iterator, Optional

from tagger.linear_chain import reference
from tagger.linear_chain.chain_scores import ChainScores

logger = logging.getLogger(__name__)

#: Modules that have the functions of `reference`, by name.
IMPLEMENTATIONS: Dict[str, ModuleType] = {"reference": reference}

try:
    from tagger.linear_chain import cpu

    IMPLEMENTATIONS["cpu"] = cpu
except ImportError as error:
    logger.info(
        "linear chains are computed in plain PyTorch, slowly, because Numba is missing: %s", error
    )

_lacks_cuda = False
_chosen: ContextVar[Optional[str]] = ContextVar("implementation", default=None)


@contextmanager
def use_implementation(name: str) -> Iterator[None]:
    """Makes all functions use one implementation, for tests and comparisons.

    Args:
        name: a key of `IMPLEMENTATIONS`.

    Raises:
        ValueError: if there is none of that name.
    """
    if _find(name) is None:
        raise ValueError(
            f"`name` must be an implementation that can be imported here "
            f"({', '.join(IMPLEMENTATIONS)}); got `{name}`"
        )
    token = _chosen.set(name)
    try:
        yield
    finally:
        _chosen.reset(token)


def implementation_for(scores: ChainScores) -> ModuleType:
    """The implementation that was asked for, or else the one for the scores' device."""
    name = _chosen.get() or scores.emissions.device.type
    return _find(name) or reference


def _find(name: str) -> Optional[ModuleType]:
    if name == "cuda" and name not in IMPLEMENTATIONS and not _lacks_cuda:
        _import_cuda()
    return IMPLEMENTATIONS.get(name)


def _import_cuda() -> None:
    """Adds the GPU kernels, once they are needed: many machines have no use for them, or no Triton."""
    global _lacks_cuda
    try:
        import triton  # noqa: F401  (the module imported next can do without, but not its kernels)

        from tagger.linear_chain import cuda

        IMPLEMENTATIONS["cuda"] = cuda
    except ImportError as error:
        _lacks_cuda = True
        logger.info(
            "linear chains on CUDA are computed in plain PyTorch, slowly, because Triton is missing: %s",
            error,
        )
