"""What the page in `examples/browser` computes, by Node.js."""

import json
import shutil
import subprocess

import pytest

from tests.conftest import ROOT


def of_page(module, names, expression, given, folder):
    """Returns the value of an expression of JavaScript about `given`, with names of a module."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("needs Node.js")
    (folder / "in.json").write_text(json.dumps(given))
    path = json.dumps((ROOT / "examples/browser" / module).as_uri())
    code = (
        f"import {{ {names} }} from {path};\n"
        'import { readFileSync } from "node:fs";\n'
        'const given = JSON.parse(readFileSync("in.json"));\n'
        f"console.log(JSON.stringify({expression}));"
    )
    command = [node, "--input-type=module", "--no-warnings", "-e", code]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=True)
    return json.loads(done.stdout)
