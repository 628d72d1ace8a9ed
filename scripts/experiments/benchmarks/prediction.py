"""Times prediction with our tagger and with AllenNLP's `crf_tagger`.

All taggers have the architecture of `training.py` and random weights. They predict
CoNLL-2003, each at its own best setting of threads (see `sides.py`). The time is
from instances to JSON lines, without start-up; each run recomputes the features of a frozen
transformer. AllenNLP predicts batches of 32 in file order, with an unchanged config or with one line
changed (`weighted_crf_tagger`). Ours predicts windows of 2,048 sentences, sorted by length, and is
timed a second time with the encoder's `precision` set to `auto`. `--config` names the configs of other
taggers of ours to time as well.

Usage: python -m scripts.experiments.benchmarks.prediction [--sentences 3453] [--runs 2] [--rounds 2]
    [--data data/conll2003] [--config training_config/conll2003_bilstm_crf_glove.jsonnet]
"""

import argparse
import copy
import importlib
import logging
import time
from typing import Any, Dict, List, Optional, Sequence

import torch
from allennlp.common import Params
from allennlp.common.util import lazy_groups_of
from allennlp.data import DatasetReader, Vocabulary
from allennlp.models import Model
from allennlp.predictors import Predictor

import tagger  # noqa: F401  (registers the components)
from scripts.experiments.benchmarks import sides
from scripts.experiments.benchmarks.training import SIDES, add_corpus_options, config_of


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


def measure(side: str, options: argparse.Namespace) -> None:
    """Reports the seconds of each run of one side."""
    sides.import_downstream("allennlp_models.tagging")
    importlib.import_module("examples.weighted_crf_tagger")
    logging.disable(logging.INFO)
    if side in SIDES:
        run_config = config_of(side, options.data, options.sentences)
    else:
        run_config = Params.from_file(side).as_dict(quiet=True)
        run_config["dataset_reader"]["max_instances"] = options.sentences
    is_stock = side in ("AllenNLP", "one-line")
    predictor = TimedPredictor(
        run_config,
        f"{options.data}/eng.testb",
        "" if is_stock else "sequence_tagger",
        32 if is_stock else 2048,
    )
    predictor.run()  # to warm up
    seconds = [predictor.run() for _ in range(options.runs)]
    sides.report({"prediction": seconds}, {"prediction": predictor.num_tokens})


def main(arguments: Optional[Sequence[str]] = None) -> None:
    """Compares all sides and prints a table."""
    parser = sides.new_parser(__doc__)
    add_corpus_options(parser, num_sentences=3453)
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--sides", nargs="+", choices=SIDES, default=SIDES)
    parser.add_argument("--config", nargs="+", default=[], help="configs of other taggers of ours")
    options = sides.start(parser, arguments, measure)
    given = ["--data", options.data, "--sentences", str(options.sentences)]
    given += ["--runs", str(options.runs)]
    names = [*options.sides, *options.config]
    compared = [
        sides.worker("scripts.experiments.benchmarks.prediction", name, *given) for name in names
    ]
    comparison = sides.compare(compared, options.rounds, sides.settings(options.policies))
    print("Sentences a second:\n")
    print(sides.table(comparison, names, "AllenNLP", {"prediction": options.sentences}))
    best = [comparison.best(name, "prediction") for name in names]
    tokens = [f"{name} {each.facts / each.median:,.0f}" for name, each in zip(names, best) if each]
    print(f"\nTokens a second: {', '.join(tokens)}")


if __name__ == "__main__":
    main()
