"""Fixtures for tests of transformers."""

import pytest

from tests.transformers.small import KINDS


@pytest.fixture(params=list(KINDS))
def transformer(request, tmp_path):
    """The folder of a transformer of each kind."""
    return KINDS[request.param](tmp_path / "tiny")
