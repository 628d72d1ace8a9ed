"""Checks, before PyTorch reads a file of weights, that it contains only tensors.

`torch.load(weights_only=True)` runs no code, but a pickle can make it create `bytearray(6000000000)`,
and it trusts the tensor sizes that the pickle states.
"""

import io
import math
import os
import pickle
import pickletools
import struct
import zipfile
from typing import IO, Any, Dict, NamedTuple, Optional, Set

from tagger_compat.archive_guard import refuse

#: The most bytes in the description of tensors, and the most tensors: BERT-large has 400 in 50 kB.
MAX_DESCRIPTION, MAX_TENSORS = 2**21, 20_000
#: The most bytes in a zip file's directory, and the most dimensions of a tensor.
MAX_DIRECTORY, MAX_DIMENSIONS = 2**22, 64
_OPCODES = {
    "PROTO", "GLOBAL", "BINPUT", "LONG_BINPUT", "BINGET", "LONG_BINGET", "MARK", "STOP",
    "EMPTY_DICT", "EMPTY_LIST", "EMPTY_TUPLE", "TUPLE", "TUPLE1", "TUPLE2", "TUPLE3", "BINUNICODE",
    "BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT", "NONE", "NEWTRUE", "NEWFALSE", "BINPERSID",
    "REDUCE", "BUILD", "SETITEM", "SETITEMS", "APPEND", "APPENDS",
}  # fmt: skip
_ITEM_SIZES = {
    **dict.fromkeys(("Double", "Long", "ComplexFloat"), 8),
    **dict.fromkeys(("Float", "Int"), 4),
    **dict.fromkeys(("Half", "BFloat16", "Short"), 2),
    **dict.fromkeys(("Byte", "Char", "Bool"), 1),
    "ComplexDouble": 16,
}
# The older format has five pickles, of which the fourth describes the tensors, and then the numbers.
_NUM_PICKLES, _OF_TENSORS = 5, 3


# The end of a zip file: its signature, and the size and start of its directory.
_END = struct.Struct("<4s8sII2s")
_IN_LARGE_FILE = 2**32 - 1


class _Storage(NamedTuple):
    num_items: int


def check_weights(path: str, name: str) -> None:
    """Rejects a file of weights, called `name` in messages, unless it contains only tensors.

    It must not be compressed, and no tensor may claim more numbers than the file has.
    """
    with open(path, "rb") as file:
        try:
            if file.read(4) == b"PK\3\4":
                _check_zip(file, name)
            else:
                _check_old(file)
        except (pickle.UnpicklingError, zipfile.BadZipFile, *_OF_PICKLES) as error:
            reason = " ".join(str(error).split())[:200]
            refuse(
                f"{name} is not a file of weights as PyTorch writes it ({reason})", "copy it again"
            )


# The errors that a damaged or malicious description can cause in `pickletools` and `pickle`.
_OF_PICKLES = (
    *(ValueError, TypeError, KeyError, IndexError, AttributeError, EOFError, NotImplementedError),
)


def _check_zip(file: IO[bytes], name: str) -> None:
    # Python's and PyTorch's readers must see the same members, so the directory must be where the end of
    # the file says.
    file.seek(max(0, file.seek(0, os.SEEK_END) - _END.size))
    end = _END.unpack(file.read().ljust(_END.size))
    if end[0] != b"PK\5\6" or end[2] > MAX_DIRECTORY:
        raise zipfile.BadZipFile("its directory is not at its end, or too large")
    with zipfile.ZipFile(file) as members:
        sizes: Dict[str, int] = {}
        for member in members.infolist():
            size = member.file_size
            if member.compress_type != zipfile.ZIP_STORED or size != member.compress_size:
                refuse(f"{name} is compressed: it grows to {size} bytes")
            if member.filename in sizes:
                raise zipfile.BadZipFile("a member is there twice")
            sizes[member.filename] = size
        if members.start_dir != end[3] and end[3] != _IN_LARGE_FILE:
            raise zipfile.BadZipFile("something precedes its members")
        folder = next(iter(sizes)).partition("/")[0]
        description = f"{folder}/data.pkl"
        if sizes[description] > MAX_DESCRIPTION:
            raise ValueError(f"`data.pkl` has more than {MAX_DESCRIPTION} bytes")
        content = members.read(description)
    _check_opcodes(io.BytesIO(content))
    start = f"{folder}/data/"
    records = {
        each.removeprefix(start): size for each, size in sizes.items() if each.startswith(start)
    }
    _Tensors(io.BytesIO(content), records).load()


def _check_old(file: IO[bytes]) -> None:
    file.seek(0)
    num_bytes = os.fstat(file.fileno()).st_size
    for number in range(_NUM_PICKLES):
        start = file.tell()
        content = file.read(MAX_DESCRIPTION)
        length = _check_opcodes(io.BytesIO(content))
        if number == _OF_TENSORS:
            _Tensors(io.BytesIO(content), None, num_bytes).load()
        file.seek(start + length)


def _check_opcodes(file: IO[bytes]) -> int:
    """Rejects opcodes that tensors do not need; returns the end of the pickle."""
    end = 0
    for opcode, argument, found in pickletools.genops(file):
        if opcode.name not in _OPCODES:
            raise ValueError(f"it has `{opcode.name}`")
        # `pickle` allocates memory up to this index.
        if opcode.name == "LONG_BINPUT" and int(argument or 0) > MAX_DESCRIPTION:
            raise ValueError("it has too many parts")
        end = found or 0
    return end + 1


class _Tensors(pickle.Unpickler):
    """Reads a description of tensors, creating nothing but their sizes.

    `records` gives the number of bytes in each storage. In the older format there are none, and all
    storages together may have `num_bytes`.
    """

    def __init__(
        self, file: IO[bytes], records: Optional[Dict[str, int]], num_bytes: int = 0
    ) -> None:
        super().__init__(file, encoding="utf-8")
        self._records = records
        self._known: Set[Any] = set()
        self._num_bytes = num_bytes
        self._num_tensors = 0

    def find_class(self, module: str, name: str) -> Any:
        """Allows only the functions that rebuild tensors, and the types of storages."""
        if (module, name) == ("collections", "OrderedDict"):
            return _Dict
        if module == "torch._utils" and name in ("_rebuild_tensor_v2", "_rebuild_tensor"):
            return self._rebuild
        if (module, name) == ("torch._utils", "_rebuild_parameter"):
            return _first
        item_size = _ITEM_SIZES.get(name.removesuffix("Storage"))
        if module in ("torch", "torch.storage") and name.endswith("Storage") and item_size:
            return item_size
        raise ValueError(f"it names `{module[:40]}.{name[:40]}`")

    def persistent_load(self, pid: Any) -> _Storage:
        """Checks that a storage has the size in its description."""
        kind, item_size, key, _, num_items, *_ = pid
        if kind != "storage" or not isinstance(num_items, int) or num_items < 0:
            raise ValueError("it has a damaged storage")
        size = num_items * item_size
        if self._records is not None:
            if self._records.get(key) != size:
                raise ValueError("a storage has another size")
        elif key not in self._known:
            self._known.add(key)
            self._num_bytes -= size
            if self._num_bytes < 0:
                raise ValueError("its storages are larger than the file")
        return _Storage(num_items)

    def _rebuild(self, storage: _Storage, offset: int, size: Any, stride: Any, *_: Any) -> None:
        self._num_tensors += 1
        if self._num_tensors > MAX_TENSORS:
            raise ValueError(f"it has more than {MAX_TENSORS} tensors")
        if len(size) > MAX_DIMENSIONS:
            raise ValueError(f"a tensor has more than {MAX_DIMENSIONS} dimensions")
        if min((0, offset, *size, *stride)) < 0 or math.prod(size) > storage.num_items:
            raise ValueError("a tensor has more numbers than its storage")


class _Dict(dict):
    """Replaces an ordered dictionary, which may have attributes."""


def _first(tensor: Any, *_: Any) -> Any:
    return tensor
