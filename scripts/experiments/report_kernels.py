"""Compiles the linear chain's GPU kernels, without a GPU, and prints the resources they use.

Run: python scripts/experiments/report_kernels.py [TARGET/TAGS/TYPE[/FUNCTION] ...] [--json FILE]

TARGET is the GPU's compute capability (80 for an A100, 90 for an H100, 100 for a B200), TAGS the number
of tags, TYPE the type of the scores, and FUNCTION an optional function to restrict the kernels to
(90/33/float32 covers all functions). The default is three targets, five numbers of tags and both types,
which takes some ten minutes. Triton caches compiled kernels in ~/.triton, or in TRITON_CACHE_DIR.

The script calls the public functions of `tagger.linear_chain` and compiles each kernel that they launch,
with the arguments and options of that launch. The columns are the sides of the `tile` and its rest (see
`tagger/linear_chain/cuda/tiles.py`); `registers` per thread; the bytes of stack that registers are
`spilled` to; and the bytes of `shared` memory.
"""

import argparse
import itertools
import json
import re
import subprocess
import sys
import tempfile
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Tuple

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
# Arguments that may be `None`. The table names those that a kernel was compiled with.
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
    """The resources used by a compiled kernel; the script's docstring explains the columns."""

    kernel: str
    target: str
    tags: int
    tile: str
    type: str
    warps: int
    registers: int
    spilled: int
    shared: int


class _DriverWithoutGPU:
    """Stands in for the driver of a GPU with this compute capability."""

    def __init__(self, capability: int) -> None:
        self.capability = capability

    def get_current_device(self) -> int:
        """Returns a different number for each target, since Triton caches kernels by device."""
        return self.capability

    def get_current_stream(self, device: int) -> int:
        """Returns the default stream; nothing is launched on it."""
        return 0

    def get_current_target(self) -> GPUTarget:
        """Returns the target to compile for."""
        return GPUTarget("cuda", self.capability, warp_size=32)


def compiled_kernels(case: Case) -> List[CompiledKernel]:
    """Returns the kernels that the functions launch, with and without gradients."""
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


def report_of(kernel: CompiledKernel, case: Case) -> KernelReport:
    """Returns the resources that a kernel uses."""
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(kernel.asm["cubin"])
        file.flush()
        command = [triton.knobs.nvidia.cuobjdump.path, "-res-usage", file.name]
        usage = subprocess.run(command, check=True, capture_output=True, text=True).stdout
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
    )


def _name_of(kernel: CompiledKernel, constants: Dict[str, Any]) -> str:
    """Returns the kernel's name and, in brackets, the optional arguments and the flags it has."""
    name = kernel.src.fn.__name__
    variant = [arg for arg in OPTIONAL.get(name, []) if constants.get(arg, arg) is not None]
    variant += [
        flag.lower().replace("_", " ") for flag, value in constants.items() if value is True
    ]
    return name.replace("_kernel", "") + (f" ({', '.join(variant)})" if variant else "")


def print_row(values: Iterable[Any]) -> None:
    """Prints a row of a Markdown table."""
    print(f"| {' | '.join(map(str, values))} |", flush=True)


def main() -> None:
    """Compiles, prints the table and writes the file."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("cases", nargs="*", type=Case.parse, metavar="TARGET/TAGS/TYPE[/FUNCTION]")
    parser.add_argument("--json", type=argparse.FileType("w"), metavar="FILE")
    arguments = parser.parse_args()
    if triton.knobs.runtime.interpret:
        sys.exit("report_kernels.py: unset TRITON_INTERPRET; interpreted kernels are not compiled")
    print_row(name.replace("_", " ") for name in KernelReport._fields)
    print("|---" * len(KernelReport._fields) + "|")
    reports = []
    for case in arguments.cases or DEFAULT_CASES:
        for kernel in compiled_kernels(case):
            reports.append(report_of(kernel, case))
            print_row(reports[-1])
    if arguments.json:
        json.dump([report._asdict() for report in reports], arguments.json)


if __name__ == "__main__":
    main()
