"""Patches for changes in PyTorch: for each, whether it is needed, and the patch; see `libraries`."""

import inspect
import io
import pickle
import warnings
from contextlib import contextmanager
from functools import partial, wraps
from types import ModuleType, SimpleNamespace
from typing import Any, Iterable, Iterator, Union


def plateau_lacks_verbose() -> bool:
    """Whether the scheduler rejects `verbose`."""
    from torch.optim.lr_scheduler import ReduceLROnPlateau

    return "verbose" not in inspect.signature(ReduceLROnPlateau).parameters


@contextmanager
def without_verbose(schedulers: ModuleType) -> Iterator[None]:
    """Makes AllenNLP's scheduler drop `verbose`."""
    yield
    from torch.optim.lr_scheduler import ReduceLROnPlateau

    scheduler = schedulers.ReduceOnPlateauLearningRateScheduler
    signature = inspect.signature(scheduler)

    # FromParams finds the arguments through `__wrapped__`.
    @wraps(scheduler.__init__)
    def initialise(self: Any, *args: Any, **kwargs: Any) -> None:
        arguments = signature.bind(*args, **kwargs).arguments
        arguments.pop("verbose", None)
        super(scheduler, self).__init__(ReduceLROnPlateau(**arguments))

    scheduler.__init__ = initialise


def load_refuses_numpy_scalars() -> bool:
    """Whether `torch.load` rejects numpy scalars."""
    import numpy

    return _load_refuses(numpy.float64(0))


def _load_refuses(value: Any, **options: Any) -> bool:
    """Whether `torch.load` rejects a value that was saved with these options."""
    import torch

    state = io.BytesIO()
    torch.save(value, state, **options)
    state.seek(0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.load(state)
    except Exception:
        return True
    return False


@contextmanager
def with_numpy_scalars_loadable(_: ModuleType) -> Iterator[None]:
    """Lets `torch.load` read numpy scalars."""
    import numpy
    import torch

    scalar: Any = numpy.float64(0).__reduce__()[0]
    # numpy 2 moved the function; a checkpoint has the name of the version that wrote it.
    names = ("numpy.core.multiarray.scalar", "numpy._core.multiarray.scalar")
    dtypes = {type(numpy.dtype(name)) for name in ("float64", "float32", "int64")}
    torch.serialization.add_safe_globals(
        [numpy.dtype, *dtypes, *((scalar, name) for name in names)]
    )
    yield


def cuda_amp_is_deprecated() -> bool:
    """Whether torch warns about the old name of `torch.amp`."""
    import torch

    return hasattr(torch.amp, "GradScaler")


@contextmanager
def with_current_amp(module: ModuleType) -> Iterator[None]:
    """Makes AllenNLP use the new name."""
    yield
    import torch

    module.amp = SimpleNamespace(  # type: ignore[attr-defined]
        autocast=lambda enabled=True: torch.amp.autocast("cuda", enabled=enabled),
        GradScaler=partial(torch.amp.GradScaler, "cuda"),
    )


def clipping_refuses_sparse_gradients() -> bool:
    """Whether torch cannot clip sparse gradients."""
    import torch

    parameter = torch.nn.Parameter(torch.zeros(1))
    parameter.grad = torch.zeros(1).to_sparse()
    try:
        torch.nn.utils.clip_grad_norm_([parameter], 1.0)
    except RuntimeError:
        return True
    return False


@contextmanager
def with_sparse_gradients_clipped(module: ModuleType) -> Iterator[None]:
    """Clips the values of sparse gradients."""
    yield
    clip_grad_norm_ = module.clip_grad_norm_

    @wraps(clip_grad_norm_)
    def clip(parameters: Iterable[Any], *args: Any, **kwargs: Any) -> Any:
        dense = []
        for parameter in parameters:
            if parameter.grad is not None and parameter.grad.is_sparse:
                parameter.grad = parameter.grad.coalesce()
                # Clipping only uses `grad`; these values share memory with the sparse gradient.
                dense.append(SimpleNamespace(grad=parameter.grad.values()))
            else:
                dense.append(parameter)
        return clip_grad_norm_(dense, *args, **kwargs)

    module.clip_grad_norm_ = clip  # type: ignore[attr-defined]


def devices_need_an_accelerator() -> bool:
    """Whether torch rejects the number of a missing GPU."""
    import torch

    try:
        torch.device(0)
    except RuntimeError:
        return True
    return False


@contextmanager
def with_numbered_devices(util: Any) -> Iterator[None]:
    """Accepts the numbers of missing GPUs, which AllenNLP then reports."""
    yield
    int_to_device = util.int_to_device

    @wraps(int_to_device)
    def to_device(device: Union[int, Any]) -> Any:
        import torch

        if isinstance(device, int) and device >= 0:
            return torch.device("cuda", device)
        return int_to_device(device)

    util.int_to_device = to_device


def load_refuses_the_latest_pickles() -> bool:
    """Whether `torch.load` cannot read tensors saved with the highest pickle protocol."""
    import torch

    return _load_refuses(torch.zeros(1), pickle_protocol=pickle.HIGHEST_PROTOCOL)


@contextmanager
def with_loadable_pickles(file_utils: Any) -> Iterator[None]:
    """Writes cached tensors with the pickle protocol that `torch.load` can read safely."""
    yield
    import torch

    names = {**vars(pickle), "HIGHEST_PROTOCOL": torch.serialization.DEFAULT_PROTOCOL}
    file_utils.pickle = SimpleNamespace(**names)
