import importlib
import sys

import pytest

from tagger.kernels import compilation

INNER = """
from tagger.kernels.compilation import kernel

@kernel
def inner(x):
    return x + {added}
"""
OUTER = """
from inner import inner
from tagger.kernels.compilation import kernel

@kernel
def outer(x):
    return 2 * inner(x)
"""


@pytest.fixture
def outer(tmp_path, monkeypatch):
    """Imports the module `outer` as a new process would, and returns its kernel."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "outer.py").write_text(OUTER)

    def imported(added):
        (tmp_path / "inner.py").write_text(INNER.format(added=added))
        for name in ("outer", "inner"):
            monkeypatch.delitem(sys.modules, name, raising=False)
        compilation._source_stamp.cache_clear()
        importlib.invalidate_caches()
        return importlib.import_module("outer").outer

    yield imported
    for name in ("outer", "inner"):
        sys.modules.pop(name, None)


def test_a_kernel_is_compiled_anew_when_one_that_it_calls_has_changed(outer, tmp_path):
    assert outer("1.0")(1.0) == 4
    assert list((tmp_path / "__pycache__").glob("outer.outer*.nbi"))
    assert outer("10.0")(1.0) == 22


def test_a_kernel_is_compiled_once_if_nothing_has_changed(outer):
    assert outer("1.0")(1.0) == 4
    kernel = importlib.reload(sys.modules["outer"]).outer
    assert kernel(1.0) == 4
    assert sum(kernel.stats.cache_hits.values()) == 1
