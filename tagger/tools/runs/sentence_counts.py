"""What a tagger finds in each document or sentence of a file, for intervals over them.

Letters: `S` documents where the file tells them, else sentences or texts; `C` labels.
"""

from pathlib import Path
from typing import Any, List, NamedTuple, Optional

import numpy as np

from tagger.spans import AMBIGUOUS

#: Holds the counts of a run on test data, in its folder.
COUNTS_FILE = "test_counts.npz"
_BATCH_SIZE = 64


class SentenceCounts(NamedTuple):
    """What is right, predicted and gold in each document, sentence or text."""

    labels: List[str]  # The C labels
    counts: np.ndarray  # (S, 3, C) int64

    def write(self, path: Path) -> None:
        """Writes a compressed file of arrays."""
        np.savez_compressed(path, labels=np.array(self.labels), counts=self.counts)

    @classmethod
    def read(cls, path: Path) -> "SentenceCounts":
        """Reads what `write` writes."""
        with np.load(path, allow_pickle=False) as arrays:
            return cls(arrays["labels"].tolist(), arrays["counts"])


def count_sentences(model: Any, reader: Any, data_path: str) -> Optional[SentenceCounts]:
    """Counts in the order of the file, by document if it marks them; None without a chain of spans."""
    from tagger.models import DocumentClassifier, TaggingModel
    from tagger.modules.heads import ChainHead
    from tagger.tools.tuning.groups import told_groups
    from tagger.tools.tuning.labelled_file import settings_of, tuner_on_file

    if isinstance(model, DocumentClassifier):
        return _count_texts(model, reader, data_path)
    is_chain = isinstance(model, TaggingModel) and isinstance(model.head, ChainHead)
    if not is_chain or model.tag_encoding in (None, *AMBIGUOUS):
        return None
    tuner = tuner_on_file(model, reader, data_path, _BATCH_SIZE, in_order=True)
    groups = told_groups(reader, data_path, tuner.num_sentences)
    counts = tuner.counts_by_group(settings_of(model), groups.of_sentence)
    return SentenceCounts(tuner.labels, np.moveaxis(counts, 2, 0))


def _count_texts(model: Any, reader: Any, data_path: str) -> SentenceCounts:
    import torch
    from allennlp.common.util import lazy_groups_of
    from allennlp.data import Batch
    from allennlp.nn.util import move_to_device

    model.eval()
    device = next(model.parameters()).device
    counts = []
    for group in lazy_groups_of(iter(reader.read(data_path)), _BATCH_SIZE):
        batch = Batch(group)
        batch.index_instances(model.vocab)
        tensors: Any = batch.as_tensor_dict()
        gold = tensors["labels"]
        with torch.no_grad():
            output = model(**move_to_device(tensors, device))
        predicted = output["predicted_labels"].cpu() & (gold >= 0)
        is_gold = gold > 0
        counts.append(torch.stack([predicted & is_gold, predicted, is_gold], 1).long().numpy())
    return SentenceCounts(model.labels, np.concatenate(counts))
