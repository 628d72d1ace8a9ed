"""What evaluates a saved model on a file."""

from typing import Any

from allennlp.data import DataLoader
from allennlp.models import Archive

from tagger.training.frozen_features import keep_features


def evaluation_loader(archive: Archive, data_path: str) -> DataLoader:
    """Returns batches of a file as the archive's config wants them for validation.

    Features of frozen transformers are kept on disk if they were in training: other runs may read the
    same text.
    """
    config = archive.config.duplicate()
    loader = DataLoader.from_params(
        config.get("validation_data_loader") or config["data_loader"],
        reader=archive.validation_dataset_reader,
        data_path=data_path,
    )
    loader.index_with(archive.model.vocab)
    if _has_callback(config, "frozen_features"):
        keep_features(archive.model, [loader])
    return loader


def _has_callback(config: Any, name: str) -> bool:
    """Returns whether the trainer of a config has a callback, with or without settings."""
    callbacks = config.get("trainer", {}).get("callbacks", None) or []
    return any((each if isinstance(each, str) else each.get("type")) == name for each in callbacks)
