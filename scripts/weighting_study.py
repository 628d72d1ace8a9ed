#!/usr/bin/env python
r"""Weights one label at a time with every strategy and shows the effect on precision and recall.

    python scripts/weighting_study.py training_config/toy_bilstm_crf.jsonnet -s runs/study \
        --labels PER LOC --weights 0.1 0.25 0.5 1 1.5 2 3 --seeds 1 2 3

The config may be that of any tagger with the head `crf`. Each strategy, label, weight and seed is a
training run. Weight 1 is the plain model, trained once per seed. `decode_bias` does not train: it shifts
the plain model's decoding by the logarithm of the weight. Jobs run in parallel. Start a stopped study
again to run the unfinished jobs. The folder gets `runs/`; `results.csv`, one line per run; and
`report.html`, which `scripts/report.py` can make again from that file.
"""

import argparse
import json
from pathlib import Path
from typing import List, Optional, Sequence

from allennlp.common import Params

from tagger.commands.command_line import errors_in_one_line
from tagger.reports import write_study_report
from tagger.studies import Job, Result, default_num_workers, read_results, run_jobs, write_results
from tagger.studies.weighting import (
    DECODE_BIAS,
    STRATEGIES,
    biased_jobs,
    plain_jobs,
    weighted_jobs,
    with_plain_results,
)
from tagger.studies.work import evaluate, train


def main(arguments: Optional[Sequence[str]] = None) -> None:
    """Runs the command line."""
    options = _options(arguments)
    config = Params.from_file(options.config, options.overrides).as_dict(quiet=True)
    if options.workers is None:
        options.workers = default_num_workers(config)
    plain = plain_jobs(config, options.seeds)
    weighted = weighted_jobs(
        config, options.strategies, options.labels, options.weights, options.seeds
    )
    biased = (
        biased_jobs(plain, options.folder, options.labels, options.weights)
        if DECODE_BIAS in options.strategies
        else []
    )
    with errors_in_one_line("weighting_study.py"):
        failed = run_jobs(plain, options.folder, options.workers, train)
        if not failed:
            failed += run_jobs(biased, options.folder, options.workers, evaluate)
            failed += run_jobs(weighted, options.folder, options.workers, train)
    _write(plain, [*weighted, *biased], options)
    if failed:
        raise SystemExit(f"{len(failed)} runs failed; see their logs, then start the study again")


def _write(plain: List[Job], weighted: List[Job], options: argparse.Namespace) -> None:
    results: List[Result] = with_plain_results(
        read_results(plain, options.folder),
        read_results(weighted, options.folder),
        options.strategies,
        options.labels,
    )
    write_results(results, options.folder / "results.csv")
    write_study_report(results, options.folder / "report.html", figure_folder=options.folder)
    print(f"Wrote {options.folder / 'results.csv'} and {options.folder / 'report.html'}")


def _options(arguments: Optional[Sequence[str]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "config", type=Path, metavar="CONFIG", help="the config of a tagger with the head `crf`"
    )
    parser.add_argument(
        "-s", dest="folder", type=Path, required=True, help="the folder for the results"
    )
    parser.add_argument(
        "--labels", nargs="+", required=True, help="the labels to weight, one at a time"
    )
    parser.add_argument(
        "--weights", nargs="+", type=_weight, default=[0.1, 0.25, 0.5, 1, 1.5, 2, 3]
    )
    parser.add_argument("--strategies", nargs="+", choices=STRATEGIES, default=list(STRATEGIES))
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    parser.add_argument(
        "-o", "--overrides", default="", help="JSON to override the config, as for `allennlp train`"
    )
    parser.add_argument(
        "--workers", type=int, help="how many jobs run in parallel; one per core by default"
    )
    return parser.parse_args(arguments)


def _weight(text: str) -> float:
    weight = json.loads(text)
    if not isinstance(weight, (int, float)) or weight <= 0:
        raise argparse.ArgumentTypeError(f"weights must be above 0; got {text}")
    return weight


if __name__ == "__main__":
    main()
