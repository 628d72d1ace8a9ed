"""The tutorials produce the output that they show."""

import csv
import json
import os
import re
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.pages import check_page
from tests.tools.deidentification.corpus import GIVEN, write_corpus

pytestmark = [pytest.mark.system, pytest.mark.usefixtures("warm_python")]
DATA = (Path(os.environ.get("TAGGER_CORPORA", "")), ROOT / "data")
NEEDS = {
    "us_addresses": ["us_addresses"],
    "from_hugging_face": ["us_addresses", "all-MiniLM-L6-v2"],
    "numbers": ["motions", "motions_as_0", "motions_known"],
}


@pytest.fixture
def folder(request, tmp_path, monkeypatch):
    """The current folder, with the data of a tutorial."""
    (tmp_path / "data").mkdir()
    for name in NEEDS[request.param]:
        found = [data / name for data in DATA if (data / name).exists()]
        if not found:
            pytest.skip(f"needs data/{name}; see data/README.md")
        (tmp_path / "data" / name.replace("us_", "")).symlink_to(found[0])
    for name in ("examples", "training_config"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("folder", ["us_addresses"], indirect=True)
def test_the_tutorial_produces_the_output_it_shows(folder):
    check_page("tutorial/us_addresses", digits=False, leave_out=["prepare_us_addresses"])
    assert (folder / "addresses.onnx").exists()
    assert (folder / "new.jsonl").read_text().count("\n") == 2


@pytest.mark.parametrize("folder", ["from_hugging_face"], indirect=True)
def test_the_tutorial_for_users_of_hugging_face_finds_an_address(folder):
    left_out = ["pip install", "prepare_", "fetch-encoder"]
    assert "AddressNumber 1600" in check_page("tutorial/from_hugging_face", False, left_out)


@pytest.mark.parametrize("folder", ["numbers"], indirect=True)
def test_in_the_tutorial_of_numbers_unknown_steps_are_best_left_out(folder):
    check_page("tutorial/numbers", digits=False, leave_out=["prepare_motions"])
    with (folder / "runs/unknown_steps/results.csv").open() as file:
        rows = list(csv.DictReader(file))
    found = {(row["variant"], row["seed"]): float(row["test_f1-measure-macro"]) for row in rows}
    for seed in "123":
        assert found["taken for negative", seed] < found["left out", seed] - 0.3
        assert found["left out", seed] > 0.8


def test_after_an_hour_most_errors_are_found_by_answering_what_is_uncertain(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "training_config").symlink_to(ROOT / "training_config")
    printed = check_page("tutorial/one_hour", digits=False)
    for name in ("second", "third"):
        given, true = (Path(f"{name}{end}.conll").read_text() for end in ("_answered", ""))
        lines = list(zip(given.split("\n"), true.split("\n"), strict=True))
        assert sum(one == other for one, other in lines) > 0.95 * len(lines)
    (f1,) = re.findall(r"f1-measure-overall ([\d.]+) with 200 sentences", printed)
    assert float(f1) > 90


def test_deidentification_leads_from_brat_folders_to_masked_texts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_corpus(tmp_path / "data/meddocan")
    check_page("tutorial/deidentification", digits=False)
    masked = sorted((tmp_path / "masked").iterdir())
    sources = [tmp_path / "data/meddocan/test" / path.name for path in masked]
    assert len(masked) == 15
    # The corpus is so regular that every name is found.
    texts = [path.read_text("utf-8") for path in masked]
    assert not any(name in text for name in GIVEN for text in texts)
    assert all("Nombre: [NOMBRE_SUJETO_ASISTENCIA_1].\n" in text for text in texts)
    sidecar = (tmp_path / "masked.offsets.jsonl").read_text("utf-8").splitlines()
    for source, text, line in zip(sources, texts, map(json.loads, sidecar), strict=True):
        original = source.read_text("utf-8")
        assert line["text"] == source.name
        for mask in reversed(line["masks"]):
            string = original[mask["start"] : mask["end"]]
            text = text[: mask["masked_start"]] + string + text[mask["masked_end"] :]
        assert text == original
