"""Tests of `tagger.tools.sources.merging` and `reliability`."""

import numpy as np
import pytest
import torch

from tagger.data.formats import OPEN, AnnotatedText, Annotation
from tagger.data.sources.annotations import SourcedText
from tagger.linear_chain import ChainMarginals, ChainScores, chain_cross_entropy, log_partition
from tagger.spans import check_tags, tags_to_spans
from tagger.tools.sources.merging import METHODS, merge
from tagger.tools.sources.posterior import best_tags
from tagger.tools.sources.reliability import reliability
from tests.tools.sources.planted import TAGS, noisy, random_tags, true_sentences

TRUE = true_sentences(400)


def sourced(*sources, names="abcdefgh"):
    """Texts of a sentence each; a source gives tags for each sentence, or None."""
    texts = []
    for row in range(len(sources[0])):
        length = next(len(tags[row]) for tags in sources if tags[row] is not None)
        words = [f"w{row}x{position}" for position in range(length)]
        starts = np.cumsum([0, *(len(word) + 1 for word in words[:-1])]).tolist()
        places = [(start, start + len(word)) for start, word in zip(starts, words)]
        annotations = {
            name: [
                Annotation(label, places[start][0], places[end][1])
                for label, (start, end) in tags_to_spans([TAGS[tag] for tag in tags[row]], "BIO")
            ]
            for name, tags in zip(names, sources)
            if tags[row] is not None
        }
        text = AnnotatedText(" ".join(words), [], places, [length], f"text {row}", {})
        texts.append(SourcedText(text, annotations))
    return texts


def f1(texts, true=TRUE):
    gold = [each.annotations["a"] for each in sourced(true)]
    found = {(row, each) for row, text in enumerate(texts) for each in text.entities}
    right = {(row, each) for row, entities in enumerate(gold) for each in entities}
    return 2 * len(found & right) / (len(found) + len(right))


def test_the_hidden_chain_beats_the_majority_and_the_union():
    sources = [
        noisy(TRUE, missed, 0.05, 0.05, seed) for seed, missed in enumerate((0.1, 0.4, 0.6, 0.5))
    ]
    scores = {method: f1(merge(sourced(*sources), method).texts) for method in METHODS}
    assert max(scores, key=scores.get) == "hidden_chain"
    assert scores["hidden_chain"] > max(scores["majority"], scores["union"]) + 0.03


def test_the_majority_counts_votes_and_the_union_takes_any():
    a, b, c = [[3, 4, 0, 0]], [[3, 4, 0, 1]], [[3, 0, 0, 0]]
    found = {
        method: [
            (each.label, each.start) for each in merge(sourced(a, b, c), method).texts[0].entities
        ]
        for method in ("majority", "union")
    }
    # LOC is known to one source alone, so nobody votes against it
    assert found == {"majority": [("PER", 0), ("LOC", 15)], "union": [("PER", 0), ("LOC", 15)]}
    b, c = [[3, 4, 0, 1], [1, 0]], [[3, 0, 0, 0], [1, 0]]
    for method, expected in (("majority", [0]), ("union", [0, 15])):
        texts = merge(sourced([*a, [1, 0]], b, c), method).texts
        assert [each.start for each in texts[0].entities] == expected


def test_a_copy_is_named_and_left_out():
    sources = [
        noisy(TRUE, 0.4, 0.1, 0.1, 0),
        noisy(TRUE, 0.1, 0.05, 0.01, 1),
        noisy(TRUE, 0.2, 0.1, 0.02, 2),
    ]
    few = [tags if row % 4 else None for row, tags in enumerate(sources[0])]
    merged = merge(sourced(*sources, few, few))
    copies = {name: found.copy_of for name, found in merged.sources.items() if found.copy_of}
    assert copies == {"d": "a", "e": "a"}
    without = merge(sourced(*sources))
    assert [text.entities for text in merged.texts] == [text.entities for text in without.texts]
    assert not any(found.copy_of for found in without.sources.values())


def test_good_sources_are_no_copies_of_one_another():
    sources = [noisy(TRUE, 0.04, 0.01, 0.01, seed) for seed in range(4)]
    found = merge(sourced(*sources)).sources.values()
    assert not any(each.copy_of or each.is_chance for each in found)


def test_a_rule_that_finds_little_is_not_taken_for_chance():
    sentences = true_sentences(1500)
    people = [noisy(sentences, 0.2, 0.05, 0.02, seed) for seed in range(3)]
    rule = noisy(sentences, 0.98, 0.0, 0.0, 4)
    found = merge(sourced(*people, rule)).sources["d"]
    assert (found.is_chance, found.num_entities) == (False, pytest.approx(40, abs=20))
    assert found.precision > 0.9


@pytest.mark.parametrize("method", ["hidden_chain", "dawid_skene"])
def test_sources_no_better_than_chance_are_named(method):
    # The last one labels what others do not, and is worse than chance
    contrary = [[3 if tag == 0 else 0 for tag in tags] for tags in TRUE]
    sources = [noisy(TRUE, 0.2, 0.05, 0.02, seed) for seed in range(3)]
    merged = merge(sourced(*sources, random_tags(TRUE), contrary), method)
    assert [name for name, each in merged.sources.items() if each.is_chance] == ["d", "e"]
    assert f1(merged.texts) > 0.9


def test_reliability_counts_entities_and_names_errors():
    tags = ["O", "B-LOC", "I-LOC", "B-PER", "I-PER"]
    merged = np.array([3, 4, 0, 1, 0, 1, 3, 0, 3])
    given = np.array([3, 4, 0, 3, 0, 0, 3, 4, -1])
    starts = np.array([True, *[False] * 3, True, *[False] * 3, True])
    found = reliability(tags, given, merged, starts, 2)
    assert (found.num_entities, found.num_texts) == (3, 2)
    assert (found.precision, found.recall) == (1 / 3, 1 / 2)
    expected = {"LOC as PER", "PER with other borders"}
    assert {error for error, _ in found.errors} == expected


def test_precision_and_recall_are_near_those_against_the_truth():
    rates = [(0.1, 0.0, 0.0), (0.5, 0.0, 0.02), (0.2, 0.1, 0.05)]
    sources = [noisy(TRUE, *rate, seed) for seed, rate in enumerate(rates)]
    with_gold = merge(sourced(*sources, TRUE), gold="d").sources
    for name, found in merge(sourced(*sources)).sources.items():
        assert found.precision == pytest.approx(with_gold[name].precision, abs=0.1)
        assert found.recall == pytest.approx(with_gold[name].recall, abs=0.1)


def test_what_nobody_has_read_and_what_is_not_probable_is_open():
    sources = [noisy(TRUE, 0.4, 0.1, 0.05, seed) for seed in range(2)]
    sources[1][0] = sources[0][0] = None
    texts = sourced(*sources, [[0] * len(tags) for tags in TRUE])
    texts[0] = texts[0]._replace(annotations={})
    merged = merge(texts).texts
    assert merged[0].properties[OPEN] == [list(place) for place in merged[0].tokens]
    assert not any(OPEN in text.properties for text in merged[1:])
    surer = merge(texts, min_probability=0.9).texts
    parts = [part for text in surer[1:] for part in text.properties.get(OPEN, [])]
    assert parts
    for text in surer:
        for entity in text.entities:
            for start, end in text.properties.get(OPEN, []):
                assert end <= entity.start or entity.end <= start


@pytest.mark.parametrize("encoding", ["BIO", "BIOUL"])
def test_soft_labels_are_marginals_for_distillation(encoding):
    sources = [noisy(TRUE, 0.4, 0.1, 0.05, seed) for seed in range(2)]
    soft = merge(sourced(*sources)).soft_labels(encoding)
    words = soft.sentences[0]
    found = soft.find(words)
    num_tags = len(soft.tags)
    tags = torch.from_numpy(found.tags)[None].double()
    steps = torch.from_numpy(found.transitions)[None].double()
    assert found.tags.shape == (len(words), num_tags)
    assert torch.allclose(tags.sum(2), torch.ones(1).double(), atol=1e-2)
    assert steps.sum() == pytest.approx(len(words) - 1, abs=1e-2)
    zeros = torch.zeros(num_tags, num_tags).double()
    student = ChainScores(torch.zeros_like(tags), zeros, zeros[0], zeros[0])
    lengths = torch.tensor([len(words)])
    teacher = ChainMarginals.of_rows(tags, steps, lengths)
    loss = chain_cross_entropy(teacher, student)
    assert torch.allclose(loss, log_partition(student))


def test_a_source_that_labels_a_word_elsewhere_has_overlooked_it():
    text = AnnotatedText("Ada left. Then Ada and bo ate.", [], None, None, "", {})
    both, one = [Annotation("PER", 0, 3), Annotation("PER", 15, 18)], [Annotation("PER", 0, 3)]
    lower = Annotation("PER", 23, 25)
    texts = [SourcedText(text, {"a": [*both, lower], "b": one, "c": one})]
    assert merge(texts, "majority").texts[0].entities == both
    assert merge(texts, "majority").num_overlooked == 2
    assert merge(texts, "majority", repeats=False).texts[0].entities == one


@pytest.mark.parametrize("method", METHODS)
def test_every_method_gives_legal_tags_and_keeps_gold(method):
    sources = [random_tags(TRUE, seed) for seed in range(3)]
    some = [tags if row < 50 else None for row, tags in enumerate(TRUE)]
    texts = sourced(*sources, some)
    merged = merge(texts, method, gold="d")
    for text, given in zip(merged.texts[:50], texts):
        assert text.entities == given.annotations["d"]
    assert "d" not in merged.sources
    best = iter(best_tags(merged.chains).tolist())
    for length in merged.chains.lengths.tolist():
        check_tags([merged.chain.tags[next(best)] for _ in range(length)], "BIO")


def test_what_cannot_be_merged_is_an_error():
    with pytest.raises(
        ValueError, match="which is no source; did you mean `b`|is no source.*are a, b"
    ):
        merge(sourced(TRUE, TRUE), gold="bb")
    with pytest.raises(ValueError, match="at least one source; got none"):
        merge(sourced(TRUE), gold="a")
    with pytest.raises(ValueError, match="no source found an entity"):
        merge(sourced([[0] * len(tags) for tags in TRUE]))
