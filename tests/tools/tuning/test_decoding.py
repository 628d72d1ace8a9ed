import numpy as np
import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary

from tagger.modules import CrfHead
from tagger.modules.chain_decoder import ChainDecoder
from tagger.spans import tags_to_spans
from tagger.tools.tuning.decoding import DecodingTuner, RowBatch, Settings
from tagger.tools.tuning.goals import Goal

TAGS = ["O", "B-X", "I-X", "B-Y", "I-Y"]
NOTHING = Settings({}, {})


@pytest.fixture
def tuner():
    """Sentences with emissions that are related to the gold tags, and a tuner on them."""
    vocab = Vocabulary({"labels": {tag: 9 - k for k, tag in enumerate(TAGS)}})
    head = CrfHead(vocab, tag_encoding="BIO")
    torch.nn.init.zeros_(head.crf.transitions)
    batches = []
    for _ in range(4):
        tags = torch.multinomial(torch.tensor([6.0, 2, 0, 2, 0]), 32 * 9, True).view(32, 9)
        emissions = 2 * torch.randn(32, 9, 5)
        emissions += 2 * torch.nn.functional.one_hot(tags, 5)
        mask = torch.arange(9) < torch.randint(1, 10, (32, 1))
        batches.append(RowBatch(emissions, tags, mask))
    return DecodingTuner(head, TAGS, "BIO", batches)


def metrics(tuner, settings, label):
    true_positives, num_predicted, num_gold = tuner.counts(settings)[:, tuner.labels.index(label)]
    return true_positives / max(num_predicted, 1), true_positives / num_gold


def some_settings(tuner, label, means):
    values = np.linspace(-6, 6, 49) if means == "bias" else np.linspace(0, 0.99, 50)
    return [NOTHING.changed(label, **{means: float(value)}) for value in values]


@pytest.mark.parametrize("means", ["bias", "threshold"])
def test_no_other_setting_meets_a_precision_at_a_higher_recall(means, tuner):
    before = metrics(tuner, NOTHING, "X")
    tuned = tuner.tune([Goal(("X",), "precision", before[0] + 0.1)], NOTHING, [means])
    precision, recall = metrics(tuner, tuned, "X")
    assert precision >= before[0] + 0.1
    assert 0 < recall < before[1]
    others = [metrics(tuner, settings, "X") for settings in some_settings(tuner, "X", means)]
    assert max(r for p, r in others if p >= before[0] + 0.1) <= recall


def test_no_other_bias_meets_a_recall_at_a_higher_precision(tuner):
    before = metrics(tuner, NOTHING, "X")
    tuned = tuner.tune([Goal(("X",), "recall", before[1] + 0.1)], NOTHING)
    precision, recall = metrics(tuner, tuned, "X")
    assert recall >= before[1] + 0.1
    others = [metrics(tuner, settings, "X") for settings in some_settings(tuner, "X", "bias")]
    assert max(p for p, r in others if r >= before[1] + 0.1) <= precision + 1e-9


@pytest.mark.parametrize("beta", [0.5, 2.0])
def test_no_other_setting_has_a_higher_f_score(beta, tuner):
    def f_beta(settings):
        precision, recall = metrics(tuner, settings, "Y")
        return (1 + beta**2) * precision * recall / max(beta**2 * precision + recall, 1e-9)

    tuned = f_beta(tuner.tune([Goal(("Y",), "f_beta", beta=beta)], NOTHING))
    others = [
        f_beta(settings)
        for means in ("bias", "threshold")
        for settings in some_settings(tuner, "Y", means)
    ]
    assert tuned >= max(others) > 0


@pytest.mark.parametrize("threshold", [1.0, 0.3, 0.01])
def test_masks_hold_predicted_entities_and_tokens_that_probably_lie_in_one(threshold, tuner):
    settings = Settings({"X": 1.0, "Y": -0.5}, {})
    masked, of_tokens = np.zeros((2, 2), int), []
    (masking,) = tuner.masks(settings, [threshold])
    tuner.head.decoder = ChainDecoder(TAGS, "BIO", *settings)
    for sentence in (each for batch in tuner.batches for each in zip(*batch)):
        emissions, gold_tags, mask = (each.unsqueeze(0) for each in sentence)
        outside = tuner.head.marginals(emissions, mask)[mask][:, 0]
        is_masked = (tuner.head.decode(emissions, mask)[mask] > 0) | (1 - outside > threshold)
        of_tokens += is_masked.tolist()
        for label, (first, last) in tags_to_spans([TAGS[tag] for tag in gold_tags[mask]], "BIO"):
            masked[:, "XY".index(label)] += bool(is_masked[first : last + 1].all()), 1
    counts = tuner.masks_by_group(masking, np.zeros(tuner.num_sentences, int))[:, :, 0]
    assert counts.tolist() == masked.tolist()
    assert masking.of_tokens.tolist() == of_tokens
    gold_tags = torch.cat([batch.gold_tags[batch.mask] for batch in tuner.batches])
    assert tuner.sensitive_tokens().tolist() == (gold_tags > 0).tolist()


def test_several_labels_meet_their_targets_together(tuner):
    targets = [Goal(("X",), "precision", 0.6), Goal(("Y",), "recall", 0.8)]
    tuned = tuner.tune(targets, NOTHING)
    assert metrics(tuner, tuned, "X")[0] >= 0.6
    assert metrics(tuner, tuned, "Y")[1] >= 0.8
    assert set(tuned.decode_bias) | set(tuned.entity_thresholds) == {"X", "Y"}


def test_labels_of_few_entities_are_no_target_of_macro_f1():
    vocab = Vocabulary({"labels": {tag: 9 - k for k, tag in enumerate(TAGS)}})
    head = CrfHead(vocab, tag_encoding="BIO")
    # Five entities of X, four of Y.
    tags = torch.tensor([[1, 2, 3, 0, 1, 0], [1, 1, 3, 3, 3, 1]])
    batch = RowBatch(torch.randn(2, 6, 5), tags, torch.ones(2, 6, dtype=torch.bool))
    tuner = DecodingTuner(head, TAGS, "BIO", [batch])
    assert tuner.macro_f1_goals() == [Goal(("X",), "macro_f1")]


def test_macro_f1_grows_and_other_labels_keep_their_settings(tuner):
    def macro_f1(settings):
        f1s = []
        for label in ("X", "Y"):
            precision, recall = metrics(tuner, settings, label)
            f1s.append(2 * precision * recall / (precision + recall))
        return sum(f1s) / 2

    start = Settings({"X": -2.0, "Y": -2.0}, {})
    alone = tuner.tune([Goal(("X",), "macro_f1")], start)
    assert alone.decode_bias["Y"] == -2
    both = tuner.tune([Goal(("X",), "macro_f1"), Goal(("Y",), "macro_f1")], start)
    assert macro_f1(start) < macro_f1(alone) < macro_f1(both)
    assert not both.entity_thresholds


@pytest.mark.parametrize("measure", ["precision", "recall", "f_beta", "macro_f1"])
def test_what_is_perfect_is_left_as_it_is(measure, tuner):
    batches = [
        batch._replace(emissions=30.0 * torch.nn.functional.one_hot(batch.gold_tags, 5))
        for batch in tuner.batches
    ]
    perfect = DecodingTuner(tuner.head, TAGS, "BIO", batches)
    start = Settings({"Y": 1.0}, {"Y": 0.5})
    assert perfect.tune([Goal(("X",), measure, 1.0)], start) == start


@pytest.mark.parametrize(
    ("targets", "message"),
    [
        ([Goal(("Z",), "recall", 0.5)], r"`recall` names `Z`, which is no label of .* \(X, Y\)"),
        ([Goal(("X",), "recall", 0.5)] * 2, "`X`, which has a target already"),
        ([Goal(("X",), "precision", 1.5)], "gives `X` 1.5; it must be above 0 and at most 1"),
        ([Goal(("X",), "f_beta", beta=0)], "`f_beta` gives `X` 0; it must be above 0"),
    ],
)
def test_targets_that_make_no_sense_are_refused(targets, message, tuner):
    with pytest.raises(ConfigurationError, match=message):
        tuner.tune(targets, NOTHING)
