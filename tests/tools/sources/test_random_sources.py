"""Merging and comparing random sources: whatever they read and give, the result is legal and whole."""

import itertools

import numpy as np
import pytest

from tagger.data.formats import OPEN, AnnotatedText, Annotation
from tagger.data.formats.annotated_text import sentences
from tagger.data.sources.annotations import SourcedText
from tagger.data.sources.joining import join_sources
from tagger.spans import check_tags, convert_tags
from tagger.tools.sources.agreement import ComparedSources
from tagger.tools.sources.merging import METHODS, merge

LABELS = ["LOC", "PER", "Ärzt:in", "a-b"]
KINDS = {
    "all": {},
    "some texts only": {"missing": 0.6},
    "some labels only": {"own_labels": True},
    "an empty source": {"empty": True},
    "one source": {"num_sources": 1},
    "equal sources": {"equal": True},
    "repeated texts": {"repeats": True},
    "documents": {"documents": True},
    "no tokens": {"tokens": False},
}


def random_sources(seed, missing=0.1, own_labels=False, empty=False, num_sources=4, equal=False,
                   repeats=False, documents=False, tokens=True):  # fmt: skip
    """Texts of 0 to 3 sentences with the annotations of random sources."""
    rng = np.random.default_rng(seed)
    labels = [LABELS[: n % 3 + 1] if own_labels else LABELS for n in range(num_sources)]
    texts = []
    for row in range(30):
        if repeats and row % 3:
            texts.append(texts[-1])
            continue
        lengths = rng.integers(1, 7, int(rng.integers(1, 4))).tolist() if row else []
        words = [
            str(rng.choice(["Ada", "New", "York", "is", "北京", "x.y"]))
            for _ in range(sum(lengths))
        ]
        starts = [0, *itertools.accumulate(len(word) + 1 for word in words)]
        places = [(start, start + len(word)) for start, word in zip(starts, words)]
        annotations = {}
        for number in range(num_sources):
            if number == 0 or not equal:
                found = _entities(rng, lengths, labels[number])
            found = [] if empty and number == 0 else found
            own = [Annotation(label, places[i][0], places[j][1]) for label, i, j in found]
            if rng.random() >= missing:
                annotations[f"s{number}"] = own
        properties = {"document": row // 7} if documents else {}
        given = (places, lengths) if tokens else (None, None)
        text = AnnotatedText(" ".join(words), [], *given, f"text {row}", properties)
        texts.append(SourcedText(text, annotations))
    return texts


def _entities(rng, lengths, labels):
    found, first = [], 0
    for length in lengths:
        position = first
        while position < first + length:
            size = int(rng.integers(1, 3))
            if rng.random() < 0.4 and position + size <= first + length:
                found.append((str(rng.choice(labels)), position, position + size - 1))
            position += size
        first += length
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", METHODS)
def test_merged_labels_are_legal_whole_and_from_a_source(method, kind):
    for seed in range(2):
        texts = random_sources(seed, **KINDS[kind])
        merged = merge(texts, method, min_probability=0.4 * seed)
        assert [each.text for each in merged.texts] == [each.text.text for each in texts]
        for text, given in zip(merged.texts, texts):
            voted = {}
            for entities in given.annotations.values():
                for label, start, end in entities:
                    voted.setdefault(label, []).append((start, end))
            for label, start, end in text.entities:
                assert any(a < end and start < b for own in voted.values() for a, b in own)
                assert label in LABELS
            for _, tags in sentences(text):
                check_tags(["O" if tag == "?" else tag for tag in tags], "BIO")
            if not given.annotations and text.tokens:
                assert len(text.properties[OPEN]) == len(text.tokens)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ["one source", "equal sources"])
def test_sources_that_say_the_same_are_believed(method, kind):
    texts = random_sources(3, missing=0.0, **KINDS[kind])
    merged = merge(texts, method, repeats=False)
    assert [t.entities for t in merged.texts] == [t.annotations["s0"] for t in texts]
    assert all(found.precision == found.recall == 1 for found in merged.sources.values())


@pytest.mark.parametrize("method", METHODS)
def test_labels_that_a_single_source_knows_each_are_all_kept(method):
    texts = random_sources(4, missing=0.0, num_sources=1)
    texts = [
        each._replace(
            annotations={
                label: [entity for entity in each.annotations["s0"] if entity.label == label]
                for label in LABELS
            }
        )
        for each in texts
    ]
    every = random_sources(4, missing=0.0, num_sources=1)
    found = [text.entities for text in merge(texts, method, repeats=False).texts]
    assert found == [each.annotations["s0"] for each in every]


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "one source"])
def test_any_sources_can_be_compared(kind):
    for seed in range(2):
        compared = ComparedSources(random_sources(seed, **KINDS[kind]))
        for row in (*compared.of_all(), *compared.of_pairs()):
            for measure in (row.f1, row.overlapping_f1):
                assert measure.value is None or 0 <= measure.value <= 1
            assert kind != "equal sources" or row.f1.value in (None, 1)


def test_files_in_other_encodings_and_with_marked_documents_say_the_same(tmp_path):
    texts = [each for each in random_sources(5, missing=0.0, documents=True) if each.text.tokens]
    inputs = []
    for number, encoding in enumerate(("BIO", "BIOUL", "IOB1", "BMES")):
        lines, document = [], None
        for text, annotations in texts:
            if text.properties["document"] != document:
                document = text.properties["document"]
                lines += ["-DOCSTART- O", ""]
            fitted = text._replace(entities=annotations[f"s{number}"])
            for words, tags in sentences(fitted):
                tags = convert_tags(tags, "BIO", encoding)
                lines += [*(f"{word} {tag}" for word, tag in zip(words, tags)), ""]
        (tmp_path / f"s{number}.conll").write_text("\n".join(lines), encoding="utf-8")
        inputs.append(str(tmp_path / f"s{number}.conll"))
    joined = join_sources(inputs)
    assert len({each.text.properties["document"] for each in joined}) == 5
    for number in range(4):
        given, found = (
            [
                (text.text[start:end].replace(" ", ""), label)
                for text, annotations in each
                for label, start, end in annotations[f"s{number}"]
            ]
            for each in (texts, joined)
        )
        assert found == given
