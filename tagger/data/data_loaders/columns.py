"""Columns: a field of all N instances, stored so that batches can be sliced from it."""

from typing import Any, Dict, Iterable, Iterator, List, Optional, Tuple, Union

import numpy as np
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Field, Instance
from allennlp.data.fields import TextField
from allennlp.data.token_indexers import SingleIdTokenIndexer, TokenCharactersIndexer

from tagger.data.data_loaders.ragged_array import RaggedArray
from tagger.data.token_indexers.cached_characters import CachedCharactersIndexer
from tagger.data.token_indexers.word_forms import WordFormsIndexer
from tagger.data.token_indexers.word_shapes import WordShapesIndexer

# The keys of a tensor in a field's nested dictionary, such as ("tokens", "token_ids") for a `TextField`;
# () if the field is a single tensor.
Path = Tuple[str, ...]
Scalar = Union[bool, int, float]

# The tensors of these indexers are their lists of indices, unchanged.
_INDEXERS = (
    *(SingleIdTokenIndexer, TokenCharactersIndexer),
    *(CachedCharactersIndexer, WordFormsIndexer, WordShapesIndexer),
)


class PaddedColumn:
    """The tensors of a field; a batch pads them with a constant to the largest size."""

    def __init__(self, paddings: Dict[Path, Scalar]) -> None:
        self._paddings = paddings
        self._collected: Dict[Path, List[Any]] = {path: [] for path in paddings}
        self._arrays: Dict[Path, RaggedArray] = {}

    def append(self, field: Field) -> None:
        """Adds the indexed field of an instance."""
        for path, tensor in _tensors(field.as_tensor(field.get_padding_lengths())):
            self._collected[path].append(tensor.numpy())

    def finish(self) -> None:
        """Packs all fields; call it once, after the last `append`."""
        for path, padding in self._paddings.items():
            self._arrays[path] = RaggedArray.of(self._collected.pop(path), padding)

    def lengths(self) -> np.ndarray:
        """Returns the first size of each instance's longest tensor, (N,) int32.

        Tensors with the same first size in all instances, such as one-hot labels, count as 0.
        """
        by_tensor = [
            array.shapes[:, 0]
            for array in self._arrays.values()
            if array.shapes.shape[1] > 0 and np.ptp(array.shapes[:, 0]) > 0
        ]
        num_instances = len(next(iter(self._arrays.values())).shapes)
        return np.max([np.zeros(num_instances, dtype=np.int32), *by_tensor], axis=0)

    def batch(self, indices: np.ndarray) -> Any:
        """Returns the tensors of these instances as a batch, nested as in AllenNLP."""
        nested: Dict[str, Any] = {}
        for path, array in self._arrays.items():
            if not path:
                return array.padded(indices)
            inner = nested
            for key in path[:-1]:
                inner = inner.setdefault(key, {})
            inner[path[-1]] = array.padded(indices)
        return nested


class TextColumn(PaddedColumn):
    """Indexed texts, converted to one array: a tensor per text would take several times as long."""

    def __init__(self, paddings: Dict[Path, Scalar]) -> None:
        super().__init__(paddings)
        self._shapes: Dict[Path, List[Tuple[int, ...]]] = {path: [] for path in paddings}

    def append(self, field: Field) -> None:
        text: Any = field
        for path in self._paddings:
            name, key = path
            indexed = text._indexed_tokens[name]
            self._collected[path].append(indexed[key])
            sizes = text.token_indexers[name].get_padding_lengths(indexed)
            # The number of words, and of characters or forms per word.
            inner = [size for other, size in sizes.items() if other not in indexed]
            self._shapes[path].append((sizes[key], *inner))

    def finish(self) -> None:
        for path in self._paddings:
            shapes = np.array(self._shapes.pop(path), dtype=np.int32)
            self._arrays[path] = RaggedArray.of_indices(self._collected.pop(path), shapes)


class FieldColumn:
    """Fields of any kind, batched by their own methods as in AllenNLP."""

    def __init__(self) -> None:
        self._fields: List[Field] = []

    def append(self, field: Field) -> None:
        """Adds the indexed field of an instance."""
        self._fields.append(field)

    def finish(self) -> None:
        """Does nothing: fields are stored unchanged."""

    def lengths(self) -> np.ndarray:
        """Returns zeros, (N,) int32: these fields do not count towards an instance's length."""
        return np.zeros(len(self._fields), dtype=np.int32)

    def batch(self, indices: np.ndarray) -> Any:
        """Returns AllenNLP's batch of these instances' fields."""
        fields = [self._fields[i] for i in indices.tolist()]
        lengths = [field.get_padding_lengths() for field in fields]
        largest = {key: max(each.get(key, 0) for each in lengths) for key in lengths[0]}
        return fields[0].batch_tensors([field.as_tensor(largest) for field in fields])


Column = Union[PaddedColumn, FieldColumn]


def collect_columns(instances: Iterable[Instance]) -> Dict[str, Column]:
    """Returns a column for each field of one or more indexed instances, and keeps no instance."""
    columns: Dict[str, Column] = {}
    kinds: Dict[str, type] = {}
    for number, instance in enumerate(instances):
        own_kinds = {name: type(field) for name, field in instance.fields.items()}
        if not columns:
            kinds = own_kinds
            columns = {name: _column_for(field) for name, field in instance.fields.items()}
        if own_kinds != kinds:
            raise ConfigurationError(
                f"all instances need the same fields to be batched; the first has {_named(kinds)}, "
                f"number {number + 1} has {_named(own_kinds)}; correct the dataset reader"
            )
        for name, column in columns.items():
            column.append(instance[name])
    for column in columns.values():
        column.finish()
    return columns


def _named(kinds: Dict[str, type]) -> str:
    return ", ".join(f"{name} ({kind.__name__})" for name, kind in sorted(kinds.items()))


def _column_for(field: Field) -> Column:
    """Returns an empty column for indexed fields like this one."""
    paddings = _paddings(field)
    if paddings is None:
        return FieldColumn()
    is_of_indices = type(field) is TextField and all(
        type(indexer) in _INDEXERS for indexer in field.token_indexers.values()
    )
    return (TextColumn if is_of_indices else PaddedColumn)(paddings)


def _paddings(field: Field) -> Optional[Dict[Path, Scalar]]:
    """Returns each tensor's constant padding value; None if a field pads in another way.

    To find out, pad the field by two elements and check that both are the same.
    """
    if type(field).batch_tensors not in (Field.batch_tensors, TextField.batch_tensors):
        return None
    lengths = field.get_padding_lengths()
    longer = field.as_tensor({key: length + 2 for key, length in lengths.items()})
    tensors = dict(_tensors(field.as_tensor(lengths)))
    paddings: Dict[Path, Scalar] = {}
    for path, padded in _tensors(longer):
        own = tuple(map(slice, tensors[path].shape))
        is_padding = torch.ones_like(padded, dtype=torch.bool)
        is_padding[own] = False
        values = padded[is_padding].unique()
        same = padded[own].isclose(tensors[path], rtol=0, atol=0, equal_nan=True).all()
        if len(values) > 1 or not same:
            return None
        paddings[path] = values.item() if len(values) else 0
    return paddings


def _tensors(nested: Any, path: Path = ()) -> Iterator[Tuple[Path, torch.Tensor]]:
    if isinstance(nested, dict):
        for key, inner in nested.items():
            yield from _tensors(inner, (*path, key))
    else:
        yield path, nested
