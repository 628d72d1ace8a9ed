"""Every malformed input ends in one line that says what is wrong, and with all files as they were."""

import pytest

from tests.system.malformed_case import prepare, problems_of
from tests.system.malformed_inputs import CASES

pytestmark = pytest.mark.system


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("prepared")
    prepare(folder)
    return folder


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.command.split()[0]} {case.title}")
def test_a_mistake_ends_in_one_line(case, prepared, tmp_path, warm_python):
    assert problems_of(case, prepared, tmp_path / "case") == []
