"""The docs show real output, and everything they name exists."""

import argparse
import json
import re
import runpy
import shlex
import shutil
import sys
from collections import defaultdict
from functools import partial
from pathlib import Path

import pytest
from allennlp.commands import main as allennlp_main
from allennlp.commands.subcommand import Subcommand
from allennlp.commands.train import TrainModel
from allennlp.common import Params, Registrable

from tagger.commands.command import Command
from tagger.predictors.calibrated_sets import SETS_NAME
from tagger.tools.tuning.tuned_archive import rewrite_archive
from tests.configs import build_model, save_small_transformer
from tests.conftest import CONFIGS, ROOT
from tests.pages import BLOCK, DOCS, PAGES, README, blocks, run, shown_commands
from tests.tools.tuning.test_sets_command import SETS

SETTINGS = re.compile(r"^(?:\w+=\w+ )*")
RECORDINGS = "recording,x,y,z,activity\na,0.1,0.8,0.3,walk\na,0.2,,0.3,\nb,0.0,0.1,1.0,sit\n"
SEVERAL_LABELS = "mayor ORG|PER\nleaves O\nbank ?LOC\n"


def params(language):
    return [pytest.param(block, id=block.id) for block in blocks(language)]


def project_folders(parent):
    """The project's folders, except those that git ignores."""
    ignored = (ROOT / ".gitignore").read_text().split()
    return {
        path.name
        for path in parent.iterdir()
        if path.is_dir()
        and not path.name.startswith((".", "__"))
        and f"/{path.name}/" not in ignored
        and any(file.is_file() for file in path.rglob("*") if "__pycache__" not in file.parts)
        and not path.name.endswith(".egg-info")
    }


def anchors(text):
    """The names by which links find the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", BLOCK.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_readme_fits_on_two_screens():
    assert len(README.splitlines()) <= 200


def test_readme_shows_output_of_the_quick_start_by_line_30():
    assert re.search(r"^overall +0\.\d", "\n".join(README.splitlines()[:30]), re.MULTILINE)


def test_readme_names_every_folder():
    named = set(re.findall(r"`([\w/]+)/`", README))
    expected = {f"tagger/{name}" for name in project_folders(ROOT / "tagger")}
    assert named >= expected | project_folders(ROOT) - {"tagger"}


# The plugins are imported before the test, so that it does not forget them.
@pytest.mark.usefixtures("allennlp")
@pytest.mark.parametrize("block", params("python"))
def test_python_runs(block, trained, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    Path("runs").mkdir()
    Path("runs/toy").symlink_to(trained)
    added = {SETS_NAME: SETS.to_json()}
    rewrite_archive(trained / "model.tar.gz", Path("sets.tar.gz"), {}, added=added)
    # What it registers is forgotten after the test.
    registry = {base: dict(names) for base, names in Registrable._registry.items()}
    monkeypatch.setattr(Registrable, "_registry", defaultdict(dict, registry))
    run(block.code, "python")


@pytest.mark.slow
@pytest.mark.usefixtures("warm_python")
def test_commands_that_need_only_this_project_run(tmp_path, monkeypatch):
    for folder in ("training_config", "data"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    monkeypatch.chdir(tmp_path)
    own = (block.code for block in blocks("bash", having="runs/toy") if block.page == "README.md")
    assert '"tokens": ["Maria", "Lindqvist", "met"' in run("".join(own))


@pytest.mark.usefixtures("allennlp")
def test_every_command_of_ours_is_shown():
    ours = {
        name
        for name in Subcommand.list_available()
        if Subcommand.by_name(name).__module__.startswith("tagger.")
        # Others stand in for a command of AllenNLP's, under its name.
        and Subcommand.by_name(name).__bases__ in ((Subcommand,), (Command,))
    }
    assert ours >= {"start", "split", "ensemble", "report", "study", "show-scores"}
    assert ours <= {command.split()[1] for command in shown_commands() if "allennlp " in command}


def test_the_readmes_own_data_section_starts_from_a_file(allennlp, tmp_path, monkeypatch):
    section = README.split("## Your own data")[1].split("\n## ")[0]
    (command,) = re.findall(r"^```bash\nallennlp (.*)\n```", section, re.MULTILINE)
    (config,) = re.findall(r"^```jsonnet\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    shutil.copy(ROOT / "data/toy/train.txt", tmp_path)
    monkeypatch.chdir(tmp_path)
    allennlp(*shlex.split(command))
    written = Params.from_file("mine.jsonnet").as_dict()
    (tmp_path / "shown.jsonnet").write_text(config)
    assert (
        written["dataset_reader"] == Params.from_file("shown.jsonnet").as_dict()["dataset_reader"]
    )


@pytest.mark.usefixtures("allennlp")
@pytest.mark.parametrize(
    "command", shown_commands(), ids=[f"{page}: {line}" for line, page in shown_commands().items()]
)
def test_commands_have_options_that_exist(command, monkeypatch, tmp_path):
    parse_args = argparse.ArgumentParser.parse_args
    words = shlex.split(SETTINGS.sub("", command))
    parsed = []

    def parse_and_leave(parser, *arguments):
        parsed.append(parse_args(parser, *arguments))
        raise EOFError

    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", parse_and_leave)
    is_module = words[1] == "-m"
    monkeypatch.setattr(sys, "argv", words if words[0] == "allennlp" else words[1 + is_module :])
    monkeypatch.chdir(ROOT)
    parse = partial(runpy.run_path, words[1], None, "__main__")
    if words[0] == "allennlp":
        parse = allennlp_main
    elif is_module:
        # Other tests may have imported it.
        monkeypatch.delitem(sys.modules, words[2], raising=False)
        parse = partial(runpy.run_module, words[2], run_name="__main__")
    with pytest.raises(EOFError):
        parse()
    overrides = getattr(parsed[0], "overrides", "")
    json.loads(overrides or "{}")
    if words[:2] == ["allennlp", "train"] and "training_config/" in words[2]:
        build_model(Params.from_file(words[2], overrides), tmp_path)


@pytest.mark.parametrize("block", params("jsonnet"))
def test_configs_build(block, tmp_path, monkeypatch):
    config = block.code
    (tmp_path / "data").symlink_to(ROOT / "data")
    for path in CONFIGS.glob("t*.*sonnet"):
        (tmp_path / path.name).symlink_to(path)
    is_toy = "label_separator" not in config
    for name in ("train.txt", "dev.txt"):
        text = (ROOT / "data/toy" / name).read_text() if is_toy else SEVERAL_LABELS
        (tmp_path / name).write_text(text)
        (tmp_path / name).with_suffix(".csv").write_text(RECORDINGS)
    (tmp_path / "vectors.txt").write_text(" ".join(["the", *map(str, range(100))]) + "\n")
    if "transformer::" in config:
        (tmp_path / "transformer").mkdir()
        save_small_transformer(tmp_path / "transformer")
    (tmp_path / "lists").mkdir()
    for name in ("drugs", "streets"):
        (tmp_path / f"lists/{name}.txt").write_text("Elm Street\n")
    if "import" not in config:
        config = f"(import 'toy_bilstm_crf.jsonnet') + {{\n{config}\n}}"
    (tmp_path / "config.jsonnet").write_text(config)
    monkeypatch.chdir(tmp_path)
    params = Params.from_file("config.jsonnet")
    TrainModel.from_params(params, serialization_dir=str(tmp_path / "run"), local_rank=0)


def test_every_page_of_docs_is_reached_from_the_first_pages():
    pages = {ROOT / page: text for page, text in PAGES.items() if page.startswith("docs/")}
    ahead = [ROOT / "README.md", ROOT / "docs/index.md"]
    reached = set(ahead)
    while ahead:
        page = ahead.pop()
        text = pages.get(page, PAGES["README.md"])
        links = re.findall(r"\]\((?!https?:)([^)#]+)[^)]*\)", text)
        new = {(page.parent / link).resolve() for link in links} & {*pages} - reached
        reached |= new
        ahead += new
    assert sorted(page.name for page in {*pages} - reached) == []


@pytest.mark.parametrize("page", PAGES)
def test_links_have_a_target(page):
    for target in re.findall(r"\]\((?!https?:)([^)]+)\)", BLOCK.sub("", PAGES[page])):
        name, _, anchor = target.partition("#")
        path = (ROOT / page).parent / name if name else ROOT / page
        assert path.exists(), target
        assert not anchor or anchor in anchors(path.read_text(encoding="utf-8")), target


# The changelog also names files that have been removed.
@pytest.mark.parametrize("page", sorted({*PAGES} - {"CHANGELOG.md"}))
def test_files_and_folders_it_names_exist(page):
    folders = "|".join(project_folders(ROOT) - {"data"})
    named = re.findall(rf"(?<![\w./])(?:{folders}|data/toy)/[\w./]*\b", PAGES[page])
    assert [path for path in named if not (ROOT / path).exists()] == []
    configs = re.findall(r"`(\w+_\w+\.jsonnet)`", PAGES[page])
    assert [name for name in configs if not any(CONFIGS.rglob(name))] == []


@pytest.mark.parametrize(
    "word",
    "undersampl,oversampl,Hamming,stratified split,POS tagger,NER,SVM,bagging,multi-label,"
    "class imbalance,focal,sample weight,labels per text,nested".split(","),
)
def test_words_that_people_search_for_lead_to_a_page_that_has_them(word):
    index = DOCS["how_do_i"].split("## Words that you may search for")[1]
    (row,) = [line for line in index.splitlines() if line.startswith("|") and word in line]
    linked = re.findall(r"\]\(([\w/]+)\.md#?([\w-]*)\)", row)
    assert linked
    topic = word.lower().split()[0]
    if topic in ("hamming", "stratified", "svm", "focal"):
        assert any(topic in DOCS[Path(page).stem].lower() for page, _ in linked)


def test_the_stations_of_a_text_are_where_contributing_says():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    stations = re.findall(r"^\| `(\S+)`: `(\w+)` \|", text, re.MULTILINE)
    assert 8 < len(stations) <= 12
    for path, name in stations:
        assert f"def {name}(" in (ROOT / path).read_text(), (path, name)
