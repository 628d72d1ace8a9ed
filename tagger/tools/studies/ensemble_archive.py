"""Makes an ensemble's archive from the archives of several taggers or classifiers."""

import tempfile
from pathlib import Path
from typing import Any, Dict, Sequence

import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.common.meta import META_NAME, Meta
from allennlp.models.archival import CONFIG_NAME, Archive, archive_model
from allennlp.models.model import _DEFAULT_WEIGHTS, remove_keys_from_params

from tagger.common.files import write_atomically
from tagger.models.classifying_model import ClassifyingModel
from tagger.models.document_classifier_ensemble import DocumentClassifierEnsemble
from tagger.models.sequence_tagger_ensemble import SequenceTaggerEnsemble

#: The parts of the config that the ensemble takes from the first archive, if it has them.
SHARED = (
    "dataset_reader",
    "validation_dataset_reader",
    "vocabulary",
    "data_loader",
    "validation_data_loader",
)
#: By whether the members are classifiers, the type of an ensemble in a config, and its class.
_ENSEMBLES = {
    True: ("document_classifier_ensemble", DocumentClassifierEnsemble),
    False: ("sequence_tagger_ensemble", SequenceTaggerEnsemble),
}


def write_ensemble(
    paths: Sequence[Path], archives: Sequence[Archive], output: Path, average: str
) -> None:
    """Writes an ensemble's archive, which holds all weights; messages name members by their paths."""
    for path, archive in zip(paths, archives):
        _check_alike(path, archive, paths[0], archives[0])
    vocab = archives[0].model.vocab
    models = [archive.model for archive in archives]
    name, ensemble = _ENSEMBLES[isinstance(models[0], ClassifyingModel)]
    model = ensemble(vocab, models, average)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        Params(_config(archives, name, average)).to_file(str(folder / CONFIG_NAME))
        vocab.save_to_files(str(folder / "vocabulary"))
        Meta.new().to_file(folder / META_NAME)
        torch.save(model.state_dict(), folder / _DEFAULT_WEIGHTS)
        with write_atomically(output) as path:
            archive_model(folder, archive_path=path)


def _config(archives: Sequence[Archive], name: str, average: str) -> Dict[str, Any]:
    first = archives[0].config.as_dict(quiet=True)
    config = {key: first[key] for key in SHARED if key in first}
    members = [archive.config.duplicate()["model"] for archive in archives]
    for params in members:
        # Removes paths of pretrained files. AllenNLP does so too, but not in lists.
        remove_keys_from_params(params)
    configs = [params.as_dict(quiet=True) for params in members]
    model = {"type": name, "average": average, "members": configs}
    return {**config, "model": model}


def _check_alike(path: Path, archive: Archive, first_path: Path, first: Archive) -> None:
    parts, expected = _parts(archive), _parts(first)
    for name in sorted(parts.keys() | expected.keys()):
        if parts.get(name) != expected.get(name):
            raise ConfigurationError(
                f"{path} and {first_path} differ in {name}; train the members from one config and one "
                f"set of data, with different seeds"
            )


def _parts(archive: Archive) -> Dict[str, Any]:
    """Returns what the members of an ensemble must have in common, by its name in messages."""
    vocab = archive.model.vocab
    return {
        "`dataset_reader`": archive.config["dataset_reader"].as_dict(quiet=True),
        **{
            f"the vocabulary's namespace `{name}`": vocab.get_index_to_token_vocabulary(name)
            for name in vocab.get_namespaces()
        },
    }
