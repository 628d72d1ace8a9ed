"""Parts of the GPU check that train taggers and predict with them.

Corpora are expected in `data`, below the working directory.
"""

import contextlib
import copy
import importlib.util
import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Iterator, List, Optional

import torch
from allennlp.commands.train import TrainModel
from allennlp.common import Params

from scripts.experiments.benchmarks import (
    prediction as benchmark_prediction,
    sides,
    training as benchmark_training,
)
from scripts.experiments.gpu_check.measuring import (
    Options,
    Results,
    SkippedError,
    needed,
    synchronize,
)
from tagger.training import supply_training_counts

CONFIGS = Path(__file__).resolve().parents[3] / "training_config"
#: Losses for several labels.
LOSSES = (
    "binary_cross_entropy",
    "focal",
    "asymmetric",
    "hill",
    "self_paced_correction",
    "zero_bounded_ranking",
    "class_balanced_focal",
    "rebalanced_focal",
    "negative_tolerant",
    "distribution_balanced",
    "class_balanced_negative_tolerant",
)
SHORT_RUN = {
    "num_epochs": 2,
    # The epochs are called one by one, so the trainer never starts its callbacks.
    "enable_default_callbacks": False,
    "run_confidence_checks": False,
}


def training(options: Options) -> Results:
    """Times epochs of the BiLSTM-CRF on CoNLL-2003 at different batch sizes."""
    rows = []
    for batch_size in (2, 4) if options.is_tiny else (32, 128, 256, 512, 1024):
        seconds, num_sentences = _epoch(options, _bilstm_crf(batch_size, options.is_tiny))
        rows.append({"batch": batch_size, "epoch": seconds, "sentences": num_sentences})
    return {"rows": rows}


def tagger(options: Options) -> Results:
    """Trains a tagger with `allennlp train` and reports its development F1."""
    needed(Path("data/conll2003/eng.train"), "run scripts/experiments/prepare_conll2003.py")
    needed(Path("data/glove/glove.6B.50d.txt"), "run allennlp fetch-encoder glove")
    changes: Results = {"trainer.cuda_device": options.cuda_device}
    if options.is_tiny:
        changes.update({"trainer.num_epochs": 1, "dataset_reader.max_instances": 20})
    with tempfile.TemporaryDirectory() as folder:
        config = CONFIGS / "conll2003_bilstm_crf_glove.jsonnet"
        code = "from allennlp.commands import main; main('allennlp')"
        command = [sys.executable, "-c", code, "train", str(config), "-s", f"{folder}/run"]
        started = time.perf_counter()
        subprocess.run([*command, "-o", json.dumps(changes)], check=True)
        seconds = time.perf_counter() - started
        metrics = json.loads(Path(folder, "run/metrics.json").read_text())
    names = ("best_epoch", "epoch", "best_validation_f1-measure-overall")
    return {"seconds": seconds, **{name: metrics[name] for name in names}}


def precision(options: Options) -> Results:
    """Times an epoch of the BiLSTM-CRF in float32 and in mixed precision, and compares the losses."""
    rows = []
    for use_amp in (False, True):
        if use_amp and options.device == "cpu":
            continue  # AllenNLP's trainer only supports mixed precision on GPUs
        run_config = _bilstm_crf(32, options.is_tiny)
        run_config["trainer"]["use_amp"] = use_amp
        losses: List[float] = []
        seconds, _ = _epoch(options, run_config, losses)
        rows.append({"mixed": use_amp, "epoch": seconds, "losses": losses})
    return {"rows": rows}


def finetuning(options: Options) -> Results:
    """Times fine-tuning of MiniLM under a CRF in our way and AllenNLP's, with the CRF's share."""
    path = needed(CONFIGS / "conll2003_minilm_crf.jsonnet", "is not part of this version")
    needed(Path("data/all-MiniLM-L6-v2"), "run allennlp fetch-encoder all-MiniLM-L6-v2")
    needed(Path("data/conll2003/eng.train"), "run scripts/experiments/prepare_conll2003.py")
    if importlib.util.find_spec("allennlp_models") is None:
        sys.path.append(str(sides.DOWNSTREAM))
    if importlib.util.find_spec("allennlp_models") is None:
        raise SkippedError("allennlp_models is missing; run scripts/install.sh --dev")
    import allennlp_models.tagging  # noqa: F401  (registers AllenNLP's tagger)

    num_sentences = 2 if options.is_tiny else 3200
    ours = Params.from_file(path).as_dict(quiet=True)
    rows = {}
    for name, run_config in (("AllenNLP", _stock_finetuning()), ("ours", ours)):
        run_config["dataset_reader"]["max_instances"] = num_sentences
        # Nothing is validated, and in a few sentences not all labels of other data occur.
        run_config["validation_data_path"] = run_config["train_data_path"]
        run_config["trainer"].update(SHORT_RUN, cuda_device=options.cuda_device, callbacks=[])
        watch = benchmark_training.Stopwatch()
        with _patched_backward(watch), tempfile.TemporaryDirectory() as folder:
            trainer = benchmark_training.timed_trainer(run_config, f"{folder}/run", watch)
            trainer._train_epoch(0)
            watch.take()
            trainer._train_epoch(1)
            parts = watch.take()
        rows[name] = {
            "epoch": sum(parts.values()),
            "sentences": num_sentences,
            "crf_share": parts["CRF"] / sum(parts.values()),
        }
    return {"taggers": rows}


def reuters(options: Options) -> Results:
    """Times Reuters' multi-label losses with fine-tuned MiniLM, one short epoch each."""
    needed(Path("data/all-MiniLM-L6-v2"), "run allennlp fetch-encoder all-MiniLM-L6-v2")
    needed(Path("data/reuters/train.jsonl"), "run scripts/experiments/prepare_reuters.py")
    shown = Params.from_file(CONFIGS / "reuters_minilm.jsonnet").as_dict(quiet=True)
    rows = []
    for loss in LOSSES:
        run_config = copy.deepcopy(shown)
        run_config["dataset_reader"]["max_instances"] = 4 if options.is_tiny else 1600
        run_config["model"]["loss"] = {"type": loss}
        run_config["trainer"]["use_amp"] = options.device != "cpu"
        losses: List[float] = []
        seconds, number = _epoch(options, run_config, losses, num_epochs=1)
        rows.append({"loss": loss, "epoch": seconds, "documents": number, "losses": losses})
    return {"rows": rows}


def prediction(options: Options) -> Results:
    """Times prediction from sentences to JSON, with random weights."""
    source = needed(
        Path("data/conll2003/eng.testb"), "run scripts/experiments/prepare_conll2003.py"
    )
    run_config = _bilstm_crf(32, options.is_tiny)
    number = 2 if options.is_tiny else 3453
    run_config["dataset_reader"]["max_instances"] = number
    predictor = benchmark_prediction.TimedPredictor(
        run_config, str(source), "sequence_tagger", 2048, options.device
    )
    predictor.run()
    seconds = statistics.median(predictor.run() for _ in range(3))
    return {"sentences": number, "seconds": seconds}


def _bilstm_crf(batch_size: int, is_tiny: bool) -> Results:
    """Returns the config of `benchmarks/training.py` for the whole corpus."""
    needed(Path("data/conll2003/eng.train"), "run scripts/experiments/prepare_conll2003.py")
    run_config = benchmark_training.config(True, "data/conll2003", 0)
    run_config["dataset_reader"]["max_instances"] = 20 if is_tiny else None
    run_config["data_loader"]["batch_size"] = batch_size
    return run_config


def _epoch(
    options: Options, run_config: Results, losses: Optional[List[float]] = None, num_epochs: int = 2
) -> Any:
    """Trains without validation, and appends the mean loss of each epoch to `losses`.

    Returns the seconds of the last epoch (the first one compiles) and the number of instances.
    """
    run_config["trainer"].update(SHORT_RUN, cuda_device=options.cuda_device)
    run_config["trainer"]["callbacks"] = []
    for name in ("validation_data_path", "validation_data_loader"):
        run_config.pop(name, None)
    with tempfile.TemporaryDirectory() as folder:
        run: Any = TrainModel.from_params(
            Params(run_config), serialization_dir=f"{folder}/run", local_rank=0
        )
        # Some losses need label counts.
        supply_training_counts(run.trainer.model, run.trainer.data_loader)
        for epoch in range(num_epochs):
            synchronize(options)
            started = time.perf_counter()
            metrics = run.trainer._train_epoch(epoch)
            synchronize(options)
            seconds = time.perf_counter() - started
            if losses is not None:
                losses.append(float(metrics["loss"]))
        number = sum(1 for _ in run.trainer.data_loader.iter_instances())
    return seconds, number


def _stock_finetuning() -> Results:
    """Returns the config for fine-tuning MiniLM under a CRF in AllenNLP's way."""
    transformer = {"model_name": "data/all-MiniLM-L6-v2", "max_length": 250}
    kind = "pretrained_transformer_mismatched"
    loader = {"batch_sampler": {"type": "bucket", "batch_size": 32, "sorting_keys": ["tokens"]}}
    return {
        "dataset_reader": {
            "type": "conll2003",
            "token_indexers": {"tokens": {"type": kind, **transformer}},
        },
        "train_data_path": "data/conll2003/eng.train",
        "validation_data_path": "data/conll2003/eng.testa",
        "model": {
            "type": "crf_tagger",
            "label_encoding": "BIO",
            "calculate_span_f1": True,
            "text_field_embedder": {"token_embedders": {"tokens": {"type": kind, **transformer}}},
            "encoder": {"type": "pass_through", "input_dim": _hidden_size()},
        },
        "data_loader": loader,
        "validation_data_loader": loader,
        "trainer": {"optimizer": {"type": "huggingface_adamw", "lr": 1e-4}, "grad_norm": 1},
    }


def _hidden_size() -> int:
    text = Path("data/all-MiniLM-L6-v2/config.json").read_text()
    return int(re.search(r'"hidden_size": (\d+)', text)[1])  # type: ignore[index]


@contextlib.contextmanager
def _patched_backward(watch: Any) -> Iterator[None]:
    """Attributes the start of each backward pass to the CRF, as in `benchmarks/training.py`."""
    backward = torch.Tensor.backward
    torch.Tensor.backward = watch.timed("CRF", backward)  # type: ignore[method-assign]
    try:
        yield
    finally:
        torch.Tensor.backward = backward  # type: ignore[method-assign]
