"""The uncertainty of questions, compared with sums over all tag sequences."""

from collections import Counter

import numpy as np
import pytest
import torch
from allennlp.common.checks import ConfigurationError

from tagger.data.fields.tag_field import TagField
from tagger.linear_chain import ChainScores
from tagger.spans import tags_to_spans
from tagger.spans.entities import Entities
from tagger.tools.labels.uncertainty import SCORES, _runs, uncertain_sentences
from tagger.tools.tuning.labelled_file import encoded
from tests.oracles.all_paths import AllPaths

TAGS = ["O", "B-A", "I-A", "B-B"]
LENGTHS = [4, 3, 1]
PLACES = np.array([[0, 0, 3], [0, 1, 2], [0, 3, 3], [1, 0, 2], [1, 0, 0], [2, 0, 0]])


def entropy_of(paths, probabilities, first, last):
    sums = Counter()
    for path, p in zip(paths, probabilities):
        sums[path[first : last + 1]] += p
    return -sum(p * np.log(p) for p in sums.values())


def least_confidence_of(paths, probabilities, first, last):
    best = paths[int(np.argmax(probabilities))][first : last + 1]
    right = sum(p for path, p in zip(paths, probabilities) if path[first : last + 1] == best)
    return -np.log(right)


def expected_missed_of(paths, probabilities, first, last):
    def spans(path):
        return set(tags_to_spans([TAGS[k] for k in path], "BIO"))

    best = spans(paths[int(np.argmax(probabilities))])
    return sum(
        p * sum(first <= start <= last for _, (start, _) in spans(path) - best)
        for path, p in zip(paths, probabilities)
    )


@pytest.mark.parametrize("expected", [entropy_of, least_confidence_of, expected_missed_of])
def test_a_score_is_the_sum_over_all_sequences(expected):
    name = expected.__name__.removesuffix("_of")
    shapes = [(3, 4, 4), (4, 4), (4,), (4,)]
    chain = ChainScores(*(torch.randn(shape).double() for shape in shapes))
    mask = torch.arange(4) < torch.tensor(LENGTHS)[:, None]
    found = SCORES[name](TAGS, "BIO")(chain, PLACES, mask)
    for value, (row, first, last) in zip(found, PLACES.tolist()):
        paths = AllPaths(chain, row, range(LENGTHS[row]))
        probabilities = paths.probabilities().numpy()
        assert value == pytest.approx(expected(paths.paths, probabilities, first, last))


def instances_of(archive, sentences, tags=None):
    reader = archive.validation_dataset_reader
    instances = [reader.text_to_instance(each.split(), tags) for each in sentences]
    for instance in instances:
        reader.apply_token_indexers(instance)
    return instances


SENTENCES = ["Maria Lindqvist met Paulo Ferraz in Lisbon .", "It rained .", "Ferraz left Lisbon"]


@pytest.mark.parametrize("score", SCORES)
def test_batches_change_nothing(archive, score):
    instances = instances_of(archive, SENTENCES)
    for by in ("sentence", "span"):
        one, two = (
            list(uncertain_sentences(archive.model, instances, by, score, 0.01, batch_size=size))
            for size in (1, 3)
        )
        for first, second in zip(one, two):
            assert first.questions == second.questions
            assert first.scores == pytest.approx(second.scores, abs=1e-5)
            assert first.of_labels == pytest.approx(second.of_labels, abs=1e-5)


def test_questions_are_sentences_or_uncertain_runs(archive):
    instances = instances_of(archive, SENTENCES)
    whole = list(uncertain_sentences(archive.model, instances))
    assert [each.questions for each in whole] == [[[0, 7]], [[0, 2]], [[0, 2]]]
    spans = list(uncertain_sentences(archive.model, instances, "span", least_doubt=0.01))
    assert [each.questions for each in spans] == [each.open for each in spans]
    for sentence in spans:
        inside = [(a, b) for a, b in sentence.questions]
        # An entity outside of all questions is sure.
        for (_, (first, last)), probability in sentence.entities:
            asked = any(a <= first and last <= b for a, b in inside)
            assert asked == (probability < 0.99)
    few = list(uncertain_sentences(archive.model, instances, "span", least_doubt=0.3))
    assert sum(len(each.questions) for each in few) < sum(len(each.questions) for each in spans)


def test_entities_that_overlap_are_one_question_without_what_is_known_at_its_ends():
    entities = Entities(*np.array([[0, 0, 0, 2], [0, 0, 2, 3], [1, 0, 4, 5], [0, 1, 3, 3]]).T)
    is_known = np.zeros((2, 6), dtype=bool)
    assert _runs(entities, is_known).tolist() == [[0, 0, 3], [0, 4, 5], [1, 3, 3]]
    is_known[0, [0, 2]] = is_known[1] = True
    assert _runs(entities, is_known).tolist() == [[0, 1, 3], [0, 4, 5]]


@pytest.mark.parametrize("by", ["sentence", "span"])
def test_known_tags_are_not_asked_and_change_the_rest(archive, by):
    known = instances_of(archive, SENTENCES[2:], ["B-LOC", "O", "O"])
    (sentence,) = uncertain_sentences(archive.model, known, by, least_doubt=0.001)
    assert sentence.questions == []
    assert sentence.entities == [(("LOC", (0, 0)), pytest.approx(1))]


def test_unknown_tags_are_conditioned_on_known_ones(archive):
    (instance,) = instances_of(archive, SENTENCES[2:])
    ((batch, *_),) = encoded(archive.model, [instance], 1)
    paths = AllPaths(archive.model.head.chain_scores(batch.emissions), 0, range(3))
    tags = archive.model.tags
    known = [tags.index("U-LOC"), tags.index("O")]
    given = (paths.tags[:, :2] == torch.tensor(known)).all(1)
    probabilities = torch.softmax(paths.path_scores[given], 0)
    (instance,) = instances_of(archive, SENTENCES[2:])
    instance.add_field("tags", TagField(["U-LOC", "O", "?"], instance["tokens"], unknown_tag="?"))
    (sentence,) = uncertain_sentences(archive.model, [instance])
    assert sentence.scores * 3 == pytest.approx(torch.special.entr(probabilities).sum().item())
    assert sentence.entities[0] == (("LOC", (0, 0)), pytest.approx(1))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": "word"}, "`by`"),
        ({"score": "luck"}, "`score`"),
        ({"least_doubt": 0.5}, "`least_doubt` must be above 0 and below 0.5"),
    ],
)
def test_an_impossible_argument_is_named(archive, options, message):
    with pytest.raises(ConfigurationError, match=message):
        next(uncertain_sentences(archive.model, [], **options))
