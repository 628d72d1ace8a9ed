"""Values inside and outside the ranges of template settings, derived from their declarations."""

import json
from functools import cache

from allennlp.common import Params
from allennlp.common.params import parse_overrides

from tests.configs import TRANSFORMER

#: By template, the required settings.
REQUIRED = {
    "template": {"source_encoding": "BIO"},
    "transformer": {"source_encoding": "BIO", "transformer": TRANSFORMER},
}
FILES = {"train_data_path": "data/toy/train.txt", "validation_data_path": "data/toy/dev.txt"}
#: By the type of a setting, values of other types.
STRANGE = {
    "number": ["7", True, [], {}],
    "whole": ["7", True, [], {}],
    "boolean": ["true", 0, 1, []],
    "text": ["", 7, True, ["a"], {}],
    "one_of": ["", "bioul", 7, True, []],
    "list": ["a", 7, True, {}],
    "part": ["", 7, True, []],
}
#: A small step compared with the width of any range.
STEP = 1e-6


def jsonnet_of(template, settings):
    """The text of a config with these settings and the required ones."""
    given = {**REQUIRED[template], **settings}
    hidden = ", ".join(f"{name}:: {json.dumps(value)}" for name, value in given.items())
    files = ", ".join(f"{name}: {json.dumps(value)}" for name, value in FILES.items())
    return f"(import 'tagger/training/{template}.libsonnet') + {{ {hidden}, {files} }}"


def config_of(template, settings):
    """The config with these settings and the required ones."""
    return Params(parse_overrides(jsonnet_of(template, settings)))


@cache
def declarations(template):
    """The declarations of a template's settings, by name."""
    return parse_overrides(f"({jsonnet_of(template, {})}).settings")


def all_settings():
    """All pairs of a template and one of its settings."""
    return [(template, name) for template in REQUIRED for name in declarations(template)]


def values_outside(declared):
    """Values outside the range of a setting."""
    values = list(STRANGE[declared["kind"]])
    if not declared.get("nullable"):
        values.append(None)
    if declared["kind"] == "list":
        values += [[value] for value in values_outside(declared["items"])]
        values += [] if declared["may_be_empty"] else [[]]
    step = 1 if declared["kind"] == "whole" else STEP
    if declared["kind"] == "whole":
        values.append(declared["least"] + 0.5)
    values += [
        value
        for limit, beyond in (("least", -step), ("above", 0), ("most", step), ("below", 0))
        if declared.get(limit) is not None
        for value in (declared[limit] + beyond, declared[limit] + 1e9 * beyond)
    ]
    # Without an upper limit, all large numbers are valid.
    is_bounded = any(declared.get(limit) is not None for limit in ("most", "below"))
    return [*values, 1e30] if is_bounded else values


def values_at_borders(declared):
    """The lowest and highest values of a setting. For text settings, all choices."""
    values = [None] if declared.get("nullable") else []
    values += {"boolean": [False, True], "one_of": declared.get("choices")}.get(
        declared["kind"]
    ) or []
    if declared["kind"] == "list":
        values += [[value] for value in values_at_borders(declared["items"])]
        values += [[]] if declared["may_be_empty"] else []
    return values + [
        declared[limit] + inward
        for limit, inward in (("least", 0), ("above", STEP), ("most", 0), ("below", -STEP))
        if declared.get(limit) is not None
    ]
