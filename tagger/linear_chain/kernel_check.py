"""Compares Triton's kernels with plain PyTorch at their first use on a GPU, before they are trusted.

A wrong number would silently spoil a training run, and what Triton makes of a kernel differs between its
versions, GPUs, and numbers of tags: on an H100, Triton 3.6 got a gradient wrong that its interpreter
gets right. So kernels are compared once for each number of tags and type of scores, and plain PyTorch is
used if they differ. On a GPU another process compares them, because after a fault such as a misaligned
address a process cannot use the GPU any more. Successful checks are remembered on disk.

Letters: `B` rows (sequences), `T` tokens, `K` tags.
"""

import hashlib
import json
import logging
import os
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, Callable, Dict, List, Tuple

import torch

from tagger.linear_chain import reference
from tagger.linear_chain.chain_scores import ChainScores

logger = logging.getLogger(__name__)

#: The environment variable that overrides the check, and its values.
VARIABLE = "TAGGER_KERNELS"
CHOICES = ("reference", "triton")
# More tokens than the kernels read in a block, a short row, and an empty one
_LENGTHS = (133, 5, 0)
# Most of it goes into compiling.
_SECONDS_OF_A_CHECK = 600
# Rounding errors of a sum over the tokens, in units of the largest number's last place
_ROUNDING = 64

_known: Dict[Tuple[str, int, torch.dtype], bool] = {}
_lock = threading.Lock()


def may_use_kernels(kernels: ModuleType, scores: ChainScores) -> bool:
    """Whether to use the kernels for chains like these, according to `TAGGER_KERNELS` or a check.

    Raises:
        ValueError: If `TAGGER_KERNELS` has another value than `reference` and `triton`.
    """
    choice = os.environ.get(VARIABLE)
    if choice:
        if choice not in CHOICES:
            raise ValueError(
                f"the variable `{VARIABLE}` must be `reference`, for plain PyTorch on a GPU, or "
                f"`triton`, for the kernels without a check; got `{choice}`; correct it or leave it out"
            )
        return choice == "triton"
    emissions = scores.emissions
    asked = (str(emissions.device), emissions.size(2), emissions.dtype)
    with _lock:
        if asked not in _known:
            if emissions.is_cuda and torch.cuda.is_current_stream_capturing():
                return False  # no check can run while a CUDA graph is captured
            _known[asked] = _agree(kernels, *asked)
        return _known[asked]


def differences(kernels: ModuleType, device: str, num_tags: int, dtype: torch.dtype) -> List[str]:
    """The functions for which kernels and reference differ on a small problem, and how they differ."""
    scores, tags, lengths = _problem(device, num_tags, dtype)
    exact = ChainScores(*(each.double() for each in scores))
    found = []
    with torch.inference_mode(False), torch.enable_grad():
        for name, (ask, has_gradients) in _questions(tags, lengths).items():
            try:
                actual = _outcome(partial(ask, kernels), scores, has_gradients)
                expected = _outcome(partial(ask, reference), exact, has_gradients)
                if not all(map(_is_close, actual, expected)):
                    found.append(f"{name} (another result)")
            except Exception as error:  # compilers and drivers fail with errors of many types
                message = str(error).strip().splitlines() or [""]
                found.append(f"{name} ({type(error).__name__}: {message[0]})")
    return found


def differences_in_a_process(device: str, num_tags: int, dtype: torch.dtype) -> List[str]:
    """`differences` of the Triton kernels, found by a new process, which a fault of a kernel may end."""
    root = Path(__file__).parent.parent.parent
    paths = [str(root), os.environ.get("PYTHONPATH", "")]
    problem = [device, str(num_tags), str(dtype).removeprefix("torch.")]
    try:
        done = subprocess.run(
            [sys.executable, "-m", __name__, *problem],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
            capture_output=True,
            text=True,
            timeout=_SECONDS_OF_A_CHECK,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return [f"the check took more than {_SECONDS_OF_A_CHECK} seconds"]
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
        return [f"the process of the check ended with status {done.returncode}: {reason}"]
    return list(json.loads(done.stdout.splitlines()[-1]))


def _agree(kernels: ModuleType, device: str, num_tags: int, dtype: torch.dtype) -> bool:
    """Whether kernels and reference agree, from an earlier check or a new one; warns if they do not."""
    record = _record(device, num_tags, dtype)
    if record.exists():
        return True
    if torch.device(device).type == "cuda":
        found = differences_in_a_process(device, num_tags, dtype)
    else:
        found = differences(kernels, device, num_tags, dtype)
    if found:
        logger.warning(
            "The Triton kernels for chains of %d tags in %s differ from plain PyTorch on %s: %s. Plain "
            "PyTorch is used instead, which is slower. Please report this; %s=triton uses the kernels "
            "anyway",
            num_tags,
            str(dtype).removeprefix("torch."),
            device,
            "; ".join(found),
            VARIABLE,
        )
        return False
    try:
        record.parent.mkdir(parents=True, exist_ok=True)
        record.touch()
    except OSError as error:
        logger.info("cannot remember that the kernels were checked: %s", error)
    return True


def _record(device: str, num_tags: int, dtype: torch.dtype) -> Path:
    """The file in the user's cache folder that marks the kernels as checked."""
    import triton

    kind = {"device": device, "driver": ""}
    if torch.device(device).type == "cuda":
        driver = Path("/proc/driver/nvidia/version")
        kind = {
            "device": torch.cuda.get_device_name(device),
            "driver": driver.read_text() if driver.exists() else str(torch.version.cuda),
        }
    kind.update(torch=torch.__version__, triton=triton.__version__, kernels=_kernels_digest())
    text = json.dumps([kind, num_tags, str(dtype)], sort_keys=True)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    return cache / "tagger" / "checked_kernels" / hashlib.sha256(text.encode()).hexdigest()


def _kernels_digest() -> str:
    """A digest of the kernels' sources and of all that they are compared with or rely on."""
    digest, here = hashlib.sha256(), Path(__file__).parent
    for path in sorted(
        each for part in ("", "cuda", "kernels") for each in (here / part).glob("*.py")
    ):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _problem(
    device: str, num_tags: int, dtype: torch.dtype
) -> Tuple[ChainScores, torch.Tensor, torch.Tensor]:
    """Random scores, some of them -inf, a possible path, (B, T), and lengths, (B,)."""
    generator = torch.Generator().manual_seed(0)
    batch_size, num_tokens = len(_LENGTHS), max(_LENGTHS)
    tags = torch.randint(num_tags, (batch_size, num_tokens), generator=generator)
    shapes = ((batch_size, num_tokens, num_tags), (num_tags, num_tags), (num_tags,), (num_tags,))
    scores = ChainScores(*(torch.randn(shape, generator=generator) * 2 for shape in shapes))
    is_impossible = torch.rand(shapes[0], generator=generator) < 0.1
    is_impossible.scatter_(2, tags.unsqueeze(2), False)
    scores = scores._replace(emissions=scores.emissions.masked_fill(is_impossible, -torch.inf))
    moved = ChainScores(*(each.to(device, dtype) for each in scores))
    return moved, tags.to(device), torch.tensor(_LENGTHS, device=device)


def _questions(
    tags: torch.Tensor, lengths: torch.Tensor
) -> Dict[str, Tuple[Callable[[Any, ChainScores], Any], bool]]:
    """For each function, how to call an implementation, and whether its kernels compute gradients."""
    uniforms = torch.rand((len(tags), 2, tags.size(1)), generator=torch.Generator().manual_seed(1))
    uniforms = uniforms.double().to(tags.device)
    return {
        "log_partition": (lambda each, s: each.log_steps(s, None, lengths, is_total=True), True),
        "log_likelihood": (lambda each, s: each.log_steps(s, tags, lengths, is_total=True), True),
        "step_log_likelihoods": (lambda each, s: each.log_steps(s, tags, lengths), True),
        "step_log_marginals": (
            lambda each, s: each.log_posteriors(s, tags, lengths, None, given_prefix=False),
            True,
        ),
        "step_log_conditionals": (
            lambda each, s: each.log_posteriors(s, tags, lengths, None, given_prefix=True),
            True,
        ),
        "forward_scores": (lambda each, s: _real(each.messages(s, lengths, False), lengths), False),
        "backward_scores": (lambda each, s: _real(each.messages(s, lengths, True), lengths), False),
        "k_best_decode": (lambda each, s: each.k_best_decode(s, lengths, 1), False),
        "sample_paths": (lambda each, s: each.sample_paths(s, lengths, uniforms), False),
    }


def _real(values: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """The values of real tokens."""
    return torch.cat([row[:length] for row, length in zip(values, lengths.tolist())])


def _outcome(
    ask: Callable[[ChainScores], Any], scores: ChainScores, has_gradients: bool
) -> List[torch.Tensor]:
    inputs = ChainScores(*(each.clone().requires_grad_(has_gradients) for each in scores))
    values = ask(inputs)
    if not has_gradients:
        return list(values) if isinstance(values, tuple) else [values]
    weights = torch.linspace(0.5, 1.5, values.numel(), device=values.device).view_as(values)
    return [values, *torch.autograd.grad(values, inputs, weights.to(values))]


def _is_close(actual: torch.Tensor, expected: torch.Tensor) -> bool:
    """Whether numbers are equal up to rounding, and tags exactly."""
    dtype = actual.dtype
    if not dtype.is_floating_point:
        return torch.equal(actual, expected)
    actual, expected = actual.detach().double(), expected.detach().double()
    scale = max(1.0, float(expected.masked_fill(expected == -torch.inf, 0).abs().amax()))
    tolerance = _ROUNDING * torch.finfo(dtype).eps * scale
    return torch.allclose(actual, expected, rtol=0, atol=tolerance)


if __name__ == "__main__":
    from tagger.linear_chain.cuda import functions

    print(
        json.dumps(
            differences(functions, sys.argv[1], int(sys.argv[2]), getattr(torch, sys.argv[3]))
        )
    )
