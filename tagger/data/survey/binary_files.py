"""Names binary files, which are not read, by their first bytes."""

from typing import Optional

#: What files hold that begin with these bytes.
_BINARY = {
    b"PK\x03\x04": "a zip archive or an office document, such as .xlsx or .docx",
    b"\xd0\xcf\x11\xe0": "an office document, such as .xls or .doc",
    b"%PDF": "a PDF document",
    b"SQLite format 3": "an SQLite database",
    b"\x80\x03": "a pickle of Python",
    b"\x80\x04": "a pickle of Python",
    b"\x80\x05": "a pickle of Python",
    b"\x89HDF": "an HDF5 file",
    b"\x93NUMPY": "an array of NumPy",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"ORC": "an ORC file",
    b"{\\rtf": "an RTF document of a word processor",
    b"Obj\x01": "an Avro file",
    b"7z\xbc\xaf": "an archive of 7-Zip",
}


def binary_kind(head: bytes) -> Optional[str]:
    """Says what a binary file holds, given its first bytes; None if it may be text."""
    return next((kind for start, kind in _BINARY.items() if head.startswith(start)), None)
