"""Random small problems for the fuzzer: chains, masks and labels at the edges of what is allowed."""

import math
from typing import NamedTuple, Sequence

import torch

from tagger.linear_chain import ChainScores

DTYPES = {
    "float64": torch.float64,
    "float32": torch.float32,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
}
ROLES = ChainScores._fields
#: Paths of a sequence. Enumeration writes all of them out.
MOST_PATHS = 256


class Problem(NamedTuple):
    """A batch of chains, as lists."""

    dtype: str
    #: B, T and K.
    size: Sequence[int]
    emissions: list
    transitions: list
    start: list
    end: list
    #: (B, T), true at real tokens.
    mask: list
    #: Which of the scores require gradients.
    differentiated: Sequence[str] = ROLES

    def tokens(self, row):
        """The real tokens of a row."""
        return [t for t, is_real in enumerate(self.mask[row]) if is_real]

    def scores(self):
        """New tensors."""
        num_rows, num_tokens, num_tags = self.size
        shapes = (num_rows, num_tokens, num_tags), (num_tags, num_tags), (num_tags,), (num_tags,)
        tensors = []
        for role, shape in zip(ROLES, shapes):
            exact = torch.tensor(getattr(self, role), dtype=torch.float64).view(shape)
            tensor = exact.to(DTYPES[self.dtype])
            tensors.append(tensor.requires_grad_(role in self.differentiated))
        return ChainScores(*tensors)

    def mask_tensor(self):
        """(B, T) bool."""
        return torch.tensor(self.mask, dtype=torch.bool).view(*self.size[:2])

    def any_mask(self, rng):
        """The mask in one of the forms in which functions take it."""
        mask = self.mask_tensor()
        forms = [mask, mask, mask.to(torch.uint8)]
        if self.is_right_padded():
            forms.append(mask.sum(1))
        if mask.all():
            forms.append(None)
        return rng.choice(forms)

    def is_right_padded(self):
        """Whether no mask has a hole."""
        return all(sorted(row, reverse=True) == row for row in self.mask)

    def largest(self):
        """The largest finite size of a real token's score."""
        scores = self.scores()
        real = scores.emissions[self.mask_tensor()]
        values = torch.cat([tensor.detach().double().flatten() for tensor in (real, *scores[1:])])
        return float(values[values.isfinite()].abs().max()) if values.isfinite().any() else 0.0


def random_problem(rng):
    """Draws a problem."""
    num_tags = rng.choice([1, 2, 2, 3, 3, 4, 5])
    longest = int(math.log(MOST_PATHS) / math.log(num_tags)) if num_tags > 1 else 6
    num_rows = rng.choice([0, 1, 1, 2, 2, 3])
    num_tokens = rng.choice([0, 1, *range(1, min(longest, 6) + 1)])
    score = _random_score(rng)
    shares = {role: rng.choice([0, 0, 0, 0, 0.2, 0.6]) for role in ROLES}

    def scores(role, *shape):
        if shape:
            return [scores(role, *shape[1:]) for _ in range(shape[0])]
        return -math.inf if shares[role] and rng.random() < shares[role] else score()

    emissions = scores("emissions", num_rows, num_tokens, num_tags)
    mask = [_random_mask(rng, num_tokens) for _ in range(num_rows)]
    padding = rng.choice([0.0, math.nan, math.inf, -math.inf])
    for row, row_mask in zip(emissions, mask):
        for t, is_real in enumerate(row_mask):
            if not is_real:
                row[t] = [padding] * num_tags
    return Problem(
        rng.choice(["float64", "float64", "float32", "float32", "bfloat16", "float16"]),
        (num_rows, num_tokens, num_tags),
        emissions,
        scores("transitions", num_tags, num_tags),
        scores("start", num_tags),
        scores("end", num_tags),
        mask,
        rng.choice([ROLES, ROLES, ROLES, [rng.choice(ROLES)]]),
    )


def random_labels(rng, problem, is_path=False):
    """Gold tags: a path, a path with unknown tags, or sets; anything in the padding."""
    num_rows, num_tokens, num_tags = problem.size
    kind = "path" if is_path else rng.choice(["path", "path", "unknown", "sets"])
    if kind == "sets":
        sets = torch.zeros(num_rows, num_tokens, num_tags, dtype=torch.bool)
        for row, row_mask in enumerate(problem.mask):
            for t, is_real in enumerate(row_mask):
                share = rng.choice([0.0, 0.5, 1.0])
                sets[row, t] = torch.tensor([rng.random() < share for _ in range(num_tags)])
                if is_real:
                    sets[row, t, rng.randrange(num_tags)] = True
        return sets
    unknown_share = 0.4 if kind == "unknown" else 0.0

    def tag(is_real):
        if not is_real:
            return rng.choice([-7, -1, 0, 99])
        return -1 if rng.random() < unknown_share else rng.randrange(num_tags)

    tags = [[tag(is_real) for is_real in row] for row in problem.mask]
    dtype = rng.choice([torch.int64, torch.int64, torch.int64, torch.int32, torch.int8])
    return torch.tensor(tags, dtype=dtype).view(num_rows, num_tokens)


def _random_score(rng):
    """Draws scores of one kind."""
    scale = rng.choice([1.0, 1.0, 1.0, 100.0, 1e4])

    def uniform():
        return rng.uniform(-2 * scale, 2 * scale)

    def tie():
        return float(rng.randint(-1, 1)) * scale

    def outlier():
        """Rarely one among ordinary scores."""
        return rng.choice([-700.0, 800.0]) if rng.random() < 0.1 else rng.uniform(-2, 2)

    return rng.choice([uniform, uniform, tie, lambda: 0.0, outlier])


def _random_mask(rng, num_tokens):
    if rng.random() < 0.4:
        return [rng.random() < 0.6 for _ in range(num_tokens)]
    length = rng.choice([num_tokens, rng.randint(0, num_tokens)])
    return [t < length for t in range(num_tokens)]
