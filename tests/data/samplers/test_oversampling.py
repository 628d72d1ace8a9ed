import logging
import random
from collections import Counter

import numpy as np
import pytest
from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import Instance
from allennlp.data.fields import MultiLabelField
from allennlp.data.samplers import BatchSampler

from tagger.data import LabelSetsField, OversamplingBatchSampler
from tagger.data.samplers.repeating import SentenceLabels, draw_repeats
from tests.conftest import CONFIGS
from tests.data.samplers.sentences import instance, text_of

# One sentence in twenty has a LOC, a quarter have a PER and the others have no label.
TAGS = [["B-LOC", "B-PER"]] + 4 * [["B-PER", "I-PER", "O"]] + 15 * [["O", "O", "O", "O"]]


def counts_of_an_epoch(sampler, instances):
    return Counter(i for batch in sampler.get_batch_indices(instances) for i in batch)


@pytest.fixture
def instances():
    return [instance(tags) for tags in TAGS]


def factors_of(label_sets, threshold, empty_rate=1.0):
    sentences = [SentenceLabels(dict.fromkeys(labels, 2), 5) for labels in label_sets]
    return OversamplingBatchSampler(2, threshold, empty_rate).factors(sentences)


def test_factors_follow_the_definition():
    label_sets = [{"LOC", "PER"}] + 4 * [{"PER"}] + 15 * [set()]
    factors = factors_of(label_sets, threshold=0.5, empty_rate=0.3)
    per, loc = (0.5 / 0.25) ** 0.5, (0.5 / 0.05) ** 0.5
    assert factors.tolist() == pytest.approx([loc] + 4 * [per] + 15 * [0.3])
    # A label above the threshold is not repeated.
    assert factors_of([{"PER"}, set()], threshold=0.4).tolist() == [1, 1]


def test_factors_are_rounded_randomly_and_hold_on_average():
    factors = np.array([3.0, 1.25, 0.4, 1.0, 2.6, 0.75])
    draws = np.array([draw_repeats(factors) for _ in range(4_000)])
    assert ((draws == np.floor(factors)) | (draws == np.ceil(factors))).all()
    assert (draws.sum(1) == 9).all()
    # Five standard errors of the mean of 4,000 fair coins.
    assert draws.mean(0) == pytest.approx(factors, abs=0.04)


def test_repeats_of_sentences_are_independent():
    draws = {tuple(draw_repeats(np.full(4, 1.5))) for _ in range(200)}
    assert len(draws) == 6


def test_epochs_have_as_many_batches_as_announced(instances):
    sampler = OversamplingBatchSampler(batch_size=3, threshold=0.6, empty_rate=0.35)
    epochs = [list(sampler.get_batch_indices(instances)) for _ in range(20)]
    assert {len(epoch) for epoch in epochs} == {sampler.get_num_batches(instances)}
    assert list(sampler.get_batch_indices([instance(["B-PER"])])) == [[0]]


def test_epochs_differ_and_depend_on_the_seed(instances):
    sampler = OversamplingBatchSampler(batch_size=3, threshold=0.5, empty_rate=0.5)

    def two_epochs():
        random.seed(1)
        np.random.seed(1)
        return [list(sampler.get_batch_indices(instances)) for _ in range(2)]

    first, second = two_epochs()
    assert sorted(sum(first, [])) != sorted(sum(second, []))
    assert two_epochs() == [first, second]


def test_rare_labels_are_seen_more_often_and_sentences_without_labels_less(instances):
    counts = counts_of_an_epoch(OversamplingBatchSampler(4, 0.5, empty_rate=0.4), instances)
    assert counts[0] in (3, 4)
    assert sum(counts[i] for i in range(5, 20)) in (5, 6)


def test_batches_hold_sentences_of_similar_length():
    instances = [instance(["B-PER"] * length) for length in (1, 9, 1, 9, 1, 9)]
    sampler = OversamplingBatchSampler(batch_size=3, threshold=0.5)
    for batch in sampler.get_batch_indices(instances):
        assert len({len(instances[i]["tokens"]) for i in batch}) == 1


def test_multi_label_tokens_and_labelled_texts_count():
    text = text_of(2)
    for namespace, rare, common in (
        ("labels", LabelSetsField([["A", "B"], []], text), LabelSetsField([["A"], []], text)),
        ("topics", MultiLabelField(["A"], "topics"), MultiLabelField(["B"], "topics")),
    ):
        instances = [Instance({"tokens": text, "tags": each}) for each in (rare, *[common] * 3)]
        sampler = OversamplingBatchSampler(2, 1.0, label_namespace=namespace)
        assert counts_of_an_epoch(sampler, instances)[0] == 2


def test_labels_may_look_like_prefixes():
    # Alone, `E` and `S` are BMES tags without a label. Beside NOUN they are ordinary labels.
    instances = [instance([tag]) for tag in ("E", "S", "NOUN", "NOUN")]
    counts = counts_of_an_epoch(OversamplingBatchSampler(2, 1.0), instances)
    assert counts[0] == counts[1] == 2


def test_shares_are_logged_once(instances, caplog):
    sampler = OversamplingBatchSampler(4, threshold=0.5, empty_rate=0.4)
    with caplog.at_level(logging.INFO, "tagger"):
        counts_of_an_epoch(sampler, instances)
        counts_of_an_epoch(sampler, instances)
    (record,) = (each for each in caplog.records if each.name.startswith("tagger"))
    # 1 x 3.162 + 4 x 1.414 + 15 x 0.4 = 14.8
    assert [line.split() for line in record.getMessage().splitlines()[1:]] == [
        ["before", "after"],
        ["PER", "25.00%", "59.51%"],
        ["LOC", "5.00%", "21.34%"],
        ["sentences", "20", "14"],
    ]


@pytest.mark.parametrize("name", ["threshold", "empty_rate"])
@pytest.mark.parametrize("value", [0, -1, 1.5])
def test_shares_out_of_range_are_refused(name, value):
    with pytest.raises(ConfigurationError, match=rf"`{name}` must be above 0.*got {value}"):
        OversamplingBatchSampler(**{"batch_size": 2, "threshold": 0.1, name: value})


def test_instances_without_a_label_are_refused():
    sampler = OversamplingBatchSampler(2, 0.1, label_namespace="ner")
    with pytest.raises(
        ConfigurationError, match="'ner', in which none of the 1.*labels in labels;"
    ):
        sampler.get_num_batches([instance(["B-PER"])])
    with pytest.raises(ConfigurationError, match="none of the 2 instances has a label"):
        list(OversamplingBatchSampler(2, 0.1).get_batch_indices(2 * [instance(["O", "?"])]))


@pytest.mark.slow
def test_the_toy_config_trains_with_it(tmp_path, at_root):
    sampler = {"type": "oversampling", "batch_size": 8, "threshold": 0.2, "empty_rate": 0.5}
    data_loader = {"type": "bucketed", "batch_sampler": sampler}
    overrides = {"data_loader": data_loader, "trainer.num_epochs": 2}
    train_model(
        Params.from_file(CONFIGS / "toy_bilstm_crf.jsonnet", overrides), str(tmp_path / "run")
    )
    assert "EVENT" in (tmp_path / "run/out.log").read_text()
    assert BatchSampler.by_name("oversampling") is OversamplingBatchSampler
