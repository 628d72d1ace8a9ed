"""The tutorial masks texts of a made-up corpus in the format of the real one."""

import json

import pytest

from tests.notebooks import run
from tests.tools.deidentification.corpus import GIVEN, write_corpus


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_the_tutorial_leads_from_brat_folders_to_masked_texts(tmp_path):
    write_corpus(tmp_path / "data/meddocan")
    printed = ""
    for cell, shown in run("deidentification", tmp_path):
        if cell.cell_type == "code":
            printed = "".join(output.get("text", "") for output in cell.outputs)
        for line in set(shown.splitlines()) - {"..."}:
            assert line in printed
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
