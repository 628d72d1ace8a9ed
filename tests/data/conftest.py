import json

import pytest

from tagger.data.formats import read_texts
from tagger.data.reading import Reading


@pytest.fixture
def write(tmp_path):
    """Writes bytes, text or JSON records to a file; its name decides between a list and lines."""

    def write(name, *contents):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        if isinstance(contents[0], bytes):
            path.write_bytes(contents[0])
            return path
        if len(contents) == 1 and isinstance(contents[0], str):
            (content,) = contents
        elif name.endswith(".json"):
            content = json.dumps(contents, indent=2)
        else:
            lines = (each if isinstance(each, str) else json.dumps(each) for each in contents)
            content = "\n".join(lines)
        path.write_bytes(content.encode())
        return path

    return write


@pytest.fixture
def read_one(write):
    """Reads a file with a single text."""

    def read_one(name, *contents, **options):
        (text,) = read_texts(write(name, *contents), Reading(**options))
        return text

    return read_one
