"""Matrices of four bits a weight in an ONNX graph, as int8 with scales, in a quarter of the space.

The values stay exactly the same. Rows of embeddings are unpacked when they are looked up, other matrices
while the file is loaded. See `tagger.transformers.exact_blocks`.

Letters: `R` rows of a matrix, `N` blocks of a row.
"""

import copy
from collections import Counter
from typing import List, NamedTuple, Optional

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper

from tagger.transformers.exact_blocks import blocks_of

#: Smaller matrices are left as they are.
_FEWEST_VALUES = 2**16


class _Packed(NamedTuple):
    """A matrix in blocks: numbers (R, N, 32) int8, and scales (R, N, 1) float16.

    `is_transposed` is true if they are of the transposed matrix.
    """

    name: str
    numbers: np.ndarray
    scales: np.ndarray
    is_transposed: bool

    @property
    def constants(self) -> List[TensorProto]:
        values = {"numbers": self.numbers, "scales": self.scales}
        return [numpy_helper.from_array(each, f"{self.name}/{key}") for key, each in values.items()]

    def whole(self) -> List[onnx.NodeProto]:
        """Returns nodes that unpack the matrix."""
        name = f"{self.name}/transposed" if self.is_transposed else self.name
        nodes = _product(self.name, [len(self.numbers), self.numbers[0].size], name)
        if self.is_transposed:
            nodes.append(helper.make_node("Transpose", [name], [self.name], perm=[1, 0]))
        return nodes

    def rows(self, lookup: onnx.NodeProto) -> List[onnx.NodeProto]:
        """Returns nodes that look rows up, indices (B, P), and unpack only these."""
        name = lookup.output[0]
        nodes = [
            helper.make_node("Gather", [f"{self.name}/{each}", lookup.input[1]], [f"{name}/{each}"])
            for each in ("numbers", "scales")
        ]
        return [*nodes, *_product(name, [0, 0, self.numbers[0].size], name)]


def pack_matrices(graph: onnx.GraphProto) -> None:
    """Packs the large constants of a graph, where nothing is lost."""
    uses = Counter(name for node in graph.node for name in node.input)
    lookups = {
        node.input[0]
        for node in graph.node
        if node.op_type == "Gather" and uses[node.input[0]] == 1
    }
    constants, nodes, looked_up = [], [], {}
    for constant in graph.initializer:
        packed = _packed(constant, constant.name in lookups)
        if packed is None:
            constants.append(copy.deepcopy(constant))
            continue
        constants += packed.constants
        if constant.name in lookups:
            looked_up[constant.name] = packed
        else:
            nodes += packed.whole()
    for node in graph.node:
        found = looked_up.get(node.input[0]) if node.input else None
        nodes += [copy.deepcopy(node)] if found is None else found.rows(node)
    for node in nodes:
        node.name = node.name or f"{node.output[0]}/node"
    del graph.initializer[:], graph.node[:]
    graph.initializer.extend(constants)
    graph.node.extend(nodes)


def _packed(constant: TensorProto, is_looked_up: bool) -> Optional[_Packed]:
    is_large = len(constant.dims) == 2 and np.prod(constant.dims) >= _FEWEST_VALUES
    if not is_large or constant.data_type != TensorProto.FLOAT:
        return None
    matrix = torch.from_numpy(numpy_helper.to_array(constant).copy())
    for is_transposed, own in enumerate((matrix, matrix.T.contiguous())[: 2 - is_looked_up]):
        blocks = blocks_of(own) if own.size(1) % 32 == 0 else None
        if blocks is not None:
            numbers, scales = (each.reshape(len(own), -1, n) for each, n in zip(blocks, (32, 1)))
            return _Packed(constant.name, numbers.numpy(), scales.numpy(), bool(is_transposed))
    return None


def _product(name: str, shape: List[int], output: str) -> List[onnx.NodeProto]:
    """Returns nodes that multiply numbers by their scales, float32, in a new shape."""
    numbers, scales = (f"{name}/numbers", f"{name}/scales")
    nodes = [
        helper.make_node("Cast", [each], [f"{each}/float"], to=TensorProto.FLOAT)
        for each in (numbers, scales)
    ]
    size = numpy_helper.from_array(np.array(shape))
    return [
        *nodes,
        helper.make_node("Mul", [f"{numbers}/float", f"{scales}/float"], [f"{name}/product"]),
        helper.make_node("Constant", [], [f"{name}/shape"], value=size),
        helper.make_node("Reshape", [f"{name}/product", f"{name}/shape"], [output]),
    ]
