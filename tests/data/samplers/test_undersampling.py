"""Sentences without a rare label are left out; those with one are all shown."""

from collections import Counter

import pytest
from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError

from tagger.data import UndersamplingBatchSampler
from tests.conftest import CONFIGS
from tests.data.samplers.sentences import instance

# LOC is in two sentences of twenty, PER in half of them; eight sentences have no label.
TAGS = 2 * [["B-LOC", "B-PER"]] + 10 * [["B-PER", "I-PER", "O"]] + 8 * [["O", "O"]]


def test_an_epoch_has_every_sentence_with_a_rare_label_and_a_share_of_the_others():
    instances = [instance(tags) for tags in TAGS]
    sampler = UndersamplingBatchSampler(2, rate=0.25, threshold=0.2)
    seen: Counter = Counter()
    for _ in range(200):
        epoch = Counter(i for batch in sampler.get_batch_indices(instances) for i in batch)
        assert epoch[0] == epoch[1] == 1
        # 2 + 18 / 4 = 6.5, rounded down
        assert sum(epoch.values()) == 6
        assert max(epoch.values()) == 1
        seen.update(epoch)
    assert sampler.get_num_batches(instances) == 3
    # Others differ between epochs, and have the same chance: 4 of 18.
    assert all(20 < seen[i] < 75 for i in range(2, 20))


def test_a_rate_of_1_or_a_threshold_above_all_shares_shows_everything():
    instances = [instance(tags) for tags in TAGS]
    for options in ({"rate": 1.0}, {"rate": 0.1, "threshold": 1.0}):
        sampler = UndersamplingBatchSampler(4, **options)
        drawn = sorted(i for batch in sampler.get_batch_indices(instances) for i in batch)
        with_labels = list(range(12 if options["rate"] < 1 else 20))
        assert [i for i in drawn if i in with_labels] == with_labels


@pytest.mark.parametrize("name", ["rate", "threshold"])
@pytest.mark.parametrize("value", [0, 1.5, float("nan")])
def test_shares_out_of_range_are_refused(name, value):
    with pytest.raises(ConfigurationError, match=f"`{name}` must be above 0 and at most 1; got"):
        UndersamplingBatchSampler(**{"batch_size": 2, "rate": 0.5, name: value})


@pytest.mark.slow
def test_the_toy_config_trains_with_it(tmp_path, at_root):
    sampler = {"type": "undersampling", "batch_size": 8, "rate": 0.5}
    overrides = {
        "data_loader": {"type": "bucketed", "batch_sampler": sampler},
        "trainer.num_epochs": 2,
    }
    train_model(
        Params.from_file(CONFIGS / "toy_bilstm_crf.jsonnet", overrides), str(tmp_path / "run")
    )
    assert "EVENT" in (tmp_path / "run/out.log").read_text()
