#!/usr/bin/env python
"""Times prediction with our tagger and with AllenNLP's `crf_tagger`.

Both taggers have the architecture of `scripts/benchmark_training.py` and random weights. They predict
CoNLL-2003 in turns, in one process, with PyTorch's number of threads. The time is from instances to
JSON lines, without start-up; each run recomputes the features of a frozen transformer. AllenNLP
predicts batches of 32 in file order. Ours predicts windows of 2,048 sentences, sorted by length, and
is timed a second time with the encoder's `precision` set to `auto`. `--config` names the configs of
other taggers of ours to time as well.

Usage: OMP_WAIT_POLICY=PASSIVE python scripts/benchmark_prediction.py [--sentences 3453] [--runs 3]
    [--data data/conll2003] [--config training_config/conll2003_bilstm_crf_glove.jsonnet]
"""

import argparse
import copy
import logging
import statistics
import sys
import time
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence

import torch
from allennlp.common import Params
from allennlp.common.util import lazy_groups_of
from allennlp.data import DatasetReader, Vocabulary
from allennlp.models import Model
from allennlp.predictors import Predictor

import tagger  # noqa: F401  (registers the components)

sys.path.insert(0, str(Path(__file__).parent))
from benchmark_training import add_corpus_options, config, import_allennlp_models


class TimedPredictor:
    """A predictor with random weights, and sentences for it to predict."""

    def __init__(
        self,
        run_config: Dict[str, Any],
        source: str,
        predictor: str,
        batch_size: int,
        device: str = "cpu",
    ) -> None:
        # Building a component empties its config.
        run_config = copy.deepcopy(run_config)
        self._reader = DatasetReader.from_params(Params(run_config["dataset_reader"]))
        instances: List[Any] = list(self._reader.read(source))
        for instance in instances:
            self._reader.apply_token_indexers(instance)
        vocab = Vocabulary.from_instances(instances)
        self._sentences = [instance["tokens"].tokens for instance in instances]
        torch.manual_seed(0)
        model: Any = Model.from_params(Params(run_config["model"]), vocab=vocab)
        model.to(device).eval()
        self._predictor = (Predictor.by_name(predictor) if predictor else Predictor)(
            model, self._reader
        )
        self._batch_size = batch_size
        self.num_tokens = sum(map(len, self._sentences))

    def run(self) -> float:
        """Predicts all sentences and returns the time in seconds."""
        # In evaluation mode, features of a transformer are cached until the mode is set again.
        self._predictor._model.eval()
        # Recreated for each run, because instances remember that they are indexed.
        instances = [self._reader.text_to_instance(sentence) for sentence in self._sentences]
        started = time.perf_counter()
        for group in lazy_groups_of(instances, self._batch_size):
            for prediction in self._predictor.predict_batch_instance(group):
                self._predictor.dump_line(prediction)
        return time.perf_counter() - started


def main(arguments: Optional[Sequence[str]] = None) -> None:
    """Times both taggers in turns and prints medians."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_corpus_options(parser, num_sentences=3453)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument(
        "--config", type=Path, nargs="+", default=[], help="configs of other taggers of ours"
    )
    options = parser.parse_args(arguments)
    import_allennlp_models()
    logging.disable(logging.INFO)
    source = f"{options.data}/eng.testb"
    # name, predictor, batch size
    stock, ours = ("AllenNLP", "", 32), ("ours", "sequence_tagger", 2048)
    taggers = {
        name: TimedPredictor(
            config(name == "ours", options.data, options.sentences), source, predictor, batch_size
        )
        for name, predictor, batch_size in (stock, ours)
    }
    in_auto = config(True, options.data, options.sentences)
    in_auto["model"]["encoder"]["precision"] = "auto"
    taggers["ours, auto"] = TimedPredictor(in_auto, source, *ours[1:])
    for path in options.config:
        of_file = Params.from_file(path).as_dict(quiet=True)
        of_file["dataset_reader"]["max_instances"] = options.sentences
        taggers[path.stem] = TimedPredictor(of_file, source, *ours[1:])
    runs: Dict[str, List[float]] = {name: [] for name in taggers}
    # The first run is for warm-up.
    for number in range(options.runs + 1):
        for name, each in taggers.items():
            seconds = each.run()
            if number > 0:
                runs[name].append(seconds)
    medians = {name: statistics.median(seconds) for name, seconds in runs.items()}
    width = max(map(len, medians))
    print(f"{'prediction':{width}} sentences/s  tokens/s  times")
    for name, median in medians.items():
        sentences, tokens = options.sentences / median, taggers[name].num_tokens / median
        times = medians["AllenNLP"] / median
        print(f"{name:{width}} {sentences:11.0f}  {tokens:8.0f}  {times:5.1f}")


if __name__ == "__main__":
    main()
