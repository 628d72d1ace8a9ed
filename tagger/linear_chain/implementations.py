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

_chosen: ContextVar[Optional[str]] = ContextVar("implementation", default=None)


@contextmanager
def use_implementation(name: str) -> Iterator[None]:
    """Makes all functions use one implementation, for tests and comparisons.

    Args:
        name: a key of `IMPLEMENTATIONS`.

    Raises:
        ValueError: if there is none of that name.
    """
    if name not in IMPLEMENTATIONS:
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
    return IMPLEMENTATIONS.get(name, reference)
