"""Times linear-chain CRFs: ours, AllenNLP's and pytorch-crf, in one run, and prints a table.

Run: python scripts/benchmark_crf.py [--sizes 32x128x9 ...] [--threads 2] [--repeats 9]

All get the same float32 scores and right-padded masks, lengths uniform in [T/2, T], and are timed in
turns. A candidate whose numbers differ from the reference's in float64 is not timed. `decoding` ends in
lists, as AllenNLP's `viterbi_tags` returns them. Memory is how far the resident size rises, at its peak
(VmHWM of Linux, reset before), over one loss with gradient in a process of its own. pytorch-crf is left
out where it is not installed (`pip install --no-deps pytorch-crf`). Set OMP_WAIT_POLICY=PASSIVE on a
machine that does anything else.
"""

import argparse
import itertools
import multiprocessing
import statistics
import time
from pathlib import Path
from typing import Any, Callable, Dict, List, NamedTuple, Tuple

import torch
from allennlp.modules import ConditionalRandomField as AllenNLPField

from tagger.linear_chain import use_implementation
from tagger.modules import ConditionalRandomField

Size = Tuple[int, int, int]
TASKS = ("loss", "loss+gradient", "decoding")
DEFAULT_SIZES = list(itertools.product((8, 32, 128), (32, 128, 512), (9, 33, 73)))


class Batch(NamedTuple):
    """Emissions (B, T, K), gold tags and mask (B, T)."""

    emissions: torch.Tensor
    tags: torch.Tensor
    mask: torch.Tensor


class Candidate:
    """A CRF module under one interface.

    Args:
        module: what is measured.
        log_likelihood: sums the log-likelihoods of a batch.
        decode: returns the best paths as lists.
    """

    def __init__(
        self,
        module: torch.nn.Module,
        log_likelihood: Callable[[Batch], torch.Tensor],
        decode: Callable[[Batch], List[List[int]]],
    ) -> None:
        self.module = module
        self.log_likelihood = log_likelihood
        self.decode = decode

    def run(self, task: str, batch: Batch) -> None:
        """Does one of `TASKS`."""
        if task == "decoding":
            with torch.no_grad():
                self.decode(batch)
        elif task == "loss":
            with torch.no_grad():
                self.log_likelihood(batch)
        else:
            self.gradients(batch)

    def gradients(self, batch: Batch) -> List[torch.Tensor]:
        """The gradients of the loss by emissions and, in an order of its own, by parameters."""
        emissions = batch.emissions.detach().requires_grad_()
        parameters = [p for p in self.module.parameters() if p.requires_grad]
        loss = -self.log_likelihood(batch._replace(emissions=emissions))
        return list(torch.autograd.grad(loss, [emissions, *parameters]))


def random_batch(size: Size) -> Batch:
    """Normally distributed emissions, and lengths uniform in [T/2, T]."""
    batch_size, num_tokens, num_tags = size
    generator = torch.Generator().manual_seed(0)
    lengths = torch.randint(num_tokens // 2, num_tokens + 1, (batch_size,), generator=generator)
    lengths[0] = num_tokens
    return Batch(
        torch.randn(size, generator=generator),
        torch.randint(num_tags, (batch_size, num_tokens), generator=generator),
        torch.arange(num_tokens) < lengths.unsqueeze(1),
    )


def candidates(num_tags: int) -> Dict[str, Candidate]:
    """All CRFs that are installed, with the same parameters."""
    torch.manual_seed(0)
    ours, allennlp = ConditionalRandomField(num_tags), AllenNLPField(num_tags)
    allennlp.load_state_dict(ours.state_dict())

    def of_module(module: Any) -> Candidate:
        return Candidate(
            module,
            lambda batch: module(*batch),
            lambda batch: [path for path, _ in module.viterbi_tags(batch.emissions, batch.mask)],
        )

    found = {
        "ours": of_module(ours),
        "our reference": _by_reference(of_module(ours)),
        "AllenNLP": of_module(allennlp),
    }
    try:
        from torchcrf import CRF
    except ImportError:
        return found
    pytorch_crf = CRF(num_tags, batch_first=True)
    with torch.no_grad():
        pytorch_crf.start_transitions.copy_(ours.start_transitions)
        pytorch_crf.transitions.copy_(ours.transitions)
        pytorch_crf.end_transitions.copy_(ours.end_transitions)
    found["pytorch-crf"] = Candidate(
        pytorch_crf,
        lambda batch: pytorch_crf(batch.emissions, batch.tags, batch.mask, reduction="sum"),
        lambda batch: pytorch_crf.decode(batch.emissions, batch.mask),
    )
    return found


def _by_reference(candidate: Candidate) -> Candidate:
    def log_likelihood(batch: Batch) -> torch.Tensor:
        with use_implementation("reference"):
            return candidate.log_likelihood(batch)

    def decode(batch: Batch) -> List[List[int]]:
        with use_implementation("reference"):
            return candidate.decode(batch)

    return Candidate(candidate.module, log_likelihood, decode)


def disagreement(candidate: Candidate, exact: Candidate, batch: Batch) -> str:
    """What a candidate computes otherwise than `exact` does in float64, or nothing."""
    exact.module.double()
    double = batch._replace(emissions=batch.emissions.double())
    expected, paths = exact.log_likelihood(double), exact.decode(double)
    expected_gradient = exact.gradients(double)[0]
    exact.module.float()
    value, gradient = candidate.log_likelihood(batch), candidate.gradients(batch)[0]
    if not torch.allclose(value.double(), expected, rtol=1e-5):
        return f"log-likelihood {float(value.detach())}, not {float(expected.detach())}"
    if not torch.allclose(gradient.double(), expected_gradient, atol=1e-3):
        return f"gradient off by {float((gradient - expected_gradient).abs().max()):.1g}"
    wrong = sum(ours != theirs for ours, theirs in zip(candidate.decode(batch), paths))
    # Two paths may score the same in float32.
    return f"{wrong} paths differ" if wrong > len(paths) // 16 else ""


def _grown_memory(name: str, size: Size, queue: multiprocessing.Queue) -> None:
    torch.set_num_threads(1)
    small, batch = random_batch((2, 4, size[2])), random_batch(size)
    candidate = candidates(size[2])[name]
    candidate.gradients(small)
    # 5 sets the peak to the present size.
    Path("/proc/self/clear_refs").write_text("5")
    before = _peak_kib()
    candidate.gradients(batch)
    queue.put((_peak_kib() - before) / 1024)


def _peak_kib() -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0])


def peak_memory(name: str, size: Size) -> float:
    """How many MiB one loss with gradient adds to the peak resident size of a fresh process."""
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=_grown_memory, args=(name, size, queue))
    process.start()
    process.join()
    return queue.get() if process.exitcode == 0 else float("nan")


def times(found: Dict[str, Candidate], task: str, batch: Batch, repeats: int) -> Dict[str, list]:
    """Milliseconds of each candidate, `repeats` of them, timed in turns."""
    milliseconds: Dict[str, list] = {name: [] for name in found}
    for repeat in range(repeats + 1):
        for name, candidate in found.items():
            start = time.perf_counter()
            candidate.run(task, batch)
            if repeat > 0:
                milliseconds[name].append((time.perf_counter() - start) * 1e3)
    return milliseconds


def benchmark(size: Size, repeats: int, with_memory: bool) -> None:
    """Prints the rows of one size."""
    batch, found = random_batch(size), candidates(size[2])
    exact = found["our reference"]
    for name in list(found):
        difference = disagreement(found[name], exact, batch)
        if difference:
            print(f"| {size} | {name} | not timed: {difference} |")
            del found[name]
    columns = {task: times(found, task, batch, repeats) for task in TASKS}
    for name in found:
        cells = []
        for task in TASKS:
            own = columns[task][name]
            median = statistics.median(own)
            cell = f"{median:.3g} ({min(own):.3g}..{max(own):.3g})"
            if "AllenNLP" in found and name != "AllenNLP":
                cell += f", {statistics.median(columns[task]['AllenNLP']) / median:.0f}x"
            cells.append(cell)
        cells.append(f"{peak_memory(name, size):.0f}" if with_memory else "-")
        print(f"| {'x'.join(map(str, size))} | {name} | {' | '.join(cells)} |", flush=True)


def _size(text: str) -> Size:
    batch_size, num_tokens, num_tags = map(int, text.split("x"))
    return batch_size, num_tokens, num_tags


def main() -> None:
    """Parses the command line and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", nargs="+", type=_size, default=DEFAULT_SIZES, help="as BxTxK")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--no-memory", action="store_true", help="leave the memory out")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    print(
        f"torch {torch.__version__}, {arguments.threads} threads; ms: median (min..max), ", end=""
    )
    print("times AllenNLP's speed; peak MiB of loss+gradient\n")
    print(f"| BxTxK | | {' | '.join(TASKS)} | MiB |\n|---|---|---|---|---|---|")
    for size in arguments.sizes:
        benchmark(size, arguments.repeats, not arguments.no_memory)


if __name__ == "__main__":
    main()
