"""Writes ONNX graphs: a thin layer over `onnx.helper` that names values and keeps constants."""

from typing import Any, Callable, List, Optional, Sequence, Tuple, Union

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

#: A value of the graph, by its name; or a constant.
Value = Union[str, np.ndarray, np.generic]

#: The version of the operators, which onnxruntime 1.14 and later know, in browsers too.
OPSET = 18

_TYPES = {
    "bool": TensorProto.BOOL,
    "float32": TensorProto.FLOAT,
    "float64": TensorProto.DOUBLE,
    "int64": TensorProto.INT64,
}


class Graph:
    """A graph that grows node by node.

    Args:
        parent: The graph that holds this one as the body of a loop. Its values can be used here.
    """

    def __init__(self, parent: Optional["Graph"] = None) -> None:
        self._root: Graph = parent._root if parent else self
        self._num_values = 0
        self.nodes: List[onnx.NodeProto] = []
        self.constants: List[onnx.TensorProto] = []
        self.inputs: List[onnx.ValueInfoProto] = []
        self.outputs: List[onnx.ValueInfoProto] = []

    def add(self, operator: str, *inputs: Value, **attributes: Any) -> str:
        """Adds a node with one output, and returns the output's name."""
        return self.add_many(operator, 1, *inputs, **attributes)[0]

    def add_many(
        self, operator: str, num_outputs: int, *inputs: Value, **attributes: Any
    ) -> List[str]:
        """Adds a node, and returns the names of its outputs."""
        outputs = [self.new_name(operator) for _ in range(num_outputs)]
        names = [self.value(each) for each in inputs]
        self.nodes.append(helper.make_node(operator, names, outputs, **attributes))
        return outputs

    def value(self, value: Value) -> str:
        """Returns the name of a value, which becomes a constant unless it is a name already."""
        if isinstance(value, str):
            return value
        name = self.new_name("constant")
        constant = numpy_helper.from_array(np.ascontiguousarray(value).reshape(value.shape), name)
        # All constants belong to the outermost graph, since a loop's body is run many times.
        self._root.constants.append(constant)
        return name

    def input(self, name: str, dtype: str, shape: Optional[Sequence[Union[int, str]]]) -> str:
        """Declares an input; sizes that are not known yet have names."""
        self.inputs.append(helper.make_tensor_value_info(name, _TYPES[dtype], shape))
        return name

    def output(
        self, name: str, value: str, dtype: str, shape: Optional[Sequence[Union[int, str]]]
    ) -> None:
        """Declares that a value is the output of this name."""
        self.nodes.append(helper.make_node("Identity", [value], [name]))
        self.outputs.append(helper.make_tensor_value_info(name, _TYPES[dtype], shape))

    def scan(
        self,
        step: Callable[..., Tuple[Sequence[str], Sequence[str]]],
        states: Sequence[Tuple[Value, str]],
        sequences: Sequence[Tuple[Value, str]],
        result_types: Sequence[str],
        backwards: bool = False,
    ) -> List[str]:
        """Loops over the second axis of sequences, (B, T, ...), perhaps from the last item to the first.

        `step` takes the loop's body, a graph, the states and an item of each sequence; it returns the
        next states, and an item of each result. States and sequences come with their types.

        Returns:
            The last states, followed by the results, (B, T, ...), in the order of the sequences.
        """
        body = Graph(parent=self)
        arguments = [
            body.input(self.new_name("item"), dtype, None) for _, dtype in [*states, *sequences]
        ]
        next_states, results = step(body, *arguments)
        for value, dtype in zip(
            [*next_states, *results], [*(dtype for _, dtype in states), *result_types]
        ):
            body.output(self.new_name("next"), value, dtype, None)
        direction = int(backwards)
        return self.add_many(
            "Scan",
            len(states) + len(result_types),
            *(value for value, _ in [*states, *sequences]),
            body=helper.make_graph(body.nodes, "step", body.inputs, body.outputs),
            num_scan_inputs=len(sequences),
            scan_input_axes=[1] * len(sequences),
            scan_output_axes=[1] * len(result_types),
            scan_input_directions=[direction] * len(sequences),
            scan_output_directions=[direction] * len(result_types),
        )

    def choose(
        self, condition: str, *branches: Callable[["Graph"], Sequence[str]], dtype: str
    ) -> List[str]:
        """Adds two branches, of which only one is run: the first if the condition holds."""
        bodies = []
        for branch in branches:
            body = Graph(parent=self)
            for value in branch(body):
                body.output(self.new_name("result"), value, dtype, None)
            bodies.append(helper.make_graph(body.nodes, "branch", [], body.outputs))
        then, otherwise = bodies
        num_results = len(then.output)
        return self.add_many("If", num_results, condition, then_branch=then, else_branch=otherwise)

    def take_in(self, model: onnx.ModelProto, inputs: Sequence[str]) -> str:
        """Copies the graph of a model with one output into this one."""
        graph = model.graph
        prefix = self.new_name("part") + "/"
        names = dict(zip((each.name for each in graph.input), inputs))
        for constant in graph.initializer:
            names[constant.name] = constant.name = prefix + constant.name
            self._root.constants.append(constant)
        for node in graph.node:
            copied = onnx.NodeProto()
            copied.CopyFrom(node)
            for kind in (copied.input, copied.output):
                renamed = [name and names.setdefault(name, prefix + name) for name in kind]
                del kind[:]
                kind.extend(renamed)
            copied.name = prefix + node.name
            self.nodes.append(copied)
        return names[graph.output[0].name]

    def new_name(self, kind: str) -> str:
        """Returns a name that no other value has."""
        self._root._num_values += 1
        return f"{kind.lower()}_{self._root._num_values}"

    def model(self, producer: str, version: str, doc: str) -> onnx.ModelProto:
        """Returns the model of this graph."""
        graph = helper.make_graph(self.nodes, "tagger", self.inputs, self.outputs, self.constants)
        return helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", OPSET)],
            # That of opset 18; the newest need not be known to the runtime.
            ir_version=8,
            producer_name=producer,
            producer_version=version,
            doc_string=doc,
        )
