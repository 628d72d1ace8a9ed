"""Times the start of commands: help, a prediction of two texts, and imports.

`ours` is the `allennlp` command of this environment. `AllenNLP` is the same command without our
subcommands, and imports AllenNLP's libraries at once, as AllenNLP does. It still gets the patches
without which it does not run, and with them transformers and huggingface_hub are only imported when
they are used, so its own start-up would be slower still. Both predict with AllenNLP's `predict` and an
untrained classifier of AllenNLP. Seconds are from the start to the end of a process.

Usage: python -m scripts.experiments.benchmarks.start_up [--rounds 3]
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Dict, List, Optional, Sequence

from scripts.experiments.benchmarks import sides
from scripts.experiments.benchmarks.machine import num_cores

TEXTS = [{"text": "Anna went", "sentence": "Anna went", "label": "a"}]
TEXTS.append({"text": "Keller left", "sentence": "Keller left", "label": "b"})
OURS = "import sys; from allennlp.__main__ import run; sys.exit(run())"
STOCK = """
from tagger_compat import deferral
for name in set(deferral.LIBRARIES) - {"huggingface_hub", "transformers"}:
    del deferral.LIBRARIES[name]
from allennlp.common import plugins
plugins.DEFAULT_PLUGINS = tuple(n for n in plugins.DEFAULT_PLUGINS if n.startswith("allennlp"))
"""
COMMANDS = {"AllenNLP": STOCK + OURS, "ours": OURS}


def config(folder: str) -> Dict[str, object]:
    """Returns the config of a small classifier."""
    embedder = {"token_embedders": {"tokens": {"type": "embedding", "embedding_dim": 8}}}
    return {
        "dataset_reader": {"type": "text_classification_json", "tokenizer": "whitespace"},
        "train_data_path": f"{folder}/texts.jsonl",
        "model": {
            "type": "basic_classifier",
            "text_field_embedder": embedder,
            "seq2vec_encoder": {"type": "boe", "embedding_dim": 8},
        },
        "data_loader": {"batch_size": 2},
        "trainer": {"num_epochs": 1, "optimizer": "adam"},
    }


def run(command: List[str]) -> float:
    """Runs a command and returns its seconds; exits if it fails."""
    started = time.perf_counter()
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit((done.stderr.strip() or "failed").splitlines()[-1])
    return time.perf_counter() - started


def measure(side: str, _: argparse.Namespace) -> None:
    """Reports the seconds of one side."""
    with tempfile.TemporaryDirectory() as folder:
        lines = "".join(f"{json.dumps(text)}\n" for text in TEXTS)
        Path(folder, "texts.jsonl").write_text(lines)
        Path(folder, "config.json").write_text(json.dumps(config(folder)))
        python = [sys.executable, "-c"]
        archive = f"{folder}/run/model.tar.gz"
        run([*python, OURS, "train", f"{folder}/config.json", "-s", f"{folder}/run"])
        start = [*python, COMMANDS[side]]
        predict = [*start, "predict", archive, f"{folder}/texts.jsonl", "--silent"]
        commands = {
            "allennlp --help": [*start, "--help"],
            "predict": [*predict, "--predictor", "text_classifier"],
        }
        if side == "ours":
            commands["import tagger"] = [*python, "import tagger"]
            commands["import tagger.linear_chain"] = [*python, "import tagger.linear_chain"]
            commands["import torch"] = [*python, "import torch"]
        sides.report({name: [run(command)] for name, command in commands.items()})


def main(arguments: Optional[Sequence[str]] = None) -> None:
    """Compares both sides and prints a table."""
    options = sides.start(sides.new_parser(__doc__, num_rounds=3), arguments, measure)
    compared = [sides.worker("scripts.experiments.benchmarks.start_up", name) for name in COMMANDS]
    # Importing does not compute, so that threads make no difference.
    tried = [sides.Setting(num_cores(), "default")]
    comparison = sides.compare(compared, options.rounds, tried)
    print(sides.table(comparison, list(COMMANDS), "AllenNLP"))


if __name__ == "__main__":
    main()
