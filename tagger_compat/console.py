"""What the command `allennlp` says: the result last, an error in one line, no line that nobody reads.

AllenNLP logs some 50 lines an epoch, every parameter of a config and the tensors of the first batch, and
ends an error with its traceback. With this mend

- the console shows warnings, what this package logs, and one line for each epoch; `out.log` in the run's
  folder still holds everything. `ALLENNLP_LOG_LEVEL` or `ALLENNLP_DEBUG`, if set, decide as before;
- progress bars name the epoch, vanish when they are done, and are drawn on terminals only;
- `show_last` keeps a table until all else is said;
- an error that the user can mend is one line, the last, with exit status 1; so is an interrupt, with
  the status that shells give it;
- `evaluate --predictions-output-file` writes one prediction a line for this package's models.
"""

import errno
import functools
import json
import logging
import os
import re
import signal
import sys
from contextlib import contextmanager
from typing import Any, Callable, ContextManager, Dict, Iterator, List, Optional, Type

logger = logging.getLogger(__name__)

#: Packages whose information the console shows.
_SHOWN = ("tagger", "tagger_compat")
#: Warnings of what users have asked for, or need not know, begin so.
_NOISE = (
    "You provided a validation dataset but patience was set to None",
    "Encountered the loss key in the model's return dictionary which couldn't be split",
)
#: Whether a command of `allennlp` is running, and what it shows last.
_is_command = False
_last_texts: List[str] = []
#: What progress bars name.
_current_epoch = ""


def show_last(title: str, text: str) -> None:
    """Shows a result, such as a table, on standard output at the end of the command; logs it at once.

    Args:
        title: One line; a result of the same title takes its place.
        text: The result.
    """
    logger.info("%s\n%s", title, text, extra={"is_shown_last": _is_command})
    if _is_command:
        _last_texts[:] = [each for each in _last_texts if not each.startswith(f"{title}\n")]
        _last_texts.append(f"{title}\n{text}")


def _is_quiet() -> bool:
    """Whether the user leaves it to us what is logged."""
    return not (os.environ.get("ALLENNLP_LOG_LEVEL") or os.environ.get("ALLENNLP_DEBUG"))


def _is_worth_reading(record: logging.LogRecord) -> bool:
    if str(record.msg).startswith(_NOISE):
        return False
    is_ours = record.name.partition(".")[0] in _SHOWN
    return record.levelno >= logging.WARNING or (
        is_ours and not getattr(record, "is_shown_last", False)
    )


class _ConsoleFormatter(logging.Formatter):
    """The message alone, or below a warning's level."""

    def format(self, record: logging.LogRecord) -> str:
        message = super().format(record)
        return message if record.levelno <= logging.INFO else f"{record.levelname}: {message}"


def _quieten(handlers: List[logging.Handler]) -> None:
    """Makes those handlers that write to the console show what is worth reading."""
    for handler in handlers:
        is_console = isinstance(handler, logging.StreamHandler) and not isinstance(
            handler, logging.FileHandler
        )
        if is_console and _is_quiet():
            handler.addFilter(_is_worth_reading)
            handler.setFormatter(_ConsoleFormatter("%(message)s"))


@contextmanager
def _with_quiet_start(_: Any) -> Iterator[None]:
    """Mends `allennlp.__main__`: its logging shows what is worth reading."""
    yield
    _quieten(logging.getLogger().handlers)


@contextmanager
def _with_quiet_training(common_logging: Any) -> Iterator[None]:
    """Mends `allennlp.common.logging`: so does that of a training run."""
    yield
    prepare_global_logging = common_logging.prepare_global_logging

    @functools.wraps(prepare_global_logging)
    def prepare(*args: Any, **kwargs: Any) -> None:
        prepare_global_logging(*args, **kwargs)
        _quieten(logging.getLogger().handlers)

    common_logging.prepare_global_logging = prepare


@contextmanager
def _with_epochs_in_bars(tqdm_module: Any) -> Iterator[None]:
    """Mends `allennlp.common.tqdm`: bars name the epoch, vanish, and need a terminal."""
    yield

    class EpochBar(tqdm_module._tqdm):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            shows = sys.stderr.isatty() or tqdm_module.common_logging.FILE_FRIENDLY_LOGGING
            kwargs.setdefault("disable", not shows)
            kwargs.setdefault("leave", False)
            super().__init__(*args, **kwargs)
            if _current_epoch and not self.disable:
                self.set_description(refresh=False)

        def set_description(self, desc: Optional[str] = None, refresh: bool = True) -> None:
            parts = [part for part in (_current_epoch, desc) if part]
            super().set_description(", ".join(parts), refresh)

    tqdm_module._tqdm = EpochBar


@contextmanager
def _with_epochs_named(trainer_module: Any) -> Iterator[None]:
    """Mends `allennlp.training.gradient_descent_trainer`: tells the bars which epoch it is."""
    yield
    trainer_class = trainer_module.GradientDescentTrainer

    def naming(method: Callable[..., Any], what: str) -> Callable[..., Any]:
        @functools.wraps(method)
        def call(self: Any, epoch: int, *args: Any, **kwargs: Any) -> Any:
            global _current_epoch
            _current_epoch = f"epoch {epoch + 1} of {self._num_epochs}, {what}"
            try:
                return method(self, epoch, *args, **kwargs)
            finally:
                _current_epoch = ""

        return call

    trainer_class._train_epoch = naming(trainer_class._train_epoch, "training")
    trainer_class._validation_loss = naming(trainer_class._validation_loss, "validation")


@contextmanager
def _with_quiet_models(_: Any) -> Iterator[None]:
    """Mends `allennlp.models.model`: it warns of a loss that has no part for each instance."""
    yield
    logging.getLogger("allennlp.models.model").addFilter(
        lambda record: not str(record.msg).startswith(_NOISE)
    )


@contextmanager
def _with_a_line_each_epoch(console_logger: Any) -> Iterator[None]:
    """Mends `allennlp.training.callbacks.console_logger`: adds one line for each epoch."""
    yield
    callback_class = console_logger.ConsoleLoggerCallback
    on_epoch = callback_class.on_epoch

    @functools.wraps(on_epoch)
    def log_epoch(
        self: Any,
        trainer: Any,
        metrics: Dict[str, Any],
        epoch: int,
        is_primary: bool = True,
        **kwargs: Any,
    ) -> None:
        on_epoch(self, trainer, metrics, epoch, is_primary=is_primary, **kwargs)
        if is_primary and epoch >= 0:
            logger.info(epoch_line(metrics, epoch, trainer._num_epochs))

    callback_class.on_epoch = log_epoch


def epoch_line(metrics: Dict[str, Any], epoch: int, num_epochs: int) -> str:
    """Says in one line how an epoch went.

    Args:
        metrics: As AllenNLP's trainer gives them to callbacks.
        epoch: Counts from 0.
        num_epochs: How many there are at most.

    Example:
        >>> epoch_line({"training_loss": 2.5, "validation_loss": 1.25, "best_epoch": 0}, 0, 50)
        'epoch 1 of 50: training loss 2.500, validation loss 1.250, the best so far'
    """
    parts = []
    for kind in ("training", "validation"):
        names = ["loss"]
        if kind == "validation":
            names += ["accuracy", "f1-measure-overall", "f1-measure-macro"]
        for name in names:
            value = metrics.get(f"{kind}_{name}")
            if isinstance(value, (int, float)):
                parts.append(
                    f"{kind} {name} {value:.3f}" if name == "loss" else f"{name} {value:.4f}"
                )
    if metrics.get("best_epoch") == epoch:
        parts.append("the best so far")
    return f"epoch {epoch + 1} of {num_epochs}: {', '.join(parts)}"


@contextmanager
def _with_a_line_each_prediction(serializers: Any) -> Iterator[None]:
    """Mends `allennlp.evaluation.serializers.serializers`, which writes a batch a line."""
    yield
    serialize_batch = serializers.SimpleSerializer.__call__

    @functools.wraps(serialize_batch)
    def serialize(
        self: Any,
        batch: Dict[str, Any],
        output_dict: Dict[str, Any],
        data_loader: Any,
        output_postprocess_function: Optional[Callable[..., Dict[str, Any]]] = None,
    ) -> str:
        model = getattr(output_postprocess_function, "__self__", None)
        if type(model).__module__.partition(".")[0] != "tagger":
            return serialize_batch(
                self, batch, output_dict, data_loader, output_postprocess_function
            )
        assert output_postprocess_function is not None
        readable = serializers.sanitize(output_postprocess_function(output_dict))
        # The loss is of the batch.
        columns = {name: values for name, values in readable.items() if isinstance(values, list)}
        rows = zip(*columns.values())
        return "\n".join(json.dumps(dict(zip(columns, row))) for row in rows)

    serializers.SimpleSerializer.__call__ = serialize


@contextmanager
def _with_last_words(commands: Any) -> Iterator[None]:
    """Mends `allennlp.commands`: results come last, and errors that users can mend are one line."""
    yield
    main = commands.main

    @functools.wraps(main)
    def run(prog: Optional[str] = None) -> None:
        # The command gives its name; code that calls `main` does not, and wants the exceptions.
        if prog is None:
            main(prog)
            return
        global _is_command
        _is_command = True
        status = 0
        try:
            main(prog)
        except (KeyboardInterrupt, _sigterm_received()) as error:
            is_sigint = isinstance(error, KeyboardInterrupt)
            status = 128 + (signal.SIGINT if is_sigint else signal.SIGTERM)
            hint = "; to go on, repeat the command with --recover" if _trains() else ""
            sys.stdout.flush()
            print(f"{prog}: interrupted{hint}", file=sys.stderr)
        except Exception as error:
            line = _one_line(error)
            if line is None or not _is_quiet():
                raise
            sys.stdout.flush()
            print(f"{prog}: {line}", file=sys.stderr)
            status = 1
        else:
            for text in _last_texts:
                print(f"\n{text}")
        finally:
            _is_command = False
            _last_texts.clear()
        # Outside of the handler, so that nothing holds the traceback.
        if status:
            sys.exit(status)

    commands.main = run


def _sigterm_received() -> Type[BaseException]:
    from allennlp.common.util import SigTermReceived

    return SigTermReceived


def _trains() -> bool:
    return sys.argv[1:2] == ["train"]


def _one_line(error: Exception) -> Optional[str]:
    """What a user can mend, in one line; nothing for an error of a program."""
    from allennlp.common.checks import ConfigurationError

    lines = str(error).splitlines() or [repr(error)]
    origin = _origin(error)
    is_ours = isinstance(error, ValueError) and origin.partition(".")[0] == "tagger"
    if isinstance(error, (ConfigurationError, OSError)) or is_ours:
        hint = ""
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            hint = "; make room on the disk, and repeat the command"
        return " ".join(" ".join(lines).split()) + hint
    # Of a value in a config.
    if isinstance(error, TypeError) and origin == "allennlp.common.from_params":
        return f"the config has a value of another type: {lines[0]}"
    # Of Jsonnet; where it was follows.
    for kind in ("RUNTIME ERROR: ", "STATIC ERROR: "):
        if isinstance(error, RuntimeError) and lines[0].startswith(kind):
            reason = lines[0][len(kind) :]
            # Only what is no file has no name.
            what = "`--overrides`" if re.match(r"\d+:", reason) else "the config"
            return f"{what} cannot be read: {reason}"
    return None


def _origin(error: Exception) -> str:
    """The name of the module that has raised an error."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "" if trace is None else trace.tb_frame.f_globals.get("__name__", "")


_MENDS = {
    "allennlp.__main__": _with_quiet_start,
    "allennlp.commands": _with_last_words,
    "allennlp.common.logging": _with_quiet_training,
    "allennlp.common.tqdm": _with_epochs_in_bars,
    "allennlp.evaluation.serializers.serializers": _with_a_line_each_prediction,
    "allennlp.models.model": _with_quiet_models,
    "allennlp.training.callbacks.console_logger": _with_a_line_each_epoch,
    "allennlp.training.gradient_descent_trainer": _with_epochs_named,
}
MODULES = tuple(_MENDS)


def mended(module: Any) -> ContextManager[None]:
    """Mends one of `MODULES`."""
    return _MENDS[module.__name__](module)
