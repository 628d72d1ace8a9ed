"""Writes ONNX graphs with array-like values on top of `onnx.helper`."""

from typing import Any, Callable, List, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

#: The operator set, supported by onnxruntime 1.14 and later, also in browsers.
OPSET = 18

_TYPES = {
    "bool": TensorProto.BOOL,
    "float32": TensorProto.FLOAT,
    "float64": TensorProto.DOUBLE,
    "int32": TensorProto.INT32,
    "int64": TensorProto.INT64,
}


def _binary(operator: str) -> Callable[["Value", "Operand"], "Value"]:
    """Returns a method that applies an ONNX operator to a value and another operand."""
    return lambda value, other: value.op(operator, other)


class Value:
    """A value of a graph. Computing with it adds nodes to the graph that is being written."""

    # Makes NumPy leave operations with an array on the left to this class.
    __array_ufunc__ = None

    def __init__(self, graph: "Graph", name: str) -> None:
        self.graph = graph
        self.name = name

    def op(self, operator: str, *others: "Operand", **attributes: Any) -> "Value":
        """Adds an ONNX operator with this value as its first input; returns its only output."""
        return self.graph.add(operator, self, *others, **attributes)[0]

    __add__ = _binary("Add")
    __sub__ = _binary("Sub")
    __mul__ = _binary("Mul")
    __truediv__ = _binary("Div")
    __and__ = _binary("And")
    __or__ = _binary("Or")
    __lt__ = _binary("Less")
    __gt__ = _binary("Greater")
    __le__ = _binary("LessOrEqual")
    __ge__ = _binary("GreaterOrEqual")
    equals = _binary("Equal")

    def __rsub__(self, other: "Operand") -> "Value":
        return self.graph.add("Sub", other, self)[0]

    def __invert__(self) -> "Value":
        return self.op("Not")

    def where(self, yes: "Operand", no: "Operand") -> "Value":
        """Takes items of `yes` where this value is true, and of `no` elsewhere."""
        return self.op("Where", yes, no)

    def cast(self, dtype: str) -> "Value":
        """Converts to another type."""
        return self.op("Cast", to=_TYPES[dtype])

    def unsqueeze(self, *axes: int) -> "Value":
        """Inserts axes of size 1."""
        return self.op("Unsqueeze", np.array(axes))

    def squeeze(self, *axes: int) -> "Value":
        """Removes axes of size 1."""
        return self.op("Squeeze", np.array(axes))

    def slice(self, start: int, end: Optional[int]) -> "Value":
        """Slices the second axis; `end` may be None as in Python."""
        last = np.iinfo(np.int64).max if end is None else end
        return self.op("Slice", np.array([start]), np.array([last]), np.array([1]))

    def reduce(self, kind: str, *axes: int, keepdims: bool = False) -> "Value":
        """Reduces axes with `Max` or `Sum`."""
        return self.op(f"Reduce{kind}", np.array(axes), keepdims=int(keepdims))

    def gather(self, indices: "Operand", axis: int = 0) -> "Value":
        """Takes indices along an axis, like `numpy.take`."""
        return self.op("Gather", indices, axis=axis)

    def select(self, table: np.ndarray) -> "Value":
        """Looks indices up in a table."""
        return self.graph.add("Gather", table, self)[0]

    def take_along(self, indices: "Operand", axis: int = 1) -> "Value":
        """Takes one index for each item of the other axes, like `numpy.take_along_axis`."""
        return self.op("GatherElements", indices, axis=axis)

    def places(self, axis: int) -> "Value":
        """Returns the numbers from 0 up to the size of an axis, int64."""
        size = self.op("Shape", start=axis, end=axis + 1).op("Squeeze")
        return self.graph.add("Range", np.int64(0), size, np.int64(1))[0]


#: A value of the graph, or a constant.
Operand = Union[Value, np.ndarray, np.generic]


class _Body(NamedTuple):
    """The nodes, inputs and outputs of a graph, or of the body of a loop or branch."""

    nodes: List[onnx.NodeProto]
    inputs: List[onnx.ValueInfoProto]
    outputs: List[onnx.ValueInfoProto]

    def graph(self, name: str, constants: Sequence[onnx.TensorProto] = ()) -> onnx.GraphProto:
        return helper.make_graph(self.nodes, name, self.inputs, self.outputs, constants)


class Graph:
    """A graph that grows node by node."""

    def __init__(self) -> None:
        self._num_names = 0
        # All constants belong to the outermost graph, because a loop runs its body many times.
        self._constants: List[onnx.TensorProto] = []
        # From the outermost body to the one being written.
        self._bodies = [_Body([], [], [])]

    def add(
        self, operator: str, *inputs: Operand, num_outputs: int = 1, **attributes: Any
    ) -> List[Value]:
        """Adds a node and returns its outputs."""
        outputs = [self._new_name(operator) for _ in range(num_outputs)]
        names = [self.value(each).name for each in inputs]
        self._bodies[-1].nodes.append(helper.make_node(operator, names, outputs, **attributes))
        return [Value(self, name) for name in outputs]

    def value(self, operand: Operand) -> Value:
        """Returns a value unchanged, and wraps a constant as a value."""
        if isinstance(operand, Value):
            return operand
        name = self._new_name("constant")
        array = np.ascontiguousarray(operand).reshape(operand.shape)
        self._constants.append(numpy_helper.from_array(array, name))
        return Value(self, name)

    def input(self, name: str, dtype: str, shape: Optional[Sequence[Union[int, str]]]) -> Value:
        """Declares an input; sizes only known at run time have names."""
        info = helper.make_tensor_value_info(name, _TYPES[dtype], shape)
        self._bodies[-1].inputs.append(info)
        return Value(self, name)

    def output(
        self, name: str, value: Value, dtype: str, shape: Optional[Sequence[Union[int, str]]]
    ) -> None:
        """Declares a value as the output with this name."""
        body = self._bodies[-1]
        body.nodes.append(helper.make_node("Identity", [value.name], [name]))
        body.outputs.append(helper.make_tensor_value_info(name, _TYPES[dtype], shape))

    def scan(
        self,
        step: Callable[..., Tuple[Sequence[Value], Sequence[Value]]],
        states: Sequence[Tuple[Value, str]],
        sequences: Sequence[Tuple[Value, str]],
        result_types: Sequence[str],
        backwards: bool = False,
    ) -> List[Value]:
        """Loops over the second axis of sequences, (B, T, ...); from the end if `backwards`.

        `step` takes the states and one item of each sequence, and returns the next states and one item
        of each result. States and sequences are given with their types.

        Returns:
            The final states, then the results, (B, T, ...), in the order of the sequences.
        """
        self._bodies.append(_Body([], [], []))
        given = [*states, *sequences]
        arguments = [self.input(self._new_name("item"), dtype, None) for _, dtype in given]
        next_states, results = step(*arguments)
        for value, dtype in zip(
            [*next_states, *results], [*(dtype for _, dtype in states), *result_types]
        ):
            self.output(self._new_name("next"), value, dtype, None)
        return self.add(
            "Scan",
            *(value for value, _ in given),
            num_outputs=len(states) + len(result_types),
            body=self._bodies.pop().graph("step"),
            num_scan_inputs=len(sequences),
            scan_input_axes=[1] * len(sequences),
            scan_output_axes=[1] * len(result_types),
            scan_input_directions=[int(backwards)] * len(sequences),
            scan_output_directions=[int(backwards)] * len(result_types),
        )

    def choose(
        self, condition: Value, *branches: Callable[[], Sequence[Value]], dtype: str
    ) -> List[Value]:
        """Adds two branches and runs only one of them: the first if the condition holds."""
        graphs = []
        for branch in branches:
            self._bodies.append(_Body([], [], []))
            for value in branch():
                self.output(self._new_name("result"), value, dtype, None)
            graphs.append(self._bodies.pop().graph("branch"))
        then, otherwise = graphs
        options = {"then_branch": then, "else_branch": otherwise}
        return self.add("If", condition, num_outputs=len(then.output), **options)

    def take_in(self, model: onnx.ModelProto, inputs: Sequence[Value]) -> Value:
        """Copies the graph of a model with one output into this one."""
        graph = model.graph
        prefix = self._new_name("part") + "/"
        names = dict(zip((each.name for each in graph.input), (each.name for each in inputs)))
        for constant in graph.initializer:
            names[constant.name] = constant.name = prefix + constant.name
            self._constants.append(constant)
        for node in graph.node:
            copied = onnx.NodeProto()
            copied.CopyFrom(node)
            for kind in (copied.input, copied.output):
                renamed = [name and names.setdefault(name, prefix + name) for name in kind]
                del kind[:]
                kind.extend(renamed)
            copied.name = prefix + node.name
            self._bodies[-1].nodes.append(copied)
        return Value(self, names[graph.output[0].name])

    def model(self, producer: str, version: str, doc: str) -> onnx.ModelProto:
        """Returns the model of this graph."""
        return helper.make_model(
            self._bodies[0].graph("tagger", self._constants),
            opset_imports=[helper.make_opsetid("", OPSET)],
            # The version that belongs to opset 18; runtimes may not support the newest one.
            ir_version=8,
            producer_name=producer,
            producer_version=version,
            doc_string=doc,
        )

    def _new_name(self, kind: str) -> str:
        self._num_names += 1
        return f"{kind.lower()}_{self._num_names}"
