#!/usr/bin/env python
"""Times training and evaluation of our tagger and of AllenNLP's `crf_tagger`, with the parts of a step.

Both taggers have the same architecture: words 100, a convolution over characters 128, BiLSTM 2 x 200, a
CRF. They train on CoNLL-2003 with AllenNLP's trainer, Adam, and batches of 32. They take turns, epoch
by epoch, in one process. Ours uses the data loader `bucketed`, 128 sentences at a time in evaluation,
`fused_adam`, and encodes each distinct word's characters once. `ours, auto` computes the LSTM in
bfloat16 if the processor has instructions for it.

Usage: OMP_WAIT_POLICY=PASSIVE python scripts/benchmark_training.py [--sentences 3200] [--epochs 3]
    [--data data/conll2003]
"""

import argparse
import collections
import copy
import logging
import statistics
import sys
import tempfile
import time
from functools import partialmethod
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple, cast

import torch
from allennlp.commands.train import TrainModel
from allennlp.common import Params
from allennlp.data import DataLoader, TensorDict
from allennlp.training import GradientDescentTrainer
from allennlp.training.metrics import CategoricalAccuracy, SpanBasedF1Measure
from tqdm import tqdm

from tagger.models import SequenceTagger

PARTS = ("data", "encoder", "CRF", "optimizer", "metrics", "other")
# Where scripts/install.sh --dev installs AllenNLP's tagger.
DOWNSTREAM = Path(__file__).parent.parent / ".venv/downstream"

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


def import_allennlp_models() -> None:
    """Registers AllenNLP's tagger, or exits with the reason if it cannot."""
    sys.path.append(str(DOWNSTREAM))
    try:
        import allennlp_models.tagging  # noqa: F401
    except ImportError as error:
        sys.exit(
            f"{error}; run scripts/install.sh --dev, or pip install --no-deps allennlp-models==2.10.1"
        )


def add_corpus_options(parser: argparse.ArgumentParser, num_sentences: int) -> None:
    """Adds the options `--data` and `--sentences`."""
    parser.add_argument(
        "--data",
        default="data/conll2003",
        help="the folder of eng.train, eng.testa and eng.testb (default: %(default)s, where "
        "scripts/prepare_conll2003.py puts them)",
    )
    parser.add_argument("--sentences", type=int, default=num_sentences, help="of each file")


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
    # Only needed by the command that writes archives.
    run_config.pop("include_in_archive", None)
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


def format_table(title: str, runs: Dict[str, List[Dict[str, float]]], num_sentences: int) -> str:
    """Returns a line for each tagger: medians over its runs, and its speed relative to the first."""
    parts = next(iter(runs.values()))[0].keys()
    lines = [f"{title:12} sentences/s  times  " + "  ".join(f"{part:>9}" for part in parts)]
    totals = {
        name: statistics.median(sum(run.values()) for run in of_tagger)
        for name, of_tagger in runs.items()
    }
    for name, of_tagger in runs.items():
        shares = [
            statistics.median(run[part] / sum(run.values()) for run in of_tagger) for part in parts
        ]
        lines.append(
            f"{name:12} {num_sentences / totals[name]:11.0f}  "
            f"{next(iter(totals.values())) / totals[name]:5.1f}  "
            + "  ".join(f"{share:9.1%}" for share in shares)
        )
    return "\n".join(lines) + "\n"


def _switch(watch: Stopwatch, part: str) -> Callable[..., None]:
    def hook(*_: Any) -> None:
        watch.switch(part)

    return hook


def main(arguments: Optional[Sequence[str]] = None) -> None:
    """Times both taggers in turns and prints medians."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_corpus_options(parser, num_sentences=3200)
    parser.add_argument("--epochs", type=int, default=3)
    options = parser.parse_args(arguments)
    import_allennlp_models()
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
    # (tagger, phase) -> the seconds of each part, epoch by epoch
    epochs: Dict[Tuple[str, str], List[Dict[str, float]]] = collections.defaultdict(list)
    configs = {
        name: config(name != "AllenNLP", options.data, options.sentences)
        for name in ("AllenNLP", "ours", "ours, auto")
    }
    configs["ours, auto"]["model"]["encoder"]["precision"] = "auto"
    with tempfile.TemporaryDirectory() as folder:
        trainers = {
            name: timed_trainer(each, f"{folder}/{name}", watch) for name, each in configs.items()
        }
        # The first epoch is for compiling and warm-up.
        for epoch in range(options.epochs + 1):
            for name, trainer in trainers.items():
                for phase, run in (
                    ("training", trainer._train_epoch),
                    ("evaluation", trainer._validation_loss),
                ):
                    watch.take()
                    run(epoch)
                    if epoch > 0:
                        epochs[name, phase].append(watch.take())
    for phase in ("training", "evaluation"):
        print(
            format_table(phase, {name: epochs[name, phase] for name in trainers}, options.sentences)
        )


if __name__ == "__main__":
    main()
