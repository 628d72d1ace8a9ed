"""Matrices of four bits a weight take a quarter of the space in an ONNX file, and give the same."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from tagger.integrations.onnx.packed import pack_matrices


def four_bits(rows, columns, seed=0):
    draw = np.random.default_rng(seed)
    numbers = draw.integers(-8, 8, (rows, columns // 32, 32)).astype(np.float32)
    numbers[..., 0] = -8
    scales = draw.random((rows, columns // 32, 1)).astype(np.float16)
    return (numbers * scales.astype(np.float32)).reshape(rows, columns)


def graph_of(table, matrix, is_used_twice=False):
    """Looks rows up in a table, and multiplies them by a matrix."""
    nodes = [
        helper.make_node("Gather", ["table", "indices"], ["rows"], "lookup"),
        helper.make_node("MatMul", ["rows", "matrix"], ["products"], "product"),
    ]
    outputs = {"rows": ["B", "P", 128], "products": ["B", "P", 512]}
    if is_used_twice:
        nodes.append(helper.make_node("ReduceSum", ["table"], ["sum"], keepdims=0))
        outputs["sum"] = []
    constants = {"table": table, "matrix": matrix}
    return helper.make_graph(
        nodes,
        "test",
        [helper.make_tensor_value_info("indices", TensorProto.INT64, ["B", "P"])],
        [helper.make_tensor_value_info(each, TensorProto.FLOAT, outputs[each]) for each in outputs],
        [numpy_helper.from_array(each, name) for name, each in constants.items()],
    )


def run(graph):
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    onnx.checker.check_model(model)
    model.ir_version = 9
    content = model.SerializeToString()
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    return session.run(None, {"indices": np.array([[0, 700, 3], [1, 1, 2]])}), len(content)


@pytest.mark.parametrize("is_used_twice", [False, True])
@pytest.mark.parametrize("is_transposed", [False, True])
def test_packed_matrices_give_the_same_in_a_quarter_of_the_space(is_transposed, is_used_twice):
    table = four_bits(1024, 128)
    matrix = four_bits(512, 128, 1).T if is_transposed else four_bits(128, 512, 1)
    graph = graph_of(table, np.ascontiguousarray(matrix), is_used_twice)
    expected, size = run(graph)
    pack_matrices(graph)
    found, packed_size = run(graph)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert packed_size < 0.3 * size
    assert len({node.name for node in graph.node}) == len(graph.node)


def test_other_matrices_are_left_as_they_are():
    table, matrix = four_bits(1024, 128), four_bits(128, 512, 1)
    table[5, 7] += 0.001
    matrix[:] = np.random.default_rng(2).random(matrix.shape)
    graph = graph_of(table, matrix)
    before = graph.SerializeToString(deterministic=True)
    pack_matrices(graph)
    assert graph.SerializeToString(deterministic=True) == before
