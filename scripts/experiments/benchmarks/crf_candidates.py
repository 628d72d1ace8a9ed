"""Linear-chain CRFs of several libraries, called in one way."""

import contextlib
import multiprocessing
from pathlib import Path
from typing import Any, Callable, Dict, List, NamedTuple, Tuple

import torch
from allennlp.modules import ConditionalRandomField as AllenNLPField
from torch.nn.utils.rnn import pad_sequence

from tagger.linear_chain import use_implementation
from tagger.linear_chain.declared import declare_range, declare_right_padded
from tagger.modules import ConditionalRandomField, TagWeighting

Size = Tuple[int, int, int]
TASKS = ("loss", "loss+gradient", "decoding")
WEIGHTINGS = ("emission", "emission_transition", "lannoy", "chain", "marginal", "softmax_margin")


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


def of_module(module: Any) -> Candidate:
    """Returns the candidate of a CRF with the signatures of AllenNLP's."""
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
        "ours": of_module(ours.to(device)),
        "our reference": _by_reference(of_module(ours)),
        "AllenNLP": of_module(allennlp.to(device)),
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
    found = {"plain": of_module(ConditionalRandomField(num_tags).to(device))}
    for name in WEIGHTINGS:
        weighting = TagWeighting.by_name(name)(tag_weights=weights)
        crf = ConditionalRandomField(num_tags, weighting=weighting).to(device)
        crf.load_state_dict(found["plain"].module.state_dict(), strict=False)
        found[name] = of_module(crf)
    return found


def with_unknown_tags(candidate: Candidate, batch: Batch) -> Candidate:
    """The same candidate, with a third of this batch's gold tags unknown."""
    numbers = torch.arange(batch.tags.numel(), device=batch.tags.device).view_as(batch.tags)
    partial = batch._replace(tags=batch.tags.masked_fill(numbers % 3 == 0, -1))

    def log_likelihood(full: Batch) -> torch.Tensor:
        return candidate.log_likelihood(partial._replace(emissions=full.emissions))

    return candidate._replace(log_likelihood=log_likelihood)
