"""The subcommand `serve`: tags texts over HTTP, and shows a page.

allennlp serve model.tar.gz
"""

import argparse
import importlib.util
import os
import sys

from allennlp.commands.subcommand import Subcommand

#: What the service needs besides the package's own requirements.
LIBRARIES = ("fastapi", "httptools", "prometheus_client", "uvicorn")


@Subcommand.register("serve")
class Serve(Subcommand):
    """Serves a tagger over HTTP until it is stopped."""

    def add_subparser(self, parser: argparse._SubParsersAction) -> argparse.ArgumentParser:
        """Adds the subcommand's options."""
        description = (
            "Tag texts over HTTP, and show a page with a dial of precision and recall for each "
            "label."
        )
        subparser = parser.add_parser(
            self.name, description=description, help="Serve a tagger over HTTP, with a page."
        )
        subparser.add_argument("archive_file", help="the archived tagger")
        subparser.add_argument(
            "--host",
            default="127.0.0.1",
            help="the address to bind: 127.0.0.1 by default, which other machines cannot reach; 0.0.0.0 "
            "for all of this machine's",
        )
        subparser.add_argument(
            "--port", type=int, default=8000, help="the port; 0 for any free one"
        )
        subparser.add_argument(
            "--allow-host",
            action="append",
            default=[],
            metavar="NAME",
            help="another name by which requests may address the service, such as a proxy's; * for any",
        )
        subparser.add_argument(
            "--data",
            help="development data, whose precision and recall the page shows for each dial; by default "
            "those that `tune-decoding --curves` has put into the archive, if any",
        )
        subparser.add_argument(
            "--language",
            help="the spaCy code of the language whose rules split texts, instead of the archive's",
        )
        subparser.add_argument(
            "--limits",
            default="{}",
            help='limits of requests, as JSON: {"texts": 1000, "text_tokens": 5000}; /labels shows all',
        )
        subparser.add_argument(
            "--cuda-device", type=int, default=-1, help="the GPU's id; -1 for the CPU"
        )
        subparser.set_defaults(func=serve_from_args)
        return subparser


def serve_from_args(args: argparse.Namespace) -> None:
    """Runs the subcommand; prints errors to standard error and exits with status 1."""
    from tagger.commands.last_words import errors_in_one_line

    with errors_in_one_line("serve"):
        missing = [name for name in LIBRARIES if importlib.util.find_spec(name) is None]
        if missing:
            raise OSError(
                f"the service needs {', '.join(missing)}, which is not installed; run: pip install "
                f"'allennlp-tagger[serve]'"
            )
        serve(args)


def serve(args: argparse.Namespace) -> None:
    """Serves a tagger.

    Args:
        args: The subcommand's arguments.

    Raises:
        ConfigurationError: If an argument does not fit, or the archive holds no sequence tagger.
        OSError: If the port is taken.
    """
    import logging
    from pathlib import Path

    from allennlp.common.checks import check_for_gpu

    from tagger.commands.command_line import load_model, parse_object
    from tagger.predictors.saved_tagger import SavedTagger
    from tagger.service.app import Served, create_app
    from tagger.service.limits import make_limits
    from tagger.service.server import allow_open_files, bind, is_local, names_of, run, url_of
    from tagger.tuning.curves import decoding_curves, saved_curves
    from tagger.tuning.labelled_file import settings_of, tuner_on_file

    logging.getLogger("allennlp.common.params").disabled = True
    # Speeds over hours in which nothing came say nothing; /metrics counts.
    logging.getLogger("tagger.predictors.throughput").disabled = True
    limits = make_limits(parse_object("--limits", args.limits))
    allow_open_files(limits)
    check_for_gpu(args.cuda_device)
    with bind(args.host, args.port) as bound:
        archive = load_model(args.archive_file, cuda_device=args.cuda_device)
        tagger = SavedTagger.of(archive, args.archive_file, args.language, limits.run_characters)
        if args.data is None:
            curves = saved_curves(args.archive_file)
        else:
            reader = archive.validation_dataset_reader
            tuner = tuner_on_file(archive.model, reader, args.data)
            curves = decoding_curves(tuner, settings_of(archive.model), Path(args.data).name)
        # The first sentence takes longer.
        tagger.tag("Ready.", probabilities=True)
        served = Served(tagger, Path(args.archive_file).name, curves)
        app = create_app(served, limits, names_of(args.host, args.allow_host))
        _say(f"The page is at {url_of(bound)}; POST /tag tags; Ctrl-C stops")
        if not is_local(args.host):
            _say("Other machines can reach it. It asks nobody who they are.")
        run(app, bound, limits)
        _say("Stopped")


def _say(text: str) -> None:
    """Prints a line. The service goes on where nobody reads it any more."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        # The line is still in the buffer, and would fail again at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
