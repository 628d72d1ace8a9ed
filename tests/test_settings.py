"""The settings of the templates have ranges."""

import json

import pytest
from allennlp.common.params import parse_overrides

from tests.configs import build_model
from tests.settings import (
    REQUIRED,
    all_settings,
    config_of,
    declarations,
    jsonnet_of,
    values_at_borders,
    values_outside,
)

#: Sizes up to which a test builds a model.
MANAGEABLE = 20


def allowed(template, values):
    """Returns which values are in range, by setting."""
    return parse_overrides(
        f"local settings = ({jsonnet_of(template, {})}).settings; local values = {json.dumps(values)};"
        "std.mapWithKey(function(name, each) std.map(settings[name].allows, each), values)"
    )


@pytest.mark.parametrize("template", REQUIRED)
def test_ranges_have_borders(template):
    declared = declarations(template)
    outside = {name: values_outside(each) for name, each in declared.items()}
    within = {name: values_at_borders(each) for name, each in declared.items()}
    assert allowed(template, outside) == {
        name: [False] * len(values) for name, values in outside.items()
    }
    assert allowed(template, within) == {
        name: [True] * len(values) for name, values in within.items()
    }


@pytest.mark.parametrize(("template", "name"), all_settings())
def test_a_value_out_of_range_is_refused_by_name(template, name):
    declared = declarations(template)[name]
    value = values_outside(declared)[-1]
    with pytest.raises(RuntimeError) as raised:
        config_of(template, {name: value})
    assert f"`{name}::` must be {declared['range']}; got " in str(raised.value)


@pytest.mark.parametrize("which", [0, -1], ids=["first", "last"])
@pytest.mark.parametrize("template", REQUIRED)
def test_a_model_can_be_built_at_the_borders_of_all_ranges(template, which, tmp_path):
    settings = {}
    for name, declared in declarations(template).items():
        values = [each for each in values_at_borders(declared) if each is not None]
        if values and declared["kind"] not in ("list", "one_of"):
            value = values[which]
            is_large = isinstance(value, int) and value > MANAGEABLE
            settings[name] = MANAGEABLE if is_large else value
    settings.pop("num_frozen_layers", None)  # The small transformer has fewer layers.
    model = build_model(config_of(template, settings), tmp_path)
    assert model.tag_encoding == "BIOUL"


@pytest.mark.parametrize(
    ("setting", "value", "said"),
    [
        ("grad_norm", -5, "a number above 0, or null; got -5"),
        ("average_decay", 2, "a number of at least 0 and below 1; got 2"),
        ("learning_rate", 1e30, "a number above 0 and at most 1; got 1" + "0" * 30),
        ("character_dim", 0, "a whole number from 1 to 65536; got 0"),
        (
            "character_widths",
            [0],
            "a list of at least one item, each a whole number from 1 to 100; got [0]",
        ),
        ("lexicons", "drugs", 'a list, each a text that is not empty; got "drugs"'),
        ("lowercase_words", "x" * 99, 'true or false; got "' + "x" * 56 + "...\n"),
    ],
)
def test_an_error_says_what_a_setting_must_be(setting, value, said):
    with pytest.raises(RuntimeError) as raised:
        config_of("template", {setting: value})
    assert f"`{setting}::` must be {said}" in str(raised.value)
