"""The patches are tested in fresh processes: AllenNLP can't be imported twice in one."""

import ast
import importlib
import logging
import os
import re
import shutil
import subprocess
import sys
import types
import zipfile
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch

from tagger_compat import patches
from tagger_compat.plugins import _with_missing_requirements

ROOT = Path(__file__).parents[2]

WITHOUT_HOOK = """
import sys, tagger_compat
sys.meta_path[:] = [f for f in sys.meta_path if not isinstance(f, tagger_compat.PatchingFinder)]
"""

TINY_BERT = """
from pathlib import Path
from transformers import BertConfig, BertModel, BertTokenizerFast

words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "paris", "##ian"]
Path("vocab.txt").write_text("\\n".join(words))
BertTokenizerFast("vocab.txt").save_pretrained("bert")
sizes = {"hidden_size": 4, "intermediate_size": 4, "num_hidden_layers": 1, "num_attention_heads": 1}
BertModel(BertConfig(vocab_size=len(words), **sizes)).save_pretrained("bert")
"""

# Helpers for all snippets.
ERROR_OF = """
def error_of(call, *arguments, **keywords):
    try:
        call(*arguments, **keywords)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
"""
# By patch: code that works with it, and the error without it.
USES = {
    "huggingface_hub": (
        """
from allennlp.common.push_to_hf import push_to_hf
error = error_of(push_to_hf, "name", serialization_dir=".")
assert "ImportError: `HfFolder` is not available: huggingface_hub 1.0" in error, error
assert "removed it; upload" in error
""",
        "cannot import name 'HfFolder'",
    ),
    "torchvision": (
        "import allennlp.data.image_loader, allennlp.modules.vision.grid_embedder\n"
        "import allennlp.modules.vision.region_detector",
        "No module named 'torchvision'",
    ),
    "fairscale": (
        "import allennlp.nn.checkpoint, allennlp.nn.parallel",
        "No module named 'fairscale'",
    ),
    "transformers.AdamW": (
        """
import torch
from allennlp.common import Params
from allennlp.training.optimizers import Optimizer

parameter = torch.nn.Parameter(torch.ones(1))
params = Params({"type": "huggingface_adamw", "lr": 0.5, "weight_decay": 0.0})
optimizer = Optimizer.from_params(params, model_parameters=[("parameter", parameter)])
parameter.sum().backward()
optimizer.step()
torch.testing.assert_close(parameter.data, torch.tensor([0.5]))
""",
        "cannot import name 'AdamW'",
    ),
    "late Adafactor": (
        """
import sys
import allennlp.training.optimizers
assert "transformers.optimization" not in sys.modules
""",
        "metaclass conflict",
    ),
    "local files": (
        """
import os
from pathlib import Path
import cached_path as library
from allennlp.common.file_utils import FileLock, cached_path

theirs, library.cached_path = library.cached_path, None
Path("file").touch()
assert cached_path("file") == cached_path(Path("file")) == "file"
with FileLock("lock", read_only_ok=True) as lock:
    assert lock.is_locked
from allennlp.data import Vocabulary
Vocabulary().save_to_files("vocabulary")
Vocabulary.from_files("vocabulary")
os.environ["HOME"] = os.getcwd()
assert cached_path("~/file") == os.path.join(os.getcwd(), "file")
library.cached_path = theirs
error = error_of(cached_path, "file_that_is_not_there")
assert error.startswith("FileNotFoundError") and "file_that_is_not_there" in error, error
""",
        "'NoneType' object is not callable",
    ),
    "components": (
        """
import tagger
from allennlp.models import Model
Model.by_name("sequence_tagger")
""",
        "'sequence_tagger' is not a registered name",
    ),
    "transformers tokenizers": (
        TINY_BERT
        + """
import torch
from allennlp.data import Token, Vocabulary
from allennlp.data.token_indexers import PretrainedTransformerMismatchedIndexer
from allennlp.modules.token_embedders import PretrainedTransformerMismatchedEmbedder

indexer = PretrainedTransformerMismatchedIndexer("bert", max_length=4)
indices = indexer.tokens_to_indices([Token("parisian"), Token("a")], Vocabulary())
# Two segments of at most four wordpieces: [CLS] paris ##ian [SEP] and [CLS] a [SEP].
assert indices["token_ids"] == [2, 7, 8, 3, 2, 5, 3], indices
assert indices["offsets"] == [(1, 2), (3, 3)], indices
lengths = {key: len(value) for key, value in indices.items()}
tensors = indexer.as_padded_tensor_dict(indices, lengths)
embedder = PretrainedTransformerMismatchedEmbedder("bert", max_length=4)
assert embedder(**{key: value.unsqueeze(0) for key, value in tensors.items()}).shape == (1, 2, 4)
""",
        "add_special_tokens conflicts",
    ),
    "ReduceLROnPlateau": (
        """
import torch
from allennlp.common import Params
from allennlp.training.learning_rate_schedulers import LearningRateScheduler

optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)
params = {"type": "reduce_on_plateau", "mode": "max", "factor": 0.5, "patience": 0, "verbose": True}
scheduler = LearningRateScheduler.from_params(Params(params), optimizer=optimizer)
for metric in (0.3, 0.2):
    scheduler.step(metric)
assert optimizer.param_groups[0]["lr"] == 0.5
""",
        "unexpected keyword argument 'verbose'",
    ),
    "torch.load": (
        """
from types import SimpleNamespace
import numpy
from allennlp.training.checkpointer import Checkpointer
from allennlp.training.trainer import TrainerCheckpoint

numbers = [numpy.float64(0.1), numpy.float32(0.1), numpy.int64(1)]
checkpointer = Checkpointer(".")
state = {"numbers": numbers, "epochs_completed": 1, "batches_in_epoch_completed": 0}
trainer = SimpleNamespace(get_checkpoint_state=lambda: TrainerCheckpoint({}, state))
checkpointer.save_checkpoint(trainer)
loaded = checkpointer.load_checkpoint().trainer_state["numbers"]
assert loaded == numbers and [*map(type, loaded)] == [*map(type, numbers)]
""",
        "Unsupported global: GLOBAL numpy",
    ),
    "torch.cuda.amp": (
        """
import warnings
from allennlp.nn.parallel import ddp_accelerator
from allennlp.training import gradient_descent_trainer

warnings.simplefilter("error")
for module in (ddp_accelerator, gradient_descent_trainer):
    with module.amp.autocast(False):
        module.amp.GradScaler
""",
        "FutureWarning",
    ),
    "clip_grad_norm_": (
        """
import torch
from allennlp.nn.parallel import ddp_accelerator
from allennlp.training import gradient_descent_trainer, util

def clipped(module, sparse):
    embedding, other = torch.nn.Embedding(5, 2, sparse=sparse), torch.nn.Parameter(torch.ones(3))
    torch.nn.init.ones_(embedding.weight)
    embedding(torch.tensor([1, 3, 3])).sum().mul(other.sum()).backward()
    norm = module.clip_grad_norm_(iter([embedding.weight, other]), 2.0)
    return norm, embedding.weight.grad.to_dense(), other.grad

for module in (ddp_accelerator, gradient_descent_trainer, util):
    for sparse, dense in zip(clipped(module, True), clipped(module, False)):
        torch.testing.assert_close(sparse, dense)
""",
        "linalg_vector_norm",
    ),
    "numbered devices": (
        """
import torch
from allennlp.common.checks import check_for_gpu
from allennlp.common.util import int_to_device

assert int_to_device(0) == torch.device("cuda", 0) and int_to_device(-1) == torch.device("cpu")
assert int_to_device(torch.device("cpu")) == torch.device("cpu")
assert "none is available" in (error_of(check_for_gpu, [0]) or "none is available")
""",
        "Cannot access accelerator device",
    ),
    "locks of spawned workers": (
        """
from allennlp.data.data_loaders import multiprocess_data_loader as loader

for method in ("spawn", "fork"):
    context = loader.mp.get_context(method)  # as the loader does
    lock = loader.mp.RLock()
    worker = context.Process(target=print, args=(lock,))
    worker.start()
    worker.join()
    assert worker.exitcode == 0
""",
        "A SemLock created in a fork context",
    ),
    "TensorCache": (
        """
import warnings
import torch
from allennlp.common.file_utils import TensorCache

cache = TensorCache("cache")
cache["tensor"] = torch.arange(3)
cache.cache_cache.clear()
assert cache["tensor"].tolist() == [0, 1, 2]
""",
        "Weights only load failed",
    ),
    "archives": (
        """
import json, tarfile
from pathlib import Path
from allennlp.models.archival import extracted_archive

Path("config.json").write_text("{}")
with tarfile.open("model.tar.gz", "w:gz") as archive:
    archive.add("config.json")
    archive.add("config.json", "../outside.json")
def unpack():
    with extracted_archive("model.tar.gz"):
        raise SystemExit("unpacked")

assert "lies outside" in error_of(unpack)
""",
        "unpacked",
    ),
    "whole archives": (
        """
import os, tagger, tarfile
from allennlp.models.archival import archive_model

def interrupted(self, *args, **kwargs):
    raise KeyboardInterrupt

tarfile.TarFile.add = interrupted
for name in ("best.th", "config.json", "model.tar.gz"):
    open(name, "w").close()
os.remove("model.tar.gz")
try:
    archive_model(".")
except KeyboardInterrupt:
    assert not os.path.exists("model.tar.gz"), "half an archive"
""",
        "half an archive",
    ),
    "types that are names": (
        """
from allennlp.common import Params

for name in (None, "None", 5, 0.5, True, ["a.b"], {"a": 1}):
    error = error_of(Params({"type": name}).pop_choice, "type", ["crf"])
    assert "not in acceptable choices for type: ['crf']" in error, error
""",
        "argument of type 'NoneType'",
    ),
    "commands": (
        """
import sys
from allennlp.commands import main
sys.argv = ["allennlp", "predict", "model.tar.gz", "-", "--batch-size", "0"]
try:
    main("allennlp")
except SystemExit as exit:
    assert exit.code == 1
""",
        "FileNotFoundError",
    ),
    "progress bars": (
        """
import io, sys
from allennlp.common.tqdm import Tqdm
sys.stderr = shown = io.StringIO()
list(Tqdm.tqdm([1]))
sys.stderr = sys.__stderr__
assert not shown.getvalue(), "drawn"
""",
        "drawn",
    ),
    "quiet training": (
        """
import io, logging, sys, tagger
from allennlp.common.logging import prepare_global_logging
sys.stdout = shown = io.StringIO()
prepare_global_logging(".")
logging.getLogger("allennlp").info("nobody reads this")
sys.stdout = sys.__stdout__
assert "nobody reads this" in open("out.log").read()
assert not shown.getvalue(), "shown"
""",
        "AssertionError: shown",
    ),
    "keys of a config": (
        """
import tagger
from allennlp.common import Params
from allennlp.training.metrics import Metric
error = error_of(Metric.from_params, Params({"type": "categorical_accuracy", "topk": 3}))
assert "it takes tie_break, top_k; did you mean `top_k`?" in error, error
""",
        "AssertionError",
    ),
    "library of Jsonnet": (
        """
from pathlib import Path
from allennlp.common import Params

config = "{ is_found: std.isObject(import 'tagger/training/template.libsonnet') }"
Path("mine.jsonnet").write_text(config)
assert Params.from_file("mine.jsonnet").as_dict() == {"is_found": True}
""",
        "couldn't open import",
    ),
    "plugins": (
        """
from allennlp.common.plugins import import_plugins
from allennlp.common.registrable import Registrable
from allennlp.models import Model

import_plugins()
Model.by_name("sequence_tagger")
""",
        "'sequence_tagger' is not a registered name",
    ),
}


def run_python(*arguments, **kwargs):
    environment = {**os.environ, **kwargs.pop("env", {})}
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, env=environment, **kwargs
    )


def without_patch(name):
    return (
        "from tagger_compat import patches\n"
        f"patches.PATCHES = tuple(patch for patch in patches.PATCHES if patch.name != {name!r})\n"
    )


@pytest.fixture(scope="module")
def needed(warm_executable):
    """The names of the patches that the installed libraries need."""
    # In a fresh process, because an applied patch no longer counts as needed.
    code = (
        "from tagger_compat import patches\n"
        "print(*(patch.name for patch in patches.PATCHES if patch.needed()), sep='\\n')"
    )
    return subprocess.check_output([warm_executable, "-c", code], text=True).splitlines()


def skip_unless_needed(name, needed):
    if name not in needed:
        pytest.skip(f"the installed libraries do not need the patch `{name}`")


def test_no_string_names_a_module_of_tagger():
    named = [
        (path.name, node.lineno, node.value)
        for path in (ROOT / "tagger_compat").glob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and re.search(r"\btagger([./]|$)|\bimport tagger\b", node.value)
    ]
    assert not named


def test_every_patch_is_tested():
    assert set(USES) == {patch.name for patch in patches.PATCHES}


def test_import_caches_are_cleared_once_before_importing_all_modules(monkeypatch):
    from allennlp.common import plugins

    calls = []
    monkeypatch.setattr("importlib.invalidate_caches", lambda: calls.append(1))
    plugins.import_module_and_submodules("tagger.commands")
    importlib.invalidate_caches()
    assert len(calls) == 2


def test_plugins_of_another_user_are_not_run(monkeypatch, tmp_path, caplog):
    from allennlp.common import plugins

    monkeypatch.chdir(tmp_path)
    Path(".allennlp_plugins").write_text("own_plugin\n")
    with caplog.at_level("INFO", "tagger_compat"):
        assert "own_plugin" in list(plugins.discover_plugins())
    assert "running the plugin `own_plugin` of `.allennlp_plugins`" in caplog.text
    monkeypatch.setattr("os.getuid", lambda: os.stat(".").st_uid + 1)
    if os.stat(".").st_uid == 0:  # root's files are trusted, so pretend that they are not root's.
        real = os.stat
        monkeypatch.setattr(
            "os.stat",
            lambda path, **kw: types.SimpleNamespace(st_uid=7, st_mode=real(path).st_mode),
        )
    assert "own_plugin" not in list(plugins.discover_plugins())
    assert "is not yours" in caplog.text


def test_a_plugin_without_its_requirements_says_what_to_install(monkeypatch, tmp_path, caplog):
    from allennlp.common import plugins

    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "half_plugin").mkdir()
    (tmp_path / "half_plugin/__init__.py").write_text("import nothing_one.part\n")
    about = tmp_path / "half_plugin-1.0.dist-info"
    about.mkdir()
    requirements = "".join(
        f"Requires-Dist: {each}\n"
        for each in ("nothing-one (>=1.1)", "torch (<1.13)", "nothing.two==4", "x; extra == 'dev'")
    )
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: half-plugin\n{requirements}")
    monkeypatch.setattr(plugins, "DEFAULT_PLUGINS", ("half_plugin",))
    caplog.clear()
    plugins.import_plugins()
    assert caplog.record_tuples == [
        (
            "allennlp.common.plugins",
            30,
            "the plugin half_plugin is not loaded, because it needs `nothing_one`; run: pip install "
            "nothing-one nothing.two",
        )
    ]


def test_a_plugin_without_pkg_resources_is_told_of_an_older_setuptools():
    message = "Plugin half_plugin could not be loaded: No module named 'pkg_resources'"
    record = logging.LogRecord("x", logging.ERROR, "x", 1, message, None, None)
    assert _with_missing_requirements(record)
    assert record.msg.endswith("run: pip install 'setuptools<81'")


@pytest.mark.parametrize("name", USES)
def test_a_patch_is_needed_and_works(name, needed, run_fresh):
    code, error = USES[name]
    without = run_fresh(without_patch(name) + ERROR_OF + code)
    if name in needed:
        assert not without.succeeded
        assert error in without.output
    else:
        assert without.succeeded, without.output
    patched = run_fresh(ERROR_OF + code)
    assert patched.succeeded, patched.output


def test_a_torchvision_built_for_another_torch_is_stood_in_for(run_fresh, tmp_path):
    (tmp_path / "torchvision").mkdir()
    (tmp_path / "torchvision/extension.py").touch()
    (tmp_path / "torchvision/__init__.py").write_text(
        "import torchvision.extension; raise RuntimeError('no operator nms')"
    )
    outcome = run_fresh(
        """
import sys
sys.path.insert(0, "")
import allennlp.modules.vision.region_detector as detector
assert "torchvision.extension" in sys.modules
detector.box_ops.batched_nms()
"""
    )
    assert (
        "`torchvision.ops.boxes.batched_nms` is not available: install a torchvision"
        in outcome.output
    )


def test_adamw_without_bias_correction_is_refused(needed, run_fresh):
    skip_unless_needed("transformers.AdamW", needed)
    code = USES["transformers.AdamW"][0].replace('"lr": 0.5', '"lr": 0.5, "correct_bias": False')
    assert "`correct_bias` must be true, got false" in run_fresh(code).output


@pytest.mark.skipif(torch.__version__ < (2, 6), reason="before torch 2.6 any checkpoint is loaded")
def test_checkpoints_with_other_types_stay_refused(run_fresh, tmp_path):
    outcome = run_fresh(
        """
import os, torch, allennlp.training

class Attack:
    def __reduce__(self):
        return os.mkdir, ("harm",)

torch.save(Attack(), "state.th")
torch.load("state.th")
"""
    )
    assert "UnpicklingError: Weights only load failed" in outcome.output
    assert not (tmp_path / "harm").exists()


MAIN = "; from allennlp.commands import main"
#: Code that must work in a process without any imports so far.
WORKS = {
    **{
        f"{order}, {when}": hook + order + MAIN
        for order in ("import allennlp, tagger", "import tagger, allennlp")
        for when, hook in (("hook at start", ""), ("no hook at start", WITHOUT_HOOK))
    },
    "other libraries see no patch": """
import importlib.util, huggingface_hub, transformers

def what_others_see():
    packages = [importlib.util.find_spec(name) for name in ("torchvision", "fairscale")]
    return packages, hasattr(huggingface_hub, "HfFolder"), hasattr(transformers, "AdamW")

before = what_others_see()
import allennlp.common, allennlp.models, allennlp.modules.vision, allennlp.training
assert what_others_see() == before
""",
    "a module executed before the hook is patched too": f"""{WITHOUT_HOOK}
import types
plugins = types.ModuleType("allennlp.common.plugins")
plugins.DEFAULT_PLUGINS = ()
plugins.discover_file_plugins = lambda path: []
plugins.import_module_and_submodules = lambda name: None
plugins.LOCAL_PLUGINS_FILENAME = ".allennlp_plugins"
sys.modules["allennlp"] = types.ModuleType("allennlp")
sys.modules["allennlp.common.plugins"] = plugins
tagger_compat.install()
tagger_compat.install()
assert plugins.DEFAULT_PLUGINS[0] == "tagger.commands"
assert "tagger.tools.start.commands" in plugins.DEFAULT_PLUGINS
""",
}


@pytest.mark.parametrize("title", WORKS)
def test_the_hook_works_for_allennlp_alone_in_any_order(title, succeed_fresh):
    succeed_fresh(WORKS[title])


def test_importing_tagger_rescues_a_failed_import_of_allennlp(needed, succeed_fresh):
    skip_unless_needed("huggingface_hub", needed)
    succeed_fresh(
        WITHOUT_HOOK
        + """
try:
    import allennlp.commands
except ImportError:
    import tagger, allennlp.commands
else:
    raise AssertionError("AllenNLP needs no patch here")
"""
    )


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (
            "-S",
            "import os; before = set(sys.modules); sys.path.append('.')\n"
            "import tagger_compat; tagger_compat.install()\n"
            "assert set(sys.modules) - before == {'tagger_compat'}, set(sys.modules) - before",
        ),
        (
            "-u",
            "import importlib.util, tagger_compat; tagger_compat.install()\n"
            "assert importlib.util.find_spec('allennlp')\n"
            "assert not {'allennlp', 'torch', 'transformers', 'spacy'} & set(sys.modules)",
        ),
    ],
    ids=["at the interpreter's start", "when AllenNLP is looked for"],
)
def test_only_the_hook_is_imported(options, code):
    started = run_python(options, "-c", f"import sys; {code}", cwd=ROOT)
    assert started.returncode == 0, started.stderr


@pytest.mark.parametrize(("value", "hooked"), [("1", False), ("0", True), ("", True)])
def test_environment_variable_turns_the_hook_off(value, hooked):
    code = "import sys, tagger_compat; tagger_compat.install(); print(*map(type, sys.meta_path))"
    started = run_python("-c", code, cwd=ROOT, env={"TAGGER_NO_HOOK": value})
    assert ("PatchingFinder" in started.stdout) == hooked


@pytest.mark.slow
@pytest.mark.parametrize("command", ["allennlp", "python -m allennlp"])
def test_the_command_finds_the_plugin_from_an_empty_folder(command, tmp_path, request):
    # `allennlp` runs in a fresh process, from the interpreter's start.
    name, *options = command.split()
    if options:
        request.getfixturevalue("warm_python")
    executable = shutil.which(name, path=Path(sys.executable).parent)
    if executable is None:
        pytest.skip("AllenNLP's command is not installed beside this Python")
    run = subprocess.run(
        [executable, *options, "describe", "crf"], cwd=tmp_path, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    assert "Warning" not in run.stderr
    assert run.stdout.startswith("crf (TaggingHead)")


def test_wheels_contain_the_file_that_installs_the_hook(tmp_path):
    pytest.importorskip("setuptools", minversion="77")  # as pyproject.toml asks
    for name in ("tagger", "tagger_compat"):
        shutil.copytree(ROOT / name, tmp_path / name)
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path)
    code = "from setuptools.build_meta import *; build_wheel('plain'); build_editable('editable')"
    built = run_python("-c", code, cwd=tmp_path)
    assert built.returncode == 0, built.stderr
    for folder in ("plain", "editable"):
        (wheel,) = (tmp_path / folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as files:
            hook = files.read("tagger_compat.pth").decode()
            assert hook == "import tagger_compat; tagger_compat.install()\n"
            if folder == "plain":
                assert files.read("tagger/commands/.allennlp_plugins") == b"tagger.commands\n"
            # A finder would be next to the packages.
            assert not [name for name in files.namelist() if "/" not in name and "finder" in name]


@pytest.fixture
def in_force(monkeypatch):
    """Registers a single patch with the given action."""

    def in_force(apply):
        patch = patches.Patch("broken", "the world changed", ("some_module",), apply)
        monkeypatch.setattr(patches, "PATCHES", (patch,))
        return patches.patches_in_force(types.ModuleType("some_module"))

    return in_force


@pytest.mark.parametrize("steps", [0, 1], ids=["before execution", "after execution"])
def test_a_failing_patch_is_named(steps, in_force):
    @contextmanager
    def apply(_):
        if steps == 1:
            yield
        raise KeyError("gone")

    message = r"the patch `broken` for `some_module` failed: KeyError\('gone'\).*TAGGER_NO_HOOK=1"
    with pytest.raises(ImportError, match=message), in_force(apply):
        pass


def test_allennlps_own_errors_pass_unchanged(in_force):
    @contextmanager
    def apply(_):
        yield

    with pytest.raises(KeyError, match="own"), in_force(apply):
        raise KeyError("own")
