"""Matrices of four bits a weight take a quarter of the space in an archive, without any loss."""

import logging

import numpy as np
import pytest
import torch
from allennlp.common.checks import ConfigurationError
from safetensors.torch import load_file, save_file

from tagger.tools.start.four_bits import read_packed_bert, write_packed_bert
from tagger.transformers.exact_blocks import blocks_of
from tagger.transformers.pretrained import carry_transformer, find_transformer
from tests.tools.start.packed import packed_file, random_tensors, tokenizer_file
from tests.transformers.small import save_word_pieces

MATRIX = "encoder.layer.0.output.dense.weight"


def four_bits(num_blocks, seed=0):
    """Returns numbers (N, 32), of which one in each block is -8, and scales (N,) float16."""
    draw = np.random.default_rng(seed)
    numbers = draw.integers(-8, 8, (num_blocks, 32))
    numbers[np.arange(num_blocks), draw.integers(0, 32, num_blocks)] = -8
    return torch.from_numpy(numbers), torch.from_numpy(draw.normal(size=num_blocks)).half()


def test_numbers_and_scales_give_exactly_the_weights():
    numbers, scales = four_bits(50)
    weights = (numbers * scales.float()[:, None]).view(25, 64)
    found, found_scales = blocks_of(weights)
    assert torch.equal(found.long(), numbers)
    assert torch.equal(found_scales, scales)
    assert (found.dtype, found_scales.dtype) == (torch.int8, torch.float16)
    zeros, _ = blocks_of(torch.zeros(2, 32))
    assert not zeros.any()


def test_other_matrices_are_stored_as_they_are():
    numbers, scales = four_bits(50)
    weights = (numbers * scales.float()[:, None]).view(25, 64)
    changed = weights.clone()
    changed[3, 5] *= 1 + 2**-20
    others = [changed, torch.randn(4, 32), torch.full((2, 32), float("nan")), weights.double()]
    others += [weights * 1e9, torch.zeros(32), torch.zeros(3, 5)]
    assert [blocks_of(each) for each in others] == [None] * len(others)


@pytest.fixture
def fetched(tmp_path):
    """A small transformer, as `fetch-encoder` writes that of four bits."""
    tensors = random_tensors()
    for each in tensors.values():
        if isinstance(each, tuple):
            each[0][:, 7] = 0  # -8 times the scale, as in the real file
    folder = tmp_path / "fetched"
    folder.mkdir()
    write_packed_bert(read_packed_bert(packed_file(tensors)), tokenizer_file(), folder)
    return folder


@pytest.fixture
def carried(fetched, tmp_path):
    carry_transformer(find_transformer(str(fetched)), "fetched", str(tmp_path / "run"), 200)
    return find_transformer("nowhere/fetched", str(tmp_path / "run"))


def test_an_archive_carries_the_same_weights_in_less_space(fetched, carried):
    before, after = (
        each.model().state_dict() for each in (find_transformer(str(fetched)), carried)
    )
    assert before.keys() == after.keys()
    for name, weight in before.items():
        assert torch.equal(weight, after[name]), name
    stored = load_file(carried.folder / "model.safetensors")
    assert stored[f"{MATRIX}.numbers"].dtype == torch.int8
    sizes = [
        (each.folder / "model.safetensors").stat().st_size
        for each in (find_transformer(str(fetched)), carried)
    ]
    assert sizes[1] < 0.5 * sizes[0]


@pytest.mark.parametrize("save", ["fetched", "others"])
def test_only_the_size_in_the_archive_counts(save, fetched, tmp_path, caplog):
    folder = fetched
    if save == "others":
        folder = tmp_path / "others"
        save_word_pieces(folder)
    num_bytes = (folder / "model.safetensors").stat().st_size
    with caplog.at_level(logging.WARNING):
        transformer = find_transformer(str(folder))
        carry_transformer(transformer, save, str(tmp_path / "run"), 0.9 * num_bytes / 1e6)
    is_carried = (tmp_path / "run/transformers" / save).is_dir()
    assert is_carried == (save == "fetched")
    assert ("does not carry" in caplog.text) == (not is_carried)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({f"{MATRIX}.scales": torch.ones(3).half()}, ConfigurationError, "do not fit"),
        ({f"{MATRIX}.scales": torch.tensor(1.0)}, ConfigurationError, "do not fit"),
        ({f"{MATRIX}.numbers": torch.ones(64, 32)}, ConfigurationError, "do not fit"),
        ({f"{MATRIX}.numbers": torch.ones(64, 1).to(torch.int8)}, ConfigurationError, "do not fit"),
        ({f"{MATRIX}.numbers": None}, ConfigurationError, "do not fit"),
        ({f"{MATRIX}.scales": None}, RuntimeError, "Missing key"),
        ({"more": torch.ones(1)}, RuntimeError, "Unexpected key"),
        ({"more.scales": torch.ones(1)}, RuntimeError, "Unexpected key"),
    ],
)
def test_blocks_that_do_not_fit_are_refused(change, error, message, carried):
    path = carried.folder / "model.safetensors"
    tensors = {**load_file(path), **change}
    save_file({name: each for name, each in tensors.items() if each is not None}, path)
    with pytest.raises(error, match=message):
        carried.model()
