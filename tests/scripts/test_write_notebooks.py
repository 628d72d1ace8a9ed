import os
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from scripts.site.write_notebooks import TUTORIALS, main, notebook
from tests.conftest import ROOT


def test_each_tutorial_becomes_a_notebook(tmp_path):
    main([str(tmp_path)])
    pages = {path.stem for path in ROOT.glob("docs/tutorial/*.md")}
    assert {path.stem for path in tmp_path.glob("*.ipynb")} == pages
    written = [path.read_bytes() for path in sorted(tmp_path.glob("*.ipynb"))]
    main([str(tmp_path)])
    assert [path.read_bytes() for path in sorted(tmp_path.glob("*.ipynb"))] == written
    made = nbformat.read(tmp_path / "us_addresses.ipynb", nbformat.NO_CONVERT)
    nbformat.validate(made)
    start = next(cell for cell in made.cells if "allennlp start" in cell.source)
    assert start.outputs[0].text.startswith("data/addresses/train.txt\n  text ")
    assert f"]({ROOT}/docs/tutorial" not in start.source
    text = "".join(cell.source for cell in made.cells if cell.cell_type == "markdown")
    assert "../how_to/formats.md" in text


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_notebook_runs_with_allennlps_progress_bars(tmp_path, monkeypatch):
    """AllenNLP uses other progress bars in notebooks. `tests/system` runs the blocks left out here."""
    made = notebook(TUTORIALS / "from_allennlp.md", tmp_path, tmp_path)
    made.cells = [cell for cell in made.cells if "allennlp train" not in cell.source]
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    NotebookClient(made, timeout=600, kernel_name="python3").execute()
    last = [cell for cell in made.cells if cell.cell_type == "code"][-1]
    assert last.source.startswith("from tagger.modules import")
    assert last.execution_count == 2
