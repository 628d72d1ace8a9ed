"""Times a bidirectional LSTM layer: ours, and `torch.nn.LSTM` in two ways, and prints a table of ratios.

Run: python scripts/benchmark_lstm.py [--sizes 32x30x400x200 ...] [--threads 1 2] [--repeats 9]

`ours` is `tagger.modules.lstm`, which runs both directions side by side if it may use several
threads. `in turn` runs the same two LSTMs one after the other, on the padded batch too. `packed` is
a bidirectional `torch.nn.LSTM` on a packed sequence. All have the same weights and inputs, with
lengths uniform in [T/2, T], and take turns, each turn in another order. A candidate whose states or
gradients differ from those in float64 is not timed.

`in turn/ours` is how many times faster ours is: the median over turns of the one's time by the other's.
One thread is timed by the processor's time, which other processes do not lengthen; more threads by the
clock. Set OMP_WAIT_POLICY=PASSIVE on a machine that does anything else.
"""

import argparse
import itertools
import statistics
import time
from typing import Callable, Dict, List, NamedTuple, Tuple
from unittest import mock

import torch
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from tagger.modules.lstm import bidirectional_lstm

Size = Tuple[int, int, int, int]
Run = Callable[[torch.Tensor], torch.Tensor]
TASKS = ("forward", "forward+backward")
SHAPES = [(1, 20), (8, 16), (32, 30), (64, 60)]
# The input of any layer but the first holds the states of both directions.
FEATURES = [(2 * hidden_size, hidden_size) for hidden_size in (50, 100, 200, 256, 512)]
DEFAULT_SIZES = [(*shape, *features) for shape, features in itertools.product(SHAPES, FEATURES)]


class Layer(NamedTuple):
    """The LSTMs of both directions, the mask of a batch (B, T), and its inputs (B, T, D)."""

    to_right: torch.nn.LSTM
    to_left: torch.nn.LSTM
    mask: torch.BoolTensor
    inputs: torch.Tensor


def random_layer(size: Size) -> Layer:
    """Makes LSTMs as PyTorch initialises them, and a batch of normally distributed inputs."""
    batch_size, num_tokens, input_size, hidden_size = size
    torch.manual_seed(0)
    to_right, to_left = (torch.nn.LSTM(input_size, hidden_size, batch_first=True) for _ in range(2))
    lengths = torch.randint(num_tokens // 2, num_tokens + 1, (batch_size,))
    lengths[0] = num_tokens
    mask = torch.BoolTensor(torch.arange(num_tokens) < lengths.unsqueeze(1))
    return Layer(to_right, to_left, mask, torch.randn(batch_size, num_tokens, input_size))


def candidates(layer: Layer) -> Dict[str, Run]:
    """Returns functions from inputs to states (B, T, 2H), by name."""
    lstms = (layer.to_right, layer.to_left)

    def in_turn(inputs: torch.Tensor) -> torch.Tensor:
        with mock.patch("tagger.modules.lstm._leaves_threads_idle", return_value=False):
            return bidirectional_lstm(*lstms, inputs, layer.mask)

    return {
        "ours": lambda inputs: bidirectional_lstm(*lstms, inputs, layer.mask),
        "in turn": in_turn,
        "packed": _packed(layer),
    }


def _packed(layer: Layer) -> Run:
    to_right, to_left, mask, _ = layer
    lstm = torch.nn.LSTM(
        to_right.input_size, to_right.hidden_size, batch_first=True, bidirectional=True
    )
    states = to_right.state_dict()
    states.update({f"{name}_reverse": value for name, value in to_left.state_dict().items()})
    lstm.load_state_dict(states)

    def run(inputs: torch.Tensor) -> torch.Tensor:
        packed = pack_padded_sequence(inputs, mask.sum(1), batch_first=True, enforce_sorted=False)
        return pad_packed_sequence(lstm(packed)[0], batch_first=True)[0]

    return run


def do(task: str, run: Run, inputs: torch.Tensor) -> List[torch.Tensor]:
    """Does one of `TASKS`; returns the states, and after a backward pass the inputs' gradient."""
    if task == "forward":
        with torch.no_grad():
            return [run(inputs)]
    inputs = inputs.detach().requires_grad_()
    states = run(inputs)
    # PyTorch computes the gradients of the weights too: they require them.
    states.sum().backward()
    assert inputs.grad is not None
    return [states.detach(), inputs.grad]


def off(layer: Layer, run: Run) -> float:
    """Returns by how much at most states and gradients differ from those in float64."""
    double = Layer(*layer[:3], layer.inputs.double())
    for lstm in layer[:2]:
        lstm.double()
    expected = do(TASKS[1], candidates(double)["in turn"], double.inputs)
    for lstm in layer[:2]:
        lstm.float()
    found = do(TASKS[1], run, layer.inputs)
    return max(float((one - other).abs().max()) for one, other in zip(found, expected))


def times(found: Dict[str, Run], task: str, inputs: torch.Tensor, repeats: int) -> Dict[str, list]:
    """Returns the milliseconds of each candidate, `repeats` of them, timed in turns."""
    # Other processes do not lengthen the processor's time, which is all that one thread takes.
    clock = time.process_time if torch.get_num_threads() == 1 else time.perf_counter
    milliseconds: Dict[str, list] = {name: [] for name in found}
    for repeat in range(repeats + 1):
        # Whoever comes second finds the weights in the cache.
        turn = repeat % len(found)
        for name, run in [*found.items()][turn:] + [*found.items()][:turn]:
            start = clock()
            do(task, run, inputs)
            if repeat > 0:
                milliseconds[name].append((clock() - start) * 1e3)
    return milliseconds


def print_rows(size: Size, num_threads: int, repeats: int) -> None:
    """Compares the candidates at one size."""
    layer = random_layer(size)
    name = f"{'x'.join(map(str, size))} | {num_threads}"
    found = candidates(layer)
    for candidate in list(found):
        if (error := off(layer, found[candidate])) > 1e-3:
            print(f"| {name} | {candidate} | not timed: off by {error:.2g} |")
            del found[candidate]
    for task in TASKS:
        own = times(found, task, layer.inputs, repeats)
        cells = [f"{statistics.median(each):.3g} ({min(each):.3g})" for each in own.values()]
        ratios = [
            f"{statistics.median(b / a for a, b in zip(own['ours'], own[other])):.2f}"
            for other in list(found)[1:]
        ]
        print(f"| {name} | {task} | {' | '.join([*cells, *ratios])} |", flush=True)


def _size(text: str) -> Size:
    batch_size, num_tokens, input_size, hidden_size = map(int, text.split("x"))
    return batch_size, num_tokens, input_size, hidden_size


def main() -> None:
    """Parses the command line and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", nargs="+", type=_size, default=DEFAULT_SIZES, help="BxTxDxH")
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--repeats", type=int, default=9)
    arguments = parser.parse_args()
    print(f"torch {torch.__version__}; ms: median (min)\n")
    columns = ["BxTxDxH", "threads", "task", "ours", "in turn", "packed"]
    columns += ["in turn/ours", "packed/ours"]
    print(f"| {' | '.join(columns)} |\n{'|---' * len(columns)}|")
    for num_threads in arguments.threads:
        torch.set_num_threads(num_threads)
        for size in arguments.sizes:
            print_rows(size, num_threads, arguments.repeats)


if __name__ == "__main__":
    main()
