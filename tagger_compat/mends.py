"""What AllenNLP 2.10.1 needs put right on today's libraries: `MENDS`, one row each, with its reason.

A mend is a context manager around the execution of the AllenNLP modules that need it. What it changes
in another library, for AllenNLP to import, it takes back afterwards, so that nobody else sees it. What
it changes in the executed module itself stays.
"""

import inspect
import logging
import os
from contextlib import ExitStack, contextmanager
from functools import partial, wraps
from importlib import import_module
from types import ModuleType
from typing import Any, Callable, ContextManager, FrozenSet, Iterator, NamedTuple, Tuple

from tagger_compat import archives, components, console, libraries, mistakes, recovery

logger = logging.getLogger(__name__)


@contextmanager
def _with_checked_keys(module: ModuleType) -> Iterator[None]:
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

            from tagger.common.did_you_mean import did_you_mean

            raise ConfigurationError(
                f"`trainer` has no key `{name}`" + did_you_mean(name, list(known))
            )
        num_epochs = kwargs.get("num_epochs", 1)
        if num_epochs < 1:
            from allennlp.common.checks import ConfigurationError

            raise ConfigurationError(f"`num_epochs` must be at least 1; got {num_epochs}")
        return construct(cls, **kwargs)

    trainer.from_partial_objects = classmethod(construct_checked)


@contextmanager
def _with_our_plugin(plugins: Any) -> Iterator[None]:
    yield
    plugins.DEFAULT_PLUGINS += ("tagger",)
    import_all = plugins.import_module_and_submodules

    @wraps(import_all)
    def import_what_commands_need(package_name: str, *args: Any, **kwargs: Any) -> None:
        if package_name != "tagger":
            import_all(package_name, *args, **kwargs)
            return
        import_module("tagger.components")
        import_all("tagger.commands")

    plugins.import_module_and_submodules = import_what_commands_need
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


@contextmanager
def _with_our_library(params: Any) -> Iterator[None]:
    """Lets `import 'tagger/template.libsonnet'` work in a config in any folder, as in `jsonnet -J`.

    A file beside the config comes first, then the folders of `JSONNET_PATH`, then this package.
    """
    yield
    for name in ("evaluate_file", "evaluate_snippet"):
        setattr(params, name, _with_library_path(getattr(params, name)))


def _with_library_path(evaluate: Callable[..., str]) -> Callable[..., str]:
    @wraps(evaluate)
    def evaluate_with_path(*args: Any, **kwargs: Any) -> str:
        # Jsonnet takes the last folder that has the file; in `JSONNET_PATH` the first one counts.
        folders = [each for each in os.environ.get("JSONNET_PATH", "").split(os.pathsep) if each]
        ours = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        return evaluate(*args, jpathdir=[ours, *reversed(folders)], **kwargs)

    return evaluate_with_path


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
        libraries.hub_is_1,
        libraries.with_hub_classes,
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
        partial(libraries.fails_to_import, "torchvision"),
        partial(
            libraries.stand_in_modules,
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
        partial(libraries.fails_to_import, "fairscale"),
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
    ),
    Mend(
        "transformers.AdamW",
        "the optimizer `huggingface_adamw` derives from it; it is gone since transformers 5",
        ("allennlp.training.optimizers",),
        libraries.transformers_is_5,
        libraries.with_adamw,
    ),
    Mend(
        "late Adafactor",
        "no library's fault: `huggingface_adafactor` derives from a class of transformers, "
        "whose import takes a second",
        ("allennlp.training.optimizers",),
        libraries.transformers_is_not_imported,
        libraries.with_late_adafactor,
    ),
    Mend(
        "transformers tokenizers",
        "methods that the `pretrained_transformer` parts call are gone since transformers 5",
        ("allennlp.common.cached_transformers",),
        libraries.transformers_is_5,
        libraries.with_tokenizer_methods,
    ),
    Mend(
        "ReduceLROnPlateau",
        "the scheduler `reduce_on_plateau` passes it `verbose`, which torch 2.7 removed",
        ("allennlp.training.learning_rate_schedulers.pytorch_lr_schedulers",),
        libraries.plateau_lacks_verbose,
        libraries.without_verbose,
    ),
    Mend(
        "torch.load",
        "since torch 2.6 it refuses the numpy scalars of a training state, which `--recover` needs: "
        "some schedulers and metrics compute with numpy; unlike what stays refused, they run no code",
        ("allennlp.training.checkpointer",),
        libraries.load_refuses_numpy_scalars,
        libraries.with_numpy_scalars_loadable,
    ),
    Mend(
        "torch.cuda.amp",
        "each training run greets with a FutureWarning since torch 2.4, for the old name of `torch.amp`",
        ("allennlp.nn.parallel.ddp_accelerator", "allennlp.training.gradient_descent_trainer"),
        libraries.cuda_amp_is_deprecated,
        libraries.with_current_amp,
    ),
    Mend(
        "clip_grad_norm_",
        "`grad_norm` clips the sparse gradients of an `embedding` too, for which today's torch has no "
        "norm",
        (
            "allennlp.nn.parallel.ddp_accelerator",
            "allennlp.training.gradient_descent_trainer",
            "allennlp.training.util",
        ),
        libraries.clipping_refuses_sparse_gradients,
        libraries.with_sparse_gradients_clipped,
    ),
    Mend(
        "numbered devices",
        "without a GPU, today's torch fails at `cuda_device: 0` before AllenNLP can say that the GPU is "
        "missing, and what to do",
        ("allennlp.common.util",),
        libraries.devices_need_an_accelerator,
        libraries.with_numbered_devices,
    ),
    Mend(
        "locks of spawned workers",
        "the `multiprocess` loader makes a lock for forked processes, which today's Python refuses "
        "in workers with `start_method: spawn`",
        ("allennlp.data.data_loaders.multiprocess_data_loader",),
        libraries.locks_belong_to_a_start_method,
        libraries.with_locks_of_the_workers,
    ),
    Mend(
        "TensorCache",
        "it saves tensors with the highest protocol of pickles, which `torch.load` refuses since torch "
        "2.6; a cache that an old torch has written has to be made anew",
        ("allennlp.common.file_utils",),
        libraries.load_refuses_the_latest_pickles,
        libraries.with_loadable_pickles,
    ),
    Mend(
        "local files",
        "no library's fault: AllenNLP asks `cached_path` for every file and every lock, whose import "
        "takes almost a second, for the clients of three clouds",
        ("allennlp.common.file_utils",),
        lambda: True,
        libraries.with_local_paths,
    ),
    Mend(
        "keys of the trainer",
        "no library's fault: `gradient_descent` takes any key, ignores those that it does not know, and "
        "with no epoch at all fails when it makes the archive",
        ("allennlp.training.gradient_descent_trainer",),
        lambda: True,
        _with_checked_keys,
    ),
    Mend(
        "components",
        "no library's fault: `import tagger` leaves AllenNLP alone, so that it is fast; when AllenNLP "
        "first looks for a component, ours must be there",
        components.MODULES,
        lambda: True,
        components.mended,
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
        "mistakes",
        "no library's fault: AllenNLP answers some mistakes of its users with a traceback or half a "
        "message, writes over its inputs, and removes any folder",
        mistakes.MODULES,
        lambda: True,
        mistakes.mended,
    ),
    Mend(
        "library of Jsonnet",
        "no library's fault: a config can import files beside it only, and this package's template lies "
        "where the package is installed",
        ("allennlp.common.params",),
        lambda: True,
        _with_our_library,
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
