"""Times training steps of a tagger over a pretrained transformer with different settings.

Run: python -m scripts.experiments.benchmarks.transformer
    [--transformer data/all-MiniLM-L6-v2] [--data data/conll2003/eng.train] [--encoding IOB1]
    [--sentences 400] [--rounds 5]

A step is the forward and backward pass, gradient clipping and the optimizer, for the tagger of
tagger/training/transformer.libsonnet with a weighted CRF. The settings take turns, batch by batch, on
the same batches. `upper N` trains the last N layers on cached states of the lower ones.

`pieces/s` is word pieces per second, without special pieces and padding. `times` is the speed
relative to the first settings on the same batches, as the median over rounds. `CRF` is the share of a
step spent in the weighted CRF, forward and backward. Each runs in one thread and is measured in
processor time, which does not depend on other processes.
"""

import argparse
import json
import logging
import statistics
import tempfile
import time
from functools import partialmethod
from pathlib import Path
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

import torch
from allennlp.common import Params
from allennlp.data import DataLoader, DatasetReader, TensorDict, Vocabulary
from allennlp.models import Model
from allennlp.training.optimizers import Optimizer
from tqdm import tqdm
from transformers import AutoConfig

import tagger  # noqa: F401  (AllenNLP then knows our components)

WEIGHTING = {"type": "chain", "label_weights": {"O": 0.5}}


class Way(NamedTuple):
    """A tagger and its optimizer."""

    model: Any
    optimizer: torch.optim.Optimizer


def ways(num_layers: int) -> Dict[str, Dict[str, Any]]:
    """Returns the settings of each way, by name, for a transformer with this many layers."""
    upper: Dict[str, Any] = {"precision": "float32", "num_frozen_layers": max(num_layers - 2, 1)}
    name = f"upper {num_layers - upper['num_frozen_layers']}"
    return {
        "float32": {"precision": "float32"},
        "bfloat16": {"precision": "bfloat16"},
        "checkpointing": {"precision": "float32", "gradient_checkpointing": True},
        name: upper,
        f"{name}, bfloat16": {**upper, "precision": "bfloat16"},
    }


def config(options: argparse.Namespace, settings: Dict[str, Any]) -> Dict[str, Any]:
    """Returns the template's config with these settings."""
    fields = {
        "transformer": options.transformer,
        "source_encoding": options.encoding,
        "weighting": WEIGHTING,
        "pieces_per_batch": 1024,
        **settings,
    }
    paths = {"train_data_path": options.data, "validation_data_path": options.data}
    hidden = ", ".join(f"{name}:: {json.dumps(value)}" for name, value in fields.items())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "config.jsonnet"
        shown = json.dumps(paths)
        path.write_text(
            f"(import 'tagger/training/transformer.libsonnet') + {{ {hidden} }} + {shown}"
        )
        return Params.from_file(path).as_dict(quiet=True)


def batches_of(
    options: argparse.Namespace, settings: Dict[str, Any]
) -> Tuple[Vocabulary, List[TensorDict]]:
    """Returns the vocabulary of the data and batches in random order."""
    reader_config = settings["dataset_reader"]
    reader = DatasetReader.from_params(
        Params({**reader_config, "max_instances": options.sentences})
    )
    loader = DataLoader.from_params(
        Params(settings["data_loader"]), reader=reader, data_path=options.data
    )
    vocab = Vocabulary.from_instances(loader.iter_instances())
    loader.index_with(vocab)
    return vocab, list(loader)


def build(settings: Dict[str, Any], vocab: Vocabulary) -> Way:
    """Returns a tagger and its optimizer."""
    model = Model.from_params(Params(settings["model"]), vocab=vocab)
    parameters = [(n, p) for n, p in model.named_parameters() if p.requires_grad]
    optimizer: Any = Optimizer.from_params(
        Params(settings["trainer"]["optimizer"]), model_parameters=parameters
    )
    return Way(model.train(), optimizer)


def step(way: Way, batch: TensorDict) -> None:
    """Makes one training step."""
    way.optimizer.zero_grad()
    way.model(**batch)["loss"].backward()
    torch.nn.utils.clip_grad_norm_(way.model.parameters(), 1.0)
    way.optimizer.step()


def crf_step(way: Way, batch: TensorDict) -> None:
    """Runs the head forward and backward on random emissions."""
    tokens: Any = batch["tokens"]
    mask = tokens["tokens"]["mask"]
    emissions = torch.randn(*mask.shape, len(way.model.tags), requires_grad=True)
    way.model.head.sequence_loss(emissions, batch["tags"], mask).mean().backward()


def seconds_of(run: Callable[[Way, TensorDict], None], way: Way, batch: TensorDict) -> float:
    """Returns the seconds of a run."""
    start = time.process_time()
    run(way, batch)
    return time.process_time() - start


def time_all(
    taggers: Dict[str, Way], batches: Sequence[TensorDict], num_rounds: int
) -> Dict[str, List[float]]:
    """Returns the seconds of each round for each way, and for the CRF alone under `CRF`."""
    rounds: Dict[str, List[float]] = {name: [] for name in (*taggers, "CRF")}
    # The first round compiles, warms up, and caches the states of the lower layers.
    for number in range(num_rounds + 1):
        seconds = dict.fromkeys(rounds, 0.0)
        for batch in batches:
            for name, way in taggers.items():
                seconds[name] += seconds_of(step, way, batch)
            seconds["CRF"] += seconds_of(crf_step, way, batch)
        for name, total in seconds.items():
            if number > 0:
                rounds[name].append(total)
    return rounds


def format_table(rounds: Dict[str, List[float]], batches: Sequence[TensorDict]) -> str:
    """Returns a line for each way: its speed, its relative speed and the share of the CRF."""
    texts: List[Any] = [batch["tokens"] for batch in batches]
    num_pieces = sum(int(text["tokens"]["num_pieces"].sum()) for text in texts)
    crf = rounds.pop("CRF")
    first = next(iter(rounds.values()))
    lines = [f"{num_pieces} word pieces in {len(batches)} batches", ""]
    lines.append(f"{'':20} {'pieces/s':>8} {'times':>6} {'CRF':>7}")
    for name, seconds in rounds.items():
        speed = num_pieces / statistics.median(seconds)
        ratio = statistics.median(a / b for a, b in zip(first, seconds))
        share = statistics.median(a / b for a, b in zip(crf, seconds))
        lines.append(f"{name:20} {speed:8.0f} {ratio:6.2f} {share:7.2%}")
    return "\n".join(lines)


def main(arguments: Optional[Sequence[str]] = None) -> None:
    """Times all ways in turns and prints the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--transformer", default="data/all-MiniLM-L6-v2")
    parser.add_argument("--data", default="data/conll2003/eng.train", help="a column file")
    parser.add_argument("--encoding", default="IOB1", help="the encoding of its tags")
    parser.add_argument("--sentences", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=5, help="passes over the batches")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    logging.disable(logging.WARNING)
    tqdm.__init__ = partialmethod(tqdm.__init__, disable=True)
    vocab, batches = batches_of(options, config(options, {}))
    num_layers = AutoConfig.from_pretrained(options.transformer).num_hidden_layers
    taggers = {
        name: build(config(options, settings), vocab) for name, settings in ways(num_layers).items()
    }
    print(format_table(time_all(taggers, batches, options.rounds), batches))


if __name__ == "__main__":
    main()
