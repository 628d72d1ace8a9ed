"""The patches that AllenNLP 2.10.1 needs on today's libraries, in `PATCHES`, each with its reason.

A patch is a context manager around the execution of the AllenNLP modules that need it. Changes to other
libraries, from which AllenNLP imports, are undone afterwards, so that nobody else sees them. Changes to
the executed module itself remain.

Features of an extension are registered with AllenNLP. `EXTENSION_PATCHES` has only what no extension
point can do.
"""

from contextlib import ExitStack, contextmanager
from functools import partial
from types import ModuleType
from typing import Callable, ContextManager, FrozenSet, Iterator, NamedTuple, Tuple

from tagger_compat import archives, extensions, libraries, plugins, pytorch


class Patch(NamedTuple):
    """One row of `PATCHES`.

    Args:
        name: What is patched.
        reason: What AllenNLP relies on, and what has changed.
        modules: The AllenNLP modules to patch while they are executed.
        apply: Returns the context manager that patches a module.
        needed: Whether the installed libraries require the patch.
    """

    name: str
    reason: str
    modules: Tuple[str, ...]
    apply: Callable[[ModuleType], ContextManager[None]]
    needed: Callable[[], bool] = lambda: True


#: Patches for today's libraries, or for a fault in a library.
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
        "`huggingface_adafactor` derives from a class of transformers, which takes a second to import",
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
        "since torch 2.6 it rejects the numpy scalars of a training state, which `--recover` needs: "
        "some schedulers and metrics compute with numpy; unlike other rejected types, they run no code",
        ("allennlp.training.checkpointer",),
        pytorch.with_numpy_scalars_loadable,
        pytorch.load_refuses_numpy_scalars,
    ),
    Patch(
        "torch.cuda.amp",
        "since torch 2.4, training starts with a FutureWarning about the old name of `torch.amp`",
        ("allennlp.nn.parallel.ddp_accelerator", "allennlp.training.gradient_descent_trainer"),
        pytorch.with_current_amp,
        pytorch.cuda_amp_is_deprecated,
    ),
    Patch(
        "clip_grad_norm_",
        "`grad_norm` also clips the sparse gradients of an `embedding`, but today's torch cannot "
        "compute their norm",
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
        "without a GPU, today's torch fails at `cuda_device: 0` before AllenNLP can report the missing "
        "GPU and the remedy",
        ("allennlp.common.util",),
        pytorch.with_numbered_devices,
        pytorch.devices_need_an_accelerator,
    ),
    Patch(
        "locks of spawned workers",
        "the `multiprocess` loader creates a lock for forked processes, which today's Python rejects in "
        "workers with `start_method: spawn`",
        ("allennlp.data.data_loaders.multiprocess_data_loader",),
        libraries.with_locks_of_the_workers,
        libraries.locks_belong_to_a_start_method,
    ),
    Patch(
        "TensorCache",
        "it saves tensors with the highest pickle protocol, which `torch.load` rejects since torch 2.6; "
        "caches written by an older torch must be rebuilt",
        ("allennlp.common.file_utils",),
        pytorch.with_loadable_pickles,
        pytorch.load_refuses_the_latest_pickles,
    ),
    Patch(
        "types that are names",
        "a `type` in a config that is not a string fails with a bare Python error",
        ("allennlp.common.params",),
        libraries.with_types_that_are_names,
    ),
)

#: Patches that let a package extend AllenNLP where it has no extension point.
EXTENSION_PATCHES = (
    Patch(
        "local files",
        "AllenNLP uses `cached_path` for every file and lock; its import takes almost a second, because "
        "it loads the clients of three clouds",
        ("allennlp.common.file_utils",),
        libraries.with_local_paths,
    ),
    Patch(
        "components",
        "an extension does not import AllenNLP, to be fast; each of its components must be there "
        "when AllenNLP looks for its name, but its registry has no callback",
        ("allennlp.common.registrable",),
        extensions.with_components_on_demand,
    ),
    Patch(
        "archives",
        "AllenNLP unpacks an archive's members to any path they name, evaluates its config as a "
        "program, and imports and calls whatever a `type` with a dot names",
        archives.MODULES,
        archives.patched,
    ),
    Patch(
        "whole archives",
        "`train` writes its archive in place, so a kill leaves half of one; no method can be overridden",
        ("allennlp.models.archival",),
        extensions.with_whole_archives,
    ),
    Patch(
        "plugins",
        "AllenNLP imports a fixed list of plugins and, without telling, those named by a file in the "
        "current folder",
        ("allennlp.common.plugins",),
        plugins.with_installed_plugins,
    ),
    Patch(
        "commands",
        "AllenNLP adds its subcommands to the parser before it imports plugins, which may register "
        "better ones, and imports all; and only its `main` sees all errors and the end of every "
        "command",
        ("allennlp.commands",),
        extensions.with_commands_on_demand,
    ),
    Patch(
        "keys of a config",
        "the function that constructs all parts of a config does not list the valid keys in its errors",
        ("allennlp.common.from_params",),
        extensions.with_known_keys_named,
    ),
    Patch(
        "library of Jsonnet",
        "a config can import only files in its own folder, but the template is inside this package; "
        "AllenNLP passes Jsonnet no search path, and uses the slow implementation in C++",
        ("allennlp.common.params",),
        extensions.with_installed_templates,
    ),
    Patch(
        "quiet training",
        "in the middle of `train`, a function creates new log handlers, which print hundreds of lines",
        ("allennlp.common.logging",),
        extensions.with_quiet_training,
    ),
    Patch(
        "progress bars",
        "a function with fixed settings creates them, and they fill the output when that is not a "
        "terminal",
        ("allennlp.common.tqdm",),
        extensions.with_named_bars,
    ),
)

PATCHES = LIBRARY_PATCHES + EXTENSION_PATCHES


def patched_modules() -> FrozenSet[str]:
    """Returns the names of all patched AllenNLP modules."""
    return frozenset(module for patch in PATCHES for module in patch.modules)


@contextmanager
def patches_in_force(module: ModuleType) -> Iterator[None]:
    """Applies the patches for an AllenNLP module, which must be executed inside.

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
