"""What decides the predictions of a run of `predict-file`: only an equal run may complete its output."""

import hashlib
import json
from typing import Any, Dict, Mapping

import torch
from allennlp.models import Archive, Model
from allennlp.predictors import Predictor

import tagger
from tagger.commands.prediction_outputs import Layout
from tagger.common.parquet import is_parquet


def settings_of_run(
    predictor: Predictor,
    input_file: str,
    window: int,
    use_dataset_reader: bool,
    layout: Layout,
    others: Mapping[str, Any],
) -> Dict[str, Any]:
    """Returns what decides the predictions, by name; `model` is a digest of the weights as they are."""
    return {
        "archive": getattr(predictor._model, "archive_digest", None),
        "model": _digest_of_model(predictor._model),
        "window": window,
        "use-dataset-reader": use_dataset_reader,
        "version": tagger.__version__,
        **({"text-column": layout.text_column} if is_parquet(input_file) else {}),
        **({"input-format": layout.input_format} if layout.input_format else {}),
        **others,
    }


def _digest_of_model(model: Model) -> str:
    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.detach().cpu().reshape(-1).view(torch.uint8).numpy())
    for module in model.modules():
        # Of a frozen transformer, which the state lacks, and perhaps the archive too.
        digest.update(getattr(module, "transformer_digest", "").encode())
    return digest.hexdigest()


def digest_of_config(archive: Archive) -> str:
    """Returns a digest of what the config, with its overrides, says of the model and the readers."""
    config = archive.config.as_dict(quiet=True)
    parts = [config.get(name) for name in ("model", "dataset_reader", "validation_dataset_reader")]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
