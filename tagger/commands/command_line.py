"""What our commands share: checks of the output, and making a predictor."""

import errno
import inspect
import json
import os
from pathlib import Path
from typing import Any, Dict, Mapping, Optional, Sequence, Type, Union, cast

from allennlp.common.checks import ConfigurationError
from allennlp.models import Archive, Model
from allennlp.predictors import Predictor

from tagger.common.did_you_mean import did_you_mean
from tagger.common.inputs import is_address
from tagger.common.outputs import store_of

#: The longest name of an output: most file systems take 255 bytes, and hidden files beside it need some.
MOST_NAME_BYTES = 240


def check_output(
    output: Union[str, Path],
    inputs: Sequence[Union[str, Path]],
    overwrite: Optional[bool] = None,
    option: str = "--output",
) -> None:
    """Refuses an output that cannot be written, before any work is done.

    Args:
        output: The path, or the address, of the file to write.
        inputs: Files that the command reads, which it must not overwrite.
        overwrite: Whether the output may exist; `None` if the command has no option `--force`.
        option: The option that names the output, for the message.

    Raises:
        ConfigurationError: If the output is an input, a folder or a device, in a folder that does not
            exist or that does not let us write, or exists and must not be overwritten; if its name is
            too long; if it is a link to itself.
    """
    if is_address(output):
        store, name = store_of(output)
        if not overwrite and store.exists(name):
            raise ConfigurationError(
                f"`{option}` {output} already exists; give another name, or add --force"
            )
        return
    output = Path(output)
    num_bytes = len(os.fsencode(output.name))
    if num_bytes > MOST_NAME_BYTES:
        raise ConfigurationError(
            f"`{option}` has a name of {num_bytes} bytes, `{output.name[:40]}...`; give one of at most "
            f"{MOST_NAME_BYTES}"
        )
    if _is_endless(output):
        raise ConfigurationError(f"`{option}` {output} is a link to itself; give another name")
    folder = output.resolve().parent
    force = "" if overwrite is None else ", or add --force"
    if output.is_dir():
        problem = "is a folder; name a file"
    elif output.exists() and not output.is_file():
        problem = "is a device or a pipe; name a file"
    elif not folder.is_dir():
        problem = f"cannot be written, because the folder {folder} does not exist; make it first"
    elif not os.access(folder, os.W_OK):
        problem = f"cannot be written, because the folder {folder} is read-only"
    elif output.exists() and any(Path(each).exists() and output.samefile(each) for each in inputs):
        problem = "is also an input; give another name"
    elif output.exists() and not overwrite:
        problem = f"already exists; give another name{force}"
    else:
        return
    raise ConfigurationError(f"`{option}` {output} {problem}")


def _is_endless(path: Path) -> bool:
    """Whether links that begin at a path, or above it, lead back to it."""
    try:
        path.stat()
    except OSError as error:
        return error.errno == errno.ELOOP
    return False


def parse_object(option: str, text: str) -> Dict[str, Any]:
    """Returns the JSON object that an option's text spells."""
    try:
        parsed = json.loads(text)
    except ValueError:
        parsed = None
    if not isinstance(parsed, dict):
        raise ConfigurationError(
            f'`{option}` must be a JSON object such as {{"batch_tokens": 4096}}; got {text}'
        )
    return parsed


def make_predictor(
    archive: Archive,
    arguments: Mapping[str, Any],
    name: Optional[str] = None,
    reader: str = "validation",
) -> Predictor:
    """Makes a predictor of an archive's model."""
    _check_arguments(_predictor_class(archive, name), arguments)
    try:
        return Predictor.from_archive(
            archive,
            name,  # type: ignore[arg-type]  # AllenNLP's default is None
            reader,
            extra_args=dict(arguments),
        )
    except TypeError as error:
        raise ConfigurationError(f"`--predictor-args`: {error}") from error


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
