"""AllenNLP's deferred imports give the same objects as eager ones."""

import pickle
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tagger_compat import deferral
from tests.tagger_compat.allennlp_sources import uses_of

LATE = """
from pathlib import Path

class Animal:
    legs = 4

    def __init__(self, name):
        self.name = name

class Sound:
    class Loud:
        pass

names = {"dog": "Rex"}

def greet(name):
    return f"hello {name}"
"""
ALL_MODULES = """
import sys
from allennlp.common.plugins import import_plugins
from allennlp.common.registrable import Registrable
from tagger_compat import deferral

def registered():
    return {
        (base.__name__, name): found[0].__qualname__
        for base, names in Registrable._registry.items()
        for name, found in names.items()
        if base.__module__.startswith("allennlp.")
    }
"""


@pytest.fixture
def execute(monkeypatch, tmp_path):
    """Executes code as an AllenNLP module that may defer the import of the library `late`."""
    (tmp_path / "late").mkdir()
    (tmp_path / "late/__init__.py").write_text(LATE)
    (tmp_path / "late/part.py").write_text("number = 7")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(deferral.LIBRARIES, "late", 0.1)

    def execute(code, name="allennlp.some_module"):
        module = ModuleType(name)
        with deferral.deferring():
            exec(code, vars(module))
        return module

    yield execute
    for cached in (deferral._Deferred.of, deferral._imported, deferral._is_installed):
        cached.cache_clear()
    deferral._submodules.difference_update({"late.part", "late.nothing"})
    for name in ("late", "late.part"):
        sys.modules.pop(name, None)


def test_a_library_is_imported_when_it_is_used(execute):
    module = execute(
        "import late\nfrom late import greet, names\ndef call(): return late.greet('you')"
    )
    assert "late" not in sys.modules
    assert isinstance(module.late, ModuleType)
    assert "imported when it is used" in repr(module.late) + repr(module.greet)
    assert module.call() == "hello you"
    assert module.greet("her") == "hello her"
    assert module.names["dog"] == "Rex"


def test_a_stand_in_equals_the_real_thing_and_that_of_another_module(execute):
    first = execute("import late\nfrom late import greet")
    second = execute("from late import greet as say", "allennlp.other")
    assert first.greet == second.say != first.late
    assert "late" not in sys.modules
    import late

    assert (first.late, first.greet) == (late, late.greet)
    assert late.greet == second.say != first.late


def test_deferred_classes_work_in_checks_calls_and_annotations(execute):
    module = execute(
        """
from typing import Dict, List, Optional, Tuple, Union
import late
from late import Animal

def walk(animal: Optional[Animal], more: Dict[str, Animal], sounds: List[late.Sound.Loud]): ...
def carry(each: Union[Animal, Tuple[Animal, int]]): ...

class Barn:
    animals: List[late.Animal] = []
    def add(self, animal: late.Animal): ...
"""
    )
    assert "late" not in sys.modules
    stand_in = module.Animal
    assert not isinstance("dog", stand_in)
    import late

    assert isinstance(late.Animal("Rex"), stand_in)
    assert stand_in("Rex").name == "Rex"
    assert (stand_in.legs, stand_in) == (4, late.Animal)


def test_submodules_are_imported_too(execute):
    module = execute("import late.part\ndef number(): return late.part.number")
    renamed = execute("import late.part as part\nfrom late import part as again", "allennlp.other")
    assert "late.part" not in sys.modules
    assert module.number() == 7
    assert renamed.part.number == renamed.again.number == 7


def test_attributes_are_set_on_the_real_thing(execute):
    module = execute("import late\nfrom late import Animal")
    stand_in = module.Animal
    module.late.greet, stand_in.legs = len, 6
    import late

    assert (late.greet, late.Animal.legs) == (len, 6)


def test_pickles_hold_the_real_thing(execute):
    module = execute("import late\nfrom late import Animal, greet")
    stored = pickle.dumps([module.late, module.Animal, module.greet])
    import late

    assert pickle.loads(stored) == [late, late.Animal, late.greet]


def test_a_missing_name_is_an_import_error_when_it_is_used(execute):
    module = execute("from late import nothing")
    with pytest.raises(ImportError, match="cannot import name 'nothing' from 'late'"):
        module.nothing()
    module = execute("import late.nothing\ndef greet(): return late.greet('you')", "allennlp.other")
    with pytest.raises(ImportError, match="late.nothing"):
        module.greet()


def test_a_missing_library_is_an_import_error_at_once(execute, monkeypatch):
    monkeypatch.setitem(deferral.LIBRARIES, "never_written", 0.1)
    with pytest.raises(ModuleNotFoundError, match="never_written"):
        execute("import never_written")


def test_other_code_imports_eagerly(execute):
    module = execute("import late", "some_module")
    assert module.late is sys.modules["late"]
    del sys.modules["late"]
    module = execute("def load():\n    import late\n    return late")
    with deferral.deferring():
        assert module.load() is sys.modules["late"]


def test_the_import_statement_is_pythons_own_afterwards(execute):
    assert "deferr" not in __import__.__name__
    with pytest.raises(ZeroDivisionError):
        execute("import late; 1 / 0")
    assert __builtins__["__import__"].__module__ == "builtins"


def test_allennlp_imports_none_of_the_libraries():
    """Runs in a fresh process, from the interpreter's start."""
    import subprocess

    code = f"""
import sys
from allennlp.common.plugins import import_plugins
import_plugins()
late = [*{list(deferral.LIBRARIES)}, "matplotlib", "numba", "torch._dynamo"]
assert not [name for name in late if name in sys.modules], [n for n in late if n in sys.modules]
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_all_deferred_names_exist_and_the_registry_is_the_same(succeed_fresh):
    deferred = succeed_fresh(
        ALL_MODULES
        + """
import_plugins()
held = [
    (module, name, value)
    for module in list(sys.modules.values())
    if module.__name__.startswith("allennlp")
    for name, value in vars(module).items()
    if isinstance(value, deferral._Deferred)
]
assert len(held) > 30
for module, name, value in held:
    origin = vars(value)["_origin"]
    assert not hasattr(value, "never_written")
    assert value == deferral._imported(*origin), name
print(sorted(registered().items()))
"""
    )
    at_once = succeed_fresh(
        # The patches of these two give AllenNLP names by their stand-ins.
        """
from tagger_compat import deferral
for library in set(deferral.LIBRARIES) - {"huggingface_hub", "transformers"}:
    del deferral.LIBRARIES[library]
"""
        + ALL_MODULES
        + "import_plugins()\nprint(sorted(registered().items()))"
    )
    assert deferred.splitlines()[-1] == at_once.splitlines()[-1]
    assert "('Tokenizer', 'spacy')" in deferred


THEIRS = """
import nltk, sklearn, spacy, transformers
from spacy.language import Language
from transformers import AutoModel, PreTrainedTokenizerBase
"""
ALLENNLPS = "import allennlp.commands, allennlp.common.util\n"
ARE_REAL = """
import sys
assert spacy is sys.modules["spacy"] and type(spacy).__name__ == "module"
assert isinstance(Language, type) and isinstance(PreTrainedTokenizerBase, type)
assert "tagger" not in type(transformers).__module__ and transformers.AutoModel is AutoModel
assert isinstance(spacy.blank("en"), allennlp.common.util.SpacyModelType)
"""
#: Code that must work in a process without any imports so far.
WORKS = {
    "users get the real libraries before": THEIRS + ALLENNLPS + ARE_REAL,
    "users get the real libraries after": ALLENNLPS + THEIRS + ARE_REAL,
    "components that use the libraries": """
import numpy, spacy, torch
from allennlp.common import Params
from allennlp.data.tokenizers import Tokenizer
from allennlp.fairness.bias_mitigators import HardBiasMitigator
from allennlp.training.learning_rate_schedulers import LearningRateScheduler
from allennlp.training.metrics import Auc, Metric

spacy.load = lambda *args, **kwargs: spacy.blank("en")  # there is no model to load
tokenizer = Tokenizer.from_params(Params({"type": "spacy"}))
assert [token.text for token in tokenizer.tokenize("Hello, you!")] == ["Hello", ",", "you", "!"]

auc = Metric.from_params(Params({"type": "auc"}))
auc(torch.tensor([0.2, 0.9]), torch.tensor([0, 1]))
assert auc.get_metric() == 1.0
spearman = Metric.from_params(Params({"type": "spearman_correlation"}))
spearman(torch.tensor([0.2, 0.9, 1.0]), torch.tensor([1.0, 2.0, 3.0]))
assert abs(spearman.get_metric() - 1) < 1e-6

optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)
params = Params({"type": "constant_with_warmup", "num_warmup_steps": 2})
scheduler = LearningRateScheduler.from_params(params, optimizer=optimizer)
assert optimizer.param_groups[0]["lr"] == 0.0

try:
    Tokenizer.from_params(Params({"type": "pretrained_transformer", "model_name": "/no/such/model"}))
except OSError as error:
    assert "/no/such/model" in str(error)
else:
    raise AssertionError
""",
    "a function that is kept and compared equals itself": """
import copy, pickle
import torch
from allennlp.fairness.fairness_metrics import Independence

metric = pickle.loads(pickle.dumps(copy.deepcopy(Independence(4, 2, "wasserstein"))))
for _ in range(2):
    metric(torch.tensor([0, 1, 2, 3]), torch.tensor([0, 1, 0, 1]))
assert sorted(metric.get_metric()) == [0, 1], metric.get_metric()
""",
    "threads import at once": """
import importlib, sys, threading
import tagger

start = threading.Barrier(6)
errors = []

def load(name, path):
    start.wait()
    try:
        found = importlib.import_module(name)
        for part in path.split("."):
            found = getattr(found, part)
        assert not type(found).__module__.startswith("tagger_compat"), found
    except BaseException as error:
        errors.append((name, repr(error)))

def at_once(function, calls):
    threads = [threading.Thread(target=function, args=call) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not errors, errors

wanted = [
    ("allennlp.commands", "main"),
    ("nltk", "Tree"),
    ("scipy.stats", "spearmanr"),
    ("sklearn.metrics", "roc_curve"),
    ("spacy", "language.Language"),
    ("transformers", "AutoModel"),
]
at_once(load, wanted)

from allennlp.models import Model
from allennlp.common.util import get_spacy_model

def use(name):
    start.wait()
    try:
        Model.by_name(name)
    except BaseException as error:
        errors.append(repr(error))

at_once(use, [("sequence_tagger",)] * 6)
assert __import__.__module__ == "builtins"
""",
}


@pytest.mark.parametrize("title", WORKS)
def test_code_that_needs_the_libraries_works(title, succeed_fresh):
    succeed_fresh(WORKS[title])


@pytest.mark.parametrize("first", ["import transformers; transformers.Adafactor", ""])
def test_adafactor_derives_from_that_of_transformers(first, succeed_fresh):
    succeed_fresh(
        first
        + """
import copy, pickle
import torch
from allennlp.common import Params
from allennlp.training.optimizers import HuggingfaceAdafactor, Optimizer

class Own(HuggingfaceAdafactor):
    pass

parameter = torch.nn.Parameter(torch.ones(2, 2))
params = Params({"type": "huggingface_adafactor"})
optimizer = Optimizer.from_params(params, model_parameters=[("weight", parameter)])
import transformers
assert isinstance(optimizer, transformers.Adafactor) and isinstance(optimizer, Optimizer)
assert issubclass(Own, transformers.Adafactor)
parameter.sum().backward()
Own([("weight", parameter)]).step()
optimizer.step()
assert parameter.max() < 1
open("optimizer", "wb").write(pickle.dumps(optimizer))
"""
    )
    succeed_fresh(
        """
import pickle
import allennlp.training.optimizers as optimizers
optimizer = pickle.load(open("optimizer", "rb"))
assert type(optimizer).step is not optimizers.Optimizer.step
optimizer.step()
"""
    )


def test_allennlp_uses_deferred_names_only_in_ways_that_stand_ins_support():
    import allennlp

    uses = uses_of(Path(allennlp.__file__).parent, deferral.LIBRARIES)
    assert len(uses) > 30
    answered = {
        "annotates",
        "asked for an attribute",
        "asked for an item",
        "called",
        "checked by isinstance",
    }
    others = {name: kinds - answered for name, kinds in uses.items() if kinds - answered}
    # The optimizer patch gives `Adafactor` and `AdamW` separate base classes. A metric stores a function
    # and compares it.
    assert others.pop(("transformers", None)) == {"subclassed"}
    assert others.keys() == {("scipy.stats", "wasserstein_distance")}


def test_a_use_that_stand_ins_do_not_support_is_found(tmp_path):
    code = """
import late
from late import a, b, c, d, e

class Own(a, late.Base): ...

def use(x: c) -> None:
    kept = [b]
    assert isinstance(x, c) and d[0] is e
    if x == e: ...
"""
    (tmp_path / "module.py").write_text(code)
    uses = uses_of(tmp_path, {"late"})
    assert uses[("late", None)] == uses[("late", "a")] == {"subclassed"}
    assert uses[("late", "b")] == {"kept = [b]"}
    assert uses[("late", "c")] == {"annotates", "checked by isinstance"}
    assert uses[("late", "d")] == {"asked for an item"}
    assert uses[("late", "e")] == {"assert isinstance(x, c) and d[0] is e", "if x == e:"}
