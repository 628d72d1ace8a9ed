"""The kinds of work that a study's job can do: train, or evaluate a trained model."""

import json
from pathlib import Path
from typing import Any, Callable, Mapping

#: Takes a job's config and its folder, which does not exist yet, and writes `metrics.json` into it.
Work = Callable[[Mapping[str, Any], Path], None]


def train(config: Mapping[str, Any], folder: Path) -> None:
    """Trains as `allennlp train` does and keeps the metrics and the archive, but no checkpoints.

    Args:
        config: A complete config for `allennlp train`.
        folder: The folder for the results.
    """
    from allennlp.commands.train import train_model
    from allennlp.common import Params

    train_model(Params(json.loads(json.dumps(config))), str(folder), file_friendly_logging=True)
    for checkpoint in folder.glob("*.th"):
        checkpoint.unlink()


def evaluate(config: Mapping[str, Any], folder: Path) -> None:
    """Evaluates an archive with changed settings on the validation and test data of its config.

    Args:
        config: The path of the `archive` and the `overrides` of its config.
        folder: The folder for the results. They are named as in training, `best_validation_...` and
            `test_...`.
    """
    from allennlp.data import DataLoader
    from allennlp.models import load_archive
    from allennlp.training.util import evaluate as evaluate_model

    archive = load_archive(config["archive"], overrides=dict(config["overrides"]))
    settings = archive.config.as_dict(quiet=True)
    metrics = {}
    for prefix, key in (("best_validation", "validation_data_path"), ("test", "test_data_path")):
        if key not in settings:
            continue
        loader = DataLoader.from_params(
            archive.config.duplicate().get("validation_data_loader"),
            reader=archive.validation_dataset_reader,
            data_path=settings[key],
        )
        loader.index_with(archive.model.vocab)
        of_data = evaluate_model(archive.model, loader)
        metrics.update({f"{prefix}_{name}": value for name, value in of_data.items()})
    folder.mkdir(parents=True)
    (folder / "metrics.json").write_text(json.dumps(metrics, indent=2))
