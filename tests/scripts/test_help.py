"""Every script has a help text."""

import runpy

import pytest

from tests.conftest import ROOT

SCRIPTS = {
    path.stem: path
    for path in sorted((ROOT / "scripts").glob("*.py"))
    if 'if __name__ == "__main__":' in path.read_text()
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_help_is_shown(name, monkeypatch, capsys):
    if name == "measure_label_errors":
        pytest.importorskip("sklearn", reason="needs scikit-learn")
    monkeypatch.setattr("sys.argv", [f"{name}.py", "--help"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(SCRIPTS[name]), run_name="__main__")
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: {name}.py [-h]")
