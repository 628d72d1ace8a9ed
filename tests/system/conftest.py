"""Fixtures of the system tests."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def archive_file(request):
    """The toy tagger, or the one that `TAGGER_ARCHIVE` names."""
    given = os.environ.get("TAGGER_ARCHIVE")
    return Path(given) if given else request.getfixturevalue("trained") / "model.tar.gz"
