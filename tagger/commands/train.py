"""Like AllenNLP's `train`, but `--force` deletes only training runs."""

import argparse
import json
from pathlib import Path
from typing import Callable

from allennlp.commands import Subcommand
from allennlp.commands.train import Train as AllenNlpTrain
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError

from tagger.commands.command import wrapped

Run = Callable[[argparse.Namespace], None]


@Subcommand.register("train", exist_ok=True)
class Train(AllenNlpTrain):
    """Trains as AllenNLP does, after checking the serialization folder.

    `--force` deletes only training runs. `--recover` reports differences between the two configs or
    their data, and leaves a finished run unchanged.
    """

    def add_subparser(self, parser: argparse._SubParsersAction) -> argparse.ArgumentParser:
        return wrapped(super().add_subparser(parser), _train_unless_finished)


def _train_unless_finished(train: Run, args: argparse.Namespace) -> None:
    from tagger.commands.train_from_text import measure_on_text
    from tagger.training.config_checks import check_config
    from tagger.training.run_folder import (
        TEXT_METRICS_FILE,
        check_has_vocabulary,
        check_is_same_run,
        is_finished,
        keep_finished,
    )

    folder = args.serialization_dir
    if Path(args.param_path).is_dir():
        raise ConfigurationError(
            f"{args.param_path} is a folder; name a config, such as {args.param_path}/config.json"
        )
    params = Params.from_file(args.param_path, args.overrides)
    check_config(params.as_dict(quiet=True))
    check_folder(args, params, args.force and not args.recover)
    if args.recover:
        check_is_same_run(params, folder)
    if args.recover and is_finished(folder):
        keep_finished(params, folder, args.force)
    else:
        if args.recover:
            check_has_vocabulary(params, folder)
        train(args)
    if is_finished(folder):
        _show_metrics(folder)
    # A run that was killed during this evaluation has no figures yet.
    if not args.dry_run and not Path(folder, TEXT_METRICS_FILE).exists():
        measure_on_text(folder, params)


def _show_metrics(folder: str) -> None:
    """Shows a run's metrics on each labelled data set, for any model."""
    from tagger.common.console import show_last
    from tagger.metrics import format_all_metrics

    metrics = json.loads(Path(folder, "metrics.json").read_text(encoding="utf-8"))
    best, of_test, of_training = (
        {name.removeprefix(prefix): metrics[name] for name in metrics if name.startswith(prefix)}
        for prefix in ("best_validation_", "test_", "training_")
    )
    if best:
        epoch = metrics["best_epoch"] + 1
        show_last(f"Metrics on the validation data in epoch {epoch}", format_all_metrics(best))
    if of_test:
        show_last("Metrics on the test data", format_all_metrics(of_test))
    if not best and not of_test:
        resources = ("duration", "_memory_MB")
        shown = {name: of_training[name] for name in of_training if not name.endswith(resources)}
        show_last("Metrics on the training data in the last epoch", format_all_metrics(shown))


def check_folder(args: argparse.Namespace, params: Params, force: bool) -> None:
    """Takes the folder; rejects one that `--force` must not empty, and empties it otherwise."""
    from tagger.common.locations import check_may_be_removed
    from tagger.training.run_folder import check_is_run, remove_files, take_folder
    from tagger.training.run_inputs import files_named

    folder = args.serialization_dir
    if getattr(args, "node_rank", 0) == 0:
        take_folder(folder)
    if force:
        check_is_run(folder)
        inputs = [args.param_path, *files_named(params.as_dict(quiet=True))]
        check_may_be_removed(Path(folder), inputs)
        # AllenNLP would remove the folder, and its lock with it.
        remove_files(folder, "*")
        args.force = False
