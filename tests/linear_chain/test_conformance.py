"""The conformance test passes a correct CRF and finds each planted fault."""

import subprocess
import sys
from functools import partial

import pytest
import torch

from examples.crf_adapters import (
    allennlp,
    flair,
    flash_semicrf,
    ours,
    ours_as_torchcrf,
    ours_lannoy,
)
from tagger.linear_chain.conformance import check_crf, table_of
from tagger.linear_chain.conformance.__main__ import main as conformance_main
from tests.conftest import ROOT


def wrong_claims(adapter):
    return [each.claim for each in check_crf(adapter, num_problems=8) if each.wrong]


@pytest.mark.parametrize("adapter", [ours, ours_as_torchcrf])
def test_our_crf_meets_every_claim(adapter):
    findings = check_crf(adapter(), num_problems=8)
    assert len(findings) == 22
    assert not any(each.wrong for each in findings), table_of(findings)
    refused = {each.claim for each in findings if each.refused}
    # pytorch-crf refuses empty sequences, and so does its replacement.
    assert refused == ({"... with no real token"} if adapter is ours_as_torchcrf else set())


def test_unbounded_weights_are_found():
    assert wrong_claims(ours_lannoy()) == ["other weights: no objective is above 0"]


def test_flairs_likelihood_is_wrong_for_impossible_scores_only():
    pytest.importorskip("flair")
    assert wrong_claims(flair()) == [
        "... with impossible scores (-inf)",
        "gradient with impossible scores (-inf)",
    ]


def test_probabilities_of_flash_semicrf_do_not_sum_to_1():
    pytest.importorskip("flash_semicrf")
    assert "probabilities of all paths sum to 1" in wrong_claims(flash_semicrf())


def test_allennlps_likelihood_is_wrong_for_masks_with_holes():
    wrong = wrong_claims(allennlp())
    assert "a hole in the mask: probabilities sum to 1" in wrong
    assert "probabilities of all paths sum to 1" not in wrong


OURS = ours()


def transposed(scores):
    return scores._replace(transitions=scores.transitions.T)


def emission_argmax(decode, scores, mask):
    return [row[real].tolist() for row, real in zip(scores.emissions.argmax(2), mask)]


#: By fault: the part to replace, a function from the right part to the wrong one, and a failing claim.
FAULTS = {
    "transitions from and to exchanged": (
        "log_likelihood",
        lambda right, scores, *rest: right(transposed(scores), *rest),
        "log-likelihood equals enumeration",
    ),
    "decoding ignores transitions": ("decode", emission_argmax, "the decoded path scores highest"),
    "decoding is longer than the sequence": (
        "decode",
        lambda right, scores, mask: [[0] * (int(mask.sum()) + 1)],
        "the decoded path scores highest",
    ),
    "paths in a wrong order": (
        "k_best",
        lambda right, *args: [row[::-1] for row in right(*args)],
        "the 3 best paths are the best",
    ),
    "the mask is ignored": (
        "log_likelihood",
        lambda right, scores, tags, mask: right(scores, tags, torch.ones_like(mask)),
        "large numbers in the padding change nothing",
    ),
    "the gradient is lost": (
        "log_likelihood",
        lambda right, *args: right(*args).detach() + 0 * args[0].end.sum(),
        "gradient of log Z equals the marginals",
    ),
    "a batch is averaged": (
        "log_likelihood",
        lambda right, *args: right(*args) / len(args[1]),
        "a batch equals a loop over its rows",
    ),
    "weights scale the objective twice": (
        "weighted",
        lambda right, *args: 2 * right(*args),
        "weights of 1 change nothing",
    ),
}


def broken(fault):
    """Returns an adapter with the fault, and the claim that must fail."""
    part, wrong, claim = FAULTS[fault]
    return OURS._replace(**{part: partial(wrong, getattr(OURS, part))}), claim


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found(fault):
    adapter, claim = broken(fault)
    if fault == "the gradient is lost":
        findings = {each.claim: each for each in check_crf(adapter, num_problems=4)}
        assert findings[claim].wrong + findings[claim].refused == 4
    else:
        assert claim in wrong_claims(adapter)


def test_the_smallest_counterexample_is_shown():
    adapter, claim = broken("decoding is longer than the sequence")
    finding = {each.claim: each for each in check_crf(adapter)}[claim]
    assert finding.wrong == 30
    assert finding.example == "2 tags, mask 1: [0, 0] is no path"


def test_an_exception_counts_as_a_refusal():
    def refuse(*args):
        raise ValueError("no such thing")

    finding = check_crf(OURS._replace(log_likelihood=refuse), num_problems=2)[0]
    assert (finding.num_problems, finding.wrong, finding.refused) == (2, 0, 2)
    assert finding.example == "2 tags, mask 111: ValueError: no such thing"


def test_missing_functions_are_skipped():
    lacking = OURS._replace(decode=None, k_best=None, weighted=None)
    tried = {each.claim: each.num_problems for each in check_crf(lacking, num_problems=2)}
    assert tried["the decoded path scores highest"] == 0
    assert tried["weights of 1 change nothing"] == 0
    assert tried["log-likelihood equals enumeration"] == 2


@pytest.mark.usefixtures("warm_python")
def test_the_table_is_printed():
    command = [sys.executable, "-m", "tagger.linear_chain.conformance", "--problems", "2"]
    command += ["examples.crf_adapters:ours"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert lines[0] == "tagger, weighting `chain`"
    assert lines[2].split()[-3:] == ["2", "0", "0"]
    assert len(lines) == 25


def test_a_missing_package_is_named(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "torchcrf", None)
    monkeypatch.setattr(sys, "argv", ["conformance", "examples.crf_adapters:pytorch_crf"])
    with pytest.raises(SystemExit) as ended:
        conformance_main()
    assert ended.value.code == 1
    assert capsys.readouterr().err == (
        "examples.crf_adapters:pytorch_crf needs the module `torchcrf`, which is not installed; run: "
        "pip install pytorch-crf\n"
    )
