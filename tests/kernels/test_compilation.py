import shutil
import subprocess
import sys

import pytest

pytest.importorskip("numba")

from tagger.kernels import compilation  # noqa: E402

INNER = """
from compilation import kernel

@kernel
def inner(x):
    return x + {added}
"""
OUTER = """
from compilation import kernel
from inner import inner

@kernel
def outer(x):
    return 2 * inner(x)
"""


def outer_of_one(folder):
    command = [sys.executable, "-c", "from outer import outer; print(outer(1.0))"]
    return float(subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE).stdout)


@pytest.mark.usefixtures("warm_python")
def test_a_kernel_is_compiled_anew_when_one_that_it_calls_has_changed(tmp_path):
    shutil.copy(compilation.__file__, tmp_path)
    (tmp_path / "outer.py").write_text(OUTER)
    (tmp_path / "inner.py").write_text(INNER.format(added="1.0"))
    assert outer_of_one(tmp_path) == 4
    assert list((tmp_path / "__pycache__").glob("outer.outer*.nbi"))
    (tmp_path / "inner.py").write_text(INNER.format(added="10.0"))
    assert outer_of_one(tmp_path) == 22
