"""The implementations of the linear chain's functions, and the choice between them."""

import logging
from contextlib import contextmanager
from contextvars import ContextVar
from types import ModuleType
from typing import Dict, Iterator, Optional, Union

from tagger.linear_chain import reference
from tagger.linear_chain.autograd import BackendFunctions
from tagger.linear_chain.chain_scores import ChainScores

logger = logging.getLogger(__name__)

Implementation = Union[ModuleType, BackendFunctions]

#: The implementations by name; each has the functions of `reference`.
IMPLEMENTATIONS: Dict[str, Implementation] = {"reference": reference}

try:
    from tagger.linear_chain import cpu

    IMPLEMENTATIONS["cpu"] = BackendFunctions(cpu.BACKEND)
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
        name: A key of `IMPLEMENTATIONS`.

    Raises:
        ValueError: If no implementation has that name.
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


def implementation_for(scores: ChainScores) -> Implementation:
    """The implementation that `use_implementation` chose, or else the one for the scores' device.

    Kernels never see a batch without rows or without tokens.
    """
    if not scores.emissions.numel():
        return reference
    name = _chosen.get() or scores.emissions.device.type
    return _find(name) or reference


def _find(name: str) -> Optional[Implementation]:
    if name == "cuda" and name not in IMPLEMENTATIONS and not _lacks_cuda:
        _import_cuda()
    return IMPLEMENTATIONS.get(name)


def _import_cuda() -> None:
    """Adds the GPU kernels when they are first needed: many machines have no GPU, or no Triton."""
    global _lacks_cuda
    try:
        import triton  # noqa: F401  (the next import works without it, but its kernels do not)

        from tagger.linear_chain import cuda

        IMPLEMENTATIONS["cuda"] = BackendFunctions(cuda.BACKEND)
    except ImportError as error:
        _lacks_cuda = True
        logger.info(
            "linear chains on CUDA are computed in plain PyTorch, slowly, because Triton is missing: %s",
            error,
        )
