"""After `evaluate`, tests the promises that `tune-decoding --confidence` made for the tagger."""

import argparse
from pathlib import Path

from allennlp.common.file_utils import cached_path

from tagger.commands.evaluate import FOLLOW_UPS, files_in
from tagger.common.console import show_last


def _check_promises(args: argparse.Namespace) -> None:
    path = Path(cached_path(args.archive_file))
    from tagger.tools.tuning.promise_record import saved_promises

    promises = saved_promises(path)
    if not promises:
        return
    from allennlp.models import load_archive

    from tagger.tools.tuning.groups import groups_of_file
    from tagger.tools.tuning.labelled_file import settings_of, tuner_on_file
    from tagger.tools.tuning.promises import check_promises

    archive = load_archive(path, cuda_device=args.cuda_device, overrides=args.overrides)
    model, reader = archive.model, archive.validation_dataset_reader
    unit = promises[0].unit
    for file in files_in(args.input_file):
        tuner = tuner_on_file(model, reader, file, in_order=True)
        groups = groups_of_file(
            reader, file, tuner.num_sentences, None if unit in ("document", "sentence") else unit
        )
        show_last(
            f"Promises on {file}", check_promises(promises, tuner, settings_of(model), groups)
        )


FOLLOW_UPS.append(_check_promises)
