"""How much of an evaluated file a tagger's training data show already."""

from pathlib import Path
from typing import List, Optional

from allennlp.data import DatasetReader
from allennlp.models.archival import Archive

from tagger.data.splitting.overlap import Overlap, overlap
from tagger.data.splitting.split import Item
from tagger.models import TaggingModel
from tagger.spans import Span, tags_to_spans


def overlap_with_training(archive: Archive, data: str) -> Optional[Overlap]:
    """Compares a file with the training data of an archive.

    Returns None if the model is no tagger, or if its training file does not exist.
    """
    path, model = archive.config.get("train_data_path"), archive.model
    if not isinstance(path, str) or not Path(path).exists() or not isinstance(model, TaggingModel):
        return None
    return overlap(
        _items(archive.dataset_reader, path, model),
        _items(archive.validation_dataset_reader, data, model),
    )


def _items(reader: DatasetReader, path: str, model: TaggingModel) -> List[Item]:
    """Reads sentences; unknown tags, and labels that spell no spans, are left out."""
    items, encoding, known = [], model.tag_encoding, set(model.tags)
    for instance in reader.read(path):
        words = [token.text or "" for token in instance["tokens"]]  # type: ignore[attr-defined]
        spans: List[Span] = []
        if encoding is not None and "tags" in instance.fields:
            labels = instance["tags"].labels  # type: ignore[attr-defined]
            tags = [tag if tag in known else "O" for tag in labels]
            spans = tags_to_spans(tags, encoding)
        entities = [(label, " ".join(words[first : last + 1])) for label, (first, last) in spans]
        items.append(Item(words, entities))
    return items
