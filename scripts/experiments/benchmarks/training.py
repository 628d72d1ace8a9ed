"""Times training and evaluation of our tagger and of AllenNLP's `crf_tagger`, with the parts of a step.

All taggers have the same architecture: words 100, a convolution over characters 128, BiLSTM 2 x 200, a
CRF. They train on CoNLL-2003 with AllenNLP's trainer, Adam, and batches of 32, each at its own best
setting of threads (see `sides.py`). `AllenNLP` is an unchanged config of a
`crf_tagger`, run in this environment. `one-line` is the same config with the type
`weighted_crf_tagger` (examples/weighted_crf_tagger.py), which only replaces the CRF. Ours uses the
data loader `bucketed`, 128 sentences at a time in evaluation, `fused_adam`, and encodes each distinct
word's characters once. `ours-auto` computes the LSTM in bfloat16 if the processor has instructions
for it. Finally, `limits.py` shows how fast this machine can multiply.

Usage: python -m scripts.experiments.benchmarks.training [--sentences 1600] [--epochs 2] [--rounds 2]
    [--data data/conll2003]
"""

import argparse
import collections
import copy
import importlib
import logging
import tempfile
import time
from functools import partialmethod
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, cast

import torch
from allennlp.commands.train import TrainModel
from allennlp.common import Params
from allennlp.data import DataLoader, TensorDict
from allennlp.training import GradientDescentTrainer
from allennlp.training.metrics import CategoricalAccuracy, SpanBasedF1Measure
from tqdm import tqdm

from scripts.experiments.benchmarks import limits, sides
from tagger.models import SequenceTagger

PARTS = ("data", "encoder", "CRF", "optimizer", "metrics", "other")
SIDES = ("AllenNLP", "one-line", "ours", "ours-auto")

CNN = {
    "embedding_dim": 16,
    "num_filters": 128,
    "ngram_filter_sizes": [3],
    "conv_layer_activation": "relu",
}
ENCODER = {
    "type": "lstm",
    "input_size": 228,
    "hidden_size": 200,
    "num_layers": 2,
    "dropout": 0.5,
    "bidirectional": True,
}


def add_corpus_options(parser: argparse.ArgumentParser, num_sentences: int) -> None:
    """Adds the options `--data` and `--sentences`."""
    parser.add_argument(
        "--data",
        default="data/conll2003",
        help="the folder of eng.train, eng.testa and eng.testb (default: %(default)s, where "
        "scripts/experiments/prepare_conll2003.py puts them)",
    )
    parser.add_argument("--sentences", type=int, default=num_sentences, help="of each file")


def config_of(side: str, data: str, num_sentences: int) -> Dict[str, Any]:
    """Returns the config of a side, with shortened data sets."""
    found = config(side.startswith("ours"), data, num_sentences)
    if side == "one-line":
        found["model"]["type"] = "weighted_crf_tagger"
    if side == "ours-auto":
        found["model"]["encoder"]["precision"] = "auto"
    return found


def config(is_ours: bool, data: str, num_sentences: int) -> Dict[str, Any]:
    """Returns the config of our tagger or of AllenNLP's, with shortened data sets."""
    characters = {
        "type": "distinct_character_encoding" if is_ours else "character_encoding",
        "embedding": {"embedding_dim": 16, "vocab_namespace": "token_characters"},
        "encoder": {"type": "masked_cnn" if is_ours else "cnn", **CNN},
    }
    indexers = {
        "tokens": {"type": "single_id"},
        "token_characters": {
            "type": "cached_characters" if is_ours else "characters",
            "min_padding_length": 3,
        },
    }
    embedder = {
        "token_embedders": {
            "tokens": {"type": "embedding", "embedding_dim": 100},
            "token_characters": characters,
        }
    }
    reader = {"type": "column", "source_encoding": "IOB1"} if is_ours else {"type": "conll2003"}
    loader = {"batch_sampler": {"type": "bucket", "batch_size": 32, "sorting_keys": ["tokens"]}}
    model = {
        "type": "sequence_tagger",
        "text_field_embedder": embedder,
        "encoder": {"type": "bilstm", "hidden_size": 200, "num_layers": 2, "dropout": 0.5},
    }
    stock_model = {
        "type": "crf_tagger",
        "label_encoding": "BIO",
        "constrain_crf_decoding": True,
        "calculate_span_f1": True,
        "text_field_embedder": embedder,
        "encoder": ENCODER,
    }
    return {
        "dataset_reader": {**reader, "token_indexers": indexers, "max_instances": num_sentences},
        "train_data_path": f"{data}/eng.train",
        "validation_data_path": f"{data}/eng.testa",
        "model": model if is_ours else stock_model,
        "data_loader": {"type": "bucketed", "batch_size": 32} if is_ours else loader,
        "validation_data_loader": {"type": "bucketed", "batch_size": 128, "shuffle": False}
        if is_ours
        else loader,
        "trainer": {
            "optimizer": {"type": "fused_adam" if is_ours else "adam", "lr": 0.001},
            "grad_norm": 5,
            "num_epochs": 1,
            # The epochs are called one by one, so the trainer never starts its callbacks.
            "enable_default_callbacks": False,
            "run_confidence_checks": False,
        },
    }


class Stopwatch:
    """Adds up the seconds of each part of the work; one part is always running."""

    def __init__(self) -> None:
        self.seconds = dict.fromkeys(PARTS, 0.0)
        self._part, self._since = "other", time.perf_counter()

    def switch(self, part: str) -> str:
        """Starts this part and returns the previous one."""
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        now = time.perf_counter()
        self.seconds[self._part] += now - self._since
        before, self._part, self._since = self._part, part, now
        return before

    def timed(self, part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Wraps a function so that this part is running during its calls."""

        def run(*args: Any, **kwargs: Any) -> Any:
            before = self.switch(part)
            try:
                return function(*args, **kwargs)
            finally:
                self.switch(before)

        return run

    def take(self) -> Dict[str, float]:
        """Returns the seconds of each part since the last call."""
        self.switch("other")
        seconds, self.seconds = self.seconds, dict.fromkeys(PARTS, 0.0)
        return seconds


class TimedLoader:
    """A data loader; the time spent waiting for its batches counts as `data`."""

    def __init__(self, loader: DataLoader, watch: Stopwatch) -> None:
        self._loader = loader
        self._watch = watch

    def __len__(self) -> int:
        return len(self._loader)

    def __iter__(self) -> Iterator[TensorDict]:
        batches = self._watch.timed("data", iter)(self._loader)
        yield from iter(self._watch.timed("data", lambda: next(batches, None)), None)


def timed_trainer(
    run_config: Dict[str, Any], folder: str, watch: Stopwatch
) -> GradientDescentTrainer:
    """Returns the trainer of a run, with each part of its steps timed."""
    run_config = copy.deepcopy(run_config)
    run = TrainModel.from_params(Params(run_config), serialization_dir=folder, local_rank=0)
    trainer, model = cast(GradientDescentTrainer, run.trainer), cast(Any, run.model)

    def time_method(owner: Any, name: str, part: str) -> None:
        setattr(owner, name, watch.timed(part, getattr(owner, name)))

    for name in ("data_loader", "_validation_data_loader"):
        setattr(trainer, name, TimedLoader(getattr(trainer, name), watch))
    time_method(model, "forward", "CRF")
    # The encoder runs until there are emissions, and in the backward pass once their gradient is known.
    model.text_field_embedder.register_forward_pre_hook(_switch(watch, "encoder"))
    projection = getattr(model, "projection", None) or model.tag_projection_layer
    projection.register_forward_hook(_switch(watch, "CRF"))
    projection.register_full_backward_pre_hook(_switch(watch, "encoder"))
    time_method(trainer, "rescale_gradients", "optimizer")
    time_method(trainer.optimizer, "step", "optimizer")
    time_method(trainer.optimizer, "zero_grad", "optimizer")
    time_method(model, "get_metrics", "metrics")
    if isinstance(model, SequenceTagger):
        time_method(model.head, "measure", "metrics")
    return trainer


def format_parts(comparison: sides.Comparison, names: Sequence[str]) -> str:
    """Returns the share of each part of the work, by row and side, at the side's best setting."""
    lines = [f"| | | {' | '.join(PARTS)} |", "|---" * (2 + len(PARTS)) + "|"]
    for row in comparison.rows():
        for name in names:
            best = comparison.best(name, row)
            if best is not None:
                shares = " | ".join(f"{best.facts[part]:.1%}" for part in PARTS)
                lines.append(f"| {row} | {name} | {shares} |")
    return "\n".join(lines)


def _switch(watch: Stopwatch, part: str) -> Callable[..., None]:
    def hook(*_: Any) -> None:
        watch.switch(part)

    return hook


def measure(side: str, options: argparse.Namespace) -> None:
    """Reports the seconds of each epoch of one side, and the shares of the parts."""
    sides.import_downstream("allennlp_models.tagging")
    importlib.import_module("examples.weighted_crf_tagger")
    logging.disable(logging.INFO)
    tqdm.__init__ = partialmethod(tqdm.__init__, disable=True)
    watch = Stopwatch()
    # These are patched on the class, where Python looks them up.
    for owner, name, part in (
        (torch.Tensor, "backward", "CRF"),
        (CategoricalAccuracy, "__call__", "metrics"),
        (SpanBasedF1Measure, "__call__", "metrics"),
    ):
        setattr(owner, name, watch.timed(part, getattr(owner, name)))
    # phase -> the seconds of each part, epoch by epoch
    epochs: Dict[str, List[Dict[str, float]]] = collections.defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        run_config = config_of(side, options.data, options.sentences)
        trainer = timed_trainer(run_config, f"{folder}/run", watch)
        # The first epoch is for compiling and warm-up.
        for epoch in range(options.epochs + 1):
            for phase, run in (
                ("training", trainer._train_epoch),
                ("evaluation", trainer._validation_loss),
            ):
                watch.take()
                run(epoch)
                if epoch > 0:
                    epochs[phase].append(watch.take())
    rows = {phase: [sum(each.values()) for each in own] for phase, own in epochs.items()}
    facts = {
        phase: {part: sum(each[part] for each in own) / sum(rows[phase]) for part in PARTS}
        for phase, own in epochs.items()
    }
    sides.report(rows, facts)


def main(arguments: Optional[Sequence[str]] = None) -> None:
    """Compares all sides and prints the tables."""
    parser = sides.new_parser(__doc__)
    add_corpus_options(parser, num_sentences=1600)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--without-limits", action="store_true", help="do not run limits.py")
    parser.add_argument("--sides", nargs="+", choices=SIDES, default=SIDES)
    options = sides.start(parser, arguments, measure)
    given = ["--data", options.data, "--sentences", str(options.sentences)]
    given += ["--epochs", str(options.epochs)]
    compared = [
        sides.worker("scripts.experiments.benchmarks.training", name, *given)
        for name in options.sides
    ]
    comparison = sides.compare(compared, options.rounds, sides.settings(options.policies))
    numbers = dict.fromkeys(comparison.rows(), options.sentences)
    print("Sentences a second:\n")
    print(f"{sides.table(comparison, options.sides, 'AllenNLP', numbers)}\n")
    print("Where the time goes, at each side's best setting:\n")
    print(f"{format_parts(comparison, options.sides)}\n")
    if not options.without_limits:
        limits.print_limits(1, options.policies)


if __name__ == "__main__":
    main()
