"""The subcommand `allennlp study training_config/studies/wnut17.jsonnet -s runs/wnut17`."""

import argparse
from pathlib import Path

from allennlp.commands.subcommand import Subcommand

from tagger.commands.command import Command, add_shared
from tagger.common.console import say
from tagger.common.extras import check_installed

#: The files that a study writes into its folder.
_MADE = (
    "results.csv",
    "summary.md",
    "summary.svg",
    "differences.csv",
    "differences.svg",
    "best_config.json",
)


@Subcommand.register("study")
class Study(Command):
    """Train the variants of a study side by side, or search for settings.

    Train each variant in a study file with several seeds and tabulate the metrics. A study file is
    Jsonnet with three keys: `variants` maps names to complete configs; `seeds` is a list; and `columns`
    describes the table, where each column has a `title` and shows the mean of its `metrics`. With
    `baseline`, the name of a variant, the others are compared with it on test data. With `tuned`, a
    list of variants, each of these is also evaluated after tuning its decoding. Jobs run in parallel.
    Repeat an interrupted command to run the unfinished jobs. The folder gets `runs/`; `results.csv`,
    with one line per run; the mean and standard deviation over seeds as a table, `summary.md`, and as
    a figure, `summary.svg`; and the differences as `differences.csv` and `differences.svg`.

    With `search` instead of `variants`, the study searches for settings of its `config`, each with a
    range or choices, that improve a `metric` on the validation data. The folder gets `search.db`,
    which several such commands may share; the trials as `results.csv`, `summary.md` and
    `summary.svg`; and the best config as `best_config.json`.
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("study", type=Path, help="a study file")
        text = "the folder for the results"
        parser.add_argument("-s", dest="folder", type=Path, required=True, help=text)
        parser.add_argument("--variants", nargs="+", help="run only these; all by default")
        add_shared(parser, "--workers")

    def run(self, args: argparse.Namespace) -> None:
        check_installed("report")
        from allennlp.common import Params

        from tagger.common.locations import check_not_inputs
        from tagger.tools.reports.figures import draw_differences, draw_variants
        from tagger.tools.studies.variants import read_study, run_study

        made = [args.folder / name for name in _MADE]
        check_not_inputs(made, [args.study], option="-s")
        if "search" in Params.from_file(args.study):
            self._search(args)
            return
        study = read_study(args.study)
        table, differences, failed = run_study(study, args.folder, args.variants, args.workers)
        if table:
            (args.folder / "summary.svg").write_text(draw_variants(table), encoding="utf-8")
        if differences:
            figure = draw_differences(differences, str(study.baseline))
            (args.folder / "differences.svg").write_text(figure, encoding="utf-8")
        say((args.folder / "summary.md").read_text().rstrip())
        if failed:
            raise SystemExit(
                f"{self.name}: {len(failed)} runs failed; see their logs, then start the study again"
            )

    def _search(self, args: argparse.Namespace) -> None:
        check_installed("search")
        from tagger.tools.studies.search import read_search
        from tagger.tools.studies.trials import run_search

        if args.variants:
            raise ValueError(f"`--variants` names variants, but {args.study} has `search`")
        if not run_search(read_search(args.study), args.folder, args.workers):
            raise SystemExit(
                f"{self.name}: no trial has finished; see the logs in {args.folder}/runs"
            )
        say((args.folder / "summary.md").read_text(encoding="utf-8").rstrip())
        say(f"The best config: {args.folder / 'best_config.json'}")
