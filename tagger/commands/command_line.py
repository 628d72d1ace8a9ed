"""What our commands share: parsing options, loading an archive and making a predictor."""

import argparse
import gc
import inspect
import json
import logging
from typing import Any, Dict, Mapping, Optional, Type, cast

from allennlp.common.checks import ConfigurationError, check_for_gpu
from allennlp.models import Archive, Model, load_archive
from allennlp.predictors import Predictor

from tagger.common.did_you_mean import did_you_mean


def parse_object(option: str, text: str) -> Dict[str, Any]:
    """Parses an option's text as a JSON object."""
    try:
        parsed = json.loads(text)
    except ValueError:
        parsed = None
    if not isinstance(parsed, dict):
        raise ConfigurationError(
            f'`{option}` must be a JSON object such as {{"batch_tokens": 4096}}; got {text}'
        )
    return parsed


def load(args: argparse.Namespace) -> Archive:
    """Loads the archive that a command's arguments name, with their overrides, on their device."""
    logging.getLogger("allennlp.common.params").disabled = True
    check_for_gpu(args.cuda_device)
    # AllenNLP's default for the weights is None, although the annotation says `str`.
    weights: Any = getattr(args, "weights_file", None)
    overrides = getattr(args, "overrides", "")
    return load_archive(args.archive_file, args.cuda_device, overrides, weights)


def make_predictor(
    archive: Archive,
    arguments: Mapping[str, Any],
    name: Optional[str] = None,
    reader: str = "validation",
) -> Predictor:
    """Makes a predictor for an archive's model, for a command that uses it until its process ends."""
    _check_arguments(_predictor_class(archive, name), arguments)
    try:
        predictor = Predictor.from_archive(
            archive,
            name,  # type: ignore[arg-type]  # AllenNLP's default is None
            reader,
            extra_args=dict(arguments),
        )
    except TypeError as error:
        raise ConfigurationError(f"`--predictor-args`: {error}") from error
    # The model and its libraries stay loaded, so exclude them from garbage collection.
    gc.freeze()
    return predictor


def _predictor_class(archive: Archive, name: Optional[str]) -> Type[Predictor]:
    if name is None:
        model_class, _ = Model.resolve_class_name(archive.config["model"]["type"])
        name = cast(Type[Model], model_class).default_predictor
    return cast(Type[Predictor], Predictor.by_name(name)) if name else Predictor


def _check_arguments(predictor_class: Type[Predictor], arguments: Mapping[str, Any]) -> None:
    parameters: Dict[str, Any] = dict(inspect.signature(predictor_class).parameters)
    if any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters.values()):
        return
    known = [name for name in parameters if name not in ("model", "dataset_reader")]
    for name in arguments:
        if name not in known:
            raise ConfigurationError(
                f"`--predictor-args` names `{name}`, which is no argument of the "
                f"{predictor_class.__name__} ({', '.join(known)}){did_you_mean(name, known)}"
            )
