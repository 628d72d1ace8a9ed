from functools import partial

import pytest
import torch
import torch.distributed

from tagger.common.training_counts import LabelCounts
from tagger.modules import LabelThresholds
from tagger.training.thresholds import tune_thresholds
from tests.spans.tagged import vocabulary_of

LABELS = ["A", "B", "C"]


def make(**kwargs):
    return LabelThresholds(vocabulary_of(LABELS), **kwargs).eval()


def texts(num_texts, seed):
    """Whole texts, which are one item each and have no mask."""
    generator = torch.Generator().manual_seed(seed)
    probabilities = torch.rand(num_texts, 3, generator=generator)
    return probabilities, torch.randint(-1, 2, (num_texts, 3), generator=generator)


def tune(batches, target="macro"):
    thresholds = make()
    thresholds.start_tuning(partial(tune_thresholds, target=target))
    for probabilities, targets in batches:
        thresholds.measure(probabilities, targets)
    return thresholds, thresholds.get_metrics(reset=True)


def test_a_label_is_predicted_from_its_threshold_on():
    thresholds = make(threshold=0.25)
    assert thresholds(torch.tensor([[0.25, 0.3, 0.2]])).tolist() == [[True, True, False]]
    thresholds.thresholds[1] = 0.4
    assert thresholds(torch.tensor([[0.25, 0.3, 0.2]])).tolist() == [[True, False, False]]


def test_the_end_of_a_pass_tunes_thresholds_and_its_metrics_use_them():
    batches = [texts(20, seed=1), texts(11, seed=2)]
    thresholds, metrics = tune(batches)
    all_batches = [torch.cat(parts) for parts in zip(*batches)]
    assert torch.equal(thresholds.thresholds, tune_thresholds(*all_batches, "macro"))
    thresholds.stop_tuning()
    thresholds.measure(*all_batches)
    assert thresholds.get_metrics(reset=True) == metrics
    fixed = make()
    fixed.measure(*all_batches)
    assert fixed.get_metrics(reset=True)["f1-measure-macro"] < metrics["f1-measure-macro"]


def test_tuning_can_be_stopped():
    thresholds, _ = tune([texts(20, seed=1)])
    before = thresholds.thresholds.clone()
    thresholds.stop_tuning()
    thresholds.measure(*texts(20, seed=2))
    thresholds.get_metrics(reset=True)
    assert torch.equal(thresholds.thresholds, before)


def test_each_pass_is_tuned_independently():
    thresholds, _ = tune([texts(20, seed=1)])
    thresholds.measure(*texts(20, seed=2))
    thresholds.get_metrics()
    thresholds.get_metrics(reset=True)
    assert torch.equal(thresholds.thresholds, tune([texts(20, seed=2)])[0].thresholds)


def test_training_passes_do_not_tune():
    thresholds = make().train()
    thresholds.start_tuning(tune_thresholds)
    thresholds.measure(*texts(20, seed=1))
    thresholds.get_metrics(reset=True)
    assert thresholds.thresholds.tolist() == [0.5] * 3


def test_masked_items_change_nothing():
    probabilities, targets = texts(20, seed=3)
    mask = torch.arange(20) < 15
    thresholds = make()
    thresholds.start_tuning(tune_thresholds)
    thresholds.measure(probabilities, targets, mask)
    metrics = thresholds.get_metrics(reset=True)
    expected, expected_metrics = tune([(probabilities[:15], targets[:15])], "micro")
    assert metrics == expected_metrics
    assert torch.equal(thresholds.thresholds, expected.thresholds)


def test_thresholds_and_training_counts_are_saved():
    thresholds, _ = tune([texts(20, seed=1)])
    counts = LabelCounts({"labels": {"A": 50, "B": 10, "C": 2}}, {"labels": 100})
    thresholds.counts.use_training_counts(counts)
    again = make()
    again.load_state_dict(thresholds.state_dict())
    assert torch.equal(again.thresholds, thresholds.thresholds)
    again.measure(*texts(20, seed=1))
    metrics = again.get_metrics()
    assert [metrics[f"recall-{group}"] for group in ("head", "medium", "tail")] == [
        metrics[f"recall-{label}"] for label in LABELS
    ]


def tune_in_a_worker(rank, folder, shares, expected):
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{folder}/rendezvous", world_size=2, rank=rank
    )
    thresholds, metrics = tune(shares[rank])
    assert torch.equal(thresholds.thresholds, expected[0])
    assert metrics == expected[1]
    torch.distributed.destroy_process_group()


@pytest.mark.slow
@pytest.mark.usefixtures("warm_python")
def test_two_workers_tune_like_one(tmp_path):
    batches = [texts(20, seed=1), texts(11, seed=2)]
    thresholds, metrics = tune(batches)
    # The first worker has no batches.
    torch.multiprocessing.spawn(
        tune_in_a_worker, args=(tmp_path, [[], batches], (thresholds.thresholds, metrics)), nprocs=2
    )
