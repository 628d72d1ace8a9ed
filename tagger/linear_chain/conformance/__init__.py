"""A test of any linear-chain CRF against enumeration: which claims about a CRF hold for it.

    python -m tagger.linear_chain.conformance examples.crf_adapters:pytorch_crf

or, in your own test, `assert not any(each.wrong for each in check_crf(my_adapter))`.
"""

import itertools
import sys
from typing import Dict, List, NamedTuple, Sequence, Tuple

import torch

from tagger.linear_chain.conformance.claims import CLAIMS, Adapter

__all__ = ["Adapter", "Finding", "check_crf", "table_of"]


class Finding(NamedTuple):
    """The result of checking one claim.

    Attributes:
        claim: The claim, in words.
        num_problems: How many problems were tried; 0 if the implementation has no such function.
        wrong: How many of them contradict the claim.
        refused: For how many of them the implementation raised an error.
        example: The smallest problem that is wrong, or else refused, and what happened.
    """

    claim: str
    num_problems: int
    wrong: int
    refused: int
    example: str


def check_crf(adapter: Adapter, num_problems: int = 30, seed: int = 0) -> List[Finding]:
    """Checks every claim on small random problems, by comparing the answers with enumeration.

    Returns:
        A finding for each claim, in a fixed order.
    """
    findings = []
    for claim, (problems, holds) in CLAIMS.items():
        generator = torch.Generator().manual_seed(seed)
        tried = wrong = refused = 0
        examples: Dict[str, Tuple[int, str]] = {}
        for problem in itertools.islice(problems(generator), num_problems):
            try:
                said = holds(adapter, problem)
            except NotImplementedError:
                break
            except Exception as error:  # whatever an implementation raises
                kind, said = "refused", f"{type(error).__name__}: {str(error)[:80]}"
                refused += 1
            else:
                kind = "wrong"
                wrong += said is not None
            tried += 1
            if said is not None and problem.size < examples.get(kind, (sys.maxsize, ""))[0]:
                examples[kind] = problem.size, f"{problem}: {said}"
        _, example = examples.get("wrong") or examples.get("refused") or (0, "")
        findings.append(Finding(claim, tried, wrong, refused, example))
    return findings


def table_of(findings: Sequence[Finding]) -> str:
    """Returns findings as lines of text."""
    lines = [f"{'claim':52}{'tried':>6}{'wrong':>6}{'refused':>8}  smallest counterexample"]
    for each in findings:
        tried = str(each.num_problems or "-")
        lines.append(
            f"{each.claim:52}{tried:>6}{each.wrong:6}{each.refused:8}  {each.example}".rstrip()
        )
    return "\n".join(lines)
