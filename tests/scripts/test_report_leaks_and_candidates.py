import re

import pytest

from scripts.experiments import report_leaks_and_candidates
from tests.conftest import ROOT

TOY = str(ROOT / "data/toy/dev.txt")


@pytest.mark.slow
@pytest.mark.parametrize("documents", ["docstart", "7"])
def test_it_counts_missed_and_listed_entities(trained, documents, capsys):
    report_leaks_and_candidates.main(
        [str(trained / "model.tar.gz"), TOY, "--leaks", "PER,LOC", "--documents", documents]
    )
    out = capsys.readouterr().out
    tables = out.split("\n\n")
    assert len(tables) == 2
    num_documents = int(re.search(r"leaks of PER, LOC: (\d+) documents", out)[1])
    rows = re.findall(r"^ *[\d.]+ to [\d.]+ +(\d+) +([\d.]+) +([\d.]+)", tables[0], re.MULTILINE)
    assert sum(int(number) for number, *_ in rows) == num_documents
    leaking = int(re.search(r"expected, (\d+) do;", out)[1])
    assert sum(round(int(n) * float(share)) for n, _, share in rows) == leaking
    numbers = [[float(x) for x in row.split()[1:]] for row in tables[1].splitlines()[2:]]
    # A lower bound lists and finds at least as many entities.
    assert numbers == sorted(numbers)
    assert len(numbers) == 4
    assert numbers[-1][0] > 0.5
