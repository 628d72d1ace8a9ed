import contextlib
import importlib
import logging
import resource
import sys

import numba
import pytest

from tagger.linear_chain.kernels import cache

INNER = """
from tagger.linear_chain.kernels.compilation import kernel

@kernel
def inner(x):
    return x + {added}
"""
OUTER = """
from inner import inner
from tagger.linear_chain.kernels.compilation import kernel

@kernel
def outer(x):
    return 2 * inner(x)
"""


@pytest.fixture
def outer(tmp_path, monkeypatch):
    """Imports the module `outer` as a new process would and returns its kernel."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "outer.py").write_text(OUTER)

    def imported(added):
        inner, source = tmp_path / "inner.py", INNER.format(added=added)
        if not inner.exists() or inner.read_text() != source:
            inner.write_text(source)
        for name in ("outer", "inner"):
            monkeypatch.delitem(sys.modules, name, raising=False)
        cache.source_stamp.cache_clear()
        importlib.invalidate_caches()
        return importlib.import_module("outer").outer

    monkeypatch.setattr(cache, "_has_warned", False)
    yield imported
    for name in ("outer", "inner"):
        sys.modules.pop(name, None)


def test_a_kernel_is_recompiled_when_one_that_it_calls_has_changed(outer, tmp_path):
    assert outer("1.0")(1.0) == 4
    assert list((tmp_path / "__pycache__").glob("outer.outer*.nbi"))
    assert outer("10.0")(1.0) == 22


def test_an_unchanged_kernel_is_compiled_once(outer):
    assert outer("1.0")(1.0) == 4
    kernel = outer("1.0")
    assert kernel(1.0) == 4
    assert sum(kernel.stats.cache_hits.values()) == 1


@contextlib.contextmanager
def full_disk():
    """Forbids files to grow, so that writing fails as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def messages(caplog):
    return [record.getMessage() for record in caplog.records if record.name == cache.__name__]


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
@pytest.mark.parametrize("length", [0, 20, -1])
def test_a_damaged_cache_file_is_deleted_and_its_kernel_recompiled(
    outer, tmp_path, caplog, suffix, length
):
    assert outer("1.0")(1.0) == 4
    (file,) = (tmp_path / "__pycache__").glob(f"outer.outer*.{suffix}")
    whole = file.read_bytes()
    file.write_bytes(whole[:length])
    with caplog.at_level(logging.WARNING):
        assert outer("1.0")(1.0) == 4
    (message,) = messages(caplog)
    assert message.startswith(f"Deleted the damaged kernel cache {file} (")
    assert len(file.read_bytes()) >= len(whole) - 20
    kernel = outer("1.0")
    assert kernel(1.0) == 4
    assert len(messages(caplog)) == 1


def test_on_a_full_disk_kernels_are_not_cached_with_one_warning(outer, tmp_path, caplog):
    kernel = outer("1.0")
    with full_disk():
        assert kernel(1.0) == 4
        assert kernel(1) == 4
    (message,) = messages(caplog)
    assert message.startswith(f"Kernels are compiled again at each start: {tmp_path}")
    assert not list((tmp_path / "__pycache__").glob("*.nb*"))
    assert outer("1.0")(1.0) == 4
    assert list((tmp_path / "__pycache__").glob("outer.outer*.nbc"))


def test_an_unreadable_or_irreplaceable_cache_file_is_ignored(outer, tmp_path, caplog):
    assert outer("1.0")(1.0) == 4
    (index,) = (tmp_path / "__pycache__").glob("outer.outer*.nbi")
    index.unlink()
    index.mkdir()
    assert outer("1.0")(1.0) == 4
    (message,) = messages(caplog)
    assert message.startswith(f"Kernels are compiled again at each start: {tmp_path}")


def test_without_a_writable_folder_one_warning_says_that_each_start_compiles(
    outer, tmp_path, caplog, monkeypatch
):
    (tmp_path / "__pycache__").touch()
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "__pycache__"))
    kernel = outer("1.0")
    assert not messages(caplog)
    assert kernel(1.0) == 4
    assert kernel(1) == 4
    (message,) = messages(caplog)
    assert message.endswith(
        "no folder for their cache is writable; set NUMBA_CACHE_DIR to one that is"
    )


def test_code_cached_by_another_process_under_the_same_name_is_not_run(outer, tmp_path):
    kernel = outer("1")
    assert (kernel(1), kernel(1.0)) == (4, 4)
    first, second = sorted((tmp_path / "__pycache__").glob("outer.outer*.nbc"))
    swapped = second.read_bytes(), first.read_bytes()
    first.write_bytes(swapped[0])
    second.write_bytes(swapped[1])
    kernel = outer("1")
    assert [type(kernel(each)) for each in (1, 1.0)] == [int, float]
