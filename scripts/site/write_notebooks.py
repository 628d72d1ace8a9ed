#!/usr/bin/env python
"""Writes the tutorials as notebooks that run in the root of a checkout.

    python scripts/site/write_notebooks.py [FOLDER]

They go to `notebooks` unless another folder is given. The output that a page shows for a command is the
output of its cell until the cell is run.
"""

import argparse
import os
import re
from pathlib import Path
from typing import Optional, Sequence

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

ROOT = Path(__file__).resolve().parents[2]
TUTORIALS = ROOT / "docs" / "tutorial"
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
_RELATIVE_LINK = re.compile(r"\]\((?!\w+:|#)")


def notebook(page: Path, run_in: Path, links_from: Path) -> nbformat.NotebookNode:
    """Makes a notebook of a page.

    Blocks of Bash and Python become cells; a block without a language that follows a cell becomes its
    output; everything else remains text.

    Args:
        page: The file of the page.
        run_in: The folder in which the commands run.
        links_from: The folder of the notebook.
    """
    cells = [new_code_cell(f"import os\n\nos.chdir({str(run_in)!r})")]
    text = page.read_text(encoding="utf-8")
    text = _RELATIVE_LINK.sub(f"]({os.path.relpath(page.parent, links_from)}/", text)
    end = 0
    for block in _BLOCK.finditer(text):
        language, code = block.groups()
        before = text[end : block.start()]
        if language in ("bash", "py", "python", ""):
            follows_code = not before.strip() and cells[-1].cell_type == "code"
            if before.strip():
                cells.append(new_markdown_cell(before.strip()))
            if language == "bash":
                cells.append(new_code_cell(f"%%script bash -euo pipefail\n{code.rstrip()}"))
            elif language:
                cells.append(new_code_cell(code.rstrip()))
            elif follows_code:
                cells[-1].outputs = [new_output("stream", name="stdout", text=code)]
            else:
                cells.append(new_markdown_cell(block.group().rstrip()))
            end = block.end()
    cells.append(new_markdown_cell(text[end:].strip()))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    # Random ids would make the bytes differ each time.
    for number, cell in enumerate(cells):
        cell.id = f"cell-{number}"
    return new_notebook(cells=cells, metadata={"kernelspec": kernel})


def main(arguments: Optional[Sequence[str]] = None) -> None:
    """Runs the script."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "folder", metavar="FOLDER", nargs="?", type=Path, default=ROOT / "notebooks"
    )
    folder = parser.parse_args(arguments).folder
    folder.mkdir(parents=True, exist_ok=True)
    for page in sorted(TUTORIALS.glob("*.md")):
        output = folder / f"{page.stem}.ipynb"
        nbformat.write(notebook(page, ROOT, folder), output)
        print(f"Wrote {output}")


if __name__ == "__main__":
    main()
