"""Texts are ranked by uncertainty and come with questions that fit a budget."""

import numpy as np
import pytest
from allennlp.common.checks import ConfigurationError

from tagger.data.formats import ASKED, OPEN, AnnotatedText, Annotation
from tagger.predictors import SequenceTaggerPredictor
from tagger.tools.labels.ranking import _joined, _rarity, pool_of, rank_texts, read_pool
from tagger.tools.labels.selection import select
from tagger.tools.labels.uncertainty import UncertainSentence

TEXTS = [
    "Maria Lindqvist met Paulo Ferraz in Lisbon .",
    "Zyx Qwv Bnm sold Asd Fgh to Uio Plm Tre .",
    "It rained .",
    "it Rained .",
]


@pytest.fixture
def predictor(archive):
    return SequenceTaggerPredictor(archive.model, archive.validation_dataset_reader)


def rank(predictor, texts=TEXTS, budget=100, **options):
    return rank_texts(predictor, list(pool_of(predictor, texts)), budget, **options)


def test_whole_sentences_are_ranked_and_duplicates_are_asked_once(predictor):
    source = AnnotatedText(TEXTS[0], [], None, None, "", {"id": 7, "meta": {"page": 1}})
    ranking = rank(predictor, [source, *TEXTS[1:]])
    assert ranking.texts[0].text == TEXTS[1]
    assert len(ranking.texts) == ranking.num_chosen == 3
    assert (ranking.num_questions, ranking.num_words) == (4, 25)
    scores = [text.properties["meta"]["score"] for text in ranking.texts]
    assert scores == sorted(scores, reverse=True)
    # The whole text is the question, so it is not marked separately.
    assert not any(ASKED in text.properties for text in ranking.texts)
    assert all(len(text.entities) == len(text.probabilities or []) for text in ranking.texts)
    # Properties stay.
    (own,) = (text.properties for text in ranking.texts if text.text == TEXTS[0])
    assert (own["id"], own["meta"]["page"]) == (7, 1)
    assert rank(predictor, budget=11).num_asked == 11
    assert rank(predictor, budget=2).texts == []


def test_words_that_nobody_can_see_are_not_asked_about(predictor):
    ranking = rank(predictor, ["\u200b", "\u200b \ufeff", TEXTS[2]])
    assert [text.text for text in ranking.texts] == [TEXTS[2]]
    assert rank(predictor, ["\u200b"]).texts == []


def test_the_caller_says_which_texts_are_too_similar(predictor):
    similar = ["Zyx Qwv Bnm sold Asd .", "Zyx Qwv Bnm sold Fgh ."]

    def chosen(**options):
        # The budget holds both, or one and the other text.
        ranking = rank(predictor, [*similar, TEXTS[0]], budget=14, **options)
        return [text.text for text in ranking.texts]

    # They share 5 of 6 words and 3 of 5 pairs, which is a cosine of 8 / 11.
    assert sorted(chosen()) == sorted(chosen(most_similar=0.74)) == similar
    assert {text in similar for text in chosen(most_similar=0.72)} == {True, False}


def test_uncertain_words_are_asked_about_unless_asked_before(predictor):
    everything = {"by": "span", "least_doubt": 0.001, "most_similar": 2.0}
    first = rank(predictor, TEXTS[1:2], **everything).texts[0]
    asked, left_open = (first.properties[name] for name in (ASKED, OPEN))
    assert len(asked) > 1
    assert left_open == []
    assert first.properties["meta"]["ask"] == " | ".join(first.text[a:b] for a, b in asked)
    # A part was asked before, and answered.
    answer = Annotation("LOC", *asked[0])
    source = first._replace(entities=[answer], properties={ASKED: asked[:1]})
    (second,) = rank(predictor, [source], **everything).texts
    assert second.properties[ASKED] == asked
    assert len(second.properties["meta"]["ask"].split(" | ")) == len(asked) - 1
    assert [each for each in second.entities if each[1:] == asked[0]] == [answer]
    assert second.probabilities[second.entities.index(answer)] == 1
    # Uncertain parts that do not fit the budget stay unknown.
    sizes = [len(first.text[a:b].split()) for a, b in asked]
    (third,) = rank(predictor, [source], budget=sum(sizes[1:]) - 1, **everything).texts
    assert third.properties[OPEN]
    assert sorted([*third.properties[ASKED], *third.properties[OPEN]]) == asked


def test_sentences_of_a_document_are_asked_for_by_themselves(predictor, tmp_path):
    (tmp_path / "texts.jsonl").write_text(
        '{"sentences": ["It rained .", ["Zyx", "Qwv", "sold", "Bnm"]]}\n', encoding="utf-8"
    )
    pool = list(read_pool(predictor, str(tmp_path / "texts.jsonl")))
    (text,) = rank_texts(predictor, pool, 4).texts
    assert [text.text[a:b] for a, b in text.properties[ASKED]] == ["Zyx Qwv sold Bnm"]


def test_the_sentences_of_a_text_are_joined():
    one = UncertainSentence(
        2, [(("X", (0, 1)), 0.5)], [[0, 1]], [[0, 1]], np.array([1.0]), np.eye(2)[:1], np.ones(2)
    )
    joined = _joined([one, one])
    assert joined.num_tokens == 4
    assert joined.entities == [(("X", (0, 1)), 0.5), (("X", (2, 3)), 0.5)]
    assert joined.open == joined.questions == [[0, 1], [2, 3]]
    assert joined.scores.tolist() == [1, 1]
    assert joined.num_expected.tolist() == [2, 2]


def test_a_question_counts_more_if_its_uncertain_labels_are_rare():
    # Expected are 90, 9 and 0.1 entities; the last counts as one.
    doubts = np.array([[1.0, 0, 0], [0, 2, 0], [1, 1, 0], [0, 0, 1], [0, 0, 0]])
    assert _rarity(doubts, np.array([90.0, 9, 0.1])).tolist() == [1, 10, 5.5, 90, 1]


def test_rare_labels_come_first_on_request(predictor, monkeypatch):
    # A text without a word expects nothing.
    assert len(rank(predictor, [" ", *TEXTS], rare_labels=True).texts) == 3
    monkeypatch.setattr(
        "tagger.tools.labels.ranking._rarity", lambda doubts, _: np.array([100.0, 1, 1, 1])
    )
    assert rank(predictor, rare_labels=True).texts[0].text == TEXTS[0]


def test_texts_that_cannot_be_ranked_are_named(predictor, tmp_path):
    (tmp_path / "texts.jsonl").write_text('It rained .\n{"words": []}\n', encoding="utf-8")
    for call, message in (
        (lambda: rank(predictor, [" "]), "there is no word"),
        (lambda: rank(predictor, budget=0), "`budget` must be a whole number"),
        (lambda: list(read_pool(predictor, str(tmp_path / "texts.jsonl"))), r"jsonl:2: .*words"),
    ):
        with pytest.raises(ConfigurationError, match=message):
            call()


WORDS = ["1 - 0", "2 - 5", "a b c", "a b d", "A B C", "e f g h i j"]


@pytest.mark.parametrize(
    ("budget", "most_similar", "expected"),
    [
        # Digits are alike, and so are capitals: two of the six are asked before.
        (100, 0.8, [5, 4, 3, 1]),
        # `a b c` and `a b d` have a cosine of 3 / 5.
        (100, 0.5, [5, 4, 1, 3]),
        # Questions that do not fit are skipped in favour of ones that do.
        (5, 0.8, [4]),
        (8, 2.0, [5]),
        (0, 0.8, []),
    ],
)
def test_the_first_that_fit_and_are_new_are_chosen(budget, most_similar, expected, monkeypatch):
    places = [whole(each) for each in WORDS]
    assert select(np.arange(6.0), places, budget, most_similar) == expected
    # A question is compared with all before.
    monkeypatch.setattr("tagger.tools.labels.selection._BLOCK", 2)
    assert select(np.arange(6.0), places, budget, most_similar) == expected
    assert select(np.zeros(0), [], 100) == []


def whole(sentence):
    words = sentence.split()
    return words, 0, len(words) - 1


def test_repeated_words_are_asked_last_and_only_in_other_places():
    texts = ["in Rom today", "in ROM today", "of Rom", "Oslo", "from Rom to Rom"]
    places = [(text.split(), *at) for text, at in zip(texts, [(1, 1)] * 3 + [(0, 0), (1, 1)])]
    places.append((texts[4].split(), 3, 3))
    scores = np.array([6.0, 5, 4, 1, 3, 2])
    assert select(scores, places, 100) == [0, 3, 2, 4, 5]
    assert select(scores, places, 3) == [0, 3, 2]
    assert select(scores, places, 100, 2.0) == [0, 2, 4, 5, 3]
