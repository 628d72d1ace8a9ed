"""Kills and interrupts in real processes; the script tries more of them."""

import re

import pytest

from scripts import try_interrupts


@pytest.mark.slow
def test_what_is_broken_off_ends_as_the_unbroken_one(capsys):
    # At the first checkpoint, while one is written, and between the windows of a file.
    try_interrupts.main(["--training", "2", "--predict-file", "1", "--lines", "600"])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert all(line.endswith(": as unbroken") for line in lines)
    assert all(re.search(r"status (130|143|-9)[,;]", line) for line in lines), lines
