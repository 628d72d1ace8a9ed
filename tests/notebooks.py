"""Runs the notebooks of the tutorials."""

import os
import sys
from pathlib import Path

import pytest
from nbclient import NotebookClient

from scripts.write_notebooks import TUTORIALS, notebook
from tests.conftest import ROOT


def run(name, folder, leave_out=()):
    """Runs the notebook of a tutorial in a folder.

    Cells in which any of `leave_out` occurs are not run. Returns its cells, each with the output that
    the page shows of it, which for text is what it shows of the last command's.
    """
    made = notebook(TUTORIALS / f"{name}.md", folder, folder)
    made.cells = [cell for cell in made.cells if not any(each in cell.source for each in leave_out)]
    shown = []
    for cell in made.cells:
        if cell.cell_type == "code":
            shown.append("".join(output.text for output in cell.outputs))
        else:
            is_output = cell.source.startswith("```\n") and "B-" not in cell.source
            shown.append(cell.source.strip("`\n") if is_output else "")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv("PATH", path)
        monkeypatch.setenv("PYTHONPATH", str(ROOT))
        NotebookClient(made, timeout=600, kernel_name="python3").execute()
    return list(zip(made.cells, shown, strict=True))
