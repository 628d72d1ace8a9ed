"""A sentence gets the same bits in any window and batch; `tests/system` tries every kind of tagger."""

import pytest

from tests.kinds import sentences, train
from tests.routes import check_python_and_windows


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["word vectors", "frozen", "fine-tuned"])
def test_windows_and_batches_change_nothing(kind, at_root, tmp_path):
    lines = sentences(30)
    answers = check_python_and_windows(train(kind, tmp_path), lines, tmp_path, (1, 7, 2048))
    assert len({tuple(tags) for _, tags, _ in answers if tags}) > 1
