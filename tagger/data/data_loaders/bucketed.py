"""A data loader that indexes each instance and builds its tensors only once."""

import operator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, TypeVar, Union

import numpy as np
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.common.tqdm import Tqdm
from allennlp.common.util import is_distributed
from allennlp.data import Batch, DataLoader, DatasetReader, Instance, TensorDict, Vocabulary
from allennlp.data.dataset_readers import DatasetReaderInput
from allennlp.data.samplers import BatchSampler
from allennlp.nn.util import move_to_device

from tagger.common.ranges import check_whole
from tagger.common.training_counts import gather_from_workers
from tagger.data.data_loaders.batch_order import (
    batches_within,
    ordered_batches,
    shuffled_batches,
    shuffled_batches_within,
)
from tagger.data.data_loaders.columns import Column, collect_columns
from tagger.data.samplers.bagging import BaggingBatchSampler
from tagger.linear_chain.declared import declare_range

T = TypeVar("T")
R = TypeVar("R")
Draw = Callable[[Instance, np.random.Generator], Instance]


@DataLoader.register("bucketed")
class BucketedDataLoader(DataLoader):
    """Batches instances of similar length. Its tensors equal AllenNLP's.

    AllenNLP pads and converts the instances of each batch again in every epoch. This loader indexes each
    field and builds its tensor once, and copies batches out of compact arrays, so fields must not change
    between epochs. Fields that do more than pad with a constant, such as `MetadataField` and
    `ListField`, are still batched by AllenNLP.

    The loader reads all data into memory, as AllenNLP does by default, and drops each instance once it
    is indexed; after that, `iter_instances` reads the file again. A CoNLL-2003 token with its characters
    takes 250 bytes before indexing and 93 after; with AllenNLP's `multiprocess` it takes 440.

    In distributed training, each worker gets the instances that its dataset reader yields there. All
    workers have the same number of batches, and batches of about the same length at the same time. No
    instance is lost or seen twice.

    Args:
        reader: Supplied from the config's `dataset_reader`.
        data_path: Supplied from `train_data_path` and the like.
        batch_size: The most instances in a batch. Batches are made as even as possible: 33 instances
            with a limit of 32 make batches of 17 and 16.
        shuffle: Whether each epoch has new batches in random order. They depend only on `seed` and the
            number of earlier epochs, also after `--recover`.
        sort_by_length: Whether a batch holds instances of similar length, measured by their longest
            tensor; documents, with a field `sentence_lengths`, by their longest sentence. Without
            `shuffle`, the longest come first. Without either, instances keep the order of the file; use
            this to write predictions.
        max_tokens: Instead of `batch_size`, the most tokens in a batch, padding included. With a
            transformer's indexer, word pieces are counted. A longer instance is a batch by itself.
        batch_sampler: Chooses the batches instead of the arguments above. It keeps all instances in
            memory. In distributed training, each worker samples from its instances separately.
        seed: The seed for shuffling; by default drawn from numpy's generator, which is seeded by the
            config's `numpy_seed`.

    Raises:
        ConfigurationError: If a worker has no instance, or so few that others would need larger batches,
            if not exactly one of `batch_size`, `max_tokens`
            and `batch_sampler` is given, if a size is below 1, or if `max_tokens` is given in
            distributed training or without `sort_by_length`.
    """

    def __init__(
        self,
        reader: DatasetReader,
        data_path: DatasetReaderInput,
        *,
        batch_size: Optional[int] = None,
        shuffle: bool = True,
        sort_by_length: bool = True,
        batch_sampler: Optional[BatchSampler] = None,
        seed: Optional[int] = None,
        max_tokens: Optional[int] = None,
    ) -> None:
        _check_sizes({"batch_size": batch_size, "max_tokens": max_tokens}, batch_sampler)
        if max_tokens is not None and (is_distributed() or not sort_by_length):
            raise ConfigurationError(
                "`max_tokens` needs `sort_by_length` and cannot be used in distributed training, where "
                "all workers need the same number of batches; give `batch_size`"
            )
        self._reader = reader
        self._data_path = data_path
        self._shuffle = shuffle
        self._sort_by_length = sort_by_length
        self._batch_sampler = batch_sampler
        self._max_tokens = max_tokens
        self._epochs_begun = 0
        self._device = torch.device("cpu")
        self._draw: Optional[Draw] = None
        self._vocab = Vocabulary()
        # Emptied by indexing, unless a sampler needs them.
        self._instances = list(self._read())
        if isinstance(batch_sampler, BaggingBatchSampler):
            documents_in = getattr(reader, "documents_in", None)
            documents = documents_in(data_path) if documents_in is not None else None
            # Else the reader leaves sentences out, or its instances are documents.
            if documents is not None and len(documents.of_item) == len(self._instances):
                batch_sampler.keep_together(documents.of_item)
        # Empty until the instances are indexed.
        self._columns: Dict[str, Column] = {}
        self._lengths = np.zeros(0)
        # The length of each document's longest sentence; for sentences, their length.
        self._row_lengths = np.zeros(0)

        own_seed = np.random.randint(2**31) if seed is None else seed
        workers = gather_from_workers((len(self._instances), own_seed))
        # All workers shuffle with the first worker's seed.
        self._seed = workers[0][1]
        self._num_batches = self._count_batches([size for size, _ in workers], batch_size)

    def __len__(self) -> int:
        if self._batch_sampler is not None:
            return self._batch_sampler.get_num_batches(self._instances)
        if self._max_tokens is not None:
            return len(list(self._batches_of_epoch(0)))
        return self._num_batches

    def __iter__(self) -> Iterator[TensorDict]:
        if not self._columns:
            raise ValueError("call `index_with(vocab)` before you iterate over the batches")
        batches: Iterable[Any] = self._batches_of_epoch(self._epochs_begun)
        if self._draw is not None:
            batches = self._drawn(batches, self._draw, self._epochs_begun)
        self._epochs_begun += 1
        if self._device.type == "cpu":
            return map(self._assemble, batches)
        return map(self._on_device, prefetch(self._assemble_pinned, batches))

    def iter_instances(self) -> Iterator[Instance]:
        """Yields this worker's instances in file order, indexed or not."""
        yield from self._instances or self._read()

    def augment_with(self, draw: Draw) -> None:
        """Makes batches of new versions of their instances, and keeps all instances in memory.

        `draw` gets an instance and a generator, and returns another instance or the same object. The
        generator depends only on the seed, the epoch, the batch and the worker. The new instances may
        be longer, so a batch may exceed `max_tokens`.
        """
        self._instances = list(self.iter_instances())
        self._draw = draw

    def index_with(self, vocab: Vocabulary) -> None:
        """Indexes the instances and packs their tensors."""
        self._vocab = vocab
        self._columns = collect_columns(self._indexed_instances(vocab))
        self._lengths = np.max([column.lengths() for column in self._columns.values()], axis=0)
        self._row_lengths = self._lengths
        if "sentence_lengths" in self._columns:
            lengths = self._columns["sentence_lengths"].batch(np.arange(len(self._lengths)))
            self._row_lengths = lengths.max(dim=1).values.numpy()

    def set_target_device(self, device: torch.device) -> None:
        self._device = device

    def _read(self) -> Iterator[Instance]:
        return iter(Tqdm.tqdm(self._reader.read(self._data_path), desc="loading instances"))

    def _count_batches(self, sizes: List[int], batch_size: Optional[int]) -> int:
        """Returns the number of batches of each worker, given each worker's number of instances."""
        if min(sizes) == 0:
            raise ConfigurationError(
                f"`data_path` is {self._data_path!r}, in which the dataset reader finds "
                + ("no instances" if len(sizes) == 1 else f"{sizes} instances for the workers")
                + "; check the file and the reader's arguments"
            )
        if not batch_size:
            return 0
        # Enough for the worker with the most instances, but no empty batch for that with the fewest.
        number = min(-(-max(sizes) // batch_size), *sizes)
        largest = -(-max(sizes) // number)
        # With 5 and 4 instances and batches of 1, one has 2.
        if largest > batch_size + 1:
            raise ConfigurationError(
                f"`data_path` is {self._data_path!r}, of which the workers get {sizes} instances, so "
                f"that batches would have {largest} and not `batch_size` {batch_size}; use a dataset "
                f"reader that gives all workers about as many"
            )
        return number

    def _indexed_instances(self, vocab: Vocabulary) -> Iterator[Instance]:
        """Indexes and yields the instances; drops each afterwards unless a sampler needs it."""
        instances = list(self.iter_instances())
        if self._batch_sampler is None:
            self._instances = []
        instances.reverse()
        while instances:
            instance = instances.pop()
            instance.index_fields(vocab)
            yield instance

    def _batches_of_epoch(self, epoch: int) -> Iterable[np.ndarray]:
        """Returns the instances' indices for each batch."""
        if self._batch_sampler is not None:
            return map(np.array, self._batch_sampler.get_batch_indices(self._instances))
        generator = np.random.default_rng([self._seed, epoch])
        if self._max_tokens is not None:
            if self._shuffle:
                return shuffled_batches_within(self._lengths, self._max_tokens, generator)
            return batches_within(self._lengths, self._max_tokens)
        size = self._row_lengths, self._num_batches
        if self._shuffle:
            return shuffled_batches(*size, generator, self._sort_by_length)
        return ordered_batches(*size, self._sort_by_length)

    def _drawn(
        self, batches: Iterable[np.ndarray], draw: Draw, epoch: int
    ) -> Iterator[Union[np.ndarray, Batch]]:
        """Yields batches of new instances, or the indices if all stay as they are."""
        worker = torch.distributed.get_rank() if is_distributed() else 0
        for number, indices in enumerate(batches):
            generator = np.random.default_rng([self._seed, epoch, number, worker])
            old = [self._instances[i] for i in indices]
            new = [draw(instance, generator) for instance in old]
            yield indices if all(map(operator.is_, old, new)) else Batch(new)

    def _assemble(self, batch: Union[np.ndarray, Batch]) -> TensorDict:
        if isinstance(batch, Batch):
            batch.index_instances(self._vocab)
            return batch.as_tensor_dict()
        return {name: column.batch(batch) for name, column in self._columns.items()}

    def _assemble_pinned(self, batch: Union[np.ndarray, Batch]) -> TensorDict:
        return _map_tensors(self._assemble(batch), torch.Tensor.pin_memory)

    def _on_device(self, batch: TensorDict) -> TensorDict:
        # From pinned memory, the copy is asynchronous.
        batch = _map_tensors(batch, self._copied)
        # Fields with their own batching may return tensors in lists.
        return move_to_device(batch, self._device)

    def _copied(self, tensor: torch.Tensor) -> torch.Tensor:
        copy = tensor.to(self._device, non_blocking=True)
        if tensor.dtype == torch.int64 and tensor.numel():
            lowest, highest = tensor.aminmax()
            # Lets tags be checked without a sync.
            declare_range(copy, int(lowest), int(highest))
        return copy


def prefetch(make: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
    """Like `map(make, items)`, but a thread computes the next result while the caller uses this one.

    `items` is consumed in the caller's thread. An error in `make` is raised when its result is due.
    """
    with ThreadPoolExecutor(1, thread_name_prefix="prefetch") as thread:
        current: Optional[Future[R]] = None
        for item in items:
            following = thread.submit(make, item)
            if current is not None:
                yield current.result()
            current = following
        if current is not None:
            yield current.result()


def _check_sizes(sizes: Dict[str, Optional[int]], batch_sampler: Optional[BatchSampler]) -> None:
    given = {name: size for name, size in sizes.items() if size is not None}
    if len(given) + (batch_sampler is not None) != 1:
        names = [*given, *(["batch_sampler"] if batch_sampler is not None else [])]
        raise ConfigurationError(
            "give either `batch_size`, `max_tokens` or `batch_sampler`, which has its own batch size; "
            f"got {' and '.join(names) or 'neither'}"
        )
    for name, size in given.items():
        check_whole(name, size)


def _map_tensors(nested: Any, function: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    """Applies a function to each tensor in nested dictionaries."""
    if isinstance(nested, torch.Tensor):
        return function(nested)
    if isinstance(nested, dict):
        return {key: _map_tensors(inner, function) for key, inner in nested.items()}
    return nested
