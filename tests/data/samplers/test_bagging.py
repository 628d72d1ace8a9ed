"""A bag is the same in every epoch, keeps documents together, and differs between seeds."""

from collections import Counter

import numpy as np
import pytest
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary

from tagger.data import BaggingBatchSampler, BucketedDataLoader, ColumnDatasetReader
from tests.data.samplers.sentences import instance

INSTANCES = [instance(["B-LOC"] + ["O"] * (i % 7)) for i in range(60)]


def drawn(sampler, instances=INSTANCES):
    return Counter(i for batch in sampler.get_batch_indices(instances) for i in batch)


def test_a_bag_is_drawn_with_replacement_once_for_each_seed():
    sampler = BaggingBatchSampler(4, seed=1)
    bag = drawn(sampler)
    assert sum(bag.values()) == 60
    assert max(bag.values()) > 1
    # (1 - 1 / 60) ** 60 of all are left out: 36 %
    assert 15 <= 60 - len(bag) <= 29
    assert drawn(sampler) == drawn(BaggingBatchSampler(4, seed=1)) == bag
    assert drawn(BaggingBatchSampler(4, seed=2)) != bag
    assert sampler.get_num_batches(INSTANCES) == 15
    assert sampler.get_num_batches(INSTANCES) == len(list(sampler.get_batch_indices(INSTANCES)))


def test_without_a_seed_each_seed_of_a_run_has_another_bag():
    bags = []
    for seed in (1, 2, 1):
        np.random.seed(seed)
        bags.append(drawn(BaggingBatchSampler(4)))
    assert bags[0] == bags[2] != bags[1]


def test_the_loader_keeps_documents_together_and_the_vocabulary_whole(tmp_path):
    sizes = [1, 3, 2, 4, 1, 2, 3, 1]
    sentences = (f"w{d} O\nx O\n\n" * size for d, size in enumerate(sizes))
    (tmp_path / "train.txt").write_text("".join(f"-DOCSTART- O\n\n{each}" for each in sentences))
    reader = ColumnDatasetReader(source_encoding="BIO")
    sampler = BaggingBatchSampler(1, seed=3)
    loader = BucketedDataLoader(reader, str(tmp_path / "train.txt"), batch_sampler=sampler)
    vocab = Vocabulary.from_instances(loader.iter_instances())
    loader.index_with(vocab)
    assert {f"w{d}" for d in range(8)} <= set(vocab.get_token_to_index_vocabulary())
    words = Counter(batch["metadata"][0]["words"][0] for batch in loader)
    assert len(loader) == sum(words.values())
    times = {d: words[f"w{d}"] / size for d, size in enumerate(sizes)}
    assert all(each == int(each) for each in times.values())
    assert sum(times.values()) == 8
    assert 0 in times.values()


def test_a_loader_that_shows_other_instances_is_refused():
    sampler = BaggingBatchSampler(4, seed=1)
    sampler.keep_together([0, 0, 1])
    with pytest.raises(ConfigurationError, match="documents of 3 instances, but there are 60"):
        drawn(sampler)
