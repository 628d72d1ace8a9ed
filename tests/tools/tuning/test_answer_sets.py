"""Scores of sets equal an enumeration of all sequences, and thresholds cover what they promise."""

import itertools
import math

import numpy as np
import pytest
from allennlp.models import load_archive

from tagger.modules.heads.answer_sets import NUM_SEQUENCES
from tagger.tools.tuning.answer_sets import (
    LEAST_PROBABILITY,
    hierarchical_quantile,
    largest_confidence,
    num_groups_needed,
    scored_items,
)
from tests.heads import (
    TAGS,
    WORDS,
    _paths,
    _spans,
    rows_of,
    write_kind,
)

GOLD = {
    "crf": ["O", "B-ORG", "I-ORG", "B-LOC", "O", "O", "O"],
    "softmax": ["O", "B-LOC", "O", "B-ORG", "O", "O", "B-LOC"],
    "label_chains": ["O", "B-ORG", "I-ORG", "B-LOC|I-ORG", "I-LOC|I-ORG", "O", "O"],
}
LENGTHS = [7, 3, 1]


def enumerated(kind, at, length):
    """All legal sequences of a chain over the first words, best first, and their probabilities."""
    paths = _paths([rows_of(kind)[word] for word in WORDS[:length]], at, kind)
    order = paths.path_scores.argsort(descending=True)
    order = order[paths.path_scores[order] > -math.inf]
    tags = [[TAGS[at[k]] for k in path] for path in paths.tags[order].tolist()]
    return tags, paths.probabilities()[order].tolist()


def gold_of_chain(tags, at):
    """The tags of one chain: with overlapping labels, each token may have several."""
    own = {TAGS[k] for k in at}
    return [next((tag for tag in token.split("|") if tag in own), "O") for token in tags]


@pytest.mark.parametrize("kind", GOLD)
def test_scores_equal_the_sum_over_all_sequences(kind, tmp_path):
    archive = load_archive(write_kind(kind, tmp_path))
    lines = [
        "".join(f"{word} {tag}\n" for word, tag in zip(WORDS[:length], GOLD[kind]))
        for length in LENGTHS
    ]
    (tmp_path / "gold.txt").write_text("\n".join(lines))
    instances = list(archive.validation_dataset_reader.read(str(tmp_path / "gold.txt")))
    # A batch of two and one of one.
    entities, sentences, num_sentences = scored_items(archive.model, instances, batch_size=2)
    assert num_sentences == 3
    expected, overlapping, of_sentences = [], [], []
    chains = [[0, 1, 3], [0, 2, 4]] if kind == "label_chains" else [list(range(5))]
    for number, length in enumerate(LENGTHS):
        masses = []
        for at in chains:
            paths, probabilities = enumerated(kind, at, length)
            gold = gold_of_chain(GOLD[kind][:length], at)
            rank = paths.index(gold)
            masses.append(sum(probabilities[:rank]) if rank < NUM_SEQUENCES else math.inf)
            spans = {}
            for path, p in zip(paths, probabilities):
                for span in _spans(path):
                    spans[span] = spans.get(span, 0) + p
            for label, first, last in _spans(gold):
                expected.append((number, 1 - spans[label, first, last]))
                rivals = [p for (_, a, b), p in spans.items() if a <= last and b >= first]
                overlapping.append(sum(p >= LEAST_PROBABILITY for p in rivals))
        of_sentences.append(max(masses))
    assert sentences.scores == pytest.approx(of_sentences)
    found = sorted(zip(entities.sentences.tolist(), entities.scores.tolist()))
    for (sentence, score), (number, wanted) in zip(found, sorted(expected), strict=True):
        assert (sentence, score) == (number, pytest.approx(wanted, abs=1e-6))
    assert sorted(entities.sizes(1.0)) == sorted(overlapping)
    # A set that holds exactly the truth ends with it.
    for number, score in enumerate(sentences.scores):
        if len(chains) == 1 and score < math.inf:
            assert sentences.sizes(score)[number] == sentences.ranks[number]
        smaller = sentences.sizes(score - 1e-9)[number]
        assert (
            smaller == NUM_SEQUENCES
            if score == math.inf
            else smaller < sentences.sizes(score)[number]
        )


def test_sentences_without_all_gold_tags_are_left_out(tmp_path):
    archive = load_archive(write_kind("crf", tmp_path))
    reader = archive.validation_dataset_reader
    instances = [reader.text_to_instance(WORDS, tags) for tags in (GOLD["crf"], None)]
    for instance in instances:
        reader.apply_token_indexers(instance)
    entities, sentences, num_sentences = scored_items(archive.model, instances, batch_size=1)
    assert num_sentences == 2
    assert sentences.sentences.tolist() == [0]
    assert entities.sentences.tolist() == [0, 0]


def test_the_threshold_is_a_quantile_in_which_each_document_counts_once():
    scores = np.array([0.1, 0.9, 0.2, 0.2, 0.2, 0.3])
    groups = np.array([0, 0, 1, 1, 1, 2])
    # Weights in quarters: 0.1: 1/2, 0.2: 1, 0.3: 1, 0.9: 1/2, and 1 for infinity.
    expected = {
        0.125: 0.1,
        0.126: 0.2,
        0.375: 0.2,
        0.625: 0.3,
        0.63: 0.9,
        0.75: 0.9,
        0.76: math.inf,
    }
    for confidence, threshold in expected.items():
        assert hierarchical_quantile(scores, groups, confidence) == threshold
    scores[1] = math.inf
    assert largest_confidence(scores, groups) == 0.625
    assert hierarchical_quantile(scores, groups, 0.625) == 0.3
    assert hierarchical_quantile(scores, groups, 0.626) == math.inf


@pytest.mark.parametrize("confidence", [0.5, 0.8, 0.9, 0.95, 0.99])
def test_the_number_of_documents_that_are_needed_is_the_least_that_is_enough(confidence):
    needed = num_groups_needed(confidence)
    for number, is_enough in ((needed, True), (needed - 1, False)):
        scores = np.linspace(0, 1, number)
        found = hierarchical_quantile(scores, np.arange(number), confidence)
        assert math.isfinite(found) == is_enough


def documents(rng, number):
    """Scores of documents of very different sizes with similar items; larger ones are easier."""
    for _ in range(number):
        size = int(rng.choice([1, 2, 40]))
        yield rng.normal(3 / size**0.5, 1) + 0.2 * rng.normal(size=size)


@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_a_random_item_of_a_new_document_is_covered_as_promised_but_not_if_items_were_documents(
    confidence,
):
    rng = np.random.default_rng(0)
    by_document, by_item = [], []
    for _ in range(3000):
        *parts, new = documents(rng, 26)
        scores = np.concatenate(parts)
        groups = np.repeat(np.arange(25), list(map(len, parts)))
        for found, unit in ((by_document, groups), (by_item, np.arange(len(scores)))):
            found.append((new <= hierarchical_quantile(scores, unit, confidence)).mean())
    error = 3 * np.std(by_document) / len(by_document) ** 0.5
    assert np.mean(by_document) >= confidence - error
    # Nor are sets needlessly large.
    assert np.mean(by_document) <= confidence + 1 / 26 + error
    assert np.mean(by_item) < confidence - 0.05


def test_confidences_order_thresholds():
    rng = np.random.default_rng(1)
    parts = list(documents(rng, 200))
    scores, groups = np.concatenate(parts), np.repeat(np.arange(200), list(map(len, parts)))
    found = [hierarchical_quantile(scores, groups, each) for each in (0.5, 0.8, 0.9, 0.95, 0.99)]
    assert all(a <= b for a, b in itertools.pairwise(found))
