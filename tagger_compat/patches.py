"""What AllenNLP 2.10.1 needs put right on today's libraries: `PATCHES`, one row each, with its reason.

A patch is a context manager around the execution of the AllenNLP modules that need it. What it changes
in another library, for AllenNLP to import, it takes back afterwards, so that nobody else sees it. What
it changes in the executed module itself stays.

Features of this package are classes that AllenNLP's registries find. Only what no extension point
reaches is among `OUR_PATCHES`.
"""

from contextlib import ExitStack, contextmanager
from functools import partial
from types import ModuleType
from typing import Callable, ContextManager, FrozenSet, Iterator, NamedTuple, Tuple

from tagger_compat import archives, extensions, libraries, pytorch


class Patch(NamedTuple):
    """One row of `PATCHES`.

    Args:
        name: What is patched.
        reason: What AllenNLP relies on, and what became of it.
        modules: The AllenNLP modules around whose execution `apply` is entered and left.
        apply: Takes the module, and gives the context manager that patches.
        needed: Tells whether the installed libraries call for it.
    """

    name: str
    reason: str
    modules: Tuple[str, ...]
    apply: Callable[[ModuleType], ContextManager[None]]
    needed: Callable[[], bool] = lambda: True


#: What the libraries of today need, or a library's fault.
LIBRARY_PATCHES = (
    Patch(
        "huggingface_hub",
        "`HfFolder` and `Repository`, for `push-to-hf`, are gone since huggingface_hub 1.0",
        ("allennlp.common.push_to_hf",),
        libraries.with_hub_classes,
        libraries.hub_is_1,
    ),
    Patch(
        "torchvision",
        "the vision modules import it; there is no build of it for every torch, and a build for another "
        "torch fails to import",
        (
            "allennlp.data.image_loader",
            "allennlp.modules.vision.grid_embedder",
            "allennlp.modules.vision.region_detector",
        ),
        partial(
            libraries.stand_in_modules,
            ("torchvision", "torchvision.ops", "torchvision.ops.boxes"),
            "install a torchvision that fits the installed torch",
        ),
        partial(libraries.fails_to_import, "torchvision"),
    ),
    Patch(
        "fairscale",
        "the sharded trainer imports it; it is unmaintained and has no wheels",
        (
            "allennlp.nn.checkpoint.fairscale_checkpoint_wrapper",
            "allennlp.nn.parallel.fairscale_fsdp_accelerator",
        ),
        partial(
            libraries.stand_in_modules,
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
        partial(libraries.fails_to_import, "fairscale"),
    ),
    Patch(
        "transformers.AdamW",
        "the optimizer `huggingface_adamw` derives from it; it is gone since transformers 5",
        ("allennlp.training.optimizers",),
        libraries.with_adamw,
        libraries.transformers_is_5,
    ),
    Patch(
        "late Adafactor",
        "`huggingface_adafactor` derives from a class of transformers, whose import takes a second",
        ("allennlp.training.optimizers",),
        libraries.with_late_adafactor,
    ),
    Patch(
        "transformers tokenizers",
        "methods that the `pretrained_transformer` parts call are gone since transformers 5",
        ("allennlp.common.cached_transformers",),
        libraries.with_tokenizer_methods,
        libraries.transformers_is_5,
    ),
    Patch(
        "ReduceLROnPlateau",
        "the scheduler `reduce_on_plateau` passes it `verbose`, which torch 2.7 removed",
        ("allennlp.training.learning_rate_schedulers.pytorch_lr_schedulers",),
        pytorch.without_verbose,
        pytorch.plateau_lacks_verbose,
    ),
    Patch(
        "torch.load",
        "since torch 2.6 it refuses the numpy scalars of a training state, which `--recover` needs: "
        "some schedulers and metrics compute with numpy; unlike what stays refused, they run no code",
        ("allennlp.training.checkpointer",),
        pytorch.with_numpy_scalars_loadable,
        pytorch.load_refuses_numpy_scalars,
    ),
    Patch(
        "torch.cuda.amp",
        "each training run greets with a FutureWarning since torch 2.4, for the old name of `torch.amp`",
        ("allennlp.nn.parallel.ddp_accelerator", "allennlp.training.gradient_descent_trainer"),
        pytorch.with_current_amp,
        pytorch.cuda_amp_is_deprecated,
    ),
    Patch(
        "clip_grad_norm_",
        "`grad_norm` clips the sparse gradients of an `embedding` too, for which today's torch has no "
        "norm",
        (
            "allennlp.nn.parallel.ddp_accelerator",
            "allennlp.training.gradient_descent_trainer",
            "allennlp.training.util",
        ),
        pytorch.with_sparse_gradients_clipped,
        pytorch.clipping_refuses_sparse_gradients,
    ),
    Patch(
        "numbered devices",
        "without a GPU, today's torch fails at `cuda_device: 0` before AllenNLP can say that the GPU is "
        "missing, and what to do",
        ("allennlp.common.util",),
        pytorch.with_numbered_devices,
        pytorch.devices_need_an_accelerator,
    ),
    Patch(
        "locks of spawned workers",
        "the `multiprocess` loader makes a lock for forked processes, which today's Python refuses "
        "in workers with `start_method: spawn`",
        ("allennlp.data.data_loaders.multiprocess_data_loader",),
        libraries.with_locks_of_the_workers,
        libraries.locks_belong_to_a_start_method,
    ),
    Patch(
        "TensorCache",
        "it saves tensors with the highest protocol of pickles, which `torch.load` refuses since torch "
        "2.6; a cache that an old torch has written has to be made anew",
        ("allennlp.common.file_utils",),
        pytorch.with_loadable_pickles,
        pytorch.load_refuses_the_latest_pickles,
    ),
    Patch(
        "types that are names",
        "a `type` of a config that is no text fails with an error of Python's own",
        ("allennlp.common.params",),
        libraries.with_types_that_are_names,
    ),
)

#: What this package needs, and no extension point of AllenNLP reaches.
OUR_PATCHES = (
    Patch(
        "local files",
        "AllenNLP asks `cached_path` for every file and every lock, whose import takes almost a second, "
        "for the clients of three clouds",
        ("allennlp.common.file_utils",),
        libraries.with_local_paths,
    ),
    Patch(
        "archives",
        "whoever loads an archive calls AllenNLP, which unpacks it wherever its members say, evaluates "
        "its config as a program, and imports and calls whatever a `type` with a dot in it names",
        archives.MODULES,
        archives.patched,
    ),
    Patch(
        "whole archives",
        "`train` writes its archive in place, so that a kill leaves half of one, and calls no method",
        ("allennlp.models.archival",),
        extensions.with_whole_archives,
    ),
    Patch(
        "components",
        "`import tagger` leaves AllenNLP alone, so that it is fast; when AllenNLP first looks for a "
        "component, ours must be there, and its registry calls nobody",
        ("allennlp.common.registrable",),
        extensions.with_our_components,
    ),
    Patch(
        "plugins",
        "AllenNLP imports the plugins on a fixed list of names, and without a word those that a file in "
        "the current folder names",
        ("allennlp.common.plugins",),
        extensions.with_our_plugins,
    ),
    Patch(
        "commands",
        "AllenNLP adds its subcommands to the parser before it imports plugins, which may register "
        "better ones; and only its `main` sees every error and the end of every command",
        ("allennlp.commands",),
        extensions.with_our_commands,
    ),
    Patch(
        "keys of a config",
        "each part of a config is constructed by one function, which does not say what keys it takes",
        ("allennlp.common.from_params",),
        extensions.with_known_keys_named,
    ),
    Patch(
        "library of Jsonnet",
        "a config can import files beside it only, and this package's template lies where the package "
        "is installed; AllenNLP gives Jsonnet no other path, and takes that in C++, which is slow",
        ("allennlp.common.params",),
        extensions.with_our_library,
    ),
    Patch(
        "quiet training",
        "in the middle of `train`, a function makes new handlers, which show hundreds of lines",
        ("allennlp.common.logging",),
        extensions.with_quiet_training,
    ),
    Patch(
        "progress bars",
        "they are made by a function with fixed settings, and fill the output of a command that is no "
        "terminal",
        ("allennlp.common.tqdm",),
        extensions.with_named_bars,
    ),
)

PATCHES = LIBRARY_PATCHES + OUR_PATCHES


def patched_modules() -> FrozenSet[str]:
    """Names of the AllenNLP modules that some patch is about."""
    return frozenset(module for patch in PATCHES for module in patch.modules)


@contextmanager
def patches_in_force(module: ModuleType) -> Iterator[None]:
    """Puts the patches in force that an AllenNLP module needs, which is to be executed inside.

    Raises:
        ImportError: If a patch fails; the message names it.
    """
    with ExitStack() as stack:
        for patch in PATCHES:
            if module.__name__ in patch.modules:
                stack.enter_context(_in_force(patch, module))
        yield


@contextmanager
def _in_force(patch: Patch, module: ModuleType) -> Iterator[None]:
    allennlps_own = None
    try:
        with patch.apply(module) if patch.needed() else ExitStack():
            try:
                yield
            except BaseException as error:
                allennlps_own = error
                raise
    except Exception as error:
        if error is allennlps_own:
            raise
        raise ImportError(
            f"the patch `{patch.name}` for `{module.__name__}` failed: {error!r}; it is there because "
            f"{patch.reason}; the environment variable `TAGGER_NO_HOOK=1` leaves all patches out"
        ) from error
