import pytest
import torch

from tagger.transformers.precision import (
    computing_in,
    has_bfloat16_products,
    precision_of_frozen,
)

CPU = torch.device("cpu")


@pytest.mark.parametrize(
    ("precision", "capabilities", "trained", "frozen"),
    [
        ("float32", {"avx512_vnni": True, "amx_bf16": True}, torch.float32, "float32"),
        ("bfloat16", {}, torch.bfloat16, "bfloat16"),
        ("auto", {"avx512_vnni": True, "amx_bf16": True}, torch.bfloat16, "bfloat16"),
        ("auto", {"avx512_bf16": True, "avx512_vnni": True, "amx_bf16": False}, torch.bfloat16, "int8"),
        ("auto", {"avx512_vnni": False}, torch.float32, "float32"),
        ("auto", {}, torch.float32, "float32"),
    ],
)  # fmt: skip
def test_the_fastest_precision_is_chosen(precision, capabilities, trained, frozen, monkeypatch):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: capabilities, raising=False)
    matrix = torch.ones(2, 2)
    with computing_in(precision, CPU):
        assert (matrix @ matrix).dtype == trained
    assert precision_of_frozen(precision, CPU) == frozen


@pytest.mark.parametrize(
    ("capabilities", "expected"),
    [({"avx512_bf16": True}, True), ({"amx_bf16": True}, True), ({"avx512_vnni": True}, False)],
)
def test_instructions_for_bfloat16_are_found(capabilities, expected, monkeypatch):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: capabilities, raising=False)
    assert has_bfloat16_products() == expected


def test_float32_leaves_the_trainers_precision_alone():
    matrix = torch.ones(2, 2)
    with torch.autocast("cpu", torch.bfloat16), computing_in("float32", CPU):
        assert (matrix @ matrix).dtype == torch.bfloat16
