"""No file of a random layout is misunderstood silently; `python -m tests.data.layouts` tries more."""

import logging
from collections import Counter
from random import Random

import pytest

from tests.data.layouts.__main__ import MAKERS
from tests.data.layouts.outcomes import outcome_of

_COUNT = 60


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_files_of_random_layouts_are_read_rightly_or_refused(make, tmp_path):
    logging.disable(logging.CRITICAL)
    try:
        cases = [make(Random(f"0 {number}")) for number in range(_COUNT)]
        outcomes = [(case, outcome_of(case, tmp_path)) for case in cases]
    finally:
        logging.disable(logging.NOTSET)
    assert [(each.said, case.traits) for case, each in outcomes if each.name == "wrong"] == []
    promised = Counter(each.name for case, each in outcomes if case.refusal is None)
    assert promised["right"] >= 0.95 * sum(promised.values())
