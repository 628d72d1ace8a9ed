import pytest
from allennlp.common import FromParams, Lazy, Params, Registrable
from allennlp.common.checks import ConfigurationError
from allennlp.training.callbacks import TrainerCallback
from allennlp.training.metrics import Metric

from tagger.renamed import register_renamed


class Drink(Registrable):
    pass


@Drink.register("tea")
class Tea(Drink):
    def __init__(self, sugar: int = 0, milk: bool = False) -> None:
        self.content = (sugar, milk)


@Drink.register("strong_coffee", constructor="strong")
class Coffee(Drink):
    def __init__(self, spoons: int) -> None:
        self.spoons = spoons

    @classmethod
    def strong(cls, cups: int) -> "Coffee":
        return cls(3 * cups)


register_renamed(Drink, old="chai", new="tea")
register_renamed(Drink, old="mocha", new="strong_coffee")


class Guest(FromParams):
    def __init__(self, drink: Lazy[Drink], name: str = "") -> None:
        self.drink = drink.construct(milk=True)


def test_an_old_registered_name_builds_the_component_and_names_the_new_one():
    with pytest.warns(FutureWarning, match="Drink 'chai' has a new name; write `type: 'tea'`"):
        drink = Drink.from_params(Params({"type": "chai", "sugar": 2}))
    assert isinstance(drink, Tea)
    assert drink.content == (2, False)


def test_an_old_name_works_in_python_and_where_construction_waits():
    with pytest.warns(FutureWarning, match="chai"):
        assert Drink.by_name("chai")(sugar=1).content == (1, False)
    with pytest.warns(FutureWarning, match="chai"):
        assert Guest.from_params(Params({"drink": {"type": "chai"}})).drink.content == (0, True)


def test_an_old_name_calls_the_constructor_of_the_new_one():
    with pytest.warns(FutureWarning, match="strong_coffee"):
        assert Drink.from_params(Params({"type": "mocha", "cups": 2})).spoons == 6


def test_the_new_name_does_not_warn():
    assert Drink.from_params(Params({"type": "tea", "sugar": 2})).content == (2, False)
    assert Drink.from_params(Params({"type": "strong_coffee", "cups": 1})).spoons == 3


@pytest.mark.parametrize(
    ("base", "old", "new"),
    [
        (Metric, "multi_label_scores", "multi_label_metrics"),
        (Metric, "tag_scores", "tag_metrics"),
        (TrainerCallback, "show_scores", "show_metrics"),
    ],
)
def test_the_old_names_of_this_project_are_known(base, old, new):
    assert base.resolve_class_name(old)[0] is base.by_name(new)
    warns = pytest.warns(FutureWarning, match=f"{old!r} has a new name; write `type: {new!r}`")
    with warns, pytest.raises(TypeError, match="missing 1 required positional argument"):
        base.by_name(old)()


def test_a_wrong_argument_under_an_old_name_is_refused_as_under_the_new_one():
    with pytest.raises(ConfigurationError, match="Extra parameters passed to Tea"):
        Drink.from_params(Params({"type": "chai", "lemon": 1}))


def test_renaming_to_a_name_that_is_not_registered_is_refused():
    with pytest.raises(ConfigurationError, match="'water' is not a registered name"):
        register_renamed(Drink, old="h2o", new="water")
    with pytest.raises(ConfigurationError, match="Cannot register tea"):
        register_renamed(Drink, old="tea", new="strong_coffee")
