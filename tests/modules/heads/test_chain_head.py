"""What the CRF and softmax heads share: decoding, and the probabilities of tags and entities."""

import itertools
from collections import Counter
from functools import partial

import pytest
import torch

from tagger.linear_chain import ChainScores, sample_paths
from tagger.modules import CrfHead, SoftmaxHead
from tagger.spans import allowed_transitions, tags_to_spans
from tagger_texts.tagged_text import Extras
from tests.linear_chain.chains import mask_of
from tests.oracles.all_paths import AllPaths
from tests.spans.tagged import tag_set, vocabulary_of

TAGS = ["O", "B-X", "I-X", "B-Y", "I-Y"]
LENGTHS = [4, 1, 0, 3]
LEGAL = set(allowed_transitions("BIO", dict(enumerate(TAGS))))
HEADS = {
    "crf": CrfHead,
    "crf, unconstrained": partial(CrfHead, constrain_decoding=False),
    "softmax": SoftmaxHead,
    "softmax, constrained": partial(SoftmaxHead, constrain_decoding=True),
}


@pytest.fixture
def vocab():
    return vocabulary_of(TAGS)


@pytest.fixture
def emissions():
    return torch.randn(4, 4, len(TAGS)) * 2


@pytest.fixture(params=HEADS)
def kind(request):
    return request.param


@pytest.fixture
def build(kind, vocab):
    """Creates heads with given settings and always the same scores."""

    def build(**settings):
        torch.manual_seed(1)
        return HEADS[kind](vocab, tag_encoding="BIO", **settings).double()

    return build


def scores_of(head, emissions):
    return ChainScores(*(tensor.detach() for tensor in head.chain_scores(emissions)))


def chains(head, emissions):
    """The rows with tokens, and all their paths."""
    scores = scores_of(head, emissions)
    return {row: AllPaths(scores, row, range(size)) for row, size in enumerate(LENGTHS) if size}


def key_of(entity):
    return entity.label, (entity.first, entity.last)


def spans_of(path):
    return tags_to_spans([TAGS[k] for k in path], "BIO")


def is_legal(path):
    return all(step in LEGAL for step in itertools.pairwise([len(TAGS), *path, len(TAGS) + 1]))


def test_the_best_path_and_the_marginals_consider_only_paths_that_may_be_predicted(
    kind, build, emissions
):
    head, mask = build(), mask_of(LENGTHS)
    tags, marginals = head.decode(emissions, mask), head.marginals(emissions, mask).double()
    for row, chain in chains(head, emissions).items():
        is_possible = (chain.path_scores > -torch.inf).tolist()
        is_constrained = kind in ("crf", "softmax, constrained")
        assert is_possible == [is_legal(path) or not is_constrained for path in chain.paths]
        best = chain.tags[chain.path_scores.argmax()]
        assert tags[row, : LENGTHS[row]].tolist() == best.tolist()
        own, expected = marginals[row, : LENGTHS[row]], chain.tag_marginals()
        torch.testing.assert_close(own, expected, rtol=1e-5, atol=1e-6)
    assert not tags[~mask].any()


def span_probabilities(chain):
    """The probability of each legally encoded span, summed over all paths."""
    found = Counter()
    for path, probability in zip(chain.paths, chain.probabilities().tolist()):
        for first, tag in enumerate(path):
            if TAGS[tag].startswith("B-"):
                last = first
                while last + 1 < len(path) and path[last + 1] == tag + 1:
                    last += 1
                found[TAGS[tag][2:], (first, last)] += probability
    return found


def test_an_entitys_probability_sums_over_all_paths_with_it(build, emissions):
    # The bias adds entities but must not change probabilities.
    head = build(decode_bias={"X": 2.0})
    predictions = head.predict(emissions.double(), mask_of(LENGTHS))
    num_entities = 0
    for row, chain in chains(head, emissions).items():
        spans, expected = span_probabilities(chain), torch.full((4,), -1.0).double()
        for label, bounds in spans_of(predictions["predicted_tags"][row, : LENGTHS[row]].tolist()):
            # The span is legal whatever its neighbours are.
            expected[bounds[0]] = spans[label, bounds]
            num_entities += 1
        torch.testing.assert_close(predictions["entity_probabilities"][row], expected)
    assert num_entities >= 3


def test_in_samples_of_a_long_chain_entities_are_as_frequent_as_their_probability(vocab):
    head = CrfHead(vocab, tag_encoding="BIO")
    emissions, mask = torch.randn(1, 60, len(TAGS)), torch.ones(1, 60, dtype=torch.bool)
    predictions = head.predict(emissions, mask)
    scores = head.chain_scores(emissions)
    samples = sample_paths(scores, mask, num_samples=4_000).detach()[0].tolist()
    sampled = [set(spans_of(path)) for path in samples]
    spans = spans_of(predictions["predicted_tags"][0].tolist())
    assert len(spans) > 5
    for span in spans:
        share = sum(span in each for each in sampled) / len(sampled)
        probability = float(predictions["entity_probabilities"][0, span[1][0]])
        # Four standard deviations.
        assert share == pytest.approx(probability, abs=4 * 0.5 / 4_000**0.5)


def test_a_larger_bias_finds_more_of_a_label_and_changes_no_probability(build, emissions):
    mask = mask_of(LENGTHS)
    plain = build()
    numbers, every = [], set()
    for bias in (-20.0, -2.0, -1.0, 0.0, 1.0, 2.0, 20.0):
        head = build(decode_bias={"X": bias})
        tags = head.decode(emissions, mask)
        numbers.append(int((tags[mask] == TAGS.index("B-X")).sum()))
        every.add(numbers[-1])
        torch.testing.assert_close(
            head.marginals(emissions, mask), plain.marginals(emissions, mask)
        )
    assert numbers == sorted(numbers)
    assert len(every) > 2
    assert numbers[-1] == sum(LENGTHS)


def test_the_bias_counts_once_for_each_entity(vocab):
    head = CrfHead(vocab, tag_encoding="BIO", decode_bias={"X": 1.0, "Y": -3.0})
    assert head.decoder.bias.tolist() == [0, 1, 0, -3, 0]
    bioul = ["O", "B-X", "I-X", "L-X", "U-X"]
    head = CrfHead(vocabulary_of(bioul), tag_encoding="BIOUL", decode_bias={"X": 1.0})
    assert head.decoder.bias.tolist() == [0, 1, 0, 0, 1]
    assert "decoder.bias" not in head.state_dict()
    # Constraints are not saved either.
    assert not SoftmaxHead(vocab, tag_encoding="BIO", constrain_decoding=True).state_dict()


def test_spans_without_a_label_are_named_by_an_underscore():
    vocab = vocabulary_of(["O", "B", "I"])
    settings = {"decode_bias": {"_": 20.0}, "entity_thresholds": {"_": 0.5}}
    head = SoftmaxHead(vocab, tag_encoding="BIO", constrain_decoding=True, **settings)
    emissions = torch.tensor([[[0.0, 3.0, 0.0], [0.0, -3.0, 0.0]]])
    # With the bias, each token becomes an entity; the second one is too improbable.
    assert head.best_tags(emissions, mask_of([2])).tolist() == [[1, 1]]
    assert head.decode(emissions, mask_of([2]))[0, 1] == 0


def test_plain_labels_are_biased_directly():
    vocab = vocabulary_of(["NOUN", "VERB"])
    head = SoftmaxHead(vocab, decode_bias={"VERB": 1.0})
    emissions, mask = torch.tensor([[[0.5, 0.0], [1.5, 0.0]]]), mask_of([2])
    assert head.decode(emissions, mask).tolist() == [[1, 0]]
    assert list(head.predict(emissions, mask)) == ["predicted_tags"]


def test_thresholds_drop_exactly_the_entities_below_them(build, emissions):
    mask = mask_of(LENGTHS)
    emissions = torch.cat([emissions, torch.randn(16, 4, len(TAGS)) * 2]).double()
    mask = torch.cat([mask, torch.ones(16, 4, dtype=torch.bool)])
    before = build().predict(emissions, mask)
    head = build(entity_thresholds={"X": 0.5})
    after = head.predict(emissions, mask)
    assert torch.equal(head.decode(emissions, mask), after["predicted_tags"])
    num_dropped, num_kept = 0, 0
    for row in range(len(mask)):
        length = int(mask[row].sum())
        expected = set()
        for label, (first, last) in spans_of(before["predicted_tags"][row, :length].tolist()):
            is_kept = label != "X" or before["entity_probabilities"][row, first] >= 0.5
            num_dropped, num_kept = num_dropped + (not is_kept), num_kept + is_kept
            if is_kept:
                expected.add((label, (first, last)))
            assert (after["entity_probabilities"][row, first] >= 0) == is_kept
        assert set(spans_of(after["predicted_tags"][row, :length].tolist())) == expected
    assert num_dropped > 2
    assert num_kept > 2


def test_minimum_risk_maximises_the_expected_number_of_correct_tags(build):
    emissions, mask = torch.randn(20, 4, len(TAGS)), torch.ones(20, 4, dtype=torch.bool)
    head = build(decoding="minimum_risk")
    tags = head.decode(emissions, mask)
    scores = scores_of(head, emissions)
    for row, path in enumerate(tags.tolist()):
        chain = AllPaths(scores, row, range(4))
        # (P, P): the number of tokens in which two paths agree.
        num_right = (chain.tags.unsqueeze(0) == chain.tags.unsqueeze(1)).double().sum(2)
        expected = num_right @ chain.path_scores.softmax(0)
        possible = torch.where(chain.path_scores > -torch.inf, expected, -1.0)
        assert path == chain.tags[int(possible.argmax())].tolist()
    # Independent tags already have the least risk.
    is_chain = not isinstance(head, SoftmaxHead) or head.constrain_decoding
    assert torch.equal(tags, build().decode(emissions, mask)) != is_chain


def test_the_padding_changes_nothing(build, emissions):
    mask = mask_of(LENGTHS)
    dirty = torch.where(mask.unsqueeze(2), emissions, torch.tensor(torch.nan))
    for settings in ({"decoding": "minimum_risk"}, {"entity_thresholds": {"X": 0.3}}):
        head = build(decode_bias={"Y": 0.5}, **settings)
        expected, actual = head.predict(emissions, mask), head.predict(dirty, mask)
        for name, values in expected.items():
            torch.testing.assert_close(actual[name], values)


def test_masks_with_holes_are_accepted_except_in_predictions(build, emissions):
    head = build()
    mask = torch.tensor([[False, True, False, True], *[[True] * 4] * 3])
    gold_tags = torch.ones(4, 4, dtype=torch.int64)
    alone = emissions[:1, mask[0]]
    all_real = torch.ones(1, 2, dtype=torch.bool)
    close = torch.testing.assert_close
    close(
        head.sequence_loss(emissions, gold_tags, mask)[0],
        head.sequence_loss(alone, gold_tags[:1, :2], all_real)[0],
    )
    close(head.marginals(emissions, mask)[0, mask[0]], head.marginals(alone, all_real)[0])
    close(head.decode(emissions, mask)[0, mask[0]], head.decode(alone, all_real)[0])
    with pytest.raises(ValueError, match="row 0 has a real token after a masked one; take masked"):
        head.predict(emissions, mask)


def test_marginals_are_output_on_request(build, emissions):
    head = build()
    output = head.predict(emissions, mask_of(LENGTHS), Extras(probabilities=True))
    readable = head.predictions(output, LENGTHS)
    assert not output
    assert [len(found.probabilities) for found in readable] == LENGTHS
    assert sum(readable[0].probabilities[3].values()) == pytest.approx(1, abs=1e-5)
    assert list(readable[0].probabilities[3]) == TAGS
    for found in readable:
        assert [key_of(each) for each in found.entities] == tags_to_spans(found.tags, "BIO")
        assert all(0 <= each.probability <= 1 for each in found.entities)


@pytest.mark.parametrize("tag_encoding", ["BIO", "IOB1"])
def test_entities_are_the_spans_encoded_by_the_tags(tag_encoding):
    """Includes illegal sequences, and IOB1, in which entities have no probabilities."""
    tags = ["O", "B-X", "I-X", "I-Y", "B"]
    vocab = vocabulary_of(tags)
    head = SoftmaxHead(vocab, "labels", tag_encoding, constrain_decoding=False)
    output = head.predict(torch.randn(50, 7, len(tags)) * 9, torch.ones(50, 7, dtype=torch.bool))
    readable = head.predictions(output, [7] * 50)
    for found in readable:
        assert [key_of(each) for each in found.entities] == tags_to_spans(found.tags, tag_encoding)
        for each in found.entities:
            assert (each.probability is not None) == (tag_encoding == "BIO")


@pytest.mark.parametrize("encoding", ["BIO", "IOB1", "BIOUL", "BMES"])
@pytest.mark.parametrize("labels", [("X",), ("X", "Y")])
def test_leaks_equal_the_sum_over_all_paths(encoding, kind, labels):
    tags = tag_set(encoding, ("X", "Y"))
    lengths = [3, 1, 0, 4] if encoding in ("BIO", "IOB1") else [3, 1, 0, 2]
    torch.manual_seed(len(kind))
    # The bias changes predictions but not probabilities.
    bias = {} if encoding == "IOB1" else {"decode_bias": {"X": 1.0}}
    head = HEADS[kind](vocabulary_of(tags), tag_encoding=encoding, **bias).double()
    emissions = torch.randn(4, 4, len(tags)).double() * 1.5
    mask = mask_of(lengths, 4)
    emissions[~mask] = torch.nan
    output = head.predict(emissions, mask, Extras(leak_labels=labels))
    at_tokens = output["expected_missed"].clone()
    readable = head.predictions(output, lengths)
    assert not output
    scores = scores_of(head, emissions)
    num_missed = 0.0
    for row, length in enumerate(lengths):
        predicted = {key_of(each) for each in readable[row].entities}
        paths, expected, leak = AllPaths(scores, row, range(length)), torch.zeros(4).double(), 0.0
        for path, probability in zip(paths.paths, paths.probabilities().tolist()):
            true = set(tags_to_spans([tags[k] for k in path], encoding))
            missed = [(label, span) for label, span in true - predicted if label in labels]
            leak += probability * (len(missed) > 0)
            for _, (first, _) in missed:
                expected[first] += probability
        torch.testing.assert_close(at_tokens[row], expected)
        assert readable[row].expected_missed == pytest.approx(float(expected.sum()), abs=1e-12)
        assert readable[row].leak_probability == pytest.approx(leak, abs=1e-12)
        num_missed += leak
    assert num_missed > 0.01


def test_leaks_depend_on_dropped_entities(build, emissions):
    head = build(entity_thresholds={"X": 1.0})
    mask, extras = mask_of(LENGTHS), Extras(leak_labels=("X",))
    dropped = head.predict(emissions.double(), mask, extras)
    found = build().predict(emissions.double(), mask, extras)
    of_x = found["entity_probabilities"].clamp(min=0) * (found["predicted_tags"] == 1)
    assert of_x.sum() > 0.5
    if isinstance(head, CrfHead):
        # If illegal sequences are allowed, an entity has further encodings.
        difference = dropped["expected_missed"] - found["expected_missed"]
        assert (difference >= of_x - 1e-9).all()
    assert (dropped["log_none_missed"] <= found["log_none_missed"] + 1e-12).all()


@pytest.mark.parametrize("least", [0.02, 0.3])
def test_candidates_are_all_entities_above_the_probability(build, emissions, least):
    head = build()
    output = head.predict(emissions.double(), mask_of(LENGTHS), Extras(candidates=least))
    readable = head.predictions(output, LENGTHS)
    assert not output
    candidates, num_found = [each.candidates for each in readable], 0
    for row, chain in chains(head, emissions).items():
        expected = span_probabilities(chain)
        found = {key_of(each): each.probability for each in candidates[row]}
        assert found == pytest.approx({span: p for span, p in expected.items() if p >= least})
        assert list(found) == sorted(found, key=lambda span: (span[1], span[0]))
        for entity in readable[row].entities:
            if entity.probability >= least:
                assert found[key_of(entity)] == pytest.approx(entity.probability)
        num_found += len(found)
    assert candidates[LENGTHS.index(0)] == []
    assert num_found >= (10 if least < 0.1 else 3)
