"""Fixtures for the system tests."""

import os
from pathlib import Path

import pytest

#: Plugins for other projects' tests, which `test_peers.py` loads. They import those projects.
collect_ignore = ["peers"]


@pytest.fixture(scope="session")
def archive_file(request):
    """The archive named by `TAGGER_ARCHIVE`, by default the toy tagger."""
    given = os.environ.get("TAGGER_ARCHIVE")
    return Path(given) if given else request.getfixturevalue("trained") / "model.tar.gz"
