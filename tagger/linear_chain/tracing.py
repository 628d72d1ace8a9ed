"""What `torch.compile` is kept from."""

from typing import Callable

import torch


def _as_it_is(function: Callable) -> Callable:
    return function


#: Keeps `torch.compile` from tracing a function; PyTorch before 2.1 has no way to ask for it.
not_traced = torch.compiler.disable if hasattr(torch, "compiler") else _as_it_is
