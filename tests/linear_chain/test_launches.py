"""Operations launched on a GPU: in small batches, launching takes most of the time."""

from collections import Counter

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from tagger.linear_chain import use_implementation
from tagger.modules import ConditionalRandomField
from tests.linear_chain.conftest import needs_triton

pytestmark = [
    needs_triton,
    pytest.mark.skipif(torch.cuda.is_available(), reason="kernels are interpreted without a GPU"),
]

#: Operations that launch nothing: views, and memory that is not filled.
FREE = {"detach", "empty", "expand", "lift_fresh", "select", "slice", "t", "unbind", "view"}
FREE |= {"alias", "empty_like"}
SCORES, TAGS, MASK = (
    torch.randn(2, 4, 5),
    torch.zeros(2, 4, dtype=torch.int64),
    torch.ones(2, 4) > 0,
)


class Launches(TorchDispatchMode):
    """Counts the operations that would be launched on a GPU, including the kernels."""

    def __init__(self, monkeypatch):
        from triton.runtime.interpreter import GridExecutor

        super().__init__()
        self.counts = Counter()
        self.is_in_kernel = False
        run = GridExecutor.__call__

        def launch(executor, *args, **kwargs):
            self.counts[executor.fn.__name__] += 1
            # The interpreter computes with PyTorch.
            self.is_in_kernel = True
            run(executor, *args, **kwargs)
            self.is_in_kernel = False

        monkeypatch.setattr(GridExecutor, "__call__", launch)

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        name = function.__name__.split(".")[0]
        if name not in FREE and not self.is_in_kernel:
            self.counts[name] += 1
        return function(*args, **(kwargs or {}))


def loss_with_gradient(crf):
    (-crf(SCORES.requires_grad_(), TAGS, MASK)).backward()


def decoding(crf):
    crf.viterbi_decode(SCORES, MASK)


@pytest.mark.parametrize(
    ("call", "most"),
    [
        # Four of the loss are the sum, its sign, and their derivatives.
        (loss_with_gradient, 13),
        (decoding, 6),
    ],
)
def test_a_call_launches_few_operations(call, most, monkeypatch):
    crf = ConditionalRandomField(5)
    with use_implementation("cuda"), Launches(monkeypatch) as launches:
        call(crf)
    assert any(name.endswith("_kernel") for name in launches.counts)
    assert launches.counts.total() <= most, launches.counts
