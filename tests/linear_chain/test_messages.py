"""Invalid arguments of the chain functions, and their error messages."""

import math
from functools import partial

import pytest
import torch

from tagger.linear_chain import (
    IMPLEMENTATIONS,
    chain_cross_entropy,
    chain_marginals,
    compacted,
    k_best_decode,
    log_likelihood,
    log_partition,
    probable_spans,
    sample_paths,
    sequence_score,
    span_log_probabilities,
    step_log_marginals,
    use_implementation,
)
from tests.linear_chain.chains import random_chains
from tests.linear_chain.test_probable_spans import SPELLINGS

CHAINS = random_chains(2, 4, 3)
# While tests are collected, no kernel should be compiled.
with use_implementation("reference"):
    MARGINALS = chain_marginals(CHAINS)
#: The third token of each row is masked.
HOLES = torch.tensor([[True, True, False, True]] * 2)

of_mask = partial(log_partition, CHAINS)
of_gold = partial(log_likelihood, CHAINS)
of_gold_beside_holes = partial(log_likelihood, CHAINS, mask=HOLES)
of_path = partial(sequence_score, CHAINS)
of_weights = partial(step_log_marginals, CHAINS, torch.zeros(2, 4).long(), None)
of_least = partial(probable_spans, random_chains(1, 2, 4), SPELLINGS)
of_teacher = partial(chain_cross_entropy, student=CHAINS)
of_emissions = partial(compacted, mask=torch.ones(2, 3))
of_k = partial(k_best_decode, CHAINS, None)
of_samples = partial(sample_paths, CHAINS, None)


def of_chains(changes):
    log_partition(CHAINS._replace(**changes))


def of_spellings(changes):
    probable_spans(random_chains(1, 2, 4), SPELLINGS._replace(**changes), 0.5)


def of_span(span, width=1, num_tags=3, mask=None):
    allowed = torch.ones(1, width, num_tags).bool()
    lengths = torch.tensor([4, 2]) if mask is None else mask
    span_log_probabilities(CHAINS, torch.as_tensor([span]), allowed, lengths)


def of_implementation(name):
    with use_implementation(name):
        pass


#: Gold tags or a path, and a pattern of the message.
TAGS = [
    (torch.zeros(2, 3).long(), r"have shape \(2, 4\)"),
    (torch.ones(2, 4).bool(), r"be bool of shape \(2, 4, 3\); got torch.bool of shape"),
    (torch.tensor([[0, 1, 2, 3], [0, 0, 0, 0]]), "row 0 has 3 at token 3"),
    (torch.tensor([[0, 1, 2, 0], [-2, 0, 0, 0]]), "row 1 has -2 at token 0"),
    (torch.ones(2, 4, 3).bool() & torch.eye(4, 3).bool(), "row 0 allows token 3 none"),
]
INTEGERS = "must hold integers, or be bool .*float32"
#: By function and error type: the argument and a pattern of the message.
REFUSED = {
    (of_chains, ValueError): [
        ({"emissions": torch.zeros(3, 4)}, r"`emissions` must be \(B, T, K\)"),
        ({"transitions": torch.zeros(3, 4)}, r"`transitions` must have shape \(3, 3\)"),
        ({"start": torch.zeros(2)}, r"`start` must have shape \(3,\)"),
        ({"end": torch.zeros(3, 1)}, r"`end` must have shape \(3,\)"),
    ],
    (of_chains, TypeError): [({"end": torch.ones(3).long()}, "`end` must hold floating-point")],
    (of_mask, ValueError): [
        (torch.ones(2, 3).bool(), r"`mask` must be \(2, 4\)"),
        (torch.tensor([4, 5]), "a length outside 0 to 4"),
    ],
    (of_gold, ValueError): [(tags, f"^`gold_tags` must .*{message}") for tags, message in TAGS],
    (of_path, ValueError): [
        *((tags, f"^`tags` must .*{message}") for tags, message in TAGS),
        (torch.full((2, 4), -1), "a path with unknown tags has no score"),
    ],
    # The message counts tokens as the caller does.
    (of_gold_beside_holes, ValueError): [
        (torch.tensor([[0] * 4, [0, 0, 0, 7]]), "row 1 has 7 at token 3")
    ],
    (of_gold, TypeError): [
        (torch.zeros(size), f"`gold_tags` {INTEGERS}") for size in ((2, 4), (2, 4, 3))
    ],
    (of_path, TypeError): [
        (torch.zeros(size), f"`tags` {INTEGERS}") for size in ((2, 4), (2, 4, 3))
    ],
    (of_weights, ValueError): [
        (torch.ones(2, 3), r"`weights` must have shape \(2, 4\).*; got \(2, 3\)")
    ],
    (of_span, ValueError): [
        ([0, 0], r"`spans` must be int64 of shape \(N, 3\)"),
        ([0.0, 0.0, 0.0], "`spans` must be int64"),
        ([0, 0, 1], "at least 2 tokens"),
        ([2, 0, 0], "one of 2 rows; got row 2"),
        ([0, 2, 1], "row 0, tokens 2 to 1"),
    ],
    (partial(of_span, num_tags=4), ValueError): [([0, 0, 0], r"shape \(N, W, 3\)")],
    (partial(of_span, width=2), ValueError): [([1, 1, 2], "row 1, tokens 1 to 2")],
    (partial(of_span, width=4, mask=HOLES), ValueError): [
        ([0, first, last], f"begin and end at real .* row 0, tokens {first} to {last}")
        for first, last in ((1, 2), (2, 3), (3, 1))
    ],
    (of_least, ValueError): [
        (0.0, "`least_probability` must be above 0 and at most 1; got 0.0"),
        (math.nan, "`least_probability` must be above 0"),
    ],
    (of_spellings, ValueError): [
        ({"tags": SPELLINGS.tags + 1}, r"shape \(C, 4\), tags below 4; got"),
        ({"tags": SPELLINGS.tags[:, :3]}, r"shape \(C, 4\)"),
        ({"continuing": SPELLINGS.continuing[:2]}, r"bool of shape \(3, 4\); got torch.bool"),
        ({"continuing": SPELLINGS.tags}, r"`spellings.continuing` .* got torch.int64 of shape \(3"),
    ],
    (of_teacher, ValueError): [
        (random_chains(2, 4, 2), r"`emissions` of the teacher .* \(2, 4, 3\).*; got \(2, 4, 2\)"),
        (
            MARGINALS._replace(transitions=MARGINALS.transitions[0]),
            r"`transitions` of the teacher must have shape \(2, 3, 3\).*; got \(3, 3\)",
        ),
    ],
    (of_emissions, ValueError): [
        (torch.zeros(2, 3), r"`emissions` must be \(B, T, K\); got shape \(2, 3\)")
    ],
    (of_samples, ValueError): [(0, "`num_samples` must be at least 1; got 0")],
    (of_k, ValueError): [(0, "`k` must be at least 1; got 0")],
    (of_implementation, ValueError): [("gpu", f"{', '.join(IMPLEMENTATIONS)}.*; got `gpu`")],
}


@pytest.mark.parametrize(
    ("call", "error", "argument", "message"),
    [(*door, *row) for door, rows in REFUSED.items() for row in rows],
)
def test_invalid_arguments_are_refused(call, error, argument, message):
    with pytest.raises(error, match=message):
        call(argument)
