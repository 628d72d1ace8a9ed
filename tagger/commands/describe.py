"""The subcommand `describe`: prints the keys that a config component takes, and their meanings.

allennlp describe
allennlp describe crf
allennlp describe template.libsonnet
"""

import argparse
import textwrap
from itertools import groupby
from typing import TYPE_CHECKING, List, Optional

from allennlp.commands.subcommand import Subcommand

from tagger.commands.command import Command
from tagger.common.console import say

if TYPE_CHECKING:
    from tagger.common.component_reference import Component


@Subcommand.register("describe")
class Describe(Command):
    """Describe a config component and its keys.

    Print what a component does and which keys it takes, with types, defaults and meanings. NAME is
    the `type` of a component, such as crf; a kind of component, such as TagWeighting; or a template,
    such as template.libsonnet. Without NAME, all components are listed.
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "name", nargs="?", metavar="NAME", help="a component or template; by default, all"
        )

    def run(self, args: argparse.Namespace) -> None:
        say(describe(args.name))


def describe(name: Optional[str] = None) -> str:
    """Returns the reference for a component, a kind of component or a template; by default a list."""
    from allennlp.common.checks import ConfigurationError

    from tagger.commands.components import import_all
    from tagger.common.component_reference import TEMPLATES, components, template
    from tagger.common.did_you_mean import did_you_mean

    if name in TEMPLATES:
        return _shown(template(name))
    import_all()
    ours = components()
    if name is None:
        return f"{_listed(ours)}\ntemplate: {', '.join(TEMPLATES)}"
    if of_kind := [each for each in ours if each.kind == name]:
        return _listed(of_kind)
    named = [each for each in [*ours, *components("allennlp")] if each.name == name]
    if not named:
        known = [*TEMPLATES, *(each.name for each in ours), *(each.kind for each in ours)]
        raise ConfigurationError(
            f"`{name}` is no component; `allennlp describe` lists them{did_you_mean(name, known)}"
        )
    return "\n\n".join(map(_shown, named))


def _listed(components: "List[Component]") -> str:
    return "\n".join(
        f"{kind}: {', '.join(each.name for each in group)}"
        for kind, group in groupby(components, key=lambda each: each.kind)
    )


def _shown(component: "Component") -> str:
    lines = [f"{component.name} ({component.kind}): {component.path}", "", component.description]
    for key in component.keys:
        default = "" if key.default is None else f" = {key.default}"
        meaning = textwrap.fill(key.meaning, 100, initial_indent=" " * 4, subsequent_indent=" " * 4)
        lines += ["", f"{key.name}: {key.type}{default}", *([meaning] if meaning else [])]
    return "\n".join(lines)
