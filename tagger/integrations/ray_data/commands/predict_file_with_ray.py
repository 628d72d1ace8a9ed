"""The options of `predict-file` for predicting with Ray."""

import argparse
from functools import partial
from typing import Sequence

from tagger.commands.predict_file import RUNNERS, Runner


def _add_options(parser: argparse.ArgumentParser) -> Sequence[str]:
    add = parser.add_argument
    text = (
        "predict with Ray Data workers, on the cluster that this machine belongs to or on this machine "
        "alone; the input may then be a folder, or a pattern such as 'texts/*.gz'"
    )
    add("--ray", action="store_true", help=text)
    text = "with --ray: the number of workers, or the fewest and the most; by default at least one"
    add("--workers", metavar="MIN:MAX", help=text)
    text = "with --ray: the number of CPUs for each worker; by default 1"
    add("--cpus", type=float, help=text)
    text = "with --ray: the number of GPUs for each worker; by default 0"
    add("--gpus", type=float, help=text)
    return "workers", "cpus", "gpus"


def _runner(args: argparse.Namespace) -> Runner:
    from tagger.integrations.ray_data.predict_with_ray import WorkerPool, predict_with_ray

    workers = "1:" if args.workers is None else args.workers
    cpus = 1.0 if args.cpus is None else args.cpus
    return partial(predict_with_ray, WorkerPool.of_range(workers, cpus, args.gpus or 0.0))


RUNNERS["ray"] = (_add_options, _runner)
