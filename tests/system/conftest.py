"""Fixtures for the system tests."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def archive_file(request):
    """The archive named by `TAGGER_ARCHIVE`, by default the toy tagger."""
    given = os.environ.get("TAGGER_ARCHIVE")
    return Path(given) if given else request.getfixturevalue("trained") / "model.tar.gz"
