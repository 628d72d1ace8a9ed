"""Ranks texts by how useful it would be to label them, with questions to ask about them.

Letters: `N` questions, `C` labels.
"""

import itertools
from typing import Any, Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np
from allennlp.common.checks import ConfigurationError
from allennlp.common.tqdm import Tqdm
from allennlp.common.util import lazy_groups_of

from tagger.common.inputs import utf8_lines
from tagger.common.ranges import check_whole
from tagger.data.formats import ASKED, OPEN, AnnotatedText, Annotation, parts_of, read_texts
from tagger.data.reading import Reading
from tagger.predictors import SequenceTaggerPredictor
from tagger.predictors.sequence_tagger import holds_document
from tagger.tools.labels.selection import select
from tagger.tools.labels.uncertainty import UncertainSentence, uncertain_sentences
from tagger_texts.text import Text

#: How many texts are read and tagged together.
_WINDOW = 1024


class PoolText(NamedTuple):
    """A text that may be labelled: its words, whether it is a document, and its source.

    `source` is the text as it was read, with existing labels and other properties.
    """

    text: Text
    is_document: bool
    source: AnnotatedText


class Ranking(NamedTuple):
    """What to label next."""

    # The texts with questions, most useful first. Their entities are the tagger's suggestions with
    # probabilities; `properties` has the questions.
    texts: List[AnnotatedText]
    num_words: int  # The number of words in the pool
    num_asked: int  # The number of words that are asked about
    num_questions: int  # The number of possible questions
    num_chosen: int  # The number of chosen questions


class _Question(NamedTuple):
    """A question about the words `first` to `last` of a text, and its index in that text."""

    text: int
    place: int
    first: int
    last: int


def pool_of(
    predictor: SequenceTaggerPredictor, texts: Iterable[Union[str, AnnotatedText]]
) -> Iterator[PoolText]:
    """Yields texts as the tagger sees them, as documents if it was trained on documents."""
    key = "document" if getattr(predictor.dataset_reader, "reads_documents", False) else "sentence"
    for number, each in enumerate(texts, start=1):
        source = each
        if isinstance(source, str):
            source = AnnotatedText(source, [], None, None, f"text {number}", {})
        try:
            yield PoolText(predictor.read({key: source.text}), key == "document", source)
        except ValueError as error:
            raise ConfigurationError(f"{source.place}: {error}") from error


def read_pool(
    predictor: SequenceTaggerPredictor, path: str, format: Optional[str] = None
) -> Iterator[PoolText]:
    """Yields the texts of a file.

    Unless the file has the format of an annotation tool or a library, each line is a text or a JSON
    object, as for `predict-file`.
    """
    if format is not None:
        yield from pool_of(predictor, read_texts(path, Reading(format, labelled=False)))
        return
    for place, line in utf8_lines(path):
        try:
            inputs = predictor.load_line(line)
            text = predictor.read(inputs)
        except ValueError as error:
            raise ConfigurationError(f"{place}: {error}") from error
        source = AnnotatedText(text.text, [], None, None, place, {})
        yield PoolText(text, holds_document(inputs), source)


def rank_texts(
    predictor: SequenceTaggerPredictor,
    pool: Sequence[PoolText],
    budget: int,
    by: str = "sentence",
    score: str = "entropy",
    rare_labels: bool = False,
    most_similar: float = 0.8,
    least_doubt: float = 0.01,
) -> Ranking:
    """Returns what to label next and what to ask about it.

    Questions that were asked before, according to the texts' properties, are not asked again. With
    `rare_labels`, a question counts more the rarer its uncertain labels are. The factor is the expected
    number of entities of the most frequent label in the pool divided by that of the question's labels.
    `by`, `score` (which is divided by the number of words) and `least_doubt` are as in
    `uncertain_sentences`, `budget` and `most_similar` as in `select`.
    """
    check_whole("budget", budget)
    if not any(each.text.words for each in pool):
        raise ConfigurationError("there is no word to label; give texts")
    seen = list(_seen(predictor, pool, by, score, least_doubt))
    asked = list(_new_questions(pool, seen))
    scores = np.array([seen[each.text].scores[each.place] for each in asked])
    if rare_labels and asked:
        of_labels = np.stack([seen[each.text].of_labels[each.place] for each in asked])
        expected = sum((each.num_expected for each in seen), start=np.zeros(of_labels.shape[1]))
        scores = scores * _rarity(of_labels, expected)
    places = [(pool[each.text].text.words, each.first, each.last) for each in asked]
    chosen = select(scores, places, budget, most_similar)
    of_texts: Dict[int, List[int]] = {}
    for index in chosen:
        of_texts.setdefault(asked[index].text, []).append(index)
    return Ranking(
        [
            _with_questions(pool[number], seen[number], [asked[i] for i in own], scores[own[0]])
            for number, own in of_texts.items()
        ],
        sum(len(each.text.words) for each in pool),
        sum(asked[index].last - asked[index].first + 1 for index in chosen),
        len(asked),
        len(chosen),
    )


def _new_questions(
    pool: Sequence[PoolText], seen: Sequence[UncertainSentence]
) -> Iterator[_Question]:
    """Yields the questions about words that nobody has been asked about, and that can be seen.

    Zero-width characters, for example, cannot be labelled.
    """
    for number, (text, each) in enumerate(zip(pool, seen)):
        known = parts_of(text.source, ASKED)
        for place, (first, last) in enumerate(each.questions):
            words = text.text.words[first : last + 1]
            is_visible = any(char.isprintable() for word in words for char in word)
            if is_visible and not _touches(_characters(text.text, first, last), known):
                yield _Question(number, place, first, last)


def _seen(
    predictor: SequenceTaggerPredictor, pool: Sequence[PoolText], *settings: Any
) -> Iterator[UncertainSentence]:
    """Yields the tagger's view of each text, with word indices that count from the start of the text."""
    with Tqdm.tqdm(total=len(pool), unit=" texts") as progress:
        for window in lazy_groups_of(iter(pool), _WINDOW):
            of_texts = [predictor.instances_of(each.text, each.is_document) for each in window]
            instances = list(itertools.chain(*of_texts))
            # Texts of similar lengths are batched together, to reduce padding.
            order = sorted(range(len(instances)), key=lambda index: len(instances[index]["tokens"]))
            sentences = uncertain_sentences(
                predictor.model, [instances[index] for index in order], *settings
            )
            of_instances: Dict[int, List[UncertainSentence]] = {}
            for index in order:
                num_words = len(instances[index]["tokens"])
                own = of_instances.setdefault(index, [])
                while num_words > sum(each.num_tokens for each in own):
                    own.append(next(sentences))
            parts = (of_instances[index] for index in range(len(instances)))
            for of_text in of_texts:
                yield _joined(list(itertools.chain(*itertools.islice(parts, len(of_text)))))
            progress.update(len(window))


def _joined(sentences: Sequence[UncertainSentence]) -> UncertainSentence:
    """Joins the sentences of a text."""
    lengths = [each.num_tokens for each in sentences]
    starts = list(itertools.accumulate(lengths, initial=0))

    def moved(places: Iterable[List[List[int]]]) -> List[List[int]]:
        return [[a + start, b + start] for start, own in zip(starts, places) for a, b in own]

    return UncertainSentence(
        sum(lengths),
        [
            ((label, (first + start, last + start)), probability)
            for start, each in zip(starts, sentences)
            for (label, (first, last)), probability in each.entities
        ],
        moved(each.open for each in sentences),
        moved(each.questions for each in sentences),
        np.concatenate([np.zeros(0), *(each.scores for each in sentences)]),
        np.concatenate([each.of_labels for each in sentences]) if sentences else np.zeros(0),
        sum((each.num_expected for each in sentences), start=np.zeros(())),
    )


def _rarity(of_labels: np.ndarray, num_expected: np.ndarray) -> np.ndarray:
    """Returns how rare the uncertain labels of each question are, (N,), at least 1.

    `of_labels`, (N, C), is the uncertainty about entities of each label, and `num_expected`, (C,), the
    number of entities expected in all texts.
    """
    # A label with less than one expected entity counts as if there were one.
    weights = np.maximum(num_expected.max(), 1) / np.maximum(num_expected, 1)
    totals = of_labels.sum(1)
    means = of_labels @ weights / np.where(totals > 0, totals, 1)
    return np.where(totals > 0, means, 1.0)


def _touches(part: Tuple[int, int], parts: Iterable[Tuple[int, int]]) -> bool:
    return any(begin < part[1] and part[0] < end for begin, end in parts)


def _characters(text: Text, first: int, last: int) -> Tuple[int, int]:
    return text.starts[first], text.starts[last] + len(text.words[last])


def _with_questions(
    text: PoolText, seen: UncertainSentence, questions: List[_Question], score: float
) -> AnnotatedText:
    """Returns a text with the tagger's entities, and with the questions as properties."""
    source, words = text.source, text.text
    known = parts_of(source, ASKED)
    entities = [(each, 1.0) for each in source.entities if _touches(each[1:], known)]
    for (label, place), probability in seen.entities:
        part = _characters(words, *place)
        if not _touches(part, known):
            entities.append((Annotation(label, *part), round(probability, 4)))
    entities.sort(key=lambda each: each[0][1:])
    new = sorted(_characters(words, each.first, each.last) for each in questions)
    asked = sorted([*known, *new])
    uncertain = [_characters(words, first, last) for first, last in seen.open]
    before = source.properties.get("meta")
    meta = {**(before if isinstance(before, dict) else {}), "score": round(float(score), 4)}
    parts = {}
    if asked != [_characters(words, 0, len(words.words) - 1)]:
        meta["ask"] = " | ".join(words.text[start:end] for start, end in new)
        parts = {ASKED: asked, OPEN: [part for part in uncertain if not _touches(part, asked)]}
    others = {key: value for key, value in source.properties.items() if key not in (ASKED, OPEN)}
    return source._replace(
        text=words.text,
        entities=[entity for entity, _ in entities],
        probabilities=[probability for _, probability in entities],
        tokens=[_characters(words, index, index) for index in range(len(words.words))],
        sentence_lengths=words.sentence_lengths,
        properties={**others, "meta": meta, **parts},
    )
