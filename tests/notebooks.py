"""Runs the notebooks of the tutorials."""

import os
import sys
from pathlib import Path

import pytest
from nbclient import NotebookClient

from scripts.site.write_notebooks import TUTORIALS, notebook
from tests.conftest import ROOT


def run(name, folder, leave_out=()):
    """Runs a tutorial's notebook in a folder.

    Cells that contain any of `leave_out` are skipped. Returns the cells, each with the output that the
    page shows for it. For text, that is the output shown for the last command.
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
