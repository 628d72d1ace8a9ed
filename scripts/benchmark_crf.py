"""Times linear-chain CRFs: ours, AllenNLP's, pytorch-crf and torch-struct, and prints tables.

Run: python scripts/benchmark_crf.py [--tables crf weightings growth] [--sizes 32x128x9 ...]
    [--repeats 9] [--no-memory]

The table `crf` compares the libraries, and `growth` shows how our time grows with sequences and tokens.
The table `weightings` compares our class weightings, and the likelihood with a third of the gold tags
unknown, with the plain likelihood.

All candidates get the same float32 scores and right-padded masks, with lengths uniform in [T/2, T], and
take turns. A candidate is only timed if its numbers agree with the reference in float64. `decoding`
returns lists, like AllenNLP's `viterbi_tags`. Memory is the rise of the peak resident size (VmHWM of
Linux, reset before) during one loss with gradient in a separate process. pytorch-crf and torch-struct
are only included if installed (`pip install --no-deps pytorch-crf torch-struct`). Set
OMP_WAIT_POLICY=PASSIVE if anything else runs on the machine.
"""

import argparse
import contextlib
import itertools
import multiprocessing
import statistics
import time
from pathlib import Path
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

import torch
from allennlp.modules import ConditionalRandomField as AllenNLPField
from torch.nn.utils.rnn import pad_sequence

from tagger.linear_chain import use_implementation
from tagger.linear_chain.declared import declare_range, declare_right_padded
from tagger.modules import ConditionalRandomField, TagWeighting

Size = Tuple[int, int, int]
TASKS = ("loss", "loss+gradient", "decoding")
WEIGHTINGS = ("emission", "emission_transition", "lannoy", "chain", "marginal", "softmax_margin")
WEIGHTED_SIZES = [(32, 128, 9), (128, 512, 33)]
GROWING_SIZES = [(8, 1_000, 9), (8, 2_000, 9), (8, 5_000, 9), (8, 10_000, 9)]
GROWING_SIZES += [(32, 128, 9), (128, 128, 9), (512, 128, 9)]
DEFAULT_SIZES = list(itertools.product((8, 32, 128), (32, 128, 512), (9, 33, 73)))


class Batch(NamedTuple):
    """Emissions (B, T, K), gold tags and mask (B, T)."""

    emissions: torch.Tensor
    tags: torch.Tensor
    mask: torch.Tensor


class Candidate(NamedTuple):
    """A CRF, with functions for the sum of a batch's log-likelihoods and for the best paths as lists."""

    module: torch.nn.Module
    log_likelihood: Callable[[Batch], torch.Tensor]
    decode: Callable[[Batch], List[List[int]]]

    def run(self, task: str, batch: Batch) -> None:
        """Runs one of `TASKS`."""
        if task == "loss+gradient":
            self.gradients(batch)
        else:
            with torch.no_grad():
                (self.decode if task == "decoding" else self.log_likelihood)(batch)

    def gradients(self, batch: Batch) -> List[torch.Tensor]:
        """The gradients of the loss for the emissions, then for the parameters in the module's order."""
        emissions = batch.emissions.detach().requires_grad_()
        parameters = [p for p in self.module.parameters() if p.requires_grad]
        loss = -self.log_likelihood(batch._replace(emissions=emissions))
        return list(torch.autograd.grad(loss, [emissions, *parameters]))


def random_batch(size: Size, device: str = "cpu") -> Batch:
    """Normally distributed emissions, and lengths uniform in [T/2, T]."""
    batch_size, num_tokens, num_tags = size
    generator = torch.Generator().manual_seed(0)
    lengths = torch.randint(num_tokens // 2, num_tokens + 1, (batch_size,), generator=generator)
    lengths[0] = num_tokens
    batch = Batch(
        torch.randn(size, generator=generator),
        torch.randint(num_tags, (batch_size, num_tokens), generator=generator),
        torch.arange(num_tokens) < lengths.unsqueeze(1),
    )
    emissions, tags, mask = (tensor.to(device) for tensor in batch)
    return Batch(emissions, declare_range(tags, 0, num_tags - 1), declare_right_padded(mask))


def _of_module(module: Any) -> Candidate:
    return Candidate(
        module,
        lambda batch: module(*batch),
        lambda batch: [path for path, _ in module.viterbi_tags(batch.emissions, batch.mask)],
    )


def candidates(num_tags: int, device: str = "cpu") -> Dict[str, Candidate]:
    """All installed CRFs, with the same parameters."""
    torch.manual_seed(0)
    ours, allennlp = ConditionalRandomField(num_tags), AllenNLPField(num_tags)
    allennlp.load_state_dict(ours.state_dict())
    found = {
        "ours": _of_module(ours.to(device)),
        "our reference": _by_reference(_of_module(ours)),
        "AllenNLP": _of_module(allennlp.to(device)),
    }
    for name, make in (("pytorch-crf", _pytorch_crf), ("torch-struct", _torch_struct)):
        with contextlib.suppress(ImportError):
            found[name] = make(ours)
    return found


def _pytorch_crf(ours: ConditionalRandomField) -> Candidate:
    from torchcrf import CRF

    crf = CRF(ours.num_tags, batch_first=True).to(ours.transitions.device)
    with torch.no_grad():
        crf.start_transitions.copy_(ours.start_transitions)
        crf.transitions.copy_(ours.transitions)
        crf.end_transitions.copy_(ours.end_transitions)
    return Candidate(
        crf,
        lambda batch: crf(batch.emissions, batch.tags, batch.mask, reduction="sum"),
        lambda batch: crf.decode(batch.emissions, batch.mask),
    )


def _torch_struct(ours: ConditionalRandomField) -> Candidate:
    """torch-struct's distribution, with scores of neighbouring tags computed from our parameters."""
    from torch_struct import LinearChainCRF

    def distribution(batch: Batch) -> Any:
        lengths = batch.mask.sum(1)
        # (B, T - 1, K, K), to the tag in the third dimension from the tag in the last
        pairs = batch.emissions[:, 1:].unsqueeze(3) + ours.transitions.t()
        first = ours.start_transitions + batch.emissions[:, 0]
        pairs = torch.cat([pairs[:, :1] + first[:, None, None], pairs[:, 1:]], dim=1)
        places = torch.arange(pairs.size(1), device=pairs.device)
        is_last = (places == lengths.unsqueeze(1) - 2)[:, :, None, None]
        pairs = torch.where(is_last, pairs + ours.end_transitions.unsqueeze(1), pairs)
        return LinearChainCRF(pairs, lengths=lengths)

    def log_likelihood(batch: Batch) -> torch.Tensor:
        found = distribution(batch)
        parts = found.struct.to_parts(batch.tags, ours.num_tags, lengths=batch.mask.sum(1))
        return found.log_prob(parts.type_as(batch.emissions)).sum()

    def decode(batch: Batch) -> List[List[int]]:
        found = distribution(batch)
        paths = found.struct.from_parts(found.argmax)[0].tolist()
        return [path[:length] for path, length in zip(paths, batch.mask.sum(1).tolist())]

    return Candidate(ours, log_likelihood, decode)


def _by_reference(candidate: Candidate) -> Candidate:
    chosen = use_implementation("reference")
    return candidate._replace(
        log_likelihood=chosen(candidate.log_likelihood), decode=chosen(candidate.decode)
    )


def disagreement(candidate: Candidate, exact: Candidate, batch: Batch) -> str:
    """Says how a candidate's numbers differ from those of `exact` in float64; empty if they agree."""
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
    device = batch.mask.device
    # Paths may tie in float32, so their scores are compared instead.
    best, chosen = (
        exact.log_likelihood(
            double._replace(
                tags=pad_sequence([*map(torch.tensor, each)], batch_first=True).to(device)
            )
        )
        for each in (paths, candidate.decode(batch))
    )
    lost = float((best - chosen).detach())
    return f"its paths are worse by {lost:.2g}" if lost > 1e-3 else ""


def _grown_memory(name: str, size: Size, queue: multiprocessing.Queue) -> None:
    torch.set_num_threads(1)
    small, batch = random_batch((2, 4, size[2])), random_batch(size)
    candidate = candidates(size[2])[name]
    candidate.gradients(small)
    # Writing 5 resets the peak to the current size.
    Path("/proc/self/clear_refs").write_text("5")
    before = _peak_kib()
    candidate.gradients(batch)
    queue.put((_peak_kib() - before) / 1024)


def _peak_kib() -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0])


def peak_memory(name: str, size: Size) -> float:
    """The MiB that one loss with gradient adds to the peak resident size of a fresh process."""
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=_grown_memory, args=(name, size, queue))
    process.start()
    process.join()
    return queue.get() if process.exitcode == 0 else float("nan")


def weighted_candidates(num_tags: int, device: str) -> Dict[str, Candidate]:
    """Our CRF, plain and with each weighting."""
    weights = torch.linspace(0.5, 2.0, num_tags).tolist()
    found = {"plain": _of_module(ConditionalRandomField(num_tags).to(device))}
    for name in WEIGHTINGS:
        weighting = TagWeighting.by_name(name)(tag_weights=weights)
        crf = ConditionalRandomField(num_tags, weighting=weighting).to(device)
        crf.load_state_dict(found["plain"].module.state_dict(), strict=False)
        found[name] = _of_module(crf)
    return found


def with_unknown_tags(candidate: Candidate, batch: Batch) -> Candidate:
    """The same candidate, with a third of this batch's gold tags unknown."""
    numbers = torch.arange(batch.tags.numel(), device=batch.tags.device).view_as(batch.tags)
    partial = batch._replace(tags=batch.tags.masked_fill(numbers % 3 == 0, -1))

    def log_likelihood(full: Batch) -> torch.Tensor:
        return candidate.log_likelihood(partial._replace(emissions=full.emissions))

    return candidate._replace(log_likelihood=log_likelihood)


def times(found: Dict[str, Candidate], task: str, batch: Batch, repeats: int) -> Dict[str, list]:
    """The milliseconds of `repeats` runs of each candidate, timed in turns."""
    milliseconds: Dict[str, list] = {name: [] for name in found}
    for repeat in range(repeats + 1):
        for name, candidate in found.items():
            start = time.perf_counter()
            candidate.run(task, batch)
            if repeat > 0:
                milliseconds[name].append((time.perf_counter() - start) * 1e3)
    return milliseconds


def print_crf_rows(size: Size, repeats: int, with_memory: bool) -> None:
    """Compares the libraries at one size."""
    batch, found = random_batch(size), candidates(size[2])
    exact = found["our reference"]
    for name in list(found):
        difference = disagreement(found[name], exact, batch)
        if difference:
            print(f"| {size} | {name} | not timed: {difference} |")
            del found[name]
    columns = {task: times(found, task, batch, repeats) for task in TASKS}
    for name in found:
        cells = [_cell(columns[task][name], columns[task].get("AllenNLP")) for task in TASKS]
        cells.append(f"{peak_memory(name, size):.0f}" if with_memory else "-")
        print(f"| {_name(size)} | {name} | {' | '.join(cells)} |", flush=True)


def print_weighting_rows(size: Size, repeats: int) -> None:
    """Compares the weightings with the plain likelihood at one size."""
    found, batch = weighted_candidates(size[2], "cpu"), random_batch(size)
    found["partial labels"] = with_unknown_tags(found["plain"], batch)
    milliseconds = times(found, "loss+gradient", batch, repeats)
    plain = statistics.median(milliseconds["plain"])
    for name, own in milliseconds.items():
        ratio = statistics.median(own) / plain
        print(f"| {_name(size)} | {name} | {_cell(own)} | {ratio:.2f} |", flush=True)


def print_growth_row(size: Size, repeats: int) -> None:
    """Times our CRF at one size, in total and per token."""
    found = {"ours": _of_module(ConditionalRandomField(size[2]))}
    batch = random_batch(size)
    num_tokens = int(batch.mask.sum())
    cells = []
    for task in TASKS:
        own = times(found, task, batch, repeats)["ours"]
        cells.append(f"{_cell(own)}, {statistics.median(own) / num_tokens * 1e6:.0f} ns a token")
    print(f"| {_name(size)} | {' | '.join(cells)} |", flush=True)


def _cell(own: List[float], others: Optional[List[float]] = None) -> str:
    median = statistics.median(own)
    cell = f"{median:.3g} ({min(own):.3g}..{max(own):.3g})"
    if others is not None and others is not own:
        cell += f", {statistics.median(others) / median:.0f}x"
    return cell


def _name(size: Size) -> str:
    return "x".join(map(str, size))


def _size(text: str) -> Size:
    batch_size, num_tokens, num_tags = map(int, text.split("x"))
    return batch_size, num_tokens, num_tags


def main() -> None:
    """Parses the command line and prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    tables = ("crf", "weightings", "growth")
    parser.add_argument("--tables", nargs="+", choices=tables, default=tables)
    parser.add_argument("--sizes", nargs="+", type=_size, help="as BxTxK; of `crf`, `weightings`")
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--no-memory", action="store_true", help="leave the memory out")
    arguments = parser.parse_args()
    repeats, threads = arguments.repeats, torch.get_num_threads()
    print(f"torch {torch.__version__}, {threads} threads; ms: median (range)")
    if "crf" in arguments.tables:
        print("\nx: times AllenNLP's speed; MiB: peak of loss+gradient\n")
        print(f"| BxTxK | | {' | '.join(TASKS)} | MiB |\n|---|---|---|---|---|---|")
        for size in arguments.sizes or DEFAULT_SIZES:
            print_crf_rows(size, repeats, not arguments.no_memory)
    if "weightings" in arguments.tables:
        print("\n| BxTxK | weighting | loss+gradient | times plain |\n|---|---|---|---|")
        for size in arguments.sizes or WEIGHTED_SIZES:
            print_weighting_rows(size, repeats)
    if "growth" in arguments.tables:
        print(f"\n| BxTxK | {' | '.join(TASKS)} |\n|---|---|---|---|")
        for size in GROWING_SIZES:
            print_growth_row(size, repeats)


if __name__ == "__main__":
    main()
