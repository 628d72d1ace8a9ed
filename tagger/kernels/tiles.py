"""Products of small matrices: PyTorch's own are slow where one has few rows, such as an LSTM's steps."""

from typing import Any, Callable, Tuple

import numba.types
import numpy as np
import torch
from llvmlite import ir
from numba.extending import intrinsic

from tagger.kernels.compilation import kernel

#: Bytes of a panel's row.
_PANEL_BYTES = 64


def panels_of(matrix: torch.Tensor) -> np.ndarray:
    """Lays a matrix out for `add_product`: column by column of panels, each 64 bytes wide.

    Args:
        matrix: (D, N).

    Returns:
        (panels, D, columns of a panel), the last panel filled up with zeros.
    """
    width = _PANEL_BYTES // matrix.element_size()
    depth, num_columns = matrix.shape
    padded = torch.nn.functional.pad(matrix, (0, -num_columns % width))
    return padded.view(depth, -1, width).transpose(0, 1).contiguous().numpy()


def _adds_tile(num_rows: int) -> Callable:
    """Returns a function for kernels that adds a product of a few rows and one panel."""

    @intrinsic
    def add_tile(
        typing_context: Any,
        totals: Any,
        totals_start: Any,
        totals_step: Any,
        rows: Any,
        rows_start: Any,
        rows_step: Any,
        panels: Any,
        panel_start: Any,
        depth: Any,
    ) -> Tuple[Any, Callable]:
        """Adds to `totals` for each of the rows the product of `rows` and a panel.

        All arrays are flat. The totals stay in vector registers until the end, which no loop over an
        array makes a compiler do.

        Args:
            typing_context: Numba's.
            totals: what is added to.
            totals_start: where the first row's part of the totals begins.
            totals_step: how far the next row's is from it.
            rows: the factor on the left.
            rows_start: where the first row begins.
            rows_step: how far the next row is from it.
            panels: the factor on the right, as `panels_of` lays it out.
            panel_start: where the panel begins.
            depth: numbers in a row, and rows of the panel.
        """

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            def pointer(array: int, start: Any, step: Any, row: int) -> Any:
                data = context.make_array(signature.args[array])(context, builder, args[array]).data
                return builder.gep(data, [builder.add(start, builder.mul(step, step.type(row)))])

            index = ir.IntType(64)
            number = context.get_value_type(totals.dtype)
            num_bytes = totals.dtype.bitwidth // 8
            vector = ir.VectorType(number, _PANEL_BYTES // num_bytes)
            to_all_lanes = ir.VectorType(ir.IntType(32), vector.count)([0] * vector.count)
            _, totals_start, totals_step, _, rows_start, rows_step, _, panel_start, _ = args
            row_pointers = [pointer(3, rows_start, rows_step, row) for row in range(num_rows)]
            total_pointers = [
                builder.bitcast(pointer(0, totals_start, totals_step, row), vector.as_pointer())
                for row in range(num_rows)
            ]
            panel = builder.bitcast(pointer(6, panel_start, index(0), 0), vector.as_pointer())
            before = [builder.load(place, align=num_bytes) for place in total_pointers]
            entry = builder.block
            loop, end = (builder.append_basic_block(name) for name in ("tile", "tile.end"))
            builder.branch(loop)
            builder.position_at_end(loop)
            step = builder.phi(index)
            running = [builder.phi(vector) for _ in total_pointers]
            following = builder.add(step, index(1))
            step.add_incoming(index(0), entry)
            step.add_incoming(following, loop)
            factor = builder.load(builder.gep(panel, [step]), align=num_bytes)
            sums = []
            for row_pointer, total in zip(row_pointers, running):
                value = builder.insert_element(
                    vector(ir.Undefined),
                    builder.load(builder.gep(row_pointer, [step])),
                    ir.IntType(32)(0),
                )
                value = builder.shuffle_vector(value, vector(ir.Undefined), to_all_lanes)
                product = builder.fmul(value, factor, flags=("contract",))
                sums.append(builder.fadd(product, total, flags=("contract",)))
            for total, start, value in zip(running, before, sums):
                total.add_incoming(start, entry)
                total.add_incoming(value, loop)
            builder.cbranch(builder.icmp_signed("<", following, args[-1]), loop, end)
            builder.position_at_end(end)
            for place, value in zip(total_pointers, sums):
                builder.store(value, place, align=num_bytes)
            return context.get_dummy_value()

        i64 = numba.types.int64
        signature = numba.types.void(totals, i64, i64, rows, i64, i64, panels, i64, i64)
        return signature, generate

    return add_tile


# With six rows the totals fill 12 of the 16 vector registers that most processors have.
_add_six_rows, _add_two_rows, _add_row = (_adds_tile(num_rows) for num_rows in (6, 2, 1))


@kernel
def add_product(
    totals: np.ndarray, rows: np.ndarray, start: int, step: int, panels: np.ndarray
) -> None:
    """Adds a product of two matrices.

    Args:
        totals: (R, at least all columns of the panels), C-contiguous; what is added to.
        rows: an array, C-contiguous, in which the factor on the left lies.
        start: where in `rows`, taken as flat, the factor's first row begins.
        step: how far the next row is from it.
        panels: the factor on the right, as `panels_of` lays it out.
    """
    num_rows, width = totals.shape
    num_panels, depth, panel_width = panels.shape
    ours, theirs, factors = totals.reshape(-1), rows.reshape(-1), panels.reshape(-1)
    for panel in range(num_panels):
        factor = panel * depth * panel_width
        row, total, value = 0, panel * panel_width, start
        while row + 6 <= num_rows:
            _add_six_rows(ours, total, width, theirs, value, step, factors, factor, depth)
            row, total, value = row + 6, total + 6 * width, value + 6 * step
        while row + 2 <= num_rows:
            _add_two_rows(ours, total, width, theirs, value, step, factors, factor, depth)
            row, total, value = row + 2, total + 2 * width, value + 2 * step
        if row < num_rows:
            _add_row(ours, total, width, theirs, value, step, factors, factor, depth)
