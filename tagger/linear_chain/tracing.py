"""How functions are kept out of `torch.compile`."""

from typing import Callable

import torch


def _unchanged(function: Callable) -> Callable:
    return function


#: Keeps `torch.compile` from tracing a function. PyTorch before 2.1 cannot do that.
not_traced = torch.compiler.disable if hasattr(torch, "compiler") else _unchanged
