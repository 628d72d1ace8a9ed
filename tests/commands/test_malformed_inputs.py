"""Malformed inputs give one-line errors; `tests/system` tries more of them."""

import pytest

from tests.system.malformed_case import prepare, problems_of
from tests.system.malformed_inputs import CASES

#: Command and title of the cases that fail early.
CHEAP = [
    ("train", "config that is a folder"),
    ("train", "typo in a setting"),
    ("train", "unknown key of the model"),
    ("train", "number given as text"),
    ("train", "`num_epochs` below 1"),
    ("train", "seed given as text"),
    ("train", "negative count"),
    ("train", "`unknown_tag` that is a tag"),
    ("train", "override that is no JSON"),
    ("train", "`--force` on a folder that is no run"),
    ("train", "`--recover` with another config"),
    ("train", "training file that is a folder"),
    ("train", "compressed file"),
    ("train", "vectors of another dimension"),
    ("train", "vectors that are empty"),
    ("train", "vectors that are no numbers"),
    ("evaluate", "archive that is an empty folder"),
    ("predict", "JSON list"),
    ("predict", "bad line of a file"),
    ("predict", "input in Latin-1"),
    ("predict", "Latin-1 on standard input"),
    ("predict", "unknown `--predictor-args`"),
    ("predict", "`--predictor-args` that are no JSON"),
    ("predict", "`--batch-size` below 1"),
    ("predict-file", "output that is a pipe"),
    ("tune-decoding", "target of an unknown label"),
    ("start", "file in UTF-16"),
    ("ensemble", "ensemble of one archive"),
    ("report", "folder that is no run"),
    ("show-scores", "file without metrics"),
    ("show-scores", "folder of an unfinished run"),
    ("study", "study without seeds"),
    ("study", "study with names as columns"),
]
BY_NAME = {(case.command.split()[0], case.title): case for case in CASES}


@pytest.fixture(scope="module")
def prepared(trained, tmp_path_factory):
    folder = tmp_path_factory.mktemp("prepared")
    prepare(folder, trained / "model.tar.gz")
    return folder


@pytest.mark.parametrize("name", CHEAP, ids=" ".join)
def test_a_malformed_input_is_a_one_line_error(name, prepared, tmp_path, run_here):
    assert problems_of(BY_NAME[name], prepared, tmp_path / "case", run_here) == []


def test_no_case_hides_another():
    assert len(BY_NAME) == len(CASES) >= 200
