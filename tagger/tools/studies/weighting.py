"""The weighting study: trains every strategy with every label, weight and seed."""

import math
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from tagger.common.did_you_mean import did_you_mean
from tagger.tools.runs.jobs import Job, default_num_workers, run_jobs, seeded_jobs
from tagger.tools.runs.results import Result, read_results, write_results
from tagger.tools.runs.work import evaluate, train

#: The strategy that applies the weight after training, as a bias in decoding.
DECODE_BIAS = "decode_bias"
STRATEGIES = (
    "emission",
    "emission_transition",
    "lannoy",
    "chain",
    "marginal",
    "softmax_margin",
    DECODE_BIAS,
)


def run_weighting_study(
    config: Mapping[str, Any],
    folder: Path,
    labels: Sequence[str],
    weights: Sequence[float],
    seeds: Sequence[int],
    strategies: Optional[Sequence[str]] = None,
    num_workers: Optional[int] = None,
) -> Tuple[List[Result], List[Job]]:
    """Runs the unfinished jobs of a study, and writes `results.csv`.

    Args:
        config: The config of a tagger with the head `crf`.
        folder: The folder for the results, with one for each run.
        labels: The labels to weight, one at a time.
        weights: The weights of that label; the others weigh 1.
        seeds: The seeds of the runs.
        strategies: Some of `STRATEGIES`; None for all.
        num_workers: How many jobs run at the same time; None for one per core.

    Returns:
        The results, and the jobs that failed. If plain jobs fail, no others run.

    Raises:
        ValueError: If a strategy is unknown, or if the folder holds a run of the same name with another
            config.
    """
    strategies = STRATEGIES if strategies is None else strategies
    for name in strategies:
        if name not in STRATEGIES:
            raise ValueError(
                f"`--strategies` names `{name}`, which is none of {', '.join(STRATEGIES)}"
                f"{did_you_mean(name, STRATEGIES)}"
            )
    num_workers = num_workers or default_num_workers(config)
    plain = plain_jobs(config, seeds)
    biased = biased_jobs(plain, folder, labels, weights) if DECODE_BIAS in strategies else []
    weighted = weighted_jobs(config, strategies, labels, weights, seeds)
    failed = run_jobs(plain, folder, num_workers, train)
    if not failed:
        failed += run_jobs(biased, folder, num_workers, evaluate)
        failed += run_jobs(weighted, folder, num_workers, train)
    results = with_plain_results(
        read_results(plain, folder), read_results([*weighted, *biased], folder), strategies, labels
    )
    write_results(results, folder / "results.csv")
    return results, failed


def plain_jobs(config: Mapping[str, Any], seeds: Sequence[int]) -> List[Job]:
    """Returns the jobs that train without weights. They stand for weight 1 of every strategy."""
    return seeded_jobs({"strategy": "plain", "label": "none", "weight": 1}, config, seeds)


def weighted_jobs(
    config: Mapping[str, Any],
    strategies: Sequence[str],
    labels: Sequence[str],
    weights: Sequence[float],
    seeds: Sequence[int],
) -> List[Job]:
    """Returns the jobs that train with a weight other than 1."""
    return [
        job
        for seed in seeds
        for strategy in strategies
        if strategy != DECODE_BIAS
        for label in labels
        for weight in weights
        if weight != 1
        for job in seeded_jobs(
            _factors(strategy, label, weight), _weighted(config, strategy, label, weight), [seed]
        )
    ]


def biased_jobs(
    plain: Sequence[Job], study: Path, labels: Sequence[str], weights: Sequence[float]
) -> List[Job]:
    """Returns the jobs that evaluate plain models with a decoding bias for a label.

    The bias is the logarithm of the weight, so it multiplies the odds of the label's opening tags by
    the weight.
    """
    return [
        Job(
            {**_factors(DECODE_BIAS, label, weight), "seed": job.factors["seed"]},
            job.evaluation(study, {"model.head.decode_bias": {label: math.log(weight)}}),
        )
        for job in plain
        for label in labels
        for weight in weights
        if weight != 1
    ]


def with_plain_results(
    plain: Sequence[Result],
    weighted: Sequence[Result],
    strategies: Sequence[str],
    labels: Sequence[str],
) -> List[Result]:
    """Returns all results, ordered by strategy, label, weight and seed.

    Results without weights are repeated as weight 1 of each strategy and label.
    """
    results = list(weighted) + [
        Result({**_factors(strategy, label, 1), "seed": result.factors["seed"]}, result.metrics)
        for strategy in strategies
        for label in labels
        for result in plain
    ]
    return sorted(
        results,
        key=lambda result: (
            strategies.index(result.factors["strategy"]),
            labels.index(result.factors["label"]),
            result.factors["weight"],
            result.factors["seed"],
        ),
    )


def _factors(strategy: str, label: str, weight: float) -> Dict[str, Any]:
    return {"strategy": strategy, "label": label, "weight": weight}


def _weighted(
    config: Mapping[str, Any], strategy: str, label: str, weight: float
) -> Dict[str, Any]:
    weighting = {"type": strategy, "label_weights": {label: weight}}
    model = config["model"]
    head = {"type": "crf", **model.get("head", {}), "weighting": weighting}
    return {**config, "model": {**model, "head": head}}
