"""Facts about a training run: its date, duration, versions and config."""

import itertools
import json
import platform
import re
import tarfile
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Sequence

import torch
from allennlp.data import DatasetReader, Instance
from allennlp.data.fields import SequenceLabelField
from allennlp.models.archival import Archive

from tagger.common.version import __version__
from tagger.data import NumericSequencesDatasetReader
from tagger.data.formats import AnnotatedText, Annotation
from tagger.data.joined_text import join_tokens
from tagger.data.shown import MOST_TEXTS
from tagger.data.splitting.overlap import Overlap, overlap
from tagger.data.splitting.split import Item
from tagger.models import TaggingModel
from tagger.spans import Span, tags_to_spans
from tagger.training.run_folder import TEXT_METRICS_FILE

#: How much of a log is searched for the versions, which AllenNLP writes at the start.
_LOG_CHARACTERS = 100_000


def run_facts(
    run: Path, config: Mapping[str, Any], epochs: Sequence[Mapping[str, Any]], num_parameters: int
) -> Dict[str, str]:
    """Returns facts about a run by name, leaving out those that its folder does not contain."""
    log = _start_of(run / "out.log")
    metrics = _json_of(run / "metrics.json") or (epochs[-1] if epochs else {})
    facts = {
        "trained": _date(run, log),
        # Like `1:02:03`, without fractions of a second.
        "training time": str(metrics.get("training_duration", "")).split(".")[0],
        "epochs": _epochs(epochs),
        "parameters": f"{num_parameters:,}",
        "model": _components(config),
        "training data": str(config.get("train_data_path") or ""),
        "validation data": str(config.get("validation_data_path") or ""),
        "trained with": _training_versions(run, log),
        "report made with": ", ".join(
            [
                f"tagger {__version__}",
                f"AllenNLP {version('allennlp')}",
                f"torch {torch.__version__}",
                f"Python {platform.python_version()}",
            ]
        ),
    }
    return {name: fact for name, fact in facts.items() if fact}


def metrics_on_text(run: Path) -> Dict[str, float]:
    """Returns the metrics on the text of the run's validation data, if `train` has measured them."""
    return _json_of(run / TEXT_METRICS_FILE)


def _start_of(path: Path) -> str:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.read(_LOG_CHARACTERS)
    except OSError:
        return ""


def _date(run: Path, log: str) -> str:
    """Returns when training started, from the log or else from the date of the archive's config."""
    logged = re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d", log)
    if logged:
        return logged[0]
    try:
        with tarfile.open(run / "model.tar.gz") as archive:
            member = archive.next()
    except (OSError, tarfile.TarError):
        return ""
    return f"{datetime.fromtimestamp(member.mtime):%Y-%m-%d %H:%M}" if member else ""


def _epochs(epochs: Sequence[Mapping[str, Any]]) -> str:
    if not epochs:
        return ""
    best = epochs[-1].get("best_epoch")
    number = f"{len(epochs)}"
    # AllenNLP's files count epochs from 0; we show them from 1.
    return number if best is None else f"{number}, of which the model of epoch {best + 1} was kept"


def _components(config: Mapping[str, Any]) -> str:
    """Returns the types of the model and of its parts."""
    model = config.get("model") or {}
    parts = [model, *(model.get(name) or {} for name in ("encoder", "head", "loss"))]
    types = [str(part["type"]) for part in parts if isinstance(part, Mapping) and "type" in part]
    return ", ".join(types)


def _training_versions(run: Path, log: str) -> str:
    allennlp = _json_of(run / "meta.json").get("version")
    torch_version = re.search(r"Pytorch version: (\S+)", log)
    versions = [f"AllenNLP {allennlp}"] if allennlp is not None else []
    versions += [f"torch {torch_version[1]}"] if torch_version else []
    return ", ".join(versions)


def _json_of(path: Path) -> Dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def overlap_with_training(archive: Archive, data: str) -> Optional[Overlap]:
    """Compares a file with a tagger's training data; None if the archive does not have these."""
    path, model = archive.config.get("train_data_path"), archive.model
    if isinstance(archive.dataset_reader, NumericSequencesDatasetReader):
        return None  # recordings have no words to compare
    if not isinstance(path, str) or not Path(path).exists() or not isinstance(model, TaggingModel):
        return None
    return overlap(
        _items(archive.dataset_reader, path, model),
        _items(archive.validation_dataset_reader, data, model),
    )


def read_as(archive: Archive, data: str) -> Optional[List[AnnotatedText]]:
    """Returns the first sentences of a file with their gold entities, as the tagger reads them."""
    model, reader = archive.model, archive.validation_dataset_reader
    if not isinstance(model, TaggingModel) or model.tag_encoding is None:
        return None
    texts = []
    for instance in itertools.islice(reader.read(data), MOST_TEXTS):
        if not isinstance(instance.fields.get("tags"), SequenceLabelField):
            return None
        words = [token.text or "" for token in instance["tokens"]]  # type: ignore[attr-defined]
        text, places = join_tokens(words)
        entities = [
            Annotation(label, places[first][0], places[last][1])
            for label, (first, last) in _spans(instance, model)
        ]
        texts.append(AnnotatedText(text, entities, places, [len(words)], data, {}))
    return texts


def _spans(instance: Instance, model: TaggingModel) -> List[Span]:
    """Returns the gold spans of a sentence, leaving out unknown tags."""
    labels = instance["tags"].labels  # type: ignore[attr-defined]
    known = set(model.tags)
    tags = [tag if tag in known else "O" for tag in labels]
    return tags_to_spans(tags, model.tag_encoding or "BIO")


def _items(reader: DatasetReader, path: str, model: TaggingModel) -> List[Item]:
    """Reads sentences, leaving out unknown tags and labels that spell no spans."""
    items = []
    for instance in reader.read(path):
        words = [token.text or "" for token in instance["tokens"]]  # type: ignore[attr-defined]
        has_spans = model.tag_encoding is not None and "tags" in instance.fields
        spans = _spans(instance, model) if has_spans else []
        entities = [(label, " ".join(words[first : last + 1])) for label, (first, last) in spans]
        items.append(Item(words, entities))
    return items
