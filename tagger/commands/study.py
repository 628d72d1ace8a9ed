"""The subcommand `study`: trains each variant in a study file with several seeds.

allennlp study training_config/studies/wnut17.jsonnet -s runs/wnut17
"""

import argparse
from pathlib import Path

from allennlp.commands.subcommand import Subcommand


@Subcommand.register("study")
class Study(Subcommand):
    """Trains variants of a config side by side, and tabulates their metrics."""

    def add_subparser(self, parser: argparse._SubParsersAction) -> argparse.ArgumentParser:
        """Adds the subcommand's options."""
        description = (
            "Train each variant in a study file with several seeds and tabulate the metrics. A "
            "study file is Jsonnet with three keys: `variants` maps names to complete configs; "
            "`seeds` is a list; and `columns` describes the table, each column with a `title` and "
            "the `metrics` whose mean it shows. Jobs run in parallel. Start a stopped study again "
            "to run the unfinished jobs. The folder gets `runs/`; `results.csv`, one line per run; "
            "and the table with mean and standard deviation over seeds, `summary.md`, and as a "
            "figure, `summary.svg`."
        )
        subparser = parser.add_parser(
            self.name, description=description, help="Train the variants of a study side by side."
        )
        subparser.add_argument("study", type=Path, help="a study file")
        subparser.add_argument(
            "-s", dest="folder", type=Path, required=True, help="the folder for the results"
        )
        subparser.add_argument("--variants", nargs="+", help="run only these; all by default")
        subparser.add_argument(
            "--workers", type=int, help="how many jobs run in parallel; one per core by default"
        )
        subparser.set_defaults(func=study_from_args)
        return subparser


def study_from_args(args: argparse.Namespace) -> None:
    """Runs the subcommand; prints errors to standard error and exits with status 1."""
    from tagger.commands.last_words import errors_in_one_line
    from tagger.reports.figures import draw_variants
    from tagger.studies import format_summary
    from tagger.studies.variants import read_study, run_study

    with errors_in_one_line("study"):
        study = read_study(args.study)
        table, failed = run_study(study, args.folder, args.variants, args.workers)
        if table:
            (args.folder / "summary.svg").write_text(draw_variants(table), encoding="utf-8")
        print(format_summary(table))
    if failed:
        raise SystemExit(
            f"study: {len(failed)} runs failed; see their logs, then start the study again"
        )
