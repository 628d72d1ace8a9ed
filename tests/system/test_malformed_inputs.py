"""Every malformed input gives a one-line error and leaves all files unchanged."""

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
def test_a_malformed_input_is_a_one_line_error(case, prepared, tmp_path, warm_python):
    assert problems_of(case, prepared, tmp_path / "case") == []
