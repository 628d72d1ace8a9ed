import numpy as np
import pytest
import torch

from tagger.kernels.tiles import add_product, panels_of


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("num_rows", [0, 1, 2, 5, 6, 7, 13])
@pytest.mark.parametrize("num_columns", [1, 8, 16, 37])
def test_adds_what_the_product_is(dtype, num_rows, num_columns):
    generator = torch.Generator().manual_seed(num_rows + num_columns)
    rows = torch.randn(num_rows + 1, 9, dtype=dtype, generator=generator)
    matrix = torch.randn(4, num_columns, dtype=dtype, generator=generator)
    panels = panels_of(matrix)
    totals = np.ones((num_rows, panels.shape[0] * panels.shape[2]), rows.numpy().dtype)
    # The factor is columns 2 to 5 of all rows but the first.
    add_product(totals, rows.numpy(), 9 + 2, 9, panels)
    expected = 1 + rows[1:, 2:6] @ matrix
    torch.testing.assert_close(torch.from_numpy(totals[:, :num_columns]), expected)
    assert (totals[:, num_columns:] == 1).all()
