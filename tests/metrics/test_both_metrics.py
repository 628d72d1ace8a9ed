"""Properties shared by the metrics for tags and for several labels per item."""

import pytest
import torch
import torch.distributed
from allennlp.common import Params
from allennlp.training.metrics import Metric

from tagger.metrics import MultiLabelMetrics, TagMetrics
from tests.metrics.test_multi_label_metrics import LABELS, random_batch
from tests.spans.tagged import random_sentences, tag_set, to_batch, to_mask, vocabulary_of


def tag_batches(first, last):
    """Batches of two sentences; the last batch may have one."""
    tags = tag_set("BIO")
    gold, predicted = (rows[first:last] for rows in random_sentences(tags, 31, seed=4))
    for start in range(0, len(gold), 2):
        some, theirs = gold[start : start + 2], predicted[start : start + 2]
        yield to_batch(theirs, tags), to_batch(some, tags), to_mask(some)


def label_batches(first, last):
    probabilities, targets, mask = (each[first:last] for each in random_batch(9, num_items=31))
    if len(mask):
        yield probabilities >= 0.5, targets, mask, probabilities


#: By name, functions that create the metric and the batches for a range of 31 items.
METRICS = {
    "tag_metrics": (lambda: TagMetrics(vocabulary_of(tag_set("BIO"))), tag_batches),
    "multi_label_metrics": (lambda: MultiLabelMetrics(vocabulary_of(LABELS)), label_batches),
}


def measured(name, first=0, last=31):
    make, batches = METRICS[name]
    metric = make()
    for batch in batches(first, last):
        metric(*batch)
    return metric


@pytest.mark.parametrize("name", METRICS)
def test_it_is_registered_and_does_not_change_its_arguments(name):
    make, batches = METRICS[name]
    metric = Metric.from_params(Params({"type": name}), vocab=vocabulary_of(tag_set("BIO")))
    assert type(metric) is type(make())
    batch = next(batches(0, 2))
    before = [tensor.clone() for tensor in batch]
    make()(*batch)
    assert all(torch.equal(tensor, copy) for tensor, copy in zip(batch, before, strict=True))


def measure_in_a_worker(rank, folder, expected):
    """Measures one worker's share, first of an uneven split, then with all items at the first worker."""
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{folder}/rendezvous", world_size=2, rank=rank
    )
    for name, (wanted, confusions) in expected.items():
        for border in (9, 31):
            metric = measured(name, *((0, border) if rank == 0 else (border, 31)))
            if confusions:
                assert metric.get_confusions() == confusions
            assert metric.get_metric(reset=True) == wanted
            assert set(metric.get_metric().values()) == {0}
    torch.distributed.destroy_process_group()


@pytest.mark.slow
@pytest.mark.usefixtures("warm_python")
def test_two_workers_give_the_metrics_of_one(tmp_path):
    expected = {}
    for name in METRICS:
        metric = measured(name)
        confusions = metric.get_confusions() if name == "tag_metrics" else None
        expected[name] = metric.get_metric(reset=True), confusions
    torch.multiprocessing.spawn(measure_in_a_worker, args=(tmp_path, expected), nprocs=2)
