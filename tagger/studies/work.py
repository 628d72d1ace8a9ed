"""What the jobs of a study do."""

import json
from pathlib import Path
from typing import Any, Callable, Mapping

#: Given a job's config and its folder, which is not there yet, leaves `metrics.json` in it.
Work = Callable[[Mapping[str, Any], Path], None]


def train(config: Mapping[str, Any], folder: Path) -> None:
    """Trains as `allennlp train` does; leaves metrics and archive, but no checkpoints.

    Args:
        config: complete, as for `allennlp train`.
        folder: where the results go.
    """
    from allennlp.commands.train import train_model
    from allennlp.common import Params

    train_model(Params(json.loads(json.dumps(config))), str(folder), file_friendly_logging=True)
    for checkpoint in folder.glob("*.th"):
        checkpoint.unlink()


def evaluate(config: Mapping[str, Any], folder: Path) -> None:
    """Evaluates an archive with other settings, on the validation and the test data of its config.

    Args:
        config: the path of the `archive` and the `overrides` of its config.
        folder: where the results go, named as by training: `best_validation_...` and `test_...`.
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
        scores = evaluate_model(archive.model, loader)
        metrics.update({f"{prefix}_{name}": value for name, value in scores.items()})
    folder.mkdir(parents=True)
    (folder / "metrics.json").write_text(json.dumps(metrics, indent=2))
