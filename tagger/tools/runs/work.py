"""The work of a study's job: training a model or tuning a trained one, and counting test results.

Letters: `S` documents if the file marks them, else sentences or texts; `C` labels.
"""

import json
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional

import numpy as np

from tagger.spans import AMBIGUOUS

#: The file in a run's folder with its counts on test data.
COUNTS_FILE = "test_counts.npz"
_BATCH_SIZE = 64


class SentenceCounts(NamedTuple):
    """The numbers of right, predicted and gold items in each document, sentence or text."""

    labels: List[str]  # The C labels
    counts: np.ndarray  # (S, 3, C) int64

    def write(self, path: Path) -> None:
        """Writes the counts to a compressed file of arrays."""
        np.savez_compressed(path, labels=np.array(self.labels), counts=self.counts)

    @classmethod
    def read(cls, path: Path) -> "SentenceCounts":
        """Reads a file written by `write`."""
        with np.load(path, allow_pickle=False) as arrays:
            return cls(arrays["labels"].tolist(), arrays["counts"])


def count_sentences(model: Any, reader: Any, data_path: str) -> Optional[SentenceCounts]:
    """Counts in file order, by document if marked; None if the model has no chain that spells spans."""
    from tagger.models import ClassifyingModel
    from tagger.models.tagging_model import chain_of
    from tagger.tools.tuning.groups import told_groups
    from tagger.tools.tuning.labelled_file import settings_of, tuner_on_file

    if isinstance(model, ClassifyingModel):
        return _count_texts(model, reader, data_path)
    if chain_of(model) is None or model.tag_encoding in (None, *AMBIGUOUS):
        return None
    tuner = tuner_on_file(model, reader, data_path, _BATCH_SIZE, in_order=True)
    groups = told_groups(reader, data_path, tuner.num_sentences)
    counts = tuner.counts_by_group(settings_of(model), groups.of_sentence)
    return SentenceCounts(tuner.labels, np.moveaxis(counts, 2, 0))


def _count_texts(model: Any, reader: Any, data_path: str) -> SentenceCounts:
    from allennlp.common.util import lazy_groups_of

    model.eval()
    counts = []
    for group in lazy_groups_of(iter(reader.read(data_path)), _BATCH_SIZE):
        for instance, found in zip(group, model.predict_instances(group)):
            gold = instance["labels"].as_tensor({}).numpy()
            (labels,) = found.labels
            predicted = np.array([c in labels for c in model.labels]) & (gold >= 0)
            counts.append(np.stack([predicted & (gold > 0), predicted, gold > 0]))
    return SentenceCounts(model.labels, np.stack(counts).astype(np.int64))


#: Takes a job's config and its folder, which does not exist yet, and writes `metrics.json` there.
Work = Callable[[Mapping[str, Any], Path], None]


def train(config: Mapping[str, Any], folder: Path) -> None:
    """Trains like `allennlp train`, but keeps only the metrics and the archive, not checkpoints.

    If there are test data, it also saves counts by sentence where `count_sentences` supports the model.

    The file named by the config's `test_data_path` is hidden from training, because AllenNLP would add
    its words to the vocabulary. The archive is evaluated on it afterwards.
    """
    from allennlp.commands.train import train_model
    from allennlp.common import Params
    from allennlp.models import load_archive

    from tagger.transformers.feature_store import own_cache_settings

    settings = json.loads(json.dumps(config))
    settings.pop("evaluate_on_test", None)
    test_data_path = settings.pop("test_data_path", None)
    train_model(Params(settings), str(folder), file_friendly_logging=True)
    for checkpoint in folder.glob("*.th"):
        checkpoint.unlink()
    if test_data_path is not None:
        file = folder / "metrics.json"
        metrics = json.loads(file.read_text())
        own = own_cache_settings(dict(config))
        archive = load_archive(folder / "model.tar.gz", overrides=own)
        metrics.update(measure_test(archive, test_data_path, folder))
        file.write_text(json.dumps(metrics, indent=2))


def tune(config: Mapping[str, Any], folder: Path) -> None:
    """Tunes the decoding of an archive for macro F1 on the validation data, and evaluates it.

    `config` has the path of the `archive`, the `overrides` of its config, and optionally a
    `test_data_path`. The folder gets metrics named as in training, `best_validation_...` and
    `test_...`, and the decoding settings, `decoding.json`.
    """
    from allennlp.models import load_archive

    from tagger.tools.tuning.evaluation import evaluation_instances
    from tagger.tools.tuning.labelled_file import decoding_tuner, settings_of

    archive = load_archive(config["archive"], overrides=dict(config["overrides"]))
    validation_data = archive.config["validation_data_path"]
    tuner = decoding_tuner(archive.model, evaluation_instances(archive, validation_data))
    tuned = tuner.tune(tuner.macro_f1_goals(), settings_of(archive.model))._asdict()
    head = {f"model.head.{name}": value for name, value in tuned.items()}
    archive = load_archive(config["archive"], overrides={**config["overrides"], **head})
    metrics = measure(archive, validation_data, "best_validation")
    folder.mkdir(parents=True)
    if "test_data_path" in config:
        metrics.update(measure_test(archive, config["test_data_path"], folder))
    (folder / "metrics.json").write_text(json.dumps(metrics, indent=2))
    (folder / "decoding.json").write_text(json.dumps(tuned, indent=2))


def measure_test(archive: Any, test_data_path: str, folder: Path) -> Dict[str, Any]:
    """Returns an archive's metrics on test data, and saves counts by sentence in the folder."""
    metrics = measure(archive, test_data_path, "test")
    counts = count_sentences(archive.model, archive.validation_dataset_reader, test_data_path)
    if counts is not None:
        counts.write(folder / COUNTS_FILE)
    return metrics


def measure(archive: Any, data_path: str, prefix: str) -> Dict[str, Any]:
    """Returns an archive's metrics on a file, with a prefix added to their names."""
    from allennlp.training.util import evaluate as evaluate_model

    from tagger.tools.tuning.evaluation import evaluation_loader

    metrics = evaluate_model(archive.model, evaluation_loader(archive, data_path))
    return {f"{prefix}_{name}": value for name, value in metrics.items()}
