"""Loads a file to evaluate a saved model on it."""

from typing import Iterable, List

from allennlp.data import DataLoader, Instance
from allennlp.models import Archive

from tagger.training.frozen_features import keep_features


def evaluation_loader(archive: Archive, data_path: str) -> DataLoader:
    """Returns a file's batches, made with the validation settings of the archive's config."""
    config = archive.config.duplicate()
    loader = DataLoader.from_params(
        config.get("validation_data_loader") or config["data_loader"],
        reader=archive.validation_dataset_reader,
        data_path=data_path,
    )
    loader.index_with(archive.model.vocab)
    _keep_features(archive, loader.iter_instances())
    return loader


def evaluation_instances(archive: Archive, data_path: str) -> List[Instance]:
    """Reads a file with the validation settings of the archive's config; keeps features, too."""
    instances = list(archive.validation_dataset_reader.read(data_path))
    _keep_features(archive, instances)
    return instances


def _keep_features(archive: Archive, instances: Iterable[Instance]) -> None:
    callbacks = archive.config.get("trainer", {}).get("callbacks", None) or []
    names = (each if isinstance(each, str) else each.get("type") for each in callbacks)
    if "frozen_features" in names:
        keep_features(archive.model, instances)
