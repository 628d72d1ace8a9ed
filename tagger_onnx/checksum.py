"""The checksum at the end of an exported file: SHA-256 of everything before it.

It is the last metadata entry, encoded as a protocol buffer, so checking it does not need a library.
"""

import hashlib
from pathlib import Path
from typing import Union

#: The name of the entry.
KEY = "checksum"

# The number of hexadecimal digits of SHA-256.
_DIGITS = 64


def with_checksum(content: bytes) -> bytes:
    """Returns the content of an ONNX file with the checksum appended."""
    return content + _entry(hashlib.sha256(content).hexdigest())


def is_whole(path: Union[str, Path]) -> bool:
    """Whether a file ends with the checksum of everything before it."""
    size = Path(path).stat().st_size - len(_entry("0" * _DIGITS))
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while size > 0 and (block := file.read(min(size, 2**20))):
            digest.update(block)
            size -= len(block)
        return file.read() == _entry(digest.hexdigest())


def _entry(checksum: str) -> bytes:
    """An entry of `metadata_props`, field 14 of a model: a key, field 1, and a value, field 2."""
    fields = b"".join(
        bytes([number << 3 | 2, len(text)]) + text.encode()
        for number, text in ((1, KEY), (2, checksum))
    )
    return bytes([14 << 3 | 2, len(fields)]) + fields
