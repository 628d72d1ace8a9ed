"""The fuzzer's questions: each public function and weighting, with the answer by enumeration."""

from functools import partial
from typing import Callable, NamedTuple

import pytest
import torch

from tagger import linear_chain
from tagger.linear_chain import ChainScores
from tagger.modules import ConditionalRandomField, TagWeighting
from tests.linear_chain.fuzzed_problems import random_labels
from tests.oracles.all_paths import INF, AllPaths, log_sum

OF_CHAINS = ("log_partition", "step_log_normalizers", "forward_scores", "backward_scores")
OF_CHAINS += ("tag_marginals", "transition_marginals")
OF_LABELS = ("log_likelihood", "step_log_likelihoods")
OF_LABELS += ("step_log_conditionals", "step_log_marginals")


class Question(NamedTuple):
    """A differentiable function of the scores and its expected result."""

    call: Callable
    #: The expected result in float64, by enumeration.
    answer: Callable
    #: The factor by which it may amplify rounding errors of scores.
    magnification: float = 1.0
    #: Whether kernels compute all of it in float64.
    is_exact: bool = True


def of_rows(problem, shape, answer):
    """Returns a function that answers each row by enumeration, with 0 at absent tokens.

    `shape` is the shape after B: `()` for one value per row, `(T, ...)` for one per token. `answer`
    returns the answer for a row, (N, ...) for its N real tokens. A row has one transition fewer; each
    belongs to the token that it starts from.
    """

    def whole(scores):
        result = torch.zeros(problem.size[0], *shape, dtype=torch.float64)
        for row in range(problem.size[0]):
            tokens = problem.tokens(row)
            values = answer(AllPaths(scores, row, tokens), row)
            if not shape:
                result[row] = values
            elif not tokens:
                continue
            elif len(values) == len(tokens):
                result[row, tokens] = values
            else:
                result[row, [t - 1 for t in tokens[1:]]] = values
        return result

    return whole


def sets_of(problem, labels, row):
    """The possible tags of each real token of a row, (N, K) bool."""
    labels = labels[row, problem.tokens(row)]
    if labels.dim() == 2:
        return labels
    return (labels.unsqueeze(1) == torch.arange(problem.size[2])) | (labels == -1).unsqueeze(1)


def is_partial(problem, labels):
    """Whether the labels of a batch are sets or have unknown tags at real tokens."""
    return labels.dim() == 3 or bool((labels[problem.mask] == -1).any())


def _of_path(name, problem, rng):
    tags, mask = random_labels(rng, problem, is_path=True), problem.any_mask(rng)

    def steps(paths, row):
        return paths.step_scores(tags[row, problem.tokens(row)].tolist())

    def total(paths, row):
        scores = steps(paths, row)
        return scores.sum() if (scores != -INF).all() else scores.detach().sum()

    shape, answer = ((), total) if name == "sequence_score" else ((problem.size[1],), steps)
    function = getattr(linear_chain, name)
    return Question(
        lambda scores: function(scores, tags, mask), of_rows(problem, shape, answer), is_exact=False
    )


def _of_chain(name, problem, rng):
    _, num_tokens, num_tags = problem.size
    shapes = {
        "log_partition": (),
        "step_log_normalizers": (num_tokens,),
        "transition_marginals": (max(num_tokens - 1, 0), num_tags, num_tags),
    }
    method = {"log_partition": AllPaths.log_mass}.get(name) or getattr(AllPaths, name)
    function, mask = getattr(linear_chain, name), problem.any_mask(rng)

    def call(scores):
        values = function(scores, mask)
        if name in ("forward_scores", "backward_scores"):
            # Messages are undefined in the padding.
            is_real = problem.mask.unsqueeze(2)
            return torch.where(is_real, values, torch.zeros_like(values))
        return values

    shape = shapes.get(name, (num_tokens, num_tags))
    return Question(call, of_rows(problem, shape, lambda paths, row: method(paths)))


def _of_labels(name, problem, rng):
    labels, mask = random_labels(rng, problem), problem.any_mask(rng)

    def answer(paths, row):
        allowed = sets_of(problem, labels, row)
        if name == "log_likelihood":
            return paths.log_probability(allowed)
        if name == "step_log_likelihoods":
            return _step_log_likelihoods(paths, allowed, is_partial(problem, labels))
        return getattr(paths, name)(allowed)

    shape = () if name == "log_likelihood" else (problem.size[1],)
    function = getattr(linear_chain, name)
    return Question(lambda scores: function(scores, labels, mask), of_rows(problem, shape, answer))


def _step_log_likelihoods(paths, allowed, is_partial):
    """Step scores minus log z_t of a path; for partial labels, the difference of two log z_t."""
    whole = paths.step_log_normalizers()
    if not is_partial:
        part = paths.step_scores(allowed.int().argmax(1).tolist())
    else:
        part = paths.step_log_normalizers(allowed)
    is_possible = (part != -INF) & (whole != -INF)
    return torch.where(is_possible, part - whole, torch.full_like(part, -INF))


def _spans(problem, rng):
    rows = [row for row in range(problem.size[0]) if problem.tokens(row)]
    spans = []
    for row in rng.choices(rows, k=rng.randint(0, 3)) if rows else []:
        ends = sorted(rng.choices(problem.tokens(row), k=2))
        spans.append((row, *ends))
    longest = max([last - first + 1 for _, first, last in spans], default=1)
    sets = [
        [[rng.random() < 0.6 for _ in range(problem.size[2])] for _ in range(longest)]
        for _ in spans
    ]
    span_tensor = torch.tensor(spans, dtype=torch.int64).view(-1, 3)
    allowed = torch.tensor(sets, dtype=torch.bool).view(len(spans), longest, problem.size[2])
    mask = problem.any_mask(rng)

    def answer(scores):
        values = [torch.zeros(0, dtype=torch.float64)]
        for (row, first, last), span_sets in zip(spans, allowed):
            tokens = problem.tokens(row)
            inside = torch.ones(len(tokens), problem.size[2], dtype=torch.bool)
            for place, t in enumerate(tokens):
                if first <= t <= last:
                    inside[place] = span_sets[t - first]
            values.append(AllPaths(scores, row, tokens).log_probability(inside).view(1))
        return torch.cat(values)

    return Question(
        lambda scores: linear_chain.span_log_probabilities(scores, span_tensor, allowed, mask),
        answer,
    )


def random_weights(rng, name, num_tags):
    """Draws the weights and the options of a weighting."""
    options = {}
    if name == "emission_transition":
        options["transition_weight"] = rng.choice(["to", "from"])
    if name == "marginal":
        options["gamma"] = rng.choice([0.0, 1.0, 2.0])
    if name == "softmax_margin":
        options["cost"] = [
            [0.0 if i == j else rng.choice([0.0, 0.5, 3.0]) for j in range(num_tags)]
            for i in range(num_tags)
        ]
    return [rng.choice([0.25, 0.5, 1.0, 2.0, 4.0]) for _ in range(num_tags)], options


def _weighting(name, problem, rng):
    num_tags = problem.size[2]
    weights, options = random_weights(rng, name, num_tags)
    weighting = TagWeighting.by_name(name)(tag_weights=weights, **options)
    if problem.dtype == "float64":
        weighting = weighting.double()
    # Without start and end scores, something else must be differentiated.
    has_ends = rng.random() < 0.7 or not {"emissions", "transitions"} & {*problem.differentiated}
    labels = random_labels(rng, problem)
    mask = rng.choice([problem.mask, problem.mask.int()])
    if mask.all():
        mask = rng.choice([mask, None])

    def call(scores):
        crf = crf_of(scores, has_ends, weighting=weighting)
        return crf.log_likelihood(scores.emissions, labels, mask)

    c = torch.tensor(weights, dtype=torch.float64)

    def answer(scores):
        scores = scores if has_ends else without_ends(scores)
        return of_rows(problem, (), objective)(scores)

    def objective(paths, row):
        allowed = sets_of(problem, labels, row)
        if name == "softmax_margin":
            return _margin_objective(paths, allowed, c, options["cost"])
        if name.startswith("emission"):
            return _scaled_objective(paths, allowed, c, options.get("transition_weight"))
        steps = {
            "lannoy": lambda: _step_log_likelihoods(paths, allowed, is_partial(problem, labels)),
            "chain": lambda: paths.step_log_conditionals(allowed),
            "marginal": lambda: paths.step_log_marginals(allowed),
        }[name]()
        if options.get("gamma"):
            steps = (1 - steps.exp()) ** options["gamma"] * steps
        # (N,)
        means = (allowed * c).sum(1) / allowed.sum(1)
        total = (means * steps).sum()
        return total if total > -INF else total.detach()

    return Question(call, answer, magnification=16.0, is_exact=False)


def _margin_objective(paths, allowed, c, cost):
    costs = torch.tensor(cost, dtype=torch.float64) + c.log().unsqueeze(1)
    costs.fill_diagonal_(0.0)
    margins = torch.zeros(allowed.shape, dtype=torch.float64)
    for t, tags in enumerate(allowed):
        margins[t] = torch.where(tags, 0.0, costs[tags].amin(0))
    path_margins = margins[torch.arange(paths.num_tokens), paths.tags].sum(1)
    whole = log_sum(paths.path_scores + path_margins)
    part = paths.log_mass(allowed)
    return part - whole if part > -INF else part.detach()


def _scaled_objective(paths, allowed, c, transition_weight):
    scale = {None: torch.ones_like(c), "to": c, "from": c.unsqueeze(1)}[transition_weight]
    emissions = (paths.emissions * c).unsqueeze(0)
    scaled = ChainScores(emissions, paths.transitions * scale, paths.start, paths.end)
    return AllPaths(scaled, 0, range(paths.num_tokens)).log_probability(allowed)


def crf_of(scores, has_ends=True, **kwargs):
    """A CRF module with these scores as its parameters."""
    crf = ConditionalRandomField(
        len(scores.start), include_start_end_transitions=has_ends, **kwargs
    )
    named = {"transitions": scores.transitions}
    if has_ends:
        named.update(start_transitions=scores.start, end_transitions=scores.end)
    for name, tensor in named.items():
        # Set the tensor itself. A parameter would be a new leaf of the graph.
        delattr(crf, name)
        setattr(crf, name, tensor)
    return crf


def without_ends(scores):
    """Returns `scores` with zeros for start and end."""
    zeros = torch.zeros_like(scores.start)
    return scores._replace(start=zeros, end=zeros)


#: By name, functions that make a question from a problem and a generator.
QUESTIONS = {
    **{name: partial(_of_path, name) for name in ("sequence_score", "step_scores")},
    **{name: partial(_of_chain, name) for name in OF_CHAINS},
    **{name: partial(_of_labels, name) for name in OF_LABELS},
    "span_log_probabilities": _spans,
    **{f"weighting {name}": partial(_weighting, name) for name in TagWeighting.list_available()},
}


def check_best_paths(problem, rng, tolerance):
    """Checks `k_best_decode` and `viterbi_decode`."""
    scores, k = problem.scores(), rng.choice([1, 1, 2, 3, 5])
    mask = problem.any_mask(rng)
    if k == 1:
        paths, path_scores = (x.unsqueeze(1) for x in linear_chain.viterbi_decode(scores, mask))
    else:
        paths, path_scores = linear_chain.k_best_decode(scores, mask, k)
    num_rows, num_tokens, _ = problem.size
    assert (paths.shape, path_scores.shape) == ((num_rows, k, num_tokens), (num_rows, k))
    assert not paths[~problem.mask.unsqueeze(1).expand_as(paths)].any(), "tags in the padding"
    for row in range(num_rows):
        tokens = problem.tokens(row)
        table, found = AllPaths(scores, row, tokens), paths[row][:, tokens].tolist()
        check_ranking(table, found, path_scores[row].tolist(), tolerance)


def check_ranking(table, paths, path_scores, tolerance):
    """Checks the best paths. Impossible ones must have the score -inf."""
    scores = dict(zip(table.paths, table.path_scores.tolist()))
    best = sorted(scores.values(), reverse=True)[: len(paths)]
    best += [-INF] * (len(paths) - len(best))
    assert path_scores == pytest.approx(best, rel=0, abs=tolerance)
    found = [tuple(path) for path, score in zip(paths, path_scores) if score != -INF]
    of_found = [scores[path] for path in found]
    assert of_found == pytest.approx(best[: len(found)], rel=0, abs=tolerance)
    assert len({*found}) == len(found), "the same path twice"


def check_viterbi_tags(problem, rng, tolerance):
    """Checks `ConditionalRandomField.viterbi_tags`."""
    num_tags, top_k = problem.size[2], rng.choice([None, 1, 3])
    has_ends, scores = rng.random() < 0.7, problem.scores()
    pairs = [(i, j) for i in range(num_tags + 2) for j in range(num_tags + 2)]
    allowed = [pair for pair in pairs if rng.random() < 0.8]
    crf = crf_of(scores, has_ends, constraints=rng.choice([None, allowed]))
    constrained = scores if has_ends else without_ends(scores)
    is_allowed = crf._constraint_mask.bool()
    constrained = constrained._replace(
        transitions=constrained.transitions.masked_fill(~is_allowed[:num_tags, :num_tags], -INF),
        start=constrained.start.masked_fill(~is_allowed[num_tags, :num_tags], -INF),
        end=constrained.end.masked_fill(~is_allowed[:num_tags, num_tags + 1], -INF),
    )
    given = crf.viterbi_tags(scores.emissions, problem.mask, top_k)
    assert len(given) == problem.size[0]
    for row, best in enumerate(given):
        tokens = problem.tokens(row)
        table = AllPaths(constrained, row, tokens)
        paths, path_scores = zip(*([best] if top_k is None else best))
        num_possible = int((table.path_scores > -INF).sum())
        assert len(paths) == min(top_k or 1, max(1, num_possible))
        assert {len(path) for path in paths} == {len(tokens)}
        check_ranking(table, paths, list(path_scores), tolerance)


def check_samples(problem, rng, tolerance):
    """Checks `sample_paths`."""
    scores, num_samples = problem.scores(), rng.choice([1, 4])
    generator = torch.Generator().manual_seed(rng.randrange(99))
    samples = linear_chain.sample_paths(scores, problem.any_mask(rng), num_samples, generator)
    num_rows, num_tokens, _ = problem.size
    assert samples.shape == (num_rows, num_samples, num_tokens)
    assert not samples[~problem.mask.unsqueeze(1).expand_as(samples)].any(), "tags in the padding"
    for row in range(num_rows):
        tokens = problem.tokens(row)
        table = AllPaths(scores, row, tokens)
        path_scores = dict(zip(table.paths, table.path_scores.tolist()))
        best = max(path_scores.values())
        for path in map(tuple, samples[row][:, tokens].tolist()):
            # Other paths have probability 0.
            assert best == -INF or path_scores[path] > best - 700 - tolerance


#: By name, checks of answers that are not differentiable numbers.
CHOICES = {
    "k_best_decode": check_best_paths,
    "viterbi_tags": check_viterbi_tags,
    "sample_paths": check_samples,
}
