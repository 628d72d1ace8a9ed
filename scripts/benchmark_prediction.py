#!/usr/bin/env python
"""Times prediction: the predictor of our tagger, and that of AllenNLP's `crf_tagger`.

Both taggers have the architecture of `scripts/benchmark_training.py` and random weights. They predict
CoNLL-2003 from `data/conll2003` in turns, in one process, with PyTorch's number of threads. The time is
from instances to lines of JSON, without start-up. AllenNLP predicts batches of 32 in the order of the
file; ours predicts windows of 2,048 sentences, which it sorts by length. AllenNLP's tagger needs

    pip install --no-deps allennlp-models==2.10.1

Usage: OMP_WAIT_POLICY=PASSIVE python scripts/benchmark_prediction.py [--sentences 3453] [--runs 3]
"""

import argparse
import copy
import logging
import statistics
import sys
import time
from pathlib import Path
from typing import Any, Dict, List

import torch
from allennlp.common import Params
from allennlp.common.util import lazy_groups_of
from allennlp.data import DatasetReader, Vocabulary
from allennlp.models import Model
from allennlp.predictors import Predictor

import tagger  # noqa: F401  (registers the components)

sys.path.insert(0, str(Path(__file__).parent))
from benchmark_training import config  # noqa: E402

TEST = "data/conll2003/eng.testb"


class TimedPredictor:
    """A predictor with random weights, and sentences for it.

    Args:
        run_config: a config as for training.
        predictor: its registered name; empty for AllenNLP's base class.
        batch_size: how many instances it is given at a time.
    """

    def __init__(self, run_config: Dict[str, Any], predictor: str, batch_size: int) -> None:
        # Building empties the config.
        run_config = copy.deepcopy(run_config)
        self._reader = DatasetReader.from_params(Params(run_config["dataset_reader"]))
        instances: List[Any] = list(self._reader.read(TEST))
        for instance in instances:
            self._reader.apply_token_indexers(instance)
        vocab = Vocabulary.from_instances(instances)
        self._sentences = [instance["tokens"].tokens for instance in instances]
        torch.manual_seed(0)
        model: Any = Model.from_params(Params(run_config["model"]), vocab=vocab)
        model.eval()
        self._predictor = (Predictor.by_name(predictor) if predictor else Predictor)(
            model, self._reader
        )
        self._batch_size = batch_size

    def run(self) -> float:
        """Predicts all sentences; returns the seconds that it took."""
        # Made anew: instances remember that they are indexed.
        instances = [self._reader.text_to_instance(sentence) for sentence in self._sentences]
        started = time.perf_counter()
        for group in lazy_groups_of(instances, self._batch_size):
            for prediction in self._predictor.predict_batch_instance(group):
                self._predictor.dump_line(prediction)
        return time.perf_counter() - started


def main() -> None:
    """Times both in turns and prints the medians."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sentences", type=int, default=3453)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    try:
        import allennlp_models.tagging  # noqa: F401
    except ImportError as error:
        sys.exit(
            f"{error}; `pip install --no-deps allennlp-models==2.10.1` brings AllenNLP's tagger"
        )
    logging.disable(logging.INFO)
    taggers = {
        "AllenNLP": TimedPredictor(config(False, options.sentences), "", 32),
        "ours": TimedPredictor(config(True, options.sentences), "sequence_tagger", 2048),
    }
    runs: Dict[str, List[float]] = {name: [] for name in taggers}
    # The first run warms up.
    for number in range(options.runs + 1):
        for name, each in taggers.items():
            seconds = each.run()
            if number > 0:
                runs[name].append(seconds)
    medians = {name: statistics.median(seconds) for name, seconds in runs.items()}
    print("prediction   sentences/s  times")
    for name, median in medians.items():
        print(f"{name:12} {options.sentences / median:11.0f}  {medians['AllenNLP'] / median:5.1f}")


if __name__ == "__main__":
    main()
