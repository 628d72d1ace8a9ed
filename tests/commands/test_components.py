"""Our components are imported when their names are asked for."""

import pkgutil
from importlib import import_module

from allennlp.common.registrable import Registrable

import tagger
from tagger.commands.components import MODULES

FLOORS = ("data", "metrics", "models", "modules", "predictors", "training", "transformers")


def test_the_table_of_components_is_what_importing_everything_registers():
    for floor in FLOORS:
        package = import_module(f"tagger.{floor}")
        for each in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            import_module(each.name)
    registered = {
        (base.__name__, name): found.__module__
        for base, names in Registrable._registry.items()
        for name, (found, _) in names.items()
        if found.__module__.split(".")[0] == "tagger" and found.__module__.split(".")[1] in FLOORS
    }
    table = {(kind, name): module for kind, own in MODULES.items() for name, module in own.items()}
    assert registered == table
    assert tagger.models.SequenceTagger.__module__ == table["Model", "sequence_tagger"]


LOADS = """
import sys, tagger
from allennlp.common import Params
from allennlp.models import Model
from allennlp.data import DatasetReader, Tokenizer
from allennlp.training import Trainer
"""
OURS = "[name for name in sys.modules if name.startswith('tagger.') and {part!r} in name]"


def test_a_name_imports_its_component(succeed_fresh):
    succeed_fresh(
        LOADS
        + f"""
# Lists have all names and load nothing.
assert {{'sequence_tagger', 'document_classifier'}} <= {{*Model.list_available()}}
assert not {OURS.format(part="models")}, {OURS.format(part="models")}
# A name loads its component and no other.
Tokenizer.from_params(Params({{'type': 'words'}}))
assert not {OURS.format(part="models")}, {OURS.format(part="models")}
assert Trainer.by_name('gradient_descent').__self__.__name__ == 'RecoverableTrainer'
assert not {OURS.format(part="token_embedders")}
# A kind of ours has its default first.
from tagger.modules.heads.tagging_head import TaggingHead
assert sorted(TaggingHead.list_available()) == ['crf', 'label_chains', 'sigmoid', 'softmax']
# Paths of classes, of modules and of packages, name components too.
assert Model.by_name('tagger.models.SequenceTagger') is Model.by_name('sequence_tagger')
"""
    )


def test_a_wrong_name_suggests_one_that_is_not_yet_imported(run_fresh):
    outcome = run_fresh(LOADS + "DatasetReader.by_name('colum')")
    assert "'colum' is not a registered name for 'DatasetReader', did you mean 'column'?" in (
        outcome.output
    )
