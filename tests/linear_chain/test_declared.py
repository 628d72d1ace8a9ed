"""Counts the GPU syncs of declared batches, on CPU tensors that pass as GPU tensors."""

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from tagger.linear_chain import checks, log_likelihood, tag_marginals, viterbi_decode
from tagger.linear_chain.declared import declare_range, declare_right_padded
from tagger.modules import ConditionalRandomField, TagWeighting
from tests.linear_chain.cases import Case
from tests.linear_chain.chains import mask_of
from tests.linear_chain.conftest import needs_triton

WAITING = ("_local_scalar_dense", "is_nonzero", "nonzero", "equal")


class Waits(TorchDispatchMode):
    """Counts the operations that force a sync."""

    def __init__(self):
        super().__init__()
        self.number = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.number += function.overloadpacket.__name__ in WAITING
        return function(*args, **(kwargs or {}))


@pytest.fixture
def tensors_are_elsewhere(monkeypatch):
    monkeypatch.setattr(checks, "is_elsewhere", lambda tensor: True)


@pytest.fixture(params=[pytest.param("cuda", marks=needs_triton)])
def batch(request, tensors_are_elsewhere):
    from tagger.linear_chain import use_implementation

    scores, tags, mask = Case((3, 2), 3, dtype=torch.float32).batch(torch.device("cpu"))
    with use_implementation(request.param):
        yield scores, tags, mask


def declared(tags, mask):
    return declare_range(tags, int(tags.min()), int(tags.max())), declare_right_padded(mask)


def waits_of(function):
    with Waits() as waits:
        function()
    return waits.number


def test_declared_batches_cause_no_sync(batch):
    scores, tags, mask = batch
    assert waits_of(lambda: log_likelihood(scores, tags, mask)) > 0
    tags, mask = declared(tags, mask)
    for tensor in scores:
        tensor.requires_grad_()
    assert waits_of(lambda: log_likelihood(scores, tags, mask).sum().backward()) == 0
    assert waits_of(lambda: tag_marginals(scores, mask)) == 0
    assert waits_of(lambda: viterbi_decode(scores, mask)) == 0
    assert waits_of(lambda: log_likelihood(scores, tags, mask.sum(1))) == 0


@pytest.mark.parametrize("name", TagWeighting.list_available())
def test_no_weighting_causes_a_sync(name, batch):
    scores, tags, mask = batch
    weighting = TagWeighting.by_name(name)(tag_weights=[0.5, 1.0, 2.0])
    crf = ConditionalRandomField(3, weighting=weighting)
    tags, mask = declared(tags, mask)
    assert waits_of(lambda: crf(scores.emissions, tags, mask).backward()) == 0


@pytest.mark.filterwarnings("ignore:invalid value")  # NumPy interprets the kernel.
def test_rows_of_nan_have_no_best_score(batch):
    scores, _, mask = batch
    scores.emissions[1, 2:] = torch.nan
    assert viterbi_decode(scores, mask)[1].isfinite().all()
    scores.emissions[1, 0, 0] = torch.inf
    assert viterbi_decode(scores, mask)[1].isnan().tolist() == [False, True]


def test_false_declarations_are_detected(batch):
    scores, tags, _mask = batch
    holes = declare_right_padded(torch.tensor([[True, False, True], [True, True, False]]))
    with pytest.raises(RuntimeError, match="has a hole"):
        log_likelihood(scores, tags, holes)
    with pytest.raises(RuntimeError, match="lengths outside"):
        log_likelihood(scores, tags, torch.tensor([4, 2]))


def test_writing_to_a_tensor_ends_its_declaration(batch):
    scores, tags, mask = batch
    tags, mask = declared(tags, mask)
    tags[0, 0] = 3
    with pytest.raises(ValueError, match="row 0 has 3 at token 0"):
        log_likelihood(scores, tags, mask)
    tags[0, 0] = -1
    mask[0, 1] = False
    close = torch.testing.assert_close
    expected = log_likelihood(scores, torch.tensor([[-1, -1, int(tags[0, 2])], [0, 0, 0]]), mask)
    close(log_likelihood(scores, tags, mask)[0], expected[0])


def test_on_a_cpu_a_declared_mask_may_have_holes():
    scores, tags, _ = Case((3, 2), 3).batch(torch.device("cpu"))
    mask = mask_of([3, 2])
    mask[0, 1] = False
    plain = log_likelihood(scores, tags, mask.clone())
    assert torch.equal(log_likelihood(scores, tags, declare_right_padded(mask)), plain)
