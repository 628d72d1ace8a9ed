"""Limits the tensors that an archive's config may request to what its files can fill.

A config may name layers of any size, and PyTorch creates them before AllenNLP notices that the weights
do not fit.
"""

from typing import Any, Callable, Set

import torch
from torch.overrides import TorchFunctionMode

from tagger_compat.archive_guard import REMEDY, refuse

#: The bytes that a model may always request, how many more per byte of its files, and the most tensors.
FREE_BYTES, BYTES_PER_BYTE, MAX_TENSORS = 2**27, 4, 8_000

#: PyTorch's functions that create a tensor of any size.
_FACTORIES = {
    torch.arange, torch.empty, torch.empty_like, torch.empty_strided, torch.eye, torch.full,
    torch.full_like, torch.linspace, torch.normal, torch.ones, torch.ones_like, torch.rand,
    torch.rand_like, torch.randint, torch.randn, torch.randn_like, torch.randperm, torch.zeros,
    torch.zeros_like, torch.Tensor.new_empty, torch.Tensor.new_full, torch.Tensor.new_ones,
    torch.Tensor.new_zeros,
}  # fmt: skip

#: Functions that fill a tensor. A constructor such as `torch.FloatTensor` cannot be observed, but takes
#: no memory before its tensor is filled.
_FILLERS = {
    torch.Tensor.copy_, torch.Tensor.exponential_, torch.Tensor.fill_, torch.Tensor.normal_,
    torch.Tensor.random_, torch.Tensor.uniform_, torch.Tensor.zero_, torch.Tensor.bernoulli_,
}  # fmt: skip


class TensorLimit(TorchFunctionMode):
    """Rejects tensors that are too large for an archive's files, before PyTorch creates them."""

    def __init__(self, num_file_bytes: Callable[[], int], name: Any) -> None:
        super().__init__()
        self._num_file_bytes = num_file_bytes
        self._name = name
        self._num_bytes = self._num_tensors = 0
        self._max_bytes = FREE_BYTES
        # Addresses of tensors that have been counted.
        self._counted: Set[int] = set()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in _FACTORIES:
            self._num_tensors += 1
            if self._num_tensors > MAX_TENSORS:
                refuse(f"{self._name}: the config asks for more than {MAX_TENSORS} tensors")
            # Transformers creates tensors without memory and fills them later.
            if str(kwargs.get("device")) != "meta":
                self._request(func, args, kwargs)
            result = func(*args, **kwargs)
            self._counted.add(_address(result))
            return result
        if func in _FILLERS and _address(args[0]) not in self._counted:
            self._add(args[0].numel() * args[0].element_size())
            self._counted.add(_address(args[0]))
        return func(*args, **kwargs)

    def _request(self, func: Any, args: Any, kwargs: Any) -> None:
        options = {k: v for k, v in kwargs.items() if k not in ("out", "generator", "pin_memory")}
        if func is torch.normal and any(
            isinstance(each, torch.Tensor) for each in (*args, *options.values())
        ):
            # Its mean or its deviation has the shape, and there is no `device`.
            args = [_without_memory(each) for each in args]
            options = {name: _without_memory(each) for name, each in options.items()}
        else:
            options["device"] = "meta"
        shape = func(*args, **options)
        self._add(shape.numel() * shape.element_size())

    def _add(self, num_bytes_more: int) -> None:
        self._num_bytes += num_bytes_more
        if self._num_bytes <= self._max_bytes:
            return
        # More files may become readable while an archive is loaded.
        num_bytes = self._num_file_bytes()
        self._max_bytes = FREE_BYTES + BYTES_PER_BYTE * num_bytes
        if self._num_bytes > self._max_bytes:
            refuse(
                f"{self._name}: the config asks for {self._num_bytes} bytes of tensors, but the files "
                f"have {num_bytes}",
                f"make or copy the archive again, or {REMEDY}",
            )


def _address(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def _without_memory(value: Any) -> Any:
    return value.to("meta") if isinstance(value, torch.Tensor) else value
