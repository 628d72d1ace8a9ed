"""Every script has a help text."""

import runpy

import pytest

from tests.conftest import ROOT

SCRIPTS = {
    str(path.relative_to(ROOT / "scripts").with_suffix("")): path
    for path in sorted((ROOT / "scripts").rglob("*.py"))
    if 'if __name__ == "__main__":' in path.read_text()
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_help_is_shown(name, monkeypatch, capsys):
    if name == "measure_label_errors":
        pytest.importorskip("sklearn", reason="needs scikit-learn")
    path = SCRIPTS[name]
    monkeypatch.setattr("sys.argv", [path.name, "--help"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(path), run_name="__main__")
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: {path.name} [-h]")
