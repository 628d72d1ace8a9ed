"""What AllenNLP 2.10.1 needs put right on today's libraries: `MENDS`, one row each, with its reason.

A mend is a context manager around the execution of the AllenNLP modules that need it. What it changes
in another library, for AllenNLP to import, it takes back afterwards, so that nobody else sees it. What
it changes in the executed module itself stays.
"""

import importlib
import inspect
import io
import logging
import os
import sys
from contextlib import ExitStack, contextmanager
from functools import partial, wraps
from types import ModuleType, SimpleNamespace
from typing import (
    Any,
    Callable,
    ContextManager,
    Dict,
    FrozenSet,
    Iterable,
    Iterator,
    List,
    NamedTuple,
    NoReturn,
    Sequence,
    Tuple,
)

from tagger_compat import archives, console, recovery

logger = logging.getLogger(__name__)


@contextmanager
def _names_added(module: ModuleType, names: Dict[str, Any]) -> Iterator[None]:
    vars(module).update(names)
    try:
        yield
    finally:
        for name in names:
            delattr(module, name)


def _stand_in(name: str, remedy: str) -> type:
    """A class that can be imported and subclassed; any use of it raises ImportError."""

    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise ImportError(f"`{name}` is not available: {remedy}")

    class Refusing(type):
        def __getattr__(cls, attribute: str) -> Any:
            if attribute.startswith("__"):
                raise AttributeError(attribute)
            refuse()

    return Refusing(name.rpartition(".")[2], (), {"__init__": refuse})


@contextmanager
def _stand_in_modules(names: Sequence[str], remedy: str, _: ModuleType) -> Iterator[None]:
    """Puts modules that offer any name in place of the package `names[0]`, present or not."""

    class StandInModule(ModuleType):
        __path__: List[str] = []

        def __getattr__(self, name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(name)
            full_name = f"{self.__name__}.{name}"
            return sys.modules.get(full_name) or _stand_in(full_name, remedy)

    real = {name: sys.modules.pop(name) for name in list(sys.modules) if _is_in(names[0], name)}
    sys.modules.update((name, StandInModule(name)) for name in names)
    try:
        yield
    finally:
        for name in names:
            del sys.modules[name]
        sys.modules.update(real)


def _is_in(package: str, module: str) -> bool:
    return module.partition(".")[0] == package


def _fails_to_import(package: str) -> bool:
    try:
        importlib.import_module(package)
    except Exception:  # a build for another torch raises RuntimeError
        return True
    return False


def _hub_lacks_repository() -> bool:
    import huggingface_hub

    return not hasattr(huggingface_hub, "Repository")


@contextmanager
def _with_hub_classes(_: ModuleType) -> Iterator[None]:
    import huggingface_hub

    remedy = "huggingface_hub 1.0 removed it; upload the folder with the command `hf upload`"
    names = {name: _stand_in(name, remedy) for name in ("HfFolder", "Repository")}
    with _names_added(huggingface_hub, names):
        yield


def _transformers_lacks_adamw() -> bool:
    import transformers

    return not hasattr(transformers, "AdamW")


@contextmanager
def _with_adamw(_: ModuleType) -> Iterator[None]:
    import torch

    class AdamW(torch.optim.AdamW):
        def __init__(self, *args: Any, correct_bias: bool = True, **kwargs: Any) -> None:
            if not correct_bias:
                raise ValueError(
                    "`correct_bias` must be true, got false: transformers 5 has no AdamW of its own, "
                    "and torch's always corrects; leave it out"
                )
            super().__init__(*args, **kwargs)

    # transformers swaps its module object while it is imported: this is the one in force.
    with _names_added(importlib.import_module("transformers"), {"AdamW": AdamW}):
        yield


def _tokenizers_lack_encode_plus() -> bool:
    from transformers import PreTrainedTokenizerBase

    return not hasattr(PreTrainedTokenizerBase, "encode_plus")


@contextmanager
def _with_tokenizer_methods(cached_transformers: ModuleType) -> Iterator[None]:
    yield
    get_tokenizer = cached_transformers.get_tokenizer

    @wraps(get_tokenizer)
    def get_mended_tokenizer(model_name: str, **kwargs: Any) -> Any:
        # AllenNLP says it again in every call; given to the constructor it is an error now.
        kwargs.pop("add_special_tokens", None)
        tokenizer = get_tokenizer(model_name, **kwargs)
        tokenizer.encode_plus = partial(type(tokenizer).__call__, tokenizer)
        tokenizer.build_inputs_with_special_tokens = partial(_add_special_tokens, tokenizer)
        return tokenizer

    cached_transformers.get_tokenizer = get_mended_tokenizer  # type: ignore[attr-defined]


def _add_special_tokens(tokenizer: Any, token_ids: List[int]) -> List[int]:
    """Puts around `token_ids` what `tokenizer` puts around the sample text "a"."""
    sample = tokenizer.encode("a", add_special_tokens=False)
    sample_with_special_tokens = tokenizer.encode("a", add_special_tokens=True)
    start = sample_with_special_tokens.index(sample[0])
    end = start + len(sample)
    return [*sample_with_special_tokens[:start], *token_ids, *sample_with_special_tokens[end:]]


def _plateau_lacks_verbose() -> bool:
    from torch.optim.lr_scheduler import ReduceLROnPlateau

    return "verbose" not in inspect.signature(ReduceLROnPlateau).parameters


@contextmanager
def _without_verbose(schedulers: ModuleType) -> Iterator[None]:
    yield
    from torch.optim.lr_scheduler import ReduceLROnPlateau

    scheduler = schedulers.ReduceOnPlateauLearningRateScheduler
    signature = inspect.signature(scheduler)

    # FromParams reads the arguments through `__wrapped__`.
    @wraps(scheduler.__init__)
    def initialise(self: Any, *args: Any, **kwargs: Any) -> None:
        arguments = signature.bind(*args, **kwargs).arguments
        arguments.pop("verbose", None)
        super(scheduler, self).__init__(ReduceLROnPlateau(**arguments))

    scheduler.__init__ = initialise


def _load_refuses_numpy_scalars() -> bool:
    import numpy
    import torch

    state = io.BytesIO()
    torch.save(numpy.float64(0), state)
    state.seek(0)
    try:
        torch.load(state)
    except Exception:
        return True
    return False


@contextmanager
def _with_numpy_scalars_loadable(_: ModuleType) -> Iterator[None]:
    import numpy
    import torch

    scalar = numpy.float64(0).__reduce__()[0]
    # numpy 2 moved the function; a checkpoint has the name that its writer's numpy used.
    names = ("numpy.core.multiarray.scalar", "numpy._core.multiarray.scalar")
    dtypes = {type(numpy.dtype(name)) for name in ("float64", "float32", "int64")}
    torch.serialization.add_safe_globals(
        [numpy.dtype, *dtypes, *((scalar, name) for name in names)]
    )
    yield


def _cuda_amp_is_deprecated() -> bool:
    import torch

    return hasattr(torch.amp, "GradScaler")


@contextmanager
def _with_current_amp(module: ModuleType) -> Iterator[None]:
    yield
    import torch

    module.amp = SimpleNamespace(  # type: ignore[attr-defined]
        autocast=lambda enabled=True: torch.amp.autocast("cuda", enabled=enabled),
        GradScaler=partial(torch.amp.GradScaler, "cuda"),
    )


def _clipping_refuses_sparse_gradients() -> bool:
    import torch

    parameter = torch.nn.Parameter(torch.zeros(1))
    parameter.grad = torch.zeros(1).to_sparse()
    try:
        torch.nn.utils.clip_grad_norm_([parameter], 1.0)
    except RuntimeError:
        return True
    return False


@contextmanager
def _with_sparse_gradients_clipped(module: ModuleType) -> Iterator[None]:
    yield
    clip_grad_norm_ = module.clip_grad_norm_

    @wraps(clip_grad_norm_)
    def clip(parameters: Iterable[Any], *args: Any, **kwargs: Any) -> Any:
        dense = []
        for parameter in parameters:
            if parameter.grad is not None and parameter.grad.is_sparse:
                parameter.grad = parameter.grad.coalesce()
                # Clipping regards nothing but `grad`; these values are those of the sparse one.
                parameter = SimpleNamespace(grad=parameter.grad.values())
            dense.append(parameter)
        return clip_grad_norm_(dense, *args, **kwargs)

    module.clip_grad_norm_ = clip  # type: ignore[attr-defined]


@contextmanager
def _with_unknown_keys_refused(module: ModuleType) -> Iterator[None]:
    yield
    trainer = module.GradientDescentTrainer
    construct = trainer.from_partial_objects.__func__
    known = {
        name: parameter
        for name, parameter in inspect.signature(construct).parameters.items()
        if parameter.kind is not parameter.VAR_KEYWORD
    }

    # FromParams reads the arguments through `__wrapped__`.
    @wraps(construct)
    def construct_checked(cls: type, **kwargs: Any) -> Any:
        # AllenNLP's old name of `run_confidence_checks` is taken, with its own warning.
        for name in kwargs.keys() - known.keys() - {"run_sanity_checks"}:
            from allennlp.common.checks import ConfigurationError

            from tagger.did_you_mean import did_you_mean

            raise ConfigurationError(
                f"`trainer` has no key `{name}`" + did_you_mean(name, list(known))
            )
        return construct(cls, **kwargs)

    trainer.from_partial_objects = classmethod(construct_checked)


@contextmanager
def _with_our_plugin(plugins: Any) -> Iterator[None]:
    yield
    plugins.DEFAULT_PLUGINS += ("tagger",)
    discover_file_plugins = plugins.discover_file_plugins

    @wraps(discover_file_plugins)
    def discover(plugins_filename: str = plugins.LOCAL_PLUGINS_FILENAME) -> Iterator[str]:
        """Skips a file that another user has left in the current folder, and says what is run."""
        # Windows knows no such owners.
        if hasattr(os, "getuid") and os.stat(plugins_filename).st_uid not in (0, os.getuid()):
            logger.warning("`%s` is not yours: its plugins are not run", plugins_filename)
            return
        for name in discover_file_plugins(plugins_filename):
            if plugins_filename == plugins.LOCAL_PLUGINS_FILENAME:
                logger.info("running the plugin `%s` of `%s`", name, plugins_filename)
            yield name

    plugins.discover_file_plugins = discover


class Mend(NamedTuple):
    """One row of `MENDS`.

    Args:
        name: What is mended.
        reason: What AllenNLP relies on, and what became of it.
        modules: The AllenNLP modules around whose execution `apply` is entered and left.
        needed: Tells whether the installed libraries call for it.
        apply: Takes the module, and gives the context manager that mends.
    """

    name: str
    reason: str
    modules: Tuple[str, ...]
    needed: Callable[[], bool]
    apply: Callable[[ModuleType], ContextManager[None]]


MENDS = (
    Mend(
        "huggingface_hub",
        "`HfFolder` and `Repository`, for `push-to-hf`, are gone since huggingface_hub 1.0",
        ("allennlp.common.push_to_hf",),
        _hub_lacks_repository,
        _with_hub_classes,
    ),
    Mend(
        "torchvision",
        "the vision modules import it; there is no build of it for every torch, and a build for another "
        "torch fails to import",
        (
            "allennlp.data.image_loader",
            "allennlp.modules.vision.grid_embedder",
            "allennlp.modules.vision.region_detector",
        ),
        partial(_fails_to_import, "torchvision"),
        partial(
            _stand_in_modules,
            ("torchvision", "torchvision.ops", "torchvision.ops.boxes"),
            "install a torchvision that fits the installed torch",
        ),
    ),
    Mend(
        "fairscale",
        "the sharded trainer imports it; it is unmaintained and has no wheels",
        (
            "allennlp.nn.checkpoint.fairscale_checkpoint_wrapper",
            "allennlp.nn.parallel.fairscale_fsdp_accelerator",
        ),
        partial(_fails_to_import, "fairscale"),
        partial(
            _stand_in_modules,
            (
                "fairscale",
                "fairscale.nn",
                "fairscale.nn.checkpoint",
                "fairscale.nn.misc",
                "fairscale.nn.wrap",
                "fairscale.optim",
                "fairscale.optim.grad_scaler",
            ),
            "pip install fairscale",
        ),
    ),
    Mend(
        "transformers.AdamW",
        "the optimizer `huggingface_adamw` derives from it; it is gone since transformers 5",
        ("allennlp.training.optimizers",),
        _transformers_lacks_adamw,
        _with_adamw,
    ),
    Mend(
        "transformers tokenizers",
        "methods that the `pretrained_transformer` parts call are gone since transformers 5",
        ("allennlp.common.cached_transformers",),
        _tokenizers_lack_encode_plus,
        _with_tokenizer_methods,
    ),
    Mend(
        "ReduceLROnPlateau",
        "the scheduler `reduce_on_plateau` passes it `verbose`, which torch 2.7 removed",
        ("allennlp.training.learning_rate_schedulers.pytorch_lr_schedulers",),
        _plateau_lacks_verbose,
        _without_verbose,
    ),
    Mend(
        "torch.load",
        "since torch 2.6 it refuses the numpy scalars of a training state, which `--recover` needs: "
        "some schedulers and metrics compute with numpy; unlike what stays refused, they run no code",
        ("allennlp.training.checkpointer",),
        _load_refuses_numpy_scalars,
        _with_numpy_scalars_loadable,
    ),
    Mend(
        "torch.cuda.amp",
        "each training run greets with a FutureWarning since torch 2.4, for the old name of `torch.amp`",
        ("allennlp.nn.parallel.ddp_accelerator", "allennlp.training.gradient_descent_trainer"),
        _cuda_amp_is_deprecated,
        _with_current_amp,
    ),
    Mend(
        "clip_grad_norm_",
        "`grad_norm` clips the sparse gradients of an `embedding` too, for which today's torch has no "
        "norm",
        ("allennlp.nn.parallel.ddp_accelerator", "allennlp.training.gradient_descent_trainer"),
        _clipping_refuses_sparse_gradients,
        _with_sparse_gradients_clipped,
    ),
    Mend(
        "unknown keys of the trainer",
        "no library's fault: `gradient_descent` takes any key, and ignores those that it does not know",
        ("allennlp.training.gradient_descent_trainer",),
        lambda: True,
        _with_unknown_keys_refused,
    ),
    Mend(
        "archives",
        "no library's fault: AllenNLP unpacks an archive wherever its members say, evaluates its config "
        "as a program, and imports and calls whatever a `type` with a dot in it names",
        archives.MODULES,
        lambda: True,
        archives.mended,
    ),
    Mend(
        "recovery",
        "no library's fault: AllenNLP saves no random states, leaves half a file when it is killed, and "
        "trains a finished run anew",
        recovery.MODULES,
        lambda: True,
        recovery.mended,
    ),
    Mend(
        "console",
        "no library's fault: AllenNLP logs hundreds of lines, and the scores are not the last of them",
        console.MODULES,
        lambda: True,
        console.mended,
    ),
    Mend(
        "plugin",
        "no library's fault: AllenNLP imports the plugins on a fixed list of names, and without a word "
        "those that a file in the current folder names",
        ("allennlp.common.plugins",),
        lambda: True,
        _with_our_plugin,
    ),
)


def mended_modules() -> FrozenSet[str]:
    """Names of the AllenNLP modules that some mend is about."""
    return frozenset(module for mend in MENDS for module in mend.modules)


@contextmanager
def mends_in_force(module: ModuleType) -> Iterator[None]:
    """Puts the mends that `module` needs in force.

    Args:
        module: An AllenNLP module, which is to be executed inside.

    Raises:
        ImportError: If a mend fails; the message names it.
    """
    with ExitStack() as stack:
        for mend in MENDS:
            if module.__name__ in mend.modules:
                stack.enter_context(_in_force(mend, module))
        yield


@contextmanager
def _in_force(mend: Mend, module: ModuleType) -> Iterator[None]:
    allennlps_own = None
    try:
        with mend.apply(module) if mend.needed() else ExitStack():
            try:
                yield
            except BaseException as error:
                allennlps_own = error
                raise
    except Exception as error:
        if error is allennlps_own:
            raise
        raise ImportError(
            f"the mend `{mend.name}` for `{module.__name__}` failed: {error!r}; it is there because "
            f"{mend.reason}; the environment variable `TAGGER_NO_HOOK=1` leaves all mends out"
        ) from error
