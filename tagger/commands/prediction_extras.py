"""The options of `predict-file` that add something to each prediction."""

import argparse
from typing import Any, Dict

from allennlp.common.checks import ConfigurationError
from allennlp.models import Model

from tagger.models.tagging_model import TaggingModel, spell_model


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options."""
    add = parser.add_argument
    text = (
        "add `leak_probability` and `expected_missed`: the probability that entities of "
        "these labels are missed, and their expected number; such as PER,LOC"
    )
    add("--leaks", metavar="LABELS", help=text)
    text = "add `candidates`: every entity that is at least this probable, such as 0.01"
    add("--candidates", type=float, metavar="PROBABILITY", help=text)
    text = (
        "add `sets` and `sequences`: all answers at the places, and for the sentences, that are in "
        "doubt; the archive must come from `tune-decoding --sets`"
    )
    add("--sets", action="store_true", help=text)


def check_options(args: argparse.Namespace) -> None:
    """Refuses sets in outputs that cannot hold them."""
    name = "format" if args.format else "mask" if getattr(args, "mask", None) else None
    if args.sets and name:
        raise ConfigurationError(
            f"`--sets` adds to predictions, which `--{name}` {getattr(args, name)} cannot hold; write "
            "JSON lines or Parquet, or leave `--sets` out"
        )


def predictor_args_of(args: argparse.Namespace, model: Model) -> Dict[str, Any]:
    """Returns the predictor's arguments that the options ask for."""
    for name in ("leaks", "candidates", "mask_above", "nested"):
        is_given = getattr(args, name, None) not in (None, False)
        if is_given and not isinstance(model, TaggingModel):
            raise ConfigurationError(
                f"`--{name.replace('_', '-')}` needs a tagger; got {spell_model(model)}; leave it out"
            )
    found: Dict[str, Any] = {}
    if args.leaks is not None:
        found["leak_labels"] = args.leaks.split(",")
    if args.candidates is not None:
        found["candidates"] = args.candidates
    if args.sets:
        from tagger.predictors.calibrated_sets import set_thresholds

        found["sets"] = set_thresholds(args.archive_file, model)._asdict()
    return found
