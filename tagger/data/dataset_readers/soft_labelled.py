"""A reader that adds a teacher's soft labels to the gold tags."""

from os import PathLike
from typing import Any, Iterable, List, Optional, Union, cast

import numpy as np
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader, Instance
from allennlp.data.fields import TextField

from tagger.common.training_counts import WEIGHTS
from tagger.data.dataset_readers.column import ColumnDatasetReader
from tagger.data.dataset_readers.instance_weights import weights_field
from tagger.data.dataset_readers.sharded_reader import ShardedReader
from tagger.data.documents import DocumentTokens
from tagger.data.fields.soft_labels_field import SoftLabelsField
from tagger.data.fields.tag_field import TagField
from tagger.data.soft_labels import SentenceMarginals, SoftLabels

#: The tag of all tokens of unlabelled text.
_UNKNOWN = "?"


@DatasetReader.register("soft_labelled")
class SoftLabelledDatasetReader(ShardedReader):
    """Reads training data together with a teacher's soft labels from `allennlp soft-labels`.

    Use it for training, and the wrapped reader as `validation_dataset_reader`: validation and saved
    models need no teacher. The files of soft labels are opened when training data are read.

    Args:
        reader: The reader `column` of the training data.
        soft_labels: The file with soft labels for all sentences that `reader` reads.
        unlabelled: Files of soft labels for other text, which is read too, with unknown gold tags. If
            `reader` reads documents, these are the teacher's.
        label_namespace: The namespace of the tags in the vocabulary.
        **kwargs: The arguments of AllenNLP's `DatasetReader`, such as `max_instances`.

    Raises:
        ConfigurationError: If `reader` is of another type.
    """

    def __init__(
        self,
        reader: DatasetReader,
        soft_labels: str,
        unlabelled: Optional[List[str]] = None,
        label_namespace: str = "labels",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if not isinstance(reader, ColumnDatasetReader):
            raise ConfigurationError(
                f"`reader` must be of type `column`; got {type(reader).__name__}"
            )
        self._reader = reader
        self._path = soft_labels
        self._unlabelled = unlabelled or []
        self._label_namespace = label_namespace

    def text_to_instance(self, *inputs: Any, **kwargs: Any) -> Instance:
        """Makes an instance without soft labels, with the wrapped reader."""
        return self._reader.text_to_instance(*inputs, **kwargs)

    def apply_token_indexers(self, instance: Instance) -> None:
        self._reader.apply_token_indexers(instance)

    def _set_worker_info(self, info: Any) -> None:
        super()._set_worker_info(info)
        self._reader._set_worker_info(info)

    def _read(self, file_path: Union[str, PathLike]) -> Iterable[Instance]:
        soft_labels = SoftLabels.load(self._path)
        have_weights = False
        for instance in self._reader._read(file_path):
            self._add(instance, soft_labels, self._path)
            have_weights = WEIGHTS in instance.fields
            yield instance
        for path in self._unlabelled:
            of_text = SoftLabels.load(path)
            for document in self.shard_iterable(of_text.documents()):
                for instance in self._reader.document_to_instances(document):
                    text = cast(TextField, instance["tokens"])
                    unknown = [_UNKNOWN] * len(text)
                    tags = TagField(unknown, text, self._label_namespace, _UNKNOWN)
                    instance.add_field("tags", tags)
                    if have_weights:
                        # All instances of a batch must have the same fields.
                        tokens = cast(DocumentTokens, text.tokens)
                        ones = [1.0] * (tokens.last - tokens.first)
                        instance.add_field(WEIGHTS, weights_field(ones))
                    self._add(instance, of_text, path)
                    yield instance

    def _add(self, instance: Instance, soft_labels: SoftLabels, path: str) -> None:
        tokens = cast(DocumentTokens, cast(TextField, instance["tokens"]).tokens)
        found: List[SentenceMarginals] = []
        for sentence in tokens.document[tokens.first : tokens.last]:
            words = [token.text or "" for token in sentence]
            marginals = soft_labels.find(words)
            if marginals is None:
                raise ValueError(
                    f"{path}: expected soft labels of all training data, got none of the sentence "
                    f"`{' '.join(words[:8])} ...`; write them for this file by `allennlp soft-labels`, "
                    f"and read other files by `validation_dataset_reader`"
                )
            found.append(marginals)
        for name, probabilities, dimensions in (
            ("soft_tags", np.concatenate([each.tags for each in found]), (1,)),
            ("soft_transitions", np.stack([each.transitions for each in found]), (1, 2)),
        ):
            tensor = torch.from_numpy(probabilities)
            field = SoftLabelsField(tensor, soft_labels.tags, dimensions, self._label_namespace)
            instance.add_field(name, field)
