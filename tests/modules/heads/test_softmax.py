import itertools
import json

import pytest
import torch
from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.models import load_archive

from tagger.modules import SoftmaxHead, TaggingHead, TokenLoss
from tagger.spans import allowed_transitions
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


def constrained(vocab):
    return SoftmaxHead(vocab, tag_encoding="BIOUL", constrain_decoding=True)


def is_legal(path):
    start, end = len(TAGS), len(TAGS) + 1
    steps = set(allowed_transitions("BIOUL", dict(enumerate(TAGS))))
    return not path or all(step in steps for step in itertools.pairwise([start, *path, end]))


def test_a_sequences_loss_is_the_sum_over_its_known_tokens(vocab, emissions):
    tags, mask = random_tags(4, 4, 5), mask_of(LENGTHS)
    tags[0, 2] = -1
    log_probabilities = emissions.log_softmax(2)
    expected = [
        -sum(log_probabilities[b, t, tags[b, t]] for t in range(length) if tags[b, t] >= 0)
        for b, length in enumerate(LENGTHS)
    ]
    actual = SoftmaxHead(vocab).sequence_loss(emissions, tags, mask)
    torch.testing.assert_close(actual, torch.tensor(expected, dtype=torch.float32))


@pytest.mark.parametrize("garbage", [100.0, torch.nan])
@pytest.mark.parametrize("is_constrained", [False, True])
def test_decoding_finds_the_most_probable_path_or_legal_path(
    is_constrained, garbage, vocab, emissions
):
    mask = mask_of(LENGTHS)
    dirty = torch.where(mask.unsqueeze(2), emissions, torch.tensor([0, 0, 0, 0, garbage]))
    head = SoftmaxHead(vocab, tag_encoding="BIOUL", constrain_decoding=is_constrained)
    tags = head.decode(dirty, mask)
    log_probabilities = emissions.log_softmax(2)
    for row, length in enumerate(LENGTHS):
        paths = itertools.product(range(len(TAGS)), repeat=length)
        best = max(
            filter(is_legal, paths) if is_constrained else paths,
            key=lambda path: sum(log_probabilities[row, t, k] for t, k in enumerate(path)),
        )
        assert tags[row].tolist() == [*best] + [0] * (4 - length)


def test_constrained_decoding_is_always_legal_and_changes_no_legal_sequence(vocab):
    # like those of a model that has learnt something: some sequences are legal as they are
    emissions = torch.randn(200, 3, len(TAGS)) + torch.tensor([2.0, 0, 0, 0, 1])
    mask = torch.ones(200, 3, dtype=torch.bool)
    plain = SoftmaxHead(vocab).decode(emissions, mask).tolist()
    legal = constrained(vocab).decode(emissions, mask).tolist()
    assert all(map(is_legal, legal))
    is_legal_as_it_is = [is_legal(path) for path in plain]
    assert 20 < sum(is_legal_as_it_is) < 180
    for before, after, is_kept in zip(plain, legal, is_legal_as_it_is):
        assert (before == after) == is_kept


def test_the_constraints_are_no_part_of_a_saved_model(vocab):
    assert not constrained(vocab).state_dict()


def test_a_config_hands_the_vocabulary_on_to_the_loss(vocab):
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
def test_a_tagger_with_this_head_trains_and_predicts_the_same_when_loaded(tmp_path, at_root):
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
