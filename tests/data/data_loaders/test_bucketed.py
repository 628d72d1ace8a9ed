import json
import random
import threading
import warnings
from unittest.mock import Mock

import numpy as np
import pytest
import torch
import torch.distributed
from allennlp.commands.find_learning_rate import find_learning_rate_model
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import Batch, DataLoader, Vocabulary
from allennlp.data.samplers import BucketBatchSampler

from tagger.common.training_counts import count_labels
from tagger.data import BucketedDataLoader, ColumnDatasetReader
from tagger.data.data_loaders import bucketed
from tagger.data.data_loaders.bucketed import prefetch
from tagger.linear_chain.declared import declared_range
from tests.conftest import CONFIGS, ROOT
from tests.data.data_loaders.test_columns import assert_same

TRAIN = ROOT / "data/toy/train.txt"


@pytest.fixture
def reader():
    return ColumnDatasetReader()


@pytest.fixture
def vocabulary(reader):
    return Vocabulary.from_instances(reader.read(TRAIN))


@pytest.fixture
def sentences(reader):
    """The words of each sentence."""
    return [instance["metadata"]["words"] for instance in reader.read(TRAIN)]


@pytest.fixture
def loader_of(reader, vocabulary):
    """Creates loaders of the toy corpus."""

    def make(**options):
        if "batch_sampler" not in options:
            options.setdefault("batch_size", 8)
        loader = BucketedDataLoader(reader, TRAIN, **options)
        loader.index_with(vocabulary)
        return loader

    return make


def words_of(loader):
    """The words of an epoch by batch and sentence."""
    return [[each["words"] for each in batch["metadata"]] for batch in loader]


def test_batches_equal_those_of_allennlp(loader_of, reader, vocabulary):
    by_words = {tuple(each["metadata"]["words"]): each for each in reader.read(TRAIN)}
    for ours in loader_of():
        batch = Batch(by_words[tuple(each["words"])] for each in ours["metadata"])
        batch.index_instances(vocabulary)
        assert_same(ours, batch.as_tensor_dict())


BY_TOKENS = {"batch_size": None, "max_tokens": 30}


@pytest.mark.parametrize(
    "options",
    [{}, {"shuffle": False}, {"sort_by_length": False}, BY_TOKENS, {**BY_TOKENS, "shuffle": False}],
)
def test_an_epoch_has_each_sentence_once(loader_of, sentences, options):
    loader = loader_of(**options)
    batches, again = words_of(loader), words_of(loader)
    assert len(batches) == len(again) == len(loader)
    assert sorted(sum(batches, [])) == sorted(sentences)
    assert (sorted(batches) != sorted(again)) == options.get("shuffle", True)
    if "max_tokens" not in options:
        assert len(batches) == -(-len(sentences) // 8)
    else:
        assert all(len(own) == 1 or len(own) * max(map(len, own)) <= 30 for own in batches)


def test_epochs_depend_on_one_seed_drawn_from_numpys_generator(loader_of):
    orders = []
    for seed in (1, 1, 2):
        np.random.seed(seed)
        loaders = loader_of(seed=seed), loader_of()
        # Other users of these generators make no difference.
        random.random(), np.random.random(len(orders)), torch.rand(1)
        orders.append([words_of(loader) for loader in loaders * 2])
    assert orders[0] == orders[1]
    assert all(one != other for one, other in zip(orders[0], orders[2]))


def test_unshuffled_batches_are_sorted_by_length_or_keep_the_file_order(loader_of, sentences):
    lengths = [len(words) for batch in words_of(loader_of(shuffle=False)) for words in batch]
    assert lengths == sorted(lengths, reverse=True)
    loader = loader_of(shuffle=False, sort_by_length=False)
    assert sum(words_of(loader), []) == sum(words_of(loader), []) == sentences


def test_documents_are_grouped_by_their_longest_sentence(tmp_path):
    # Sentence lengths. The longest document has the shortest sentences.
    documents = [[2] * 5, [6, 1], [3] * 3, [5]]
    lines = []
    for lengths in documents:
        lines.append("-DOCSTART- O\n")
        lines += ["\n".join(f"w{length} O" for _ in range(length)) + "\n" for length in lengths]
    file = tmp_path / "documents.txt"
    file.write_text("\n".join(lines))
    reader = ColumnDatasetReader(documents="docstart")
    for shuffle in (False, True):
        loader = BucketedDataLoader(reader, file, batch_size=2, shuffle=shuffle)
        loader.index_with(Vocabulary.from_instances(reader.read(file)))
        batches = words_of(loader)
        if not shuffle:
            longest = [[max(words, key=len) for words in batch] for batch in batches]
            assert longest == [["w6", "w5"], ["w3", "w2"]]
        assert sorted(sum(batches, [])) == sorted(
            [f"w{length}" for length in lengths for _ in range(length)] for lengths in documents
        )


def test_a_sampler_chooses_the_batches(loader_of, reader):
    instances = list(reader.read(TRAIN))
    sampler = BucketBatchSampler(batch_size=5, sorting_keys=["tokens"], shuffle=False)
    loader = loader_of(batch_sampler=sampler)
    # A sampler keeps the instances; without one they are released.
    assert len(loader._instances) == len(instances) > len(loader_of()._instances) == 0
    assert len(loader) == sampler.get_num_batches(instances)
    assert words_of(loader) == [
        [instances[i]["metadata"]["words"] for i in batch]
        for batch in sampler.get_batch_indices(instances)
    ]


def test_labels_are_counted_before_and_after_indexing(reader, vocabulary):
    expected = count_labels(reader.read(TRAIN))
    loader = BucketedDataLoader(reader, TRAIN, batch_size=8)
    assert count_labels(loader.iter_instances()) == expected
    loader.index_with(vocabulary)
    assert count_labels(loader.iter_instances()) == expected


def test_indexing_again_replaces_the_first_indexing(loader_of, vocabulary):
    loader = loader_of(shuffle=False)
    labels = vocabulary.get_token_to_index_vocabulary("labels")
    loader.index_with(Vocabulary(tokens_to_add={"tokens": ["@@UNKNOWN@@"], "labels": list(labels)}))
    assert {batch["tokens"]["tokens"]["tokens"].max().item() for batch in loader} == {1}


def test_batches_are_prefetched_to_a_device_from_pinned_memory(loader_of, monkeypatch):
    """Uses the `meta` device, which every build of PyTorch has. Its tensors hold no values."""
    pin_memory = Mock(side_effect=lambda tensor: tensor)
    monkeypatch.setattr(torch.Tensor, "pin_memory", pin_memory)
    on_cpu, on_device = loader_of(seed=1), loader_of(seed=1)
    on_device.set_target_device(torch.device("meta"))
    for expected, batch in zip(on_cpu, on_device):
        assert batch["metadata"] == expected["metadata"]
        for name in ("tags", "tokens"):
            ours, theirs = batch[name], expected[name]
            while isinstance(ours, dict):
                (ours,), (theirs,) = ours.values(), theirs.values()
            assert ours.device.type == "meta"
            assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
    assert pin_memory.call_count == 2 * len(on_device)


def test_iterating_before_indexing_is_an_error_that_names_the_call(reader):
    with pytest.raises(ValueError, match=r"call `index_with\(vocab\)`"):
        iter(BucketedDataLoader(reader, TRAIN, batch_size=8))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batch_size": 0}, "`batch_size` must be a whole number of at least 1; got 0"),
        ({"max_tokens": -1}, "`max_tokens` must be a whole number of at least 1; got -1"),
        ({}, "`max_tokens` or `batch_sampler`.* got neither"),
        ({"batch_size": 8, "batch_sampler": BucketBatchSampler(8)}, "got batch_size and batch_sampler"),
        ({"batch_size": 8, "max_tokens": 8}, "got batch_size and max_tokens"),
        ({"max_tokens": 8, "sort_by_length": False}, "`max_tokens` needs `sort_by_length`"),
        ({"batch_size": 8, "reader": ColumnDatasetReader(max_instances=0)},
         r"train\.txt.* finds no instances"),
    ],
)  # fmt: skip
def test_invalid_options_and_files_without_instances_are_refused(reader, options, message):
    with pytest.raises(ConfigurationError, match=message):
        BucketedDataLoader(**{"reader": reader, "data_path": TRAIN, **options})


class UnshardedReader(ColumnDatasetReader):
    """Leaves the distribution of instances over workers to AllenNLP."""

    def __init__(self):
        super().__init__()
        self.manual_distributed_sharding = False

    def shard_iterable(self, iterable):
        return iter(iterable)


READERS = [ColumnDatasetReader, UnshardedReader]
BATCH_SIZES = [1, 2, 4]


def read_in_a_worker(rank, folder):
    """Writes the words of three kinds of epochs by batch, for each reader and batch size."""
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{folder}/rendezvous", world_size=2, rank=rank
    )
    epochs = []
    for reader_class in READERS:
        reader = reader_class()
        for batch_size in BATCH_SIZES:
            np.random.seed(rank)
            loader = BucketedDataLoader(reader, folder / "nine.txt", batch_size=batch_size)
            loader.index_with(Vocabulary.from_instances(loader.iter_instances()))
            evaluation = BucketedDataLoader(
                reader, folder / "nine.txt", batch_size=batch_size, shuffle=False
            )
            evaluation.index_with(Vocabulary.from_instances(loader.iter_instances()))
            epochs.append([words_of(loader), words_of(loader), words_of(evaluation)])
        with pytest.raises(ConfigurationError, match=r"finds \[1, 0\] instances for the workers"):
            BucketedDataLoader(reader, folder / "one.txt", batch_size=8)
    (folder / f"{rank}.json").write_text(json.dumps(epochs))
    torch.distributed.destroy_process_group()


@pytest.mark.slow
@pytest.mark.usefixtures("warm_python")
def test_two_workers_share_the_data_in_as_many_batches(tmp_path):
    sentences = [length * [f"word{length}"] for length in range(1, 10)]
    blocks = ["".join(f"{word} O\n" for word in words) for words in sentences]
    (tmp_path / "nine.txt").write_text("\n".join(blocks))
    (tmp_path / "one.txt").write_text(blocks[0])
    # Forking avoids importing everything again.
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*use of fork", DeprecationWarning)
        torch.multiprocessing.start_processes(
            read_in_a_worker, args=(tmp_path,), nprocs=2, start_method="fork"
        )
    workers = [json.loads((tmp_path / f"{rank}.json").read_text()) for rank in range(2)]
    for (*loaders,), batch_size in zip(zip(*workers), BATCH_SIZES * len(READERS)):
        for epochs in zip(*loaders):
            # One worker has five sentences, the other four.
            num_batches = min(-(-5 // batch_size), 4)
            assert [len(batches) for batches in epochs] == [num_batches] * 2
            assert sorted(sum(sum(epochs, []), [])) == sorted(sentences)


@pytest.mark.parametrize(
    ("others", "batch_size", "number"),
    [(12, 8, 2), (3, 8, 2), (12, 1, 12), (1, 8, None), (5, 1, None)],
)
def test_workers_with_too_few_instances_do_not_enlarge_the_batches_of_others(
    others, batch_size, number, reader, tmp_path, monkeypatch
):
    monkeypatch.setattr(bucketed, "gather_from_workers", lambda own: [own, (others, 0)])
    (tmp_path / "data.txt").write_text("word O\n\n" * 13)
    if number is None:
        with pytest.raises(
            ConfigurationError, match=rf"get \[13, {others}\] inst.*not `batch_size`"
        ):
            BucketedDataLoader(reader, tmp_path / "data.txt", batch_size=batch_size)
        return
    loader = BucketedDataLoader(reader, tmp_path / "data.txt", batch_size=batch_size)
    loader.index_with(Vocabulary.from_instances(loader.iter_instances()))
    sizes = [len(batch["metadata"]) for batch in loader]
    assert len(sizes) == number
    assert sum(sizes) == 13
    assert max(sizes) <= batch_size + 1


def toy_params(**changes):
    return Params.from_file(CONFIGS / "toy_bilstm_crf.jsonnet", changes)


def test_the_template_uses_it_for_training_and_development(at_root, reader):
    params = toy_params()
    for name, is_shuffled in {"data_loader": True, "validation_data_loader": False}.items():
        loader = DataLoader.from_params(params[name], reader=reader, data_path="data/toy/dev.txt")
        assert isinstance(loader, BucketedDataLoader)
        assert loader._shuffle is is_shuffled


@pytest.mark.slow
def test_find_lr_accepts_it(tmp_path, at_root):
    find_learning_rate_model(toy_params(), str(tmp_path / "search"), num_batches=12)
    assert (tmp_path / "search/lr-losses.png").exists()


def test_batches_on_a_device_declare_the_range_of_their_tags(loader_of):
    loader = loader_of()
    batch = loader._on_device(loader._assemble(np.arange(8)))
    lowest, highest = batch["tags"].aminmax()
    assert declared_range(batch["tags"]) == (int(lowest), int(highest))
    # In the padding too, so that no sync is needed to look for unknown tags.
    assert lowest >= 0


def test_results_are_prefetched_on_one_thread_while_the_caller_iterates_the_items():
    made, makers, callers = threading.Semaphore(0), set(), set()

    def make(item):
        makers.add(threading.current_thread())
        made.release()
        return 1 / item

    def items():
        for item in (1, 2, 4):
            callers.add(threading.current_thread())
            yield item

    num_threads = threading.active_count()
    assert list(prefetch(make, ())) == []
    results = prefetch(make, items())
    assert next(results) == 1
    for _ in range(2):
        # The result in use and the next one.
        assert made.acquire(timeout=10)
    assert list(results) == [0.5, 0.25]
    assert callers == {threading.current_thread()}
    assert len(makers) == 1
    assert not callers & makers
    results = prefetch(make, [1, 1, 0, 1])
    assert [next(results), next(results)] == [1, 1]
    # An error is raised when its turn comes, and the thread ends with the iteration.
    with pytest.raises(ZeroDivisionError):
        next(results)
    abandoned = prefetch(make, [1] * 9)
    next(abandoned)
    abandoned.close()
    assert threading.active_count() == num_threads
