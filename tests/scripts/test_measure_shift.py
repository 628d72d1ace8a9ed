import pytest

from scripts.experiments import measure_shift
from tests.conftest import ROOT

TOY = ROOT / "data/toy"


@pytest.mark.slow
def test_all_tables_are_printed_and_read_from_the_file_the_second_time(
    trained, tmp_path, capsys, monkeypatch
):
    renamed, output = tmp_path / "renamed.txt", tmp_path / "shift.jsonl"
    renamed.write_text((TOY / "train.txt").read_text().replace("-LOC", "-location"))
    arguments = [str(trained / "model.tar.gz"), str(TOY / "dev.txt"), "--new", str(renamed)]
    arguments += ["-o", str(output), "--draws", "2", "--fits", "2"]
    measure_shift.main(arguments)
    printed = capsys.readouterr().out
    for title in ("False alarms at", "Power: share of 2 draws", "Estimates for", "Recalibration"):
        assert title in printed
    (truth,) = (line for line in printed.splitlines() if line.startswith("LOC        truth"))
    assert float(truth.split()[2]) > 0.9
    monkeypatch.setattr(measure_shift, "compare_samples", None)
    monkeypatch.setattr(measure_shift, "estimate", None)
    measure_shift.main(arguments)
    assert capsys.readouterr().out == printed
