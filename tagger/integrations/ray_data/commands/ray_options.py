"""The options of `predict-file` for predicting with Ray."""

import argparse
from functools import partial

from tagger.commands.predict_file import RUNNERS, Runner


def _add_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    text = (
        "predict with Ray Data workers, on the cluster that this machine belongs to or on this machine "
        "alone; the input may then be a folder, or a pattern such as 'texts/*.gz'"
    )
    add("--ray", action="store_true", help=text)
    text = "with --ray: the number of workers, or the fewest and the most"
    add("--workers", metavar="MIN:MAX", default="1:", help=text)
    add("--cpus", type=float, default=1, help="with --ray: the number of CPUs for each worker")
    add("--gpus", type=float, default=0, help="with --ray: the number of GPUs for each worker")


def _runner(args: argparse.Namespace) -> Runner:
    from tagger.integrations.ray_data.predict_with_ray import WorkerPool, predict_with_ray

    return partial(predict_with_ray, WorkerPool.of_range(args.workers, args.cpus, args.gpus))


RUNNERS["ray"] = (_add_options, _runner)
