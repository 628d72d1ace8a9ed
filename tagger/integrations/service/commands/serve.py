"""The subcommand `allennlp serve model.tar.gz`."""

import argparse
import logging
import os
import sys
from pathlib import Path
from typing import Any

from allennlp.commands.subcommand import Subcommand

from tagger.commands.command import Command, add_shared
from tagger.common.extras import check_installed


@Subcommand.register("serve")
class Serve(Command):
    """Serve a tagger over HTTP, with a page.

    Serve a tagger over HTTP, with a web page that has a dial between precision and recall for each
    label.
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add = parser.add_argument
        add("archive_file", help="the archived tagger")
        text = (
            "the address to bind: 127.0.0.1 by default, which other machines cannot reach; "
            "0.0.0.0 for all addresses of this machine"
        )
        add("--host", default="127.0.0.1", help=text)
        add("--port", type=int, default=8000, help="the port; 0 for any free one")
        text = "another name under which the service can be reached, such as a proxy's; * for any"
        add("--allow-host", action="append", default=[], metavar="NAME", help=text)
        text = (
            "development data; the page shows precision and recall on them for each dial; by default "
            "the data that `tune-decoding --curves` has put into the archive, if any"
        )
        add("--data", help=text)
        text = "the language (spaCy code) to split texts with, instead of the archive's"
        add("--language", help=text)
        text = (
            'limits of requests, as JSON: {"texts": 1000, "text_tokens": 5000}; /labels shows all'
        )
        add("--limits", default="{}", help=text)
        text = (
            "be a machine learning backend for Label Studio, and keep annotations and trainings with "
            "them in this folder"
        )
        add("--label-studio", type=Path, metavar="FOLDER", help=text)
        text = (
            "with --label-studio: train again when this many texts have been annotated since the last "
            "training; 0 to train only when Label Studio asks for it"
        )
        add("--retrain-after", type=int, default=50, metavar="NUMBER", help=text)
        text = (
            "with --label-studio: the training data to add annotations to; by default the archive's"
        )
        add("--train-data", metavar="FILE", help=text)
        add_shared(parser, "--cuda-device")

    def run(self, args: argparse.Namespace) -> None:
        check_installed("serve")
        from allennlp.common.checks import check_for_gpu
        from allennlp.common.file_utils import cached_path
        from allennlp.models import load_archive

        from tagger.commands.command_line import parse_object
        from tagger.commands.predict_file import FEW_SHAPES
        from tagger.integrations.service.app import Served, create_app
        from tagger.integrations.service.limits import make_limits
        from tagger.integrations.service.server import (
            allow_open_files,
            bind,
            names_of,
            run,
            url_of,
        )
        from tagger.predictors.saved_tagger import SavedTagger
        from tagger.tools.tuning.curves import decoding_curves, saved_curves
        from tagger.tools.tuning.labelled_file import settings_of, tuner_on_file
        from tagger.tools.tuning.promise_record import check_labels, saved_promises

        logging.getLogger("allennlp.common.params").disabled = True
        # Batch sizes vary, and oneDNN would cache code for the last 1,024 of them.
        os.environ.setdefault(*FEW_SHAPES)
        # Throughput over idle hours means nothing; /metrics has counters.
        logging.getLogger("tagger.predictors.batched_predictor").disabled = True
        limits = make_limits(parse_object("--limits", args.limits))
        allow_open_files(limits)
        check_for_gpu(args.cuda_device)
        with bind(args.host, args.port) as bound:
            archive = load_archive(args.archive_file, cuda_device=args.cuda_device)
            name = _name_of(args.archive_file)
            retraining = _retraining(args, archive.config, name)
            for latest in retraining.archives()[-1:] if retraining else ():
                args.archive_file = str(latest)
                archive = load_archive(latest, cuda_device=args.cuda_device)
            path = cached_path(args.archive_file)
            tagger = SavedTagger.of(
                archive, args.archive_file, args.language, limits.run_characters
            )
            if args.data is None:
                curves = saved_curves(path)
            else:
                reader = archive.validation_dataset_reader
                tuner = tuner_on_file(archive.model, reader, args.data)
                curves = decoding_curves(tuner, settings_of(archive.model), Path(args.data).name)
            # The first sentence takes longer than all others.
            tagger.tag("Ready.", probabilities=True)
            promises = saved_promises(path)
            check_labels(promises, [label or "_" for label in tagger.labels])
            served = Served(tagger, name, curves, promises)
            app = create_app(served, limits, names_of(args.host, args.allow_host), retraining)
            _say(f"The page is at {url_of(bound)}; POST /tag tags; Ctrl-C stops")
            _say_more(args.host, url_of(bound), retraining)
            run(app, bound, limits)
            _say("Stopped")


def _retraining(args: argparse.Namespace, config: Any, name: str) -> Any:
    """Returns what keeps annotations and trains with them; None without --label-studio."""
    if args.label_studio is None:
        return None
    from tagger.common.ranges import check_whole
    from tagger.integrations.service.retraining import Retraining

    check_whole("--retrain-after", args.retrain_after, 0)
    return Retraining(args.label_studio, config, name, args.retrain_after, args.train_data)


def _say_more(host: str, url: str, retraining: Any) -> None:
    from tagger.integrations.service.server import is_local

    if retraining is not None:
        _say(f"Label Studio: connect {url}; {retraining.version} answers")
    if not is_local(host):
        _say("Other machines can reach the service, which has no login.")


def _name_of(archive_file: str) -> str:
    """Returns the archive's file name, or its run's folder if the file is called `model.tar.gz`."""
    path = Path(archive_file)
    path = path.absolute() if path.exists() else path
    name = path.name.removesuffix(".gz").removesuffix(".tar")
    return (path.parent.name or name) if name == "model" else name


def _say(text: str) -> None:
    """Prints a line; the service keeps running if standard output is closed."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        # The line is still buffered, and writing it at exit would fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
