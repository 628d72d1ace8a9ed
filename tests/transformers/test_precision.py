import pytest
import torch

from tagger.transformers.precision import computing_in, precision_of_frozen

CPU = torch.device("cpu")


@pytest.mark.parametrize(
    ("precision", "capabilities", "dtype"),
    [
        ("float32", {"amx_bf16": True}, torch.float32),
        ("bfloat16", {}, torch.bfloat16),
        ("auto", {"avx512_bf16": True, "amx_bf16": True}, torch.bfloat16),
        # Conversions cost more than vectors of bfloat16 save.
        ("auto", {"avx512_bf16": True, "amx_bf16": False}, torch.float32),
        ("auto", {}, torch.float32),
    ],
)
def test_matrices_are_multiplied_in_a_precision(precision, capabilities, dtype, monkeypatch):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: capabilities, raising=False)
    matrix = torch.ones(2, 2)
    with computing_in(precision, CPU):
        assert (matrix @ matrix).dtype == dtype


def test_float32_leaves_the_trainers_precision_alone():
    matrix = torch.ones(2, 2)
    with torch.autocast("cpu", torch.bfloat16), computing_in("float32", CPU):
        assert (matrix @ matrix).dtype == torch.bfloat16


@pytest.mark.parametrize(
    ("precision", "capabilities", "chosen"),
    [
        ("auto", {"avx512_vnni": True, "amx_bf16": True}, "bfloat16"),
        ("auto", {"avx512_vnni": True, "amx_bf16": False}, "int8"),
        ("auto", {"avx512_vnni": False}, "float32"),
        ("auto", {}, "float32"),
        ("float32", {"avx512_vnni": True, "amx_bf16": True}, "float32"),
        ("bfloat16", {}, "bfloat16"),
    ],
)
def test_a_frozen_transformer_computes_in_the_fastest(precision, capabilities, chosen, monkeypatch):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: capabilities, raising=False)
    assert precision_of_frozen(precision, CPU) == chosen
