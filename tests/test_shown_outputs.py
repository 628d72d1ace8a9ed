"""The output shown in the docs is that of the toy tagger, which is correct for their examples."""

import asyncio
import json
import re
import shlex
import shutil
from pathlib import Path

import httpx
import pytest

import tagger
from tagger.integrations.service.app import Served, create_app
from tests.conftest import ROOT
from tests.pages import DOCS, assert_alike, blocks, run, run_console

#: The entities in the sentences of the docs.
TRUTH = {
    ("PER", "Maria Lindqvist"),
    ("PER", "Paulo Ferraz"),
    ("PER", "Grace Mwangi"),
    ("LOC", "Lisbon"),
    ("LOC", "Kenya"),
    ("ORG", "Sunrise Dairy"),
}


@pytest.fixture(autouse=True)
def _folder_with_a_run(trained, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs/toy").symlink_to(trained)
    (tmp_path / "data").symlink_to(ROOT / "data")


@pytest.fixture
def printed(allennlp):
    """Returns what commands print."""
    return lambda code: run(code, allennlp=allennlp)


def test_the_conversion_prints_what_its_page_shows(printed):
    Path("export.json").write_text(blocks("json", "formats")[0].code, encoding="utf-8")
    assert blocks("", "formats")[0].code in printed(blocks("bash", "formats")[0].code)


def test_a_split_prints_what_its_page_shows(printed):
    shutil.copy("data/toy/train.txt", "labelled.txt")
    (block,) = blocks("bash", "data", "allennlp split")
    given = printed(block.code.splitlines()[0]).split("\n\n")[0] + "\n"
    assert given in [each.code for each in blocks("", "data")]


def test_the_starter_prints_what_its_page_shows(printed):
    (shown,) = (each.code for each in blocks("", "data") if each.code.startswith("train.txt\n"))
    for name in ("train", "dev"):
        shutil.copy(f"data/toy/{name}.txt", ".")
    assert printed("allennlp start train.txt dev.txt -o mine.jsonnet").startswith(shown)


def test_the_component_of_spacy_prints_what_its_page_shows():
    given = run(blocks("python", "spacy")[0].code, "python")
    assert_alike(blocks("", "spacy")[0].code, given, scale=100)
    found = [re.fullmatch(r"(\w+) (.*) \S+ %", line).groups() for line in given.splitlines()]
    assert len(found) == 6
    assert set(found) == TRUTH


def test_an_exported_tagger_gives_what_its_page_shows(printed):
    (block,) = blocks("bash", "onnx", "allennlp export")
    printed(next(line for line in block.code.splitlines() if "allennlp export" in line))
    (console,) = blocks("console", "onnx")
    (entity,) = re.findall(r"^Entity\(label='(.*?)', text='(.*?)'", console.code, re.MULTILINE)
    assert entity in TRUTH
    assert "model" in run_console(console)


def test_the_service_answers_what_its_page_shows(trained):
    (command,) = (block.code for block in blocks("bash", "service", "curl"))
    body = json.loads(shlex.split(command)[-1])
    app = create_app(Served(tagger.load(trained / "model.tar.gz"), "toy"))

    async def ask():
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return (await client.post("/tag", json=body)).text

    given, shown = asyncio.run(ask()), blocks("json", "service")[0].code.strip()
    assert_alike(shown, given)
    entities = json.loads(given)["results"][0]["entities"]
    assert {(entity["label"], entity["text"]) for entity in entities} == {
        ("PER", "Paulo Ferraz"),
        ("LOC", "Lisbon"),
    }


def test_an_evaluation_prints_the_tables_of_its_page(printed):
    (command,) = re.findall(r"`(allennlp evaluate [^`]*)` begins with:", DOCS["reports"])
    given, shown = printed(command).split("Metrics\n")[1], blocks("", "reports")[0].code
    for mine, other in zip(given.splitlines(), shown.splitlines()):
        assert re.findall(r"[a-zA-Z:>]+", mine) == re.findall(r"[a-zA-Z:>]+", other)
        assert len(mine) == len(other)
    overall = [re.search(r"^overall .*", text, re.MULTILINE)[0] for text in (given, shown)]
    assert_alike(*overall)
