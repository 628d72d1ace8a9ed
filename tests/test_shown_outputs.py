"""The output shown in the docs is that of the toy tagger, which is correct for their examples.

Numbers differ slightly between processors, and so do the trained weights.
"""

import asyncio
import json
import re
import shlex
import shutil

import httpx
import pytest

import tagger
from tagger.integrations.service.app import Served, create_app
from tests.conftest import ROOT
from tests.test_readme import BLOCK, DOCS

#: The entities in the sentences of the docs.
TRUTH = {
    ("PER", "Maria Lindqvist"),
    ("PER", "Paulo Ferraz"),
    ("PER", "Grace Mwangi"),
    ("LOC", "Lisbon"),
    ("LOC", "Kenya"),
    ("ORG", "Sunrise Dairy"),
}
NUMBER = re.compile(r"[<>]?\b(\d+(?:\.\d+)?(?:e-\d+)?)\b")
#: The tolerance for probabilities.
TOLERANCE = 0.15


def blocks(page, language):
    return [block for name, block in BLOCK.findall(DOCS[page]) if name == language]


def assert_alike(shown, given, scale=1.0):
    """Asserts that texts have the same words and similar numbers up to `scale`."""
    assert NUMBER.sub("#", shown) == NUMBER.sub("#", given)
    numbers = zip(NUMBER.findall(shown), NUMBER.findall(given))
    assert all(abs(float(one) - float(other)) <= scale * TOLERANCE for one, other in numbers)


@pytest.fixture
def in_folder_with_a_run(trained, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs/toy").symlink_to(trained)
    (tmp_path / "data").symlink_to(ROOT / "data")


def test_the_conversion_prints_what_its_page_shows(allennlp, monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    (content,) = blocks("formats", "json")
    (tmp_path / "export.json").write_text(content, encoding="utf-8")
    allennlp(*shlex.split(blocks("formats", "bash")[0])[1:])
    assert blocks("formats", "")[0] in capsys.readouterr().out


def test_a_split_prints_what_its_page_shows(allennlp, monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    shutil.copy(ROOT / "data/toy/train.txt", "labelled.txt")
    (commands,) = (each for each in blocks("data", "bash") if "allennlp split" in each)
    allennlp(*shlex.split(commands.splitlines()[0])[1:])
    assert capsys.readouterr().out.split("\n\n")[0] + "\n" in blocks("data", "")


@pytest.mark.usefixtures("in_folder_with_a_run")
def test_the_component_of_spacy_prints_what_its_page_shows(capsys):
    (code,), (shown, *_) = blocks("spacy", "python"), blocks("spacy", "")
    exec(compile(code, "block", "exec"), {"__name__": "block"})
    given = capsys.readouterr().out
    assert_alike(shown, given, scale=100)
    found = [re.fullmatch(r"(\w+) (.*) \S+ %", line).groups() for line in given.splitlines()]
    assert len(found) == 6
    assert set(found) == TRUTH


@pytest.mark.usefixtures("in_folder_with_a_run")
def test_an_exported_tagger_gives_what_its_page_shows(allennlp, tmp_path):
    (command,) = (
        line for line in "".join(blocks("onnx", "bash")).splitlines() if "allennlp export" in line
    )
    allennlp(*shlex.split(command)[1:])
    names, result = {}, None
    (block,) = blocks("onnx", "console")
    *lines, shown = block.splitlines()
    for line in lines:
        assert line.startswith(">>> ")
        if line.startswith((">>> import ", ">>> model =")):
            exec(line[4:], names)
        else:
            result = eval(line[4:], names)
    assert_alike(shown, repr(result))
    assert (result.label, result.text) in TRUTH


def test_the_service_answers_what_its_page_shows(trained):
    (command,) = (
        line for line in "".join(blocks("service", "bash")).splitlines() if "curl" in line
    )
    body = json.loads(shlex.split(command)[-1])
    app = create_app(Served(tagger.load(trained / "model.tar.gz"), "toy"))

    async def ask():
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return (await client.post("/tag", json=body)).text

    given, shown = asyncio.run(ask()), blocks("service", "json")[0].strip()
    assert_alike(shown, given)
    entities = json.loads(given)["results"][0]["entities"]
    assert {(entity["label"], entity["text"]) for entity in entities} == {
        ("PER", "Paulo Ferraz"),
        ("LOC", "Lisbon"),
    }


@pytest.mark.usefixtures("in_folder_with_a_run")
def test_an_evaluation_prints_the_tables_of_its_page(allennlp, capsys):
    (command,) = re.findall(r"`(allennlp evaluate [^`]*)` begins with:", DOCS["reports"])
    allennlp(*shlex.split(command)[1:])
    given, shown = capsys.readouterr().out.split("Metrics\n")[1], blocks("reports", "")[0]
    for mine, other in zip(given.splitlines(), shown.splitlines()):
        assert re.findall(r"[a-zA-Z:>]+", mine) == re.findall(r"[a-zA-Z:>]+", other)
        assert len(mine) == len(other)
    overall = [re.search(r"^overall .*", text, re.MULTILINE)[0] for text in (given, shown)]
    assert_alike(*overall)
