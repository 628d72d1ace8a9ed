import pytest
import torch
from allennlp.common.checks import ConfigurationError
from seqeval.metrics import classification_report
from seqeval.scheme import BILOU, IOB2, IOBES

from tagger.metrics import TagMetrics, format_metrics
from tagger.spans import ENCODINGS
from tests.metrics.measuring import MEASURES, measured, metrics_of, with_unknown
from tests.oracles.conlleval import count_chunks
from tests.spans.tagged import random_sentences, tag_set, to_batch, to_mask, vocabulary_of


def assert_equals_report(metrics, report):
    for name in {key.split("-", 1)[1] for key in metrics if key.startswith("precision-")}:
        row = report.get({"overall": "micro avg", "macro": "macro avg"}.get(name, name))
        for measure, key in MEASURES.items():
            expected = row[key] if row else 0.0
            assert metrics[f"{measure}-{name}"] == pytest.approx(expected, abs=1e-12)


def renamed(sentences, prefixes):
    return [[prefixes.get(tag[0], tag[0]) + tag[1:] for tag in tags] for tags in sentences]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(
    ("encoding", "prefixes", "scheme"),
    [
        ("BIO", {}, None),
        ("IOB1", {}, None),
        ("BIOUL", {"L": "E", "U": "S"}, None),
        ("BMES", {"M": "I"}, None),
        ("IOBES", {}, None),
        ("BIO", {}, IOB2),
        ("BIOUL", {}, BILOU),
        ("BMES", {"M": "I"}, IOBES),
        ("IOBES", {}, IOBES),
    ],
)
def test_metrics_equal_seqevals_or_with_a_scheme_its_strict_ones(encoding, prefixes, scheme, seed):
    gold, predicted = random_sentences(tag_set(encoding), 3 + 20 * seed + 30 * bool(scheme), seed)
    sides = renamed(gold, prefixes), renamed(predicted, prefixes)
    strict = {"mode": "strict", "scheme": scheme} if scheme else {}
    report = classification_report(*sides, output_dict=True, zero_division=0, **strict)
    metrics = metrics_of(gold, predicted, encoding, strict=scheme is not None)
    assert_equals_report(metrics, report)
    assert (metrics != metrics_of(gold, predicted, encoding)) == (scheme is not None)


@pytest.mark.parametrize("encoding", ["BIO", "IOB1"])
@pytest.mark.parametrize("seed", range(8))
def test_metrics_equal_conllevals(encoding, seed):
    gold, predicted = random_sentences(tag_set(encoding), 50, seed)
    correct, guessed, right = count_chunks(gold, predicted)
    metrics = metrics_of(gold, predicted, encoding)
    for label in ("PER", "LOC", "GPE-X"):
        assert metrics[f"precision-{label}"] == pytest.approx(correct[label] / guessed[label])
        assert metrics[f"recall-{label}"] == pytest.approx(correct[label] / right[label])
    total = correct.total()
    assert metrics["precision-overall"] == pytest.approx(total / guessed.total())
    assert metrics["f1-measure-overall"] == pytest.approx(
        2 * total / (guessed.total() + right.total())
    )


def test_undefined_metrics_count_as_0_in_means_as_in_seqeval():
    # LOC is never predicted, and GPE-X is never gold.
    gold, predicted = [["B-PER", "O", "B-LOC"]], [["B-PER", "B-GPE-X", "O"]]
    metrics = metrics_of(gold, predicted)
    report = classification_report(gold, predicted, output_dict=True, zero_division=0)
    assert_equals_report(metrics, report)
    assert metrics["precision-macro"] == pytest.approx(1 / 3)
    # Labels that do not occur are left out.
    metrics = metrics_of([["B-PER", "O", "B-PER"]], [["B-PER", "B-LOC", "O"]])
    assert metrics["f1-measure-GPE-X"] == 0
    assert metrics["f1-measure-macro"] == pytest.approx(1 / 3)


@pytest.mark.parametrize("sentences", [[], [[]], [[], []]])
def test_a_batch_may_be_empty(sentences):
    assert set(metrics_of(sentences, sentences).values()) == {0.0}


@pytest.mark.parametrize("padding", [0, 2, -1, -100, 999])
def test_batches_add_up_until_reset_whatever_their_padding(padding):
    tags = tag_set("BIOUL")
    gold, predicted = random_sentences(tags, 50, seed=2)
    metric = TagMetrics(vocabulary_of(tags), tag_encoding="BIOUL")
    for first in range(0, 50, 7):
        some = slice(first, first + 7)
        batch = (to_batch(side[some], tags, padding) for side in (predicted, gold))
        metric(*batch, to_mask(gold[some]))
        metric.get_metric()
    assert metric.get_metric(reset=True) == metrics_of(gold, predicted, "BIOUL")
    assert set(metric.get_metric().values()) == {0.0}
    # Without a mask all tokens count.
    metric(torch.tensor([[tags.index("U-PER"), 0]]), torch.tensor([[tags.index("U-PER")] * 2]))
    assert metric.get_metric()["recall-PER"] == 0.5


def test_tags_without_labels_and_without_o_are_measured():
    metrics = metrics_of([["B", "I", "B", "B"]], [["B", "I", "B", "I"]], tags=["B", "I"])
    assert metrics["precision-_"] == metrics["precision-overall"] == 1 / 2


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({}, "namespace `labels`: `tags` holds 'U-PER', which is no BIO tag; name the encoding"),
        ({"tag_encoding": "IOB2"}, "`tag_encoding` is 'IOB2', expected one of BIO, IOB1"),
        (
            {"tag_encoding": "IOB1", "strict": True},
            "`strict` is true and `tag_encoding` is 'IOB1'.* BIO",
        ),
        ({"tag_encoding": None, "strict": True}, "`strict` is true, but the tags spell no spans"),
    ],
)
def test_bad_settings_are_refused(kwargs, message):
    with pytest.raises(ConfigurationError, match=message):
        TagMetrics(vocabulary_of(tag_set("BIOUL")), **kwargs)


def as_sets(gold, tags):
    """Returns sets of tags, (B, T, K) bool. `?` is any tag, `B-X|I-X` one of the two."""
    sets = torch.zeros(len(gold), max(map(len, gold)), len(tags), dtype=torch.bool)
    for row, sentence in enumerate(gold):
        for token, tag in enumerate(sentence):
            sets[row, token] = torch.tensor(
                [tag == "?" or name in tag.split("|") for name in tags], dtype=torch.bool
            )
    return sets


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_sets_of_one_tag_and_of_all_tags_equal_known_and_unknown_tags(encoding):
    tags = tag_set(encoding)
    gold, predicted = random_sentences(tags, 20, seed=3)
    gold = with_unknown(gold, 0.2, seed=3)
    metric = TagMetrics(vocabulary_of(tags), tag_encoding=encoding)
    metric(to_batch(predicted, tags), as_sets(gold, tags), to_mask(gold))
    assert metric.get_metric() == metrics_of(gold, predicted, encoding)


def test_a_token_with_one_possible_label_counts_but_its_span_is_unknown():
    tags = tag_set("BIOUL", ["PER", "LOC"])
    gold = [["B-PER|U-PER", "?", "O", "U-LOC", "O|U-LOC"]]
    predicted = [["U-PER", "O", "O", "B-LOC", "L-LOC"]]
    metric = TagMetrics(vocabulary_of(tags), tag_encoding="BIOUL")
    metric(to_batch(predicted, tags), as_sets(gold, tags), to_mask(gold))
    metrics = metric.get_metric()
    counted = {name: number for name, number in metrics.items() if "num-gold" in name and number}
    assert counted == {
        "token-num-gold-PER": 1,
        "token-num-gold-LOC": 1,
        "token-num-gold-overall": 2,
    }
    assert metrics["token-recall-PER"] == metrics["token-precision-LOC"] == 1


def test_labels_that_nobody_looked_for_count_neither_as_gold_nor_as_predicted():
    tags = tag_set("BIOUL", ["PER", "LOC"])
    outside = "O|" + "|".join(f"{prefix}-LOC" for prefix in "BILU")
    gold = [["U-PER", outside, outside, outside, "?"]]
    predicted = [["U-PER", "U-LOC", "U-PER", "O", "U-PER"]]
    metric = TagMetrics(vocabulary_of(tags), tag_encoding="BIOUL")
    metric(to_batch(predicted, tags), as_sets(gold, tags), to_mask(gold))
    counted = {k: int(v) for k, v in metric.get_metric().items() if k.startswith("num-") and v}
    assert counted == {
        **{"num-predicted-PER": 2, "num-predicted-overall": 2},
        **{"num-gold-PER": 1, "num-gold-overall": 1, "num-labels": 1, "num-labels-found": 1},
    }
    metrics = metric.get_metric()
    assert (metrics["token-num-predicted-PER"], metrics["token-num-predicted-LOC"]) == (2, 0)


def test_bad_tensors_are_refused():
    metric = TagMetrics(vocabulary_of(["O", "B-PER", "I-PER"]))
    tags = torch.tensor([[0, 1]])
    with pytest.raises(
        ValueError, match=r"got \(1, 2, 3\), torch.int64 of shape \(1, 2\) and \(1, 2\); pass"
    ):
        metric(torch.zeros(1, 2, 3), tags)
    with pytest.raises(
        ValueError, match="`predictions` holds -1 .* expected tag indices from 0 to 2"
    ):
        metric(tags - 1, tags)
    with pytest.raises(
        ValueError, match="`gold_tags` holds 3 .* expected tag indices from -1 to 2"
    ):
        metric(tags, tags + 2)


def test_partial_matches_have_a_separate_table():
    gold = [["B-PER", "I-PER", "O", "B-LOC", "O", "B-GPE-X"]]
    predicted = [["B-PER", "O", "O", "B-PER", "O", "O"]]
    metric = measured(gold, predicted)
    table = format_metrics({**metric.get_metric(), **metric.get_partial_metrics()})
    assert [line.split() for line in table.split("\n\n")[-1].splitlines()] == [
        ["spans:", "F1", "by", "scheme", "strict", "exact", "partial", "type"],
        ["GPE-X", *["0.0000"] * 4],
        ["LOC", *["0.0000"] * 4],
        ["PER", "0.0000", "0.0000", "0.3333", "0.6667"],
        ["overall", "0.0000", "0.4000", "0.6000", "0.4000"],
    ]
    metric.reset()
    assert not any(metric.get_partial_metrics().values())


def test_partial_matches_count_the_same_spans_where_tags_are_unknown():
    gold, predicted = random_sentences(tag_set("BIO"), 200, seed=1)
    metric = measured(with_unknown(gold, 0.1, seed=0), predicted)
    strict, partial = metric.get_metric(), metric.get_partial_metrics()
    for measure in MEASURES:
        assert partial[f"exact-{measure}-PER"] == strict[f"{measure}-PER"]


def test_plain_labels_have_no_partial_matches():
    metric = measured([["NOUN", "VERB"]], [["NOUN", "NOUN"]], None, ["NOUN", "VERB"])
    assert metric.get_partial_metrics() == {}
