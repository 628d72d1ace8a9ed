"""The subcommand `allennlp find-label-errors train.txt -o doubts`."""

import argparse
from pathlib import Path
from typing import Any, Dict, Tuple

from allennlp.commands.subcommand import Subcommand

from tagger.commands.command import Command, add_shared
from tagger.common.console import say
from tagger.common.extras import check_installed


@Subcommand.register("find-label-errors")
class FindLabelErrors(Command):
    """Find the wrong labels of a corpus.

    Train taggers on folds of a column file, and list the labels that a tagger trained without them
    disagrees with: wrong labels, wrong boundaries, missed and spurious entities, each with a
    suggestion. With the config of a model of several labels, the file may have several labels a token
    or a document. The folder gets errors.html, a page where you accept or reject suggestions and save a
    corrected corpus, and errors.jsonl, errors.csv and sentences.csv. Repeat an interrupted command to
    resume it; once it has finished, repeating it trains nothing.
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add = parser.add_argument
        text = "a column file, with a token and its tag on each line, or documents as JSON lines"
        add("corpus", type=Path, help=text)
        add("-o", "--output", type=Path, required=True, help="the folder for all results")
        text = "the config of the taggers; by default one that `start` would write"
        add("--config", type=Path, help=text)
        add("--overrides", default="", help="JSON to override the config")
        add("--folds", type=int, default=5, help="the number of parts to divide the documents into")
        add(
            "--seeds",
            nargs="+",
            type=int,
            default=[1],
            help="for each fold, train a tagger with each of these seeds",
        )
        text = "use these archives, which must not be trained on the corpus, and train nothing"
        add("--taggers", nargs="+", type=Path, help=text)
        text = "list labels that are wrong with at least this probability"
        add("--least", type=float, default=0.05, help=text)
        text = (
            "write corrected.txt, with the corrections that you accepted on the page and saved "
            "as decisions.json"
        )
        add("--accept", type=Path, help=text)
        add(
            "--accept-first",
            type=int,
            help="write corrected.txt, with this many of the first suggestions",
        )
        text = (
            "write open.txt, with `?` for the tags of labels that are wrong with at least this "
            "probability"
        )
        add("--leave-open", type=float, help=text)
        add_shared(parser, "--workers")

    def run(self, args: argparse.Namespace) -> None:
        check_installed("report")
        from tagger.tools.labels.errors import error_probabilities
        from tagger.tools.labels.issues import (
            accept,
            format_issues,
            leave_open,
            list_issues,
            read_decisions,
            write_issues,
        )

        if not (args.config or args.taggers):
            _check_corpus(args.corpus)
        # Also makes the output folder.
        _check_options(args)
        corpus, taggers = _corpus_and_probabilities(args)
        probabilities = error_probabilities(taggers, corpus.rows, from_elsewhere=bool(args.taggers))
        issues = list_issues(corpus, probabilities, args.least)
        paths = write_issues(corpus, probabilities, issues, args.output)
        accepted = issues[: args.accept_first or 0]
        if args.accept is not None:
            accepted = read_decisions(args.accept, corpus, issues)
        texts = {}
        if args.accept is not None or args.accept_first is not None:
            texts[args.output / f"corrected{corpus.suffix}"] = accept(corpus.lines(), accepted)
        if args.leave_open is not None:
            doubtful = [each for each in issues if each.probability >= args.leave_open]
            texts[args.output / "open.txt"] = leave_open(corpus, doubtful)
        for path, lines in texts.items():
            path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        say(format_issues(issues))
        say(f"{len(issues)} uncertain labels. Wrote {', '.join(map(str, [*paths, *texts]))}")


def _check_options(args: argparse.Namespace) -> None:
    """Raises errors for wrong options before hours of training."""
    from tagger.common.files import check_is_file
    from tagger.common.locations import check_not_inputs
    from tagger.common.ranges import check_number, check_whole
    from tagger.tools.labels.issues import FILES
    from tagger.training.run_folder import take_folder

    check_number("--least", args.least, 0 <= args.least <= 1, "from 0 to 1")
    if args.leave_open is not None:
        check_number("--leave-open", args.leave_open, 0 <= args.leave_open <= 1, "from 0 to 1")
    if args.accept_first is not None:
        check_whole("--accept-first", args.accept_first, 0)
    if args.accept is not None:
        check_is_file(args.accept)
    take_folder(args.output, "--output")
    names = (
        *FILES,
        "corrected.txt",
        "corrected.jsonl",
        "open.txt",
        *(() if args.config else ("config.jsonnet",)),
    )
    made = [*(args.output / name for name in names), *args.output.glob("folds/*/*")]
    inputs = [args.corpus, args.accept, args.config, *(args.taggers or ())]
    check_not_inputs(made, [path for path in inputs if path is not None])


def _check_corpus(path: Path) -> None:
    from allennlp.common.checks import ConfigurationError

    from tagger.data.formats import format_of

    found = format_of(path)
    if found != "columns":
        raise ConfigurationError(
            f"{path} has the format {found}, but label errors are found in column files; make one: "
            f"allennlp convert {path} {path.with_suffix('.conll')}"
        )


def _corpus_and_probabilities(args: argparse.Namespace) -> Tuple[Any, Any]:
    from allennlp.common.checks import ConfigurationError

    from tagger.tools.labels.out_of_fold import mean_scores, out_of_fold, score_file
    from tagger.tools.labels.probabilities import LabelProbabilities
    from tagger.tools.runs.jobs import default_num_workers

    if args.taggers:
        from allennlp.models import load_archive

        archives = [load_archive(path) for path in args.taggers]
        corpus = _corpus(args, dict(archives[0].config["dataset_reader"]))
        scores = [
            score_file(archive.model, archive.validation_dataset_reader, str(args.corpus))
            for archive in archives
        ]
        mean = mean_scores(scores)
        labels = mean.row_labels.tolist()
        if labels and (unknown := sorted(set(corpus.labels) - set(labels))):
            raise ConfigurationError(
                f"{args.corpus} has labels that {args.taggers[0]} was not trained on: "
                f"{', '.join(unknown)}; take a tagger of these labels, or take them out"
            )
        corpus.set_rows(labels)
        return corpus, LabelProbabilities([(range(len(corpus.rows)), mean)])
    config = _config(args)
    corpus = _corpus(args, config.get("dataset_reader", {"type": None}))
    workers = args.workers or default_num_workers(config)
    parts = out_of_fold(corpus, args.output, config, args.folds, args.seeds, workers)
    return corpus, LabelProbabilities(parts)


def _corpus(args: argparse.Namespace, reader: Dict[str, Any]) -> Any:
    """Reads the corpus as the reader of the taggers does."""
    from tagger.tools.labels.corpus import Corpus
    from tagger.tools.labels.document_corpus import DocumentCorpus

    if reader.get("type") != "document":
        _check_corpus(args.corpus)
        return Corpus(args.corpus, reader)
    corpus = DocumentCorpus(args.corpus, reader)
    if args.leave_open is not None:
        # Says why not before hours of training.
        corpus.cell(corpus.sentences[0].rows[0])
    return corpus


def _config(args: argparse.Namespace) -> Dict[str, Any]:
    """Returns the config of the taggers; without `--config`, writes a default one into the folder."""
    from allennlp.common import Params

    from tagger.tools.start.config import make_config
    from tagger.tools.start.survey import survey

    path = args.config
    if path is None:
        found = survey([args.corpus])
        path = args.output / "config.jsonnet"
        # Each fold overrides these file names.
        text = make_config(found, "train.txt", "dev.txt", found.files[0].sentences)
        path.write_text(text, encoding="utf-8")
    return Params.from_file(path, args.overrides).as_dict(quiet=True)
