"""Every script has a help text."""

import re
import runpy

import pytest

from tests.conftest import ROOT

EXPERIMENTS = ROOT / "scripts/experiments"
SCRIPTS = {
    str(path.relative_to(ROOT / "scripts").with_suffix("")): path
    for path in sorted((ROOT / "scripts").rglob("*.py"))
    if 'if __name__ == "__main__":' in path.read_text()
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_help_is_shown(name, monkeypatch, capsys):
    if name == "experiments/measure_label_errors":
        pytest.importorskip("sklearn", reason="needs scikit-learn")
    path = SCRIPTS[name]
    monkeypatch.setattr("sys.argv", [path.name, "--help"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(path), run_name="__main__")
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: {path.name} [-h]")


def test_the_readme_of_experiments_names_every_script_and_a_page_that_names_it():
    rows = re.findall(r"^\| `(\w+)(?:\.py)?` \|(.*)", (EXPERIMENTS / "README.md").read_text(), re.M)
    assert {name for name, _ in rows} | {"check_claims"} == {
        path.stem for path in SCRIPTS.values() if EXPERIMENTS in path.parents
    }
    for name, row in rows:
        pages = [(EXPERIMENTS / page).read_text() for page in re.findall(r"\]\(([^)#]*)", row)]
        assert all(name in page for page in pages), row
        assert pages or row.endswith("| no page |")
