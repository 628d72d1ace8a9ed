"""The fields of all instances, by name, from which batches are assembled."""

from typing import Any, Dict, Iterable, Iterator, List, Optional, Tuple, Union

import numpy as np
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Field, Instance
from allennlp.data.fields import TextField
from allennlp.data.token_indexers import SingleIdTokenIndexer, TokenCharactersIndexer

from tagger.data.data_loaders.ragged_array import RaggedArray
from tagger.data.token_indexers import CachedCharactersIndexer

# Where a tensor is in what a field becomes: ("tokens", "token_ids") in that of a `TextField`; () if it
# is all.
Path = Tuple[str, ...]
Scalar = Union[bool, int, float]

#: Of one list of indices each, which tensors hold as they are.
_INDEXERS = (SingleIdTokenIndexer, TokenCharactersIndexer, CachedCharactersIndexer)


class PaddedColumn:
    """A field's tensors, which a batch pads with a constant to the largest among them.

    Args:
        paddings: that constant for each tensor of the field.
    """

    def __init__(self, paddings: Dict[Path, Scalar]) -> None:
        self._paddings = paddings
        self._collected: Dict[Path, List[Any]] = {path: [] for path in paddings}
        self._arrays: Dict[Path, RaggedArray] = {}

    def append(self, field: Field) -> None:
        """Adds an instance's field, which is indexed."""
        for path, tensor in _tensors(field.as_tensor(field.get_padding_lengths())):
            self._collected[path].append(tensor.numpy())

    def finish(self) -> None:
        """Ends the appending; packs what was appended."""
        for path, padding in self._paddings.items():
            self._arrays[path] = RaggedArray.of(self._collected.pop(path), padding)

    @property
    def nbytes(self) -> int:
        """The memory that the tensors take."""
        return sum(array.nbytes for array in self._arrays.values())

    def lengths(self) -> np.ndarray:
        """Returns the length of each tensor, (N,) int32; of several, the longest.

        The length is the first size. It is 0 where that is the same for all, as with one-hot labels.
        """
        by_tensor = [
            array.shapes[:, 0]
            for array in self._arrays.values()
            if array.shapes.shape[1] > 0 and np.ptp(array.shapes[:, 0]) > 0
        ]
        num_instances = len(next(iter(self._arrays.values())).shapes)
        return np.max([np.zeros(num_instances, dtype=np.int32), *by_tensor], axis=0)

    def batch(self, indices: np.ndarray) -> Any:
        """Returns the batched tensors of these instances, nested as AllenNLP nests them."""
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
    """Texts whose tensors hold the indices of their tokens, and zeros where some are shorter.

    They become arrays all at once, since a tensor for each text takes several times as long.
    """

    def __init__(self, paddings: Dict[Path, Scalar]) -> None:
        super().__init__(paddings)
        self._shapes: Dict[Path, List[Tuple[int, ...]]] = {path: [] for path in paddings}

    def append(self, field: Field) -> None:
        """Adds an instance's text, which is indexed."""
        text: Any = field
        for path in self._paddings:
            name, key = path
            indexed = text._indexed_tokens[name]
            self._collected[path].append(indexed[key])
            # Of words the number, of characters that of words and that of the longest's characters.
            sizes = text.token_indexers[name].get_padding_lengths(indexed)
            self._shapes[path].append(tuple(sizes.values()))

    def finish(self) -> None:
        """Ends the appending; packs what was appended."""
        for path in self._paddings:
            shapes = np.array(self._shapes.pop(path), dtype=np.int32)
            self._arrays[path] = RaggedArray.of_indices(self._collected.pop(path), shapes)


class FieldColumn:
    """Fields of any kind, which batch themselves, as AllenNLP has them do."""

    nbytes = 0

    def __init__(self) -> None:
        self._fields: List[Field] = []

    def append(self, field: Field) -> None:
        """Adds an instance's field, which is indexed."""
        self._fields.append(field)

    def finish(self) -> None:
        """Ends the appending."""

    def lengths(self) -> np.ndarray:
        """Returns zeros: these fields have no say in what is long."""
        return np.zeros(len(self._fields), dtype=np.int32)

    def batch(self, indices: np.ndarray) -> Any:
        """Returns what AllenNLP makes of the fields of these instances."""
        fields = [self._fields[i] for i in indices.tolist()]
        lengths = [field.get_padding_lengths() for field in fields]
        largest = {key: max(each.get(key, 0) for each in lengths) for key in lengths[0]}
        return fields[0].batch_tensors([field.as_tensor(largest) for field in fields])


Column = Union[PaddedColumn, FieldColumn]


def collect_columns(instances: Iterable[Instance]) -> Dict[str, Column]:
    """Collects the fields of instances, at least one; they are indexed, and may be let go of one by one.

    Raises:
        ConfigurationError: if not all have fields of the same names and kinds.
    """
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
    """Returns an empty column for fields like this one, which is indexed."""
    paddings = _paddings(field)
    if paddings is None:
        return FieldColumn()
    return (TextColumn if _is_of_indices(field) else PaddedColumn)(paddings)


def _is_of_indices(field: Field) -> bool:
    """Whether a field's tensors hold one index for each token, or for each of its characters."""
    return type(field) is TextField and all(
        type(indexer) in _INDEXERS for indexer in field.token_indexers.values()
    )


def _paddings(field: Field) -> Optional[Dict[Path, Scalar]]:
    """Returns what a field's tensors are padded with, None if it is not so simple.

    To find out, the field is padded by two more, which differ if it is with no constant.
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
        if len(values) > 1 or not torch.equal(padded[own], tensors[path]):
            return None
        paddings[path] = values.item() if len(values) else 0
    return paddings


def _tensors(nested: Any, path: Path = ()) -> Iterator[Tuple[Path, torch.Tensor]]:
    if isinstance(nested, dict):
        for key, inner in nested.items():
            yield from _tensors(inner, (*path, key))
    else:
        yield path, nested
