"""A reference for configs: registered components and template settings, with their meanings."""

import inspect
import json
import re
from dataclasses import dataclass
from typing import Any, Dict, List, Optional

import _jsonnet
import docstring_parser
from allennlp.common import Lazy, Registrable
from allennlp.common.from_params import infer_constructor_params

#: The templates of configs.
TEMPLATES = ("template.libsonnet", "transformer.libsonnet")
#: Arguments that AllenNLP supplies.
_SUPPLIED = ("self", "serialization_dir")


@dataclass(frozen=True)
class Key:
    """A key that a component takes.

    Type and default are spelled as in Python; for a template's setting, the type is a range in words and
    the default is JSON. A required key has the default None.
    """

    name: str
    type: str
    default: Optional[str]
    meaning: str


@dataclass(frozen=True)
class Component:
    """A registered component or a template: its `type`, registry, path, description and keys."""

    name: str
    kind: str
    path: str
    description: str
    keys: List[Key]


def template(name: str) -> Component:
    """Returns the settings of one of `TEMPLATES`."""
    # The template asserts that required settings are given.
    required = "{ source_encoding:: 'BIO', transformer:: 'folder' }"
    snippet = f"((import 'tagger/training/{name}') + {required}).settings"
    declared = json.loads(_jsonnet.evaluate_snippet(name, snippet))
    keys = [
        Key(
            setting,
            each["range"],
            None if each.get("required") else json.dumps(each["default"]),
            each["about"],
        )
        for setting, each in declared.items()
    ]
    about = "A config imports it, and overrides settings as fields with two colons."
    return Component(name, "template", f"tagger/training/{name}", about, keys)


def components(package: str = "tagger") -> List[Component]:
    """Returns the registered components of a package, sorted by kind and name."""
    found = [
        _component(base.__name__, name, subclass, constructor)
        for base, registered in Registrable._registry.items()
        if base.__name__ != "Subcommand"
        for name, (subclass, constructor) in registered.items()
        if subclass.__module__.split(".")[0] == package
    ]
    return sorted(found, key=lambda each: (each.kind, each.name))


def _component(kind: str, name: str, subclass: Any, constructor: Optional[str]) -> Component:
    path = f"{subclass.__module__}.{subclass.__qualname__}"
    meanings = _meanings(subclass, constructor)
    parameters = infer_constructor_params(subclass, getattr(subclass, constructor or "__init__"))
    keys = [
        _key(each, meanings.get(each.name, ""))
        for each in parameters.values()
        if each.kind is not inspect.Parameter.VAR_KEYWORD and each.name not in _SUPPLIED
    ]
    description = _parsed(subclass).description or ""
    return Component(name, kind, path, description, sorted(keys, key=lambda key: bool(key.default)))


def _key(parameter: inspect.Parameter, meaning: str) -> Key:
    name, default, annotation = parameter.name, parameter.default, parameter.annotation
    shown = "" if annotation is parameter.empty else inspect.formatannotation(annotation)
    # `typing.Optional[tagger.modules.TagWeighting]` becomes `Optional[TagWeighting]`.
    type_ = re.sub(r"\b(?:\w+\.)+", "", shown)
    return Key(name, type_, None if default is parameter.empty else _spelled(default), meaning)


def _spelled(default: Any) -> str:
    """Spells a default in Python, or names the component that is built by default."""
    built = getattr(default, "_constructor", None) if isinstance(default, Lazy) else None
    return repr(getattr(built, "default_implementation", None) or built or default)


def _meanings(subclass: Any, constructor: Optional[str]) -> Dict[str, str]:
    """Collects each argument's description from the docstrings of a class, its bases and constructor."""
    sources = [*reversed(subclass.__mro__), getattr(subclass, constructor or "", None)]
    return {
        name: " ".join(each.description.split())
        for source in sources
        for each in _parsed(source).params
        if each.description
        for name in each.arg_name.split(", ")
    }


def _parsed(documented: Any) -> docstring_parser.Docstring:
    """Parses the docstring of a class or function, without inherited ones."""
    text = inspect.cleandoc(documented.__doc__ or "")
    # AllenNLP uses Markdown headings; underlining them gives NumPy style, which the parser knows.
    headed = re.sub(
        r"^# (\w+)$", lambda found: f"{found[1]}\n{'-' * len(found[1])}", text, flags=re.M
    )
    return docstring_parser.parse(headed)
