"""Parts of the GPU check that measure the CRF alone."""

import contextlib
import multiprocessing
import os
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Iterator, List

import torch

from scripts.experiments.benchmarks import crf_candidates
from scripts.experiments.gpu_check.measuring import Options, Results, profile_of, seconds_of
from tagger.linear_chain import kernel_check
from tagger.modules import ConditionalRandomField

# With more tokens, libraries that decode sentence by sentence take minutes.
MOST_TOKENS_TO_DECODE = 2**18
#: Numbers of tags around the borders of the kernels' tiles.
_NUMBERS_OF_TAGS = (1, 2, 3, 8, 9, 16, 17, 32, 33, 40, 48, 49, 64, 65, 80, 81, 96, 97, 128)


def kernels(options: Options) -> Results:
    """Compares each kernel with plain PyTorch on the same device, and lists the numbers that differ."""
    numbers = (1, 9) if options.is_tiny else _NUMBERS_OF_TAGS
    types = (torch.float32,) if options.device == "cpu" else (torch.float32, torch.float64)
    problems = [(options.device, number, dtype) for number in numbers for dtype in types]
    # Almost all of the time goes into compiling, in the processes that the threads wait for.
    num_threads = max(1, min(12, (os.cpu_count() or 1) - 2))
    rows = []
    with ThreadPoolExecutor(num_threads) as threads:
        found = threads.map(kernel_check.differences_in_a_process, *zip(*problems))
        for (_, number, dtype), differences in zip(problems, found):
            # In the log, even if the part is stopped.
            print(number, dtype, differences or "agree", flush=True)
            if differences:
                rows.append({"tags": number, "type": str(dtype), "differences": differences})
    return {"numbers of tags": list(numbers), "all agree": not rows, "rows": rows}


def at_shape(shape: str, options: Options) -> Results:
    """Compares the CRFs of all libraries at one shape."""
    size, device = options.size(shape), options.device
    batch = crf_candidates.random_batch(size, device)
    few = crf_candidates.random_batch((min(size[0], 16), *size[1:]), device)
    found = crf_candidates.candidates(size[2], device)
    target = torch.empty_like(batch.emissions)
    copying = seconds_of(options, lambda: target.copy_(batch.emissions))
    rows: List[Results] = []
    for name, candidate in found.items():
        row: Results = {"candidate": name}
        rows.append(row)
        with _reported(row):
            row["disagreement"] = crf_candidates.disagreement(
                candidate, found["our reference"], few
            )
            if row["disagreement"]:
                continue
            row["loss+gradient"] = seconds_of(options, partial(candidate.gradients, batch))
            if name == "ours":
                row["viterbi"] = seconds_of(options, partial(_viterbi, candidate.module, batch))
                row["profile"] = profile_of(options, partial(candidate.gradients, batch))
            if name == "ours" or size[0] * size[1] <= MOST_TOKENS_TO_DECODE:
                row["decoding"] = seconds_of(options, partial(candidate.run, "decoding", batch))
    return {"size": list(size), "copy": copying, "rows": rows}


@torch.no_grad()
def _viterbi(module: Any, batch: crf_candidates.Batch) -> None:
    module.viterbi_decode(batch.emissions, batch.mask)


def weightings(options: Options) -> Results:
    """Compares the weightings with the plain likelihood."""
    rows = []
    for shape in ("small", "medium"):
        size = options.size(shape)
        batch = crf_candidates.random_batch(size, options.device)
        found = crf_candidates.weighted_candidates(size[2], options.device)
        found["partial labels"] = crf_candidates.with_unknown_tags(found["plain"], batch)
        for name, candidate in found.items():
            seconds = seconds_of(options, partial(candidate.gradients, batch))
            rows.append({"size": list(size), "weighting": name, "loss+gradient": seconds})
    return {"rows": rows}


def memory(options: Options) -> Results:
    """Measures the memory that one loss with gradient adds to the emissions."""
    size = options.size("large")
    batch = crf_candidates.random_batch(size, options.device)
    emissions = batch.emissions.numel() * batch.emissions.element_size()
    if options.device == "cpu":
        added = crf_candidates.peak_memory("ours", size) * 2**20
    else:
        candidate = crf_candidates.candidates(size[2], options.device)["ours"]
        candidate.gradients(batch)
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        candidate.gradients(batch)
        torch.cuda.synchronize()
        added = torch.cuda.max_memory_allocated() - before
    return {"size": list(size), "emissions": emissions, "added": added, "ratio": added / emissions}


def processes(options: Options) -> Results:
    """Trains with two processes on one device, and checks that they compute the same as one alone."""
    (alone,) = _side_by_side(options, 1)
    both = _side_by_side(options, 2)
    return {
        "alone": alone["seconds"],
        "side_by_side": [each["seconds"] for each in both],
        "same": all(abs(each["loss"] / alone["loss"] - 1) < 1e-6 for each in both),
    }


@contextlib.contextmanager
def _reported(row: Results) -> Iterator[None]:
    """Records the failure of a library and continues with the next."""
    try:
        yield
    except Exception as error:
        row["error"] = f"{type(error).__name__}: {str(error)[:300]}"
        if torch.cuda.is_available():
            torch.cuda.empty_cache()


def _side_by_side(options: Options, number: int) -> List[Results]:
    context = multiprocessing.get_context("spawn")
    queue, start = context.Queue(), context.Barrier(number)
    workers = [
        context.Process(target=_descend, args=(options, queue, start)) for _ in range(number)
    ]
    for worker in workers:
        worker.start()
    found = [queue.get(timeout=200) for _ in workers]
    for worker in workers:
        worker.join()
    return found


def _descend(options: Options, queue: Any, start: Any) -> None:
    """Trains a CRF's parameters for some steps and reports the time per step and the loss."""
    torch.set_num_threads(1)
    size = options.size("medium")
    batch = crf_candidates.random_batch(size, options.device)
    torch.manual_seed(0)
    module = ConditionalRandomField(size[2]).to(options.device)
    optimizer = torch.optim.SGD(module.parameters(), lr=1e-5)

    def step() -> torch.Tensor:
        optimizer.zero_grad()
        loss = -module(*batch)
        loss.backward()
        optimizer.step()
        return loss.detach()

    step()
    num_steps = 2 if options.is_tiny else 50
    start.wait(timeout=200)
    started = time.perf_counter()
    for _ in range(num_steps):
        loss = step()
    value = float(loss)
    queue.put({"seconds": (time.perf_counter() - started) / num_steps, "loss": value})
