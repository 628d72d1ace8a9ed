import json

import pytest
import torch
from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.models import load_archive

from tagger.modules import SoftmaxHead, TaggingHead, TokenLoss
from tests.conftest import CONFIGS
from tests.linear_chain.chains import mask_of, random_tags
from tests.spans.tagged import vocabulary_of

TAGS = ["O", "B-PER", "I-PER", "L-PER", "U-PER"]
LENGTHS = [4, 1, 0, 3]


@pytest.fixture
def vocab():
    return vocabulary_of(TAGS)


@pytest.fixture
def emissions():
    return torch.randn(4, 4, len(TAGS)) * 2


def test_the_loss_of_a_sequence_is_the_sum_over_its_known_tokens(vocab, emissions):
    tags, mask = random_tags(4, 4, 5), mask_of(LENGTHS)
    tags[0, 2] = -1
    log_probabilities = emissions.log_softmax(2)
    expected = [
        -sum(log_probabilities[b, t, tags[b, t]] for t in range(length) if tags[b, t] >= 0)
        for b, length in enumerate(LENGTHS)
    ]
    actual = SoftmaxHead(vocab).sequence_loss(emissions, tags, mask)
    torch.testing.assert_close(actual, torch.tensor(expected, dtype=torch.float32))


def test_a_config_passes_the_vocabulary_to_the_loss(vocab):
    loss = {"type": "focal", "label_weights": {"PER": 2}}
    head = TaggingHead.from_params(
        Params({"type": "softmax", "loss": loss}),
        vocab=vocab,
        label_namespace="labels",
        tag_encoding="BIOUL",
    )
    assert isinstance(head.loss, TokenLoss.by_name("focal"))
    assert head.loss.tag_weights.tolist() == [1, 2, 2, 2, 2]


@pytest.mark.slow
def test_a_tagger_with_this_head_trains_and_predicts_the_same_after_loading(tmp_path, at_root):
    head = {"type": "softmax", "loss": {"type": "logit_adjusted"}, "constrain_decoding": True}
    params = Params.from_file(
        CONFIGS / "toy_bilstm_crf.jsonnet", {"model.head": head, "trainer.num_epochs": 3}
    )
    trained = train_model(params, str(tmp_path / "run"))
    archive = load_archive(tmp_path / "run" / "model.tar.gz")
    assert isinstance(archive.model.head.loss, TokenLoss.by_name("logit_adjusted"))
    instances = list(archive.dataset_reader.read("data/toy/test.txt"))
    expected = trained.eval().forward_on_instances(instances)
    actual = archive.model.eval().forward_on_instances(instances)
    assert [output["tags"] for output in actual] == [output["tags"] for output in expected]
    assert any(tag != "O" for output in actual for tag in output["tags"])
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text())
    assert metrics["best_validation_f1-measure-overall"] > 0
    counts = [model.head.loss.counted_tags.label_counts for model in (trained, archive.model)]
    assert counts[0].sum() > 100
    assert torch.equal(*counts)
