"""Every malformed input ends as the page says: in one line, and with all files as they were."""

import pytest

from tests.system.malformed_inputs import CASES
from tests.system.malformed_inputs.trial import prepare, rows_of_page, table_row, try_case

pytestmark = pytest.mark.system


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("prepared")
    prepare(folder)
    return folder


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.command.split()[0]} {case.title}")
def test_a_mistake_ends_as_the_page_says(case, prepared, tmp_path, warm_python):
    outcome, problems = try_case(case, prepared, tmp_path / "case")
    assert problems == [], outcome
    assert table_row(case, outcome, tmp_path / "case") in rows_of_page()
