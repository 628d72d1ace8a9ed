"""Compiles the linear chain's GPU kernels, without a GPU, and prints what each of them takes.

Run: python scripts/report_kernels.py [TARGET/TAGS/TYPE[/FUNCTION] ...] [--quick] [--json FILE]

TARGET is the GPU's compute capability (80 for an A100, 90 for an H100, 100 for a B200), TAGS the number
of tags, TYPE the type of the scores, and FUNCTION the one whose kernels to compile (90/33/float32:
those of all). The default is three targets, five numbers of tags and both types; this takes some ten
minutes. Triton keeps what it has compiled in ~/.triton, or in TRITON_CACHE_DIR.

The script calls the public functions of `tagger.linear_chain` and compiles each kernel that they launch,
with the arguments and options of that launch. The columns of the table are the sides of the `tile` and
its rest (see `tagger/linear_chain/cuda/tiles.py`); a thread's `registers`; the bytes of its stack, to
which registers are `spilled`; the bytes of `shared` memory; the `instructions` of the kernel, which each
warp executes; and those `per token`, which are those of the loop over tokens without the loops inside it
(steps that are computed again in log space, which is rare). `--quick` leaves out the last two.
"""

import argparse
import itertools
import json
import re
import subprocess
import sys
import tempfile
from typing import Any, Callable, Dict, Iterable, Iterator, List, NamedTuple, Optional, Set, Tuple

import networkx
import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import CompiledKernel
from triton.runtime.driver import driver
from triton.runtime.jit import JITFunction

from tagger.linear_chain import (
    ChainScores,
    log_likelihood,
    log_partition,
    sample_paths,
    tag_marginals,
    use_implementation,
    viterbi_decode,
)

#: Functions that together launch every variant of each kernel.
FUNCTIONS: Dict[str, Callable[[ChainScores, torch.Tensor], torch.Tensor]] = {
    "log_partition": lambda scores, _: log_partition(scores),
    "log_likelihood": log_likelihood,
    "tag_marginals": lambda scores, _: tag_marginals(scores),
    "viterbi_decode": lambda scores, _: viterbi_decode(scores)[1],
    "sample_paths": lambda scores, _: sample_paths(scores),
}
# Arguments that may be `None`. The table names those that a kernel is compiled with.
OPTIONAL = {"forward_kernel": ["tags", "messages", "arrivals"], "adjoint_kernel": ["tags"]}


#: Types of scores, by Triton's name for a pointer to them.
TYPES = {"*fp32": "float32", "*fp64": "float64"}


class Case(NamedTuple):
    """What to compile: the GPU's compute capability, K, the scores' type, and keys of `FUNCTIONS`."""

    target: int
    num_tags: int
    dtype: str
    functions: Tuple[str, ...] = tuple(FUNCTIONS)

    @classmethod
    def parse(cls, text: str) -> "Case":
        """Reads `90/33/float32` or `90/33/float32/log_likelihood`."""
        pattern = rf"(\d+)/(\d+)/({'|'.join(TYPES.values())})(?:/({'|'.join(FUNCTIONS)}))?"
        match = re.fullmatch(pattern, text)
        if not match:
            raise argparse.ArgumentTypeError(
                f"expected for example `90/33/float32`, or with one function of "
                f"{', '.join(FUNCTIONS)} `90/33/float32/log_likelihood`; got `{text}`"
            )
        functions = (match[4],) if match[4] else tuple(FUNCTIONS)
        return cls(int(match[1]), int(match[2]), match[3], functions)


DEFAULT_CASES = [
    Case(*case) for case in itertools.product((80, 90, 100), (9, 17, 33, 64, 100), TYPES.values())
]


class KernelReport(NamedTuple):
    """What a compiled kernel takes; the script's docstring explains the columns."""

    kernel: str
    target: str
    tags: int
    tile: str
    type: str
    warps: int
    registers: int
    spilled: int
    shared: int
    instructions: Optional[int] = None
    per_token: Optional[int] = None


class _DriverWithoutGPU:
    """Stands in for the driver of a GPU of this compute capability."""

    def __init__(self, capability: int) -> None:
        self.capability = capability

    def get_current_device(self) -> int:
        """Returns a number of the target's own: Triton keeps apart what it compiled for each device."""
        return self.capability

    def get_current_stream(self, device: int) -> int:
        """Returns the default stream, on which nothing is launched."""
        return 0

    def get_current_target(self) -> GPUTarget:
        """Returns the target to compile for."""
        return GPUTarget("cuda", self.capability, warp_size=32)


def compiled_kernels(case: Case) -> List[CompiledKernel]:
    """Returns the kernels that the functions launch, without gradients and with them."""
    kernels: Dict[str, CompiledKernel] = {}
    launch = JITFunction.run

    def compile_only(function: JITFunction, *args: Any, **options: Any) -> None:
        kernel = launch(function, *args, **{**options, "warmup": True})
        kernels[kernel.hash] = kernel

    batch_size, num_tokens, num_tags = 3, 5, case.num_tags
    shapes = [(batch_size, num_tokens, num_tags), (num_tags, num_tags), (num_tags,), (num_tags,)]
    dtype = getattr(torch, case.dtype)
    scores = ChainScores(*(torch.zeros(shape, dtype=dtype) for shape in shapes))
    with_gradients = ChainScores(*(tensor.clone().requires_grad_() for tensor in scores))
    tags = torch.zeros(batch_size, num_tokens, dtype=torch.int64)
    driver.set_active(_DriverWithoutGPU(case.target))
    JITFunction.run = compile_only
    try:
        with use_implementation("cuda"):
            for name in case.functions:
                FUNCTIONS[name](scores, tags)
                value = FUNCTIONS[name](with_gradients, tags)
                if value.requires_grad:
                    value.sum().backward()
    finally:
        JITFunction.run = launch
    return list(kernels.values())


def report_of(kernel: CompiledKernel, case: Case, is_quick: bool) -> KernelReport:
    """Returns what a kernel takes; `is_quick` leaves out its instructions."""
    blocks: List[Block] = []
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(kernel.asm["cubin"])
        file.flush()
        usage = _output_of(triton.knobs.nvidia.cuobjdump.path, "-res-usage", file.name)
        if not is_quick:
            blocks = basic_blocks(_output_of(triton.knobs.nvidia.nvdisasm.path, "-c", file.name))
    ((registers, stack),) = re.findall(r"REG:(\d+) STACK:(\d+)", usage)
    constants = {kernel.src.fn.arg_names[i]: value for (i,), value in kernel.src.constants.items()}
    return KernelReport(
        kernel=_name_of(kernel, constants),
        target=f"sm_{case.target}",
        tags=case.num_tags,
        tile="+".join(str(constants[side]) for side in ("TAGS", "REST") if constants.get(side)),
        type=TYPES[next(iter(kernel.src.signature.values()))],
        warps=kernel.metadata.num_warps,
        registers=int(registers),
        spilled=int(stack),
        shared=kernel.metadata.shared,
        instructions=sum(block.size for block in blocks) or None,
        per_token=instructions_per_token(blocks) if blocks else None,
    )


class Block(NamedTuple):
    """A basic block: how many instructions it has, and the numbers of the blocks that may follow."""

    size: int
    following: Set[int]


def basic_blocks(listing: str) -> List[Block]:
    """Returns the basic blocks of a kernel, of which `nvdisasm -c` prints the listing."""
    blocks: List[List[str]] = [[]]
    # the number of the block that follows each label
    labels: Dict[str, int] = {}
    for line in listing.splitlines():
        label = re.match(r"(\.L_x_\d+):", line)
        instruction = re.match(r"\s+/\*[0-9a-f]{4,}\*/\s+(.+?)\s*;", line)
        if label:
            if blocks[-1]:
                blocks.append([])
            labels[label[1]] = len(blocks) - 1
        elif instruction and instruction[1] != "NOP":
            blocks[-1].append(instruction[1])
            if re.search(r"\b(BRA|EXIT|RET)\b", instruction[1]):
                blocks.append([])
    return [
        Block(len(block), set(_following(index, block[-1:], labels)) & set(range(len(blocks))))
        for index, block in enumerate(blocks)
    ]


def _following(index: int, last: List[str], labels: Dict[str, int]) -> Iterator[int]:
    """Yields the blocks that may follow block `index`, given its last instruction."""
    for instruction in last:
        for target in re.findall(r"\bBRA\b.*`\((\.L_x_\d+)\)", instruction):
            yield labels[target]
        # A condition stands before the branch (`@P0 BRA`) or after it (`BRA.U UP0,`).
        if re.match(r"BRA(\.\w+)* `|EXIT|RET", instruction):
            return
    yield index + 1


def instructions_per_token(blocks: List[Block]) -> Optional[int]:
    """Returns how many instructions the loop over tokens has, without the loops inside it.

    The loop over tokens is the one around the innermost loop (the steps in log space). Where no loop
    lies inside another, it is the longest.
    """
    graph = networkx.DiGraph()
    graph.add_nodes_from(range(len(blocks)))
    graph.add_edges_from((i, j) for i, block in enumerate(blocks) for j in block.following)
    loops = list(_loops(graph, {0, *networkx.descendants(graph, 0)}))
    depth = max([loop.depth for loop in loops], default=0)
    sizes = [
        sum(blocks[index].size for index in loop.blocks - loop.within)
        for loop in loops
        if depth == 1 or (loop.depth == depth - 1 and loop.within)
    ]
    return max(sizes, default=None)


class _Loop(NamedTuple):
    """A loop: how deep it lies, its blocks, and those of them that belong to loops inside it."""

    depth: int
    blocks: Set[int]
    within: Set[int]


def _loops(graph: Any, within: Set[int], depth: int = 1) -> Iterator[_Loop]:
    """Yields the loops of a part of a control flow graph, outer ones first."""
    for blocks in networkx.strongly_connected_components(graph.subgraph(within)):
        if len(blocks) == 1 and not any(graph.has_edge(block, block) for block in blocks):
            continue
        heads = {block for block in blocks if block == 0 or set(graph.predecessors(block)) - blocks}
        inner = list(_loops(graph, blocks - heads, depth + 1))
        yield _Loop(depth, blocks, set().union(*(loop.blocks for loop in inner)))
        yield from inner


def _name_of(kernel: CompiledKernel, constants: Dict[str, Any]) -> str:
    """Returns the kernel's name and, in brackets, the optional arguments and the flags it has."""
    name = kernel.src.fn.__name__
    variant = [arg for arg in OPTIONAL.get(name, []) if constants.get(arg, arg) is not None]
    variant += [
        flag.lower().replace("_", " ") for flag, value in constants.items() if value is True
    ]
    return name.replace("_kernel", "") + (f" ({', '.join(variant)})" if variant else "")


def _output_of(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def print_row(values: Iterable[Any]) -> None:
    """Prints a row of a Markdown table."""
    print(
        "| " + " | ".join("" if value is None else str(value) for value in values) + " |",
        flush=True,
    )


def main() -> None:
    """Compiles, prints the table and writes the file."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("cases", nargs="*", type=Case.parse, metavar="TARGET/TAGS/TYPE[/FUNCTION]")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", type=argparse.FileType("w"), metavar="FILE")
    arguments = parser.parse_args()
    if triton.knobs.runtime.interpret:
        sys.exit("report_kernels.py: unset TRITON_INTERPRET; interpreted kernels are not compiled")
    print_row(name.replace("_", " ") for name in KernelReport._fields)
    print("|---" * len(KernelReport._fields) + "|")
    reports = []
    for case in arguments.cases or DEFAULT_CASES:
        for kernel in compiled_kernels(case):
            reports.append(report_of(kernel, case, arguments.quick))
            print_row(reports[-1])
    if arguments.json:
        json.dump([report._asdict() for report in reports], arguments.json)


if __name__ == "__main__":
    main()
