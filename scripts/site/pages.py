"""Generates pages of the site from the code and from documents outside docs/; a hook for mkdocs.

mkdocs calls the functions `on_...`, which are described in its page on events.
"""

import argparse
import html
import importlib
import inspect
import os
import posixpath
import re
from itertools import groupby
from pathlib import Path
from typing import Callable, Dict, List

from allennlp.commands.subcommand import Subcommand
from allennlp.common.plugins import import_plugins
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from tagger.commands.components import import_all
from tagger.common.component_reference import TEMPLATES, Component, components, template

ROOT = Path(__file__).resolve().parents[2]
#: Documents outside docs/, by the page of the site that shows them.
DOCUMENTS = {
    "overview.md": "README.md",
    "background/changelog.md": "CHANGELOG.md",
    "background/contributing.md": "CONTRIBUTING.md",
    "background/mathematics.md": "tagger/linear_chain/README.md",
    "reference/corpora.md": "data/README.md",
}
#: The packages, and modules of tools, that have a page with their public names.
PACKAGES = (
    "tagger",
    "tagger.data",
    "tagger.integrations.huggingface",
    "tagger.modules.torchcrf",
    "tagger.linear_chain",
    "tagger.metrics",
    "tagger.models",
    "tagger.modules",
    "tagger.predictors",
    "tagger.spans",
    "tagger.tools.labels.addition",
    "tagger.tools.labels.ranking",
    "tagger.tools.reports.run_report",
    "tagger.tools.tuning.decoding",
    "tagger.training",
    "tagger_onnx",
)
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!\w+:|#)([^)#\s]+)(#[^)\s]*)?\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the generated pages."""
    import_plugins()
    import_all()
    pages: Dict[str, Callable[[], str]] = {
        "reference/commands.md": commands_page,
        "reference/components.md": components_page,
        "reference/templates.md": templates_page,
    }
    for path, make in pages.items():
        files.append(File.generated(config, path, content=make()))
    for path, source in DOCUMENTS.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, path, content=text))
    for package in PACKAGES:
        path = f"reference/python/{package}.md"
        files.append(File.generated(config, path, content=python_page(package)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Redirects links between documents of the repository to their pages."""
    path = page.file.src_uri
    return LINK.sub(lambda link: _link(link, path, files), markdown)


def _link(link: "re.Match[str]", path: str, files: Files) -> str:
    mark, text, target, anchor = link.groups()
    source = DOCUMENTS.get(path, f"docs/{path}")
    in_repository = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
    pages = {document: page for page, document in DOCUMENTS.items()}
    on_site = pages.get(in_repository, in_repository.removeprefix("docs/"))
    if files.get_file_from_path(on_site) is None and (ROOT / in_repository).exists():
        return text  # a file of the repository without a page
    return f"{mark}[{text}]({posixpath.relpath(on_site, posixpath.dirname(path))}{anchor or ''})"


def commands_page() -> str:
    """Returns the page on all subcommands with their options."""
    os.environ["COLUMNS"] = "100"
    subparsers = argparse.ArgumentParser(prog="allennlp").add_subparsers()
    for name in sorted(Subcommand.list_available()):
        Subcommand.by_name(name)().add_subparser(subparsers)
    sections = [
        f"## allennlp {name}\n\n```text\n{parser.format_help()}```\n"
        for name, parser in subparsers.choices.items()
    ]
    return "# Commands\n\n`allennlp NAME --help` prints the same.\n\n" + "\n".join(sections)


def components_page() -> str:
    """Returns the page on all registered components with their keys."""
    lines = [
        "# Components",
        "",
        "A config selects a component by its `type`, next to the component's keys. `allennlp describe`"
        " prints the same. The kind is the class that a key of another component expects.",
    ]
    for kind, group in groupby(components(), key=lambda each: each.kind):
        lines += ["", f"## {kind}"]
        for component in group:
            lines += [
                "",
                f"### `{component.name}` {{ #{kind}-{component.name} }}",
                "",
                _described(component),
            ]
    return "\n".join(lines)


def templates_page() -> str:
    """Returns the page on the settings of the templates."""
    lines = ["# Settings of the templates", ""]
    lines.append(
        "Write them with two colons, such as `hidden_size:: 300`. Values out of range are refused."
    )
    for name in TEMPLATES:
        lines += ["", f"## tagger/{name}", "", _described(template(name))]
    return "\n".join(lines)


def _described(component: Component) -> str:
    lines: List[str] = [_prose(component.description), ""]
    if component.keys:
        lines += ["| key | type | default | meaning |", "|---|---|---|---|"]
    for key in component.keys:
        kind = _code(key.type) if component.kind != "template" else _cell(key.type)
        default = "" if key.default is None else _code(key.default)
        lines.append(f"| {_code(key.name)} | {kind} | {default} | {_cell(key.meaning)} |")
    return "\n".join(
        [*lines, "", "" if component.kind == "template" else f"In Python: `{component.path}`."]
    )


def _prose(text: str) -> str:
    """Adds the blank line that Markdown needs before a list in a docstring."""
    return re.sub(r"(?<=[^\n])\n(?=- )", "\n\n", text)


def _cell(text: str) -> str:
    without_links = re.sub(r"\[([^\]]*)\](?:\((?!http)[^)]*\)|\[0\])", r"\1", text)
    return without_links.replace("|", "\\|").replace("<", "&lt;")


def _code(text: str) -> str:
    return f"<code>{html.escape(text).replace('|', '&#124;')}</code>" if text else ""


def python_page(package: str) -> str:
    """Returns the page on the public names of a package."""
    module = importlib.import_module(package)
    description = (module.__doc__ or "").replace("Example:\n", "")
    lines = [f"# {package}", "", _prose(description)]
    own = [n for n, each in vars(module).items() if getattr(each, "__module__", "") == package]
    for name in getattr(module, "__all__", [n for n in own if not n.startswith("_")]):
        if not inspect.ismodule(getattr(module, name)):
            lines += ["", f"::: {package}.{name}"]
    return "\n".join(lines)
