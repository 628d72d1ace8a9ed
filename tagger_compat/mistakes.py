"""Mistakes of users that AllenNLP answers with a traceback, with half a message, or by doing harm.

With this mend

- a value of a config, a line of an input and a file of word vectors that do not fit are named, with what
  was expected; so are the keys that a part of a config takes, and the metrics that a model has;
- `--recover` says what differs between two configs;
- outputs of `predict` and `evaluate` are checked before the work, and never are an input;
- `train --force` removes nothing but the folder of a run.
"""

import functools
import os
from contextlib import contextmanager
from pathlib import Path
from typing import (
    Any,
    Callable,
    ContextManager,
    Dict,
    Iterable,
    Iterator,
    List,
    NoReturn,
    Optional,
    Sequence,
    Tuple,
)

#: What a folder of a run holds, at least one of them.
_FILES_OF_RUNS = ("config.json", "meta.json", "out.log", "model.tar.gz")
#: How many names or differences an error lists.
_MOST_LISTED = 12


def _refuse(message: str) -> NoReturn:
    from allennlp.common.checks import ConfigurationError

    raise ConfigurationError(message) from None


def _did_you_mean(name: str, known: Iterable[str]) -> str:
    from tagger.common.did_you_mean import did_you_mean

    return did_you_mean(name, known)


@contextmanager
def _with_files_for_configs(params: Any) -> Iterator[None]:
    """Mends `allennlp.common.params`: Jsonnet dies of a folder."""
    yield
    from_file = params.Params.from_file.__func__

    @functools.wraps(from_file)
    def from_real_file(cls: type, params_file: Any, *args: Any, **kwargs: Any) -> Any:
        if os.path.isdir(params_file):
            _refuse(f"{params_file} is a folder; name a config, such as {params_file}/config.json")
        return from_file(cls, params_file, *args, **kwargs)

    params.Params.from_file = classmethod(from_real_file)


@contextmanager
def _with_keys_named(from_params: Any) -> Iterator[None]:
    """Mends `allennlp.common.from_params`: an error about an unknown key names the known ones."""
    yield
    create_kwargs = from_params.create_kwargs

    @functools.wraps(create_kwargs)
    def create(
        constructor: Callable[..., Any], cls: type, params: Any, **extras: Any
    ) -> Dict[str, Any]:
        from allennlp.common.checks import ConfigurationError

        try:
            return create_kwargs(constructor, cls, params, **extras)
        except ConfigurationError as error:
            if not str(error).startswith(f"Extra parameters passed to {cls.__name__}: "):
                raise
            known = set(from_params.infer_params(cls, constructor)) - {"self", *extras}
            hint = _did_you_mean(next(iter(params.params), ""), known)
            _refuse(f"{error}; it takes {', '.join(sorted(known))}{hint}")

    from_params.create_kwargs = create


@contextmanager
def _with_metrics_named(metric_tracker: Any) -> Iterator[None]:
    """Mends `allennlp.training.metric_tracker`: so does one about an unknown metric."""
    yield
    tracker_class = metric_tracker.MetricTracker
    combined_score = tracker_class.combined_score

    @functools.wraps(combined_score)
    def combine(self: Any, metrics: Dict[str, float]) -> float:
        unknown = [name for _, name in self.tracked_metrics if name not in metrics]
        if unknown:
            # Those of single labels come last.
            known = sorted(metrics, key=lambda each: ("overall" not in each, each.count("-"), each))
            more = ", ..." if len(known) > _MOST_LISTED else ""
            _refuse(
                f"`validation_metric` names `{unknown[0]}`, which is no metric of this model "
                f"({', '.join(known[:_MOST_LISTED])}{more}){_did_you_mean(unknown[0], known)}"
            )
        return combined_score(self, metrics)

    tracker_class.combined_score = combine


@contextmanager
def _with_folders_of_runs(util: Any) -> Iterator[None]:
    """Mends `allennlp.training.util`: only a run is removed, and only an equal one continued."""
    yield
    create_serialization_dir = util.create_serialization_dir

    @functools.wraps(create_serialization_dir)
    def create(params: Any, serialization_dir: Any, recover: bool, force: bool) -> None:
        folder = os.fspath(serialization_dir)
        if os.path.exists(folder) and not os.path.isdir(folder):
            _refuse(f"`--serialization-dir` {folder} is a file; name a folder for the run")
        if force and not recover:
            _check_is_run(folder)
        config = os.path.join(folder, "config.json")
        if recover and os.path.isfile(config):
            _check_configs_are_equal(params, type(params).from_file(config), folder)
        try:
            create_serialization_dir(params, serialization_dir, recover, force)
        except OSError as error:
            _refuse(
                f"`--serialization-dir` {folder} cannot be made ({error.strerror}); name another "
                f"folder"
            )

    util.create_serialization_dir = create


def _check_is_run(folder: str) -> None:
    if not os.path.isdir(folder) or not os.listdir(folder):
        return
    if os.path.commonpath([os.getcwd(), os.path.realpath(folder)]) == os.path.realpath(folder):
        _refuse(f"`--force` would remove {folder}, where you are; name another folder")
    if not any(os.path.exists(os.path.join(folder, name)) for name in _FILES_OF_RUNS):
        _refuse(
            f"`--force` would remove {folder}, which is not the folder of a run: it has no "
            f"`config.json`, but `{sorted(os.listdir(folder))[0]}`; name another folder"
        )


def _check_configs_are_equal(params: Any, of_run: Any, folder: str) -> None:
    now, before = params.as_flat_dict(), of_run.as_flat_dict()
    differences = [
        f"`{key}` is {_shown(now, key)} and was {_shown(before, key)}"
        for key in sorted(now.keys() | before.keys())
        if (key in now) != (key in before) or now.get(key) != before.get(key)
    ]
    if differences:
        num_others = len(differences) - 3
        others = f"; and {num_others} others" if num_others > 0 else ""
        _refuse(
            f"`--recover`: the config differs from that of the run in {folder}: "
            f"{'; '.join(differences[:3])}{others}. Train with {folder}/config.json, or into another "
            f"folder"
        )


def _shown(values: Dict[str, Any], key: str) -> str:
    return repr(values[key]) if key in values else "missing"


@contextmanager
def _with_lines_of_vectors(embedding: Any) -> Iterator[None]:
    """Mends `allennlp.modules.token_embedders.embedding`: an error about word vectors names the line."""
    yield
    read = embedding._read_embeddings_from_text_file
    file_class = embedding.EmbeddingsTextFile
    construct, following = file_class.__init__, file_class.__next__

    @functools.wraps(construct)
    def open_file(self: Any, file_uri: str, *args: Any, **kwargs: Any) -> None:
        try:
            construct(self, file_uri, *args, **kwargs)
        except StopIteration:
            _refuse(f"{file_uri}: expected word vectors, got an empty file")
        except UnicodeDecodeError as error:
            _refuse(f"{file_uri}: expected word vectors in UTF-8 ({error.reason})")

    @functools.wraps(following)
    def next_line(self: Any) -> str:
        try:
            return following(self)
        except UnicodeDecodeError as error:
            _refuse(f"{self.uri}: expected word vectors in UTF-8 ({error.reason})")

    @functools.wraps(read)
    def read_vectors(file_uri: str, embedding_dim: int, *args: Any, **kwargs: Any) -> Any:
        from allennlp.common.checks import ConfigurationError

        try:
            return read(file_uri, embedding_dim, *args, **kwargs)
        except (ConfigurationError, ValueError) as error:
            with file_class(file_uri) as lines:
                reason = _unfit_vector(lines, embedding_dim, file_uri)
            _refuse(reason or f"{file_uri}: {error}")

    file_class.__init__, file_class.__next__ = open_file, next_line
    embedding._read_embeddings_from_text_file = read_vectors


def _unfit_vector(lines: Any, embedding_dim: int, name: str) -> str:
    """Says which vector of a file does not fit, and how; empty if all do."""
    for number, line in enumerate(lines, 2 if lines.num_tokens else 1):
        _, *numbers = line.rstrip().split(" ")
        if len(numbers) != embedding_dim:
            return (
                f"{name}:{number}: expected a word and {embedding_dim} numbers, got {len(numbers)} in "
                f"{line.rstrip()[:60]!r}; set `embedding_dim` (`word_dim` of the template) to the "
                f"dimension of the vectors"
            )
        for text in numbers:
            try:
                float(text)
            except ValueError:
                return f"{name}:{number}: expected numbers after the word, got {text!r}"
    return ""


def _check_outputs(option: str, outputs: Sequence[Optional[str]], inputs: Sequence[str]) -> None:
    """Refuses outputs that are inputs or cannot be written; devices such as `/dev/null` may be."""
    from tagger.commands.command_line import check_output

    for output in outputs:
        if output and not (os.path.exists(output) and _is_special(output)):
            check_output(Path(output), inputs, overwrite=True, option=option)


def _is_special(path: str) -> bool:
    return not os.path.isfile(path) and not os.path.isdir(path)


def _parts(paths: Optional[str]) -> List[str]:
    return paths.split(",") if paths else []


@contextmanager
def _with_outputs_of_evaluate(evaluate: Any) -> Iterator[None]:
    """Mends `allennlp.commands.evaluate`, which overwrites its own data."""
    yield
    evaluate_from_args = evaluate.evaluate_from_args

    @functools.wraps(evaluate_from_args)
    def run(args: Any) -> Any:
        inputs = [args.archive_file, *_parts(args.input_file)]
        _check_outputs("--output-file", _parts(args.output_file), inputs)
        of_predictions = _parts(args.predictions_output_file)
        _check_outputs("--predictions-output-file", of_predictions, inputs)
        return evaluate_from_args(args)

    evaluate.evaluate_from_args = run


@contextmanager
def _with_lines_of_predict(predict: Any) -> Iterator[None]:
    """Mends `allennlp.commands.predict`: arguments are checked first, and a bad line is named."""
    yield
    command = predict._predict
    manager_class = predict._PredictManager
    predict_json = manager_class._predict_json

    @functools.wraps(command)
    def run(args: Any) -> None:
        if args.batch_size < 1:
            _refuse(f"`--batch-size` must be at least 1; got {args.batch_size}")
        _check_outputs("--output-file", [args.output_file], [args.archive_file, args.input_file])
        command(args)

    def get_predictor(args: Any) -> Any:
        from tagger.commands.command_line import load_model, make_predictor, parse_object

        arguments = parse_object("--predictor-args", args.predictor_args.strip() or "{}")
        predict.check_for_gpu(args.cuda_device)
        archive = load_model(
            args.archive_file,
            weights_file=args.weights_file,
            cuda_device=args.cuda_device,
            overrides=args.overrides,
        )
        return make_predictor(archive, arguments, args.predictor, args.dataset_reader_choice)

    def get_json_data(self: Any) -> Iterator[Any]:
        self._places = {}
        for place, line in _lines(self._input_file):
            # Our predictors, which can check an input, answer each line.
            if line.isspace() and not hasattr(self._predictor, "check"):
                continue
            inputs = _at(place, self._predictor.load_line, line)
            self._places[id(inputs)] = place
            yield inputs

    @functools.wraps(predict_json)
    def predict_lines(self: Any, batch_data: List[Any]) -> Iterator[str]:
        try:
            yield from list(predict_json(self, batch_data))
        except ValueError:
            check = getattr(self._predictor, "check", self._predictor._json_to_instance)
            for inputs in batch_data:
                _at(self._places[id(inputs)], check, inputs)
            raise
        self._places = {}

    predict._predict, predict._get_predictor = run, get_predictor
    manager_class._get_json_data, manager_class._predict_json = get_json_data, predict_lines


def _at(place: str, function: Callable[..., Any], *args: Any) -> Any:
    """Calls a function that reads a line; an error about the line says where it is."""
    try:
        return function(*args)
    except ValueError as error:
        _refuse(f"{place}: {error}")


def _lines(path: str) -> Iterator[Tuple[str, str]]:
    """Yields the lines of a text, each with its file and number.

    Raises:
        ConfigurationError: If a line is not UTF-8.
    """
    from tagger.common.compressed_lines import numbered_lines

    for number, line in numbered_lines(path):
        place = f"{'standard input' if path == '-' else path}:{number}"
        content = line.encode("utf-8", errors="surrogateescape")
        try:
            content.decode("utf-8")
        except UnicodeDecodeError as error:
            _refuse(
                f"{place}: expected UTF-8, got byte 0x{content[error.start]:02x} in "
                f"{content.rstrip()[:80]!r}; convert the text, if it is Latin-1 with "
                f"`iconv -f latin1 -t utf-8`"
            )
        yield place, line


_MENDS = {
    "allennlp.commands.evaluate": _with_outputs_of_evaluate,
    "allennlp.commands.predict": _with_lines_of_predict,
    "allennlp.common.from_params": _with_keys_named,
    "allennlp.common.params": _with_files_for_configs,
    "allennlp.modules.token_embedders.embedding": _with_lines_of_vectors,
    "allennlp.training.metric_tracker": _with_metrics_named,
    "allennlp.training.util": _with_folders_of_runs,
}
MODULES = tuple(_MENDS)


def mended(module: Any) -> ContextManager[None]:
    """Mends one of `MODULES`."""
    return _MENDS[module.__name__](module)
