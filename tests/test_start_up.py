"""What `import tagger` imports, and what it registers with AllenNLP."""

import os
import subprocess
import sys

import pytest

from tests.conftest import ROOT

WITHOUT_ALLENNLP = """
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "allennlp":
            raise ModuleNotFoundError("No module named 'allennlp'", name="allennlp")

import importlib.util
find_spec = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: (
    None if name == "allennlp" else find_spec(name, package)
)
sys.meta_path.insert(0, Refuse())
"""
TRAIN_A_CRF = """
import torch
from tagger.modules import ConditionalRandomField, TagWeighting

weighting = TagWeighting.by_name("chain")(tag_weights=[1.0, 2.0, 0.5])
crf = ConditionalRandomField(num_tags=3, weighting=weighting)
emissions, tags = torch.randn(2, 4, 3), torch.tensor([[0, 1, 2, 0], [1, 1, 0, 0]])
(-crf(emissions, tags)).backward()
assert crf.transitions.grad.abs().sum() > 0
assert len(crf.viterbi_tags(emissions)) == 2
"""


def run_cold(code, **environment):
    """Runs code in a fresh process, from the interpreter's start."""
    settings = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**settings, **environment},
        cwd=ROOT,
        capture_output=True,
        text=True,
    )


def test_the_crf_imports_pytorch_and_little_more():
    done = run_cold(
        """
import sys
import tagger.linear_chain
late = ("allennlp", "numba", "scipy", "spacy", "torch._dynamo", "transformers", "triton")
assert not [name for name in late if name in sys.modules], [n for n in late if n in sys.modules]
from tagger.modules import ConditionalRandomField, TagWeighting
TagWeighting.by_name("chain")(tag_weights=[1.0, 2.0])
assert not [name for name in late[1:] if name in sys.modules], [n for n in late if n in sys.modules]
assert "allennlp.models" not in sys.modules
"""
    )
    assert done.returncode == 0, done.stderr


def test_importing_tagger_imports_neither_pytorch_nor_allennlp():
    done = run_cold("import sys, tagger; print({'torch', 'allennlp', 'numpy'} & set(sys.modules))")
    assert done.stdout == "set()\n", done.stderr


def test_spacy_starts_without_its_command_line_which_may_be_imported_later():
    done = run_cold(
        """
import sys
from tagger.common.word_splitter import WordSplitter
assert WordSplitter("en")("isn't") == (["is", "n't"], [0, 2])
assert not [name for name in sys.modules if name.startswith("spacy.cli")]
import spacy.cli
assert callable(spacy.cli.info)
"""
    )
    assert done.returncode == 0, done.stderr


def test_the_crf_works_without_allennlp(succeed_fresh):
    succeed_fresh(WITHOUT_ALLENNLP + TRAIN_A_CRF + "assert 'allennlp' not in sys.modules")


def test_the_crf_of_transformers_works_without_allennlp(succeed_fresh, tmp_path):
    succeed_fresh(
        WITHOUT_ALLENNLP
        + """
from tagger.integrations.huggingface import CrfForTokenClassification
import torch
from transformers import BertConfig, BertModel

sizes = {"num_hidden_layers": 1, "num_attention_heads": 1}
BertModel(BertConfig(vocab_size=9, hidden_size=4, intermediate_size=4, **sizes)).save_pretrained("bert")
model = CrfForTokenClassification.from_backbone(
    "bert", ["O", "B-PER"], weighting={"type": "chain", "label_weights": {"PER": 2}}
)
labels = torch.tensor([[-100, 1, 0]])
model(input_ids=torch.tensor([[1, 2, 3]]), labels=labels).loss.backward()
assert model.crf.transitions.grad.abs().sum() > 0
assert "allennlp" not in __import__("sys").modules
"""
    )


def test_every_weighting_and_rule_is_known_without_allennlp(succeed_fresh):
    from tagger.modules import TagWeighting, WeightRule

    succeed_fresh(
        WITHOUT_ALLENNLP
        + f"""
from tagger.modules import TagWeighting, WeightRule
assert sorted(TagWeighting.list_available()) == {sorted(TagWeighting.list_available())}
assert sorted(WeightRule.list_available()) == {sorted(WeightRule.list_available())}
rule = WeightRule.by_name("balanced")()
weighting = TagWeighting.by_name("emission")(weight_rule=rule, tag_counts=[6, 3, 0])
assert weighting.tag_weights.tolist() == [0.75, 1.5, 1.0]
"""
    )


def test_errors_without_allennlp_have_clear_messages(run_fresh):
    outcome = run_fresh(
        WITHOUT_ALLENNLP
        + """
from tagger.modules import ConditionalRandomField, TagWeighting
for make in (
    lambda: TagWeighting.by_name("chian"),
    lambda: ConditionalRandomField(9, weighting="chain"),
    lambda: TagWeighting.by_name("chain")(),
):
    try:
        make()
    except Exception as error:
        print(type(error).__name__, error)
"""
    )
    lines = outcome.output.splitlines()
    assert lines[0].startswith(
        "ConfigurationError `chian` is not a registered name of a `TagWeighting`"
    )
    assert lines[0].endswith("did you mean `chain`?")
    assert lines[1].startswith("ConfigurationError `weighting` must be a `TagWeighting` or `None`")
    assert lines[2].startswith("ConfigurationError weights need exactly one of")


def test_parts_that_need_allennlp_say_how_to_install_it(run_fresh):
    parts = [
        "import tagger; tagger.load('model.tar.gz')",
        "import tagger; tagger.from_hugging_face",
        "import tagger; tagger.models",
        "from tagger.models import SequenceTagger",
        "import tagger.data",
        "from tagger.modules import CrfHead",
        "import tagger.modules.encoders",
    ]
    outcome = run_fresh(
        WITHOUT_ALLENNLP
        + f"""
for code in {parts}:
    try:
        exec(code)
    except ImportError as error:
        print(error)
"""
    )
    assert outcome.output.splitlines() == len(parts) * [
        "this part of tagger needs AllenNLP, but its dependency pins are outdated; install it without "
        "dependencies: pip install --no-deps allennlp==2.10.1"
    ]


KNOWN = """
from allennlp.common import Params
from allennlp.data import DatasetReader
from allennlp.models import Model
assert Model.by_name("sequence_tagger").__module__ == "tagger.models.sequence_tagger"
assert isinstance(DatasetReader.from_params(Params({"type": "column"})), DatasetReader)
"""


@pytest.mark.parametrize(
    "code",
    [
        "import tagger\n" + KNOWN,
        "import allennlp.commands, tagger\n" + KNOWN,
        "import tagger.linear_chain, allennlp.commands\n" + KNOWN,
        "from allennlp.models import Model\nimport tagger\nassert 'sequence_tagger' in "
        "Model.list_available()\n" + KNOWN,
        "from allennlp.common.util import import_module_and_submodules as load\nload('tagger')\n"
        + KNOWN,
        "from allennlp.common.plugins import import_plugins\nimport_plugins()\n" + KNOWN,
        "import tagger\nfrom tagger.modules import TagWeighting\nTagWeighting.by_name('chain')\n"
        + KNOWN,
    ],
)
def test_components_are_known_in_any_order_of_imports(code, succeed_fresh):
    succeed_fresh(code)


def test_without_tagger_its_components_are_unknown(run_fresh):
    outcome = run_fresh(KNOWN)
    assert "'sequence_tagger' is not a registered name for 'Model'" in outcome.output


def test_a_config_names_heads_and_weightings(succeed_fresh):
    succeed_fresh(
        """
import tagger
from allennlp.common import Params
from allennlp.data import Vocabulary
from tagger.modules import TaggingHead

vocab = Vocabulary({"labels": {"O": 7, "B-PER": 2, "I-PER": 1}})
weighting = {"type": "chain", "label_weights": {"PER": 2.0}}
params = Params({"type": "crf", "weighting": weighting})
head = TaggingHead.from_params(params, vocab=vocab, tag_encoding="BIO", input_dim=4)
assert head.crf.weighting.tag_weights.tolist() == [1, 2, 2], head
try:
    TaggingHead.from_params(Params({"type": "cfr"}), vocab=vocab)
except Exception as error:
    assert "cfr" in str(error) and "crf" in str(error), error
"""
    )


def test_other_classes_may_use_one_of_our_names(run_fresh):
    outcome = run_fresh(
        """
import tagger
from allennlp.models import Model

@Model.register("sequence_tagger", exist_ok=True)
class Own(Model):
    pass

assert Model.by_name("sequence_tagger") is Own
import tagger.models
assert Model.by_name("sequence_tagger") is Own
try:
    Model.register("document_classifier")(Own)
except Exception as error:
    assert "already in use for DocumentClassifier" in str(error), error
else:
    raise AssertionError
"""
    )
    assert outcome.succeeded, outcome.output


def test_every_name_in_all_exists():
    import tagger
    import tagger.modules

    for package in (tagger, tagger.modules, tagger.linear_chain):
        for name in package.__all__:
            assert getattr(package, name) is not None
            assert name in dir(package)
    assert tagger.modules.lstm.bidirectional_lstm  # a module that is not in `__all__`
    with pytest.raises(AttributeError, match="module 'tagger' has no attribute 'lod'"):
        tagger.lod  # noqa: B018
    with pytest.raises(AttributeError, match="module 'tagger.modules' has no attribute 'CRF'"):
        tagger.modules.CRF  # noqa: B018


@pytest.mark.parametrize("first", ["tagger", "allennlp"])
@pytest.mark.parametrize(("users", "expected"), [("", "PASSIVE"), ("ACTIVE", "ACTIVE")])
def test_waiting_threads_sleep_unless_the_user_decides(first, users, expected):
    # A fake `torch` that prints the settings when it is imported. `allennlp` then fails.
    code = f"""
import os, sys
{"os.environ.pop('OMP_WAIT_POLICY', None)" if not users else ""}

class Watch:
    def find_spec(self, name, path=None, target=None):
        if name == "torch":
            print(os.environ.get("OMP_WAIT_POLICY"))
            sys.stdout.flush()
            os._exit(0)

assert os.environ.get("OMP_WAIT_POLICY") == {users or None!r}
import tagger_compat
tagger_compat.install()
sys.meta_path.insert(0, Watch())
import {first}
import torch
"""
    done = run_cold(code, **({"OMP_WAIT_POLICY": users} if users else {}))
    assert done.stdout == f"{expected}\n", done.stderr


def test_a_users_setting_for_products_of_matrices_stays():
    done = run_cold("import os, tagger; print(os.environ['MKL_CBWR'])", MKL_CBWR="AVX2")
    assert done.stdout == "AVX2\n", done.stderr


def test_products_of_matrices_do_not_depend_on_the_number_of_rows():
    done = run_cold(
        """
import os
os.environ.pop("MKL_CBWR", None)
import tagger
import torch
from tagger.modules.linear import linear
torch.set_grad_enabled(False)
def is_equal(size, out):
    inputs, weights = torch.randn(200, size), torch.randn(out, size)
    whole = linear(inputs, weights)
    return all(torch.equal(linear(inputs[:n], weights), whole[:n]) for n in range(1, 200))
sizes = ((1536, 384), (400, 9), (30, 20), (3, 1))
print(os.environ["MKL_CBWR"], all(is_equal(*each) for each in sizes))
"""
    )
    assert done.stdout == "AUTO,STRICT True\n", done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="needs a C++ compiler")
def test_torch_compile_imported_later_does_not_trace_the_chain():
    done = run_cold(
        """
import sys
import torch
from tagger.linear_chain import ChainScores, log_likelihood
assert "torch._dynamo" not in sys.modules
scores = ChainScores(torch.randn(2, 3, 4), torch.randn(4, 4), torch.zeros(4), torch.zeros(4))
tags = torch.tensor([[0, 1, 2], [3, 3, 0]])
loss = lambda emissions: -log_likelihood(scores._replace(emissions=emissions * 2), tags).sum()
compiled = torch.compile(loss, backend="eager")
torch.testing.assert_close(compiled(scores.emissions), loss(scores.emissions))
untraced = next(
    cell.cell_contents
    for cell in log_likelihood.__closure__
    if getattr(cell.cell_contents, "_torchdynamo_disable", False)
)
"""
    )
    assert done.returncode == 0, done.stderr


def test_the_garbage_collector_works_again_after_an_import():
    import gc

    from tagger.common.lazy_names import collections_paused

    for begin in (gc.enable, gc.disable):
        begin()
        expected = gc.isenabled()
        with collections_paused():
            assert not gc.isenabled()
        with pytest.raises(ImportError), collections_paused():
            raise ImportError
        assert gc.isenabled() == expected
    gc.enable()
