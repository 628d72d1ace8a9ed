import nbformat
import pytest

from scripts.site.write_notebooks import main
from tests.conftest import ROOT
from tests.notebooks import run


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
def test_a_notebook_runs_with_allennlps_progress_bars(tmp_path):
    """AllenNLP uses other progress bars in notebooks. `tests/system` runs the cells skipped here."""
    cells = run("from_allennlp", tmp_path, leave_out=("allennlp train",))
    last = [cell for cell, _ in cells if cell.cell_type == "code"][-1]
    assert last.source.startswith("from tagger.modules import")
    assert last.execution_count == 2
