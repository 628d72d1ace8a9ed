import json

import pytest


@pytest.fixture
def write(tmp_path):
    """Writes a file: text, bytes, or records of JSON, in a list or in lines by its name."""

    def write(name, *contents):
        path = tmp_path / name
        if isinstance(contents[0], (str, bytes)):
            (content,) = contents
        elif name.endswith(".json"):
            content = json.dumps(contents, indent=2)
        else:
            content = "\n".join(map(json.dumps, contents))
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write
