"""Tests of `tagger.tools.sources.agreement` and of disagreements."""

import itertools

import numpy as np
import pytest
from nltk.metrics.agreement import AnnotationTask
from sklearn.metrics import cohen_kappa_score

from tagger.data.formats import AnnotatedText, Annotation
from tagger.data.sources.annotations import SourcedText
from tagger.tools.sources.agreement import ALL, ComparedSources, known_labels
from tagger.tools.sources.disagreements import disagreements_in

MEASURES = ("f1", "overlapping_f1", "kappa", "alpha")


def sourced(words, **tags):
    """A text of words such as `w0`, with a label or `-` for each; adjacent labels are one entity."""
    places, end = [], 0
    for word in words.split():
        places.append((end, end + len(word)))
        end += len(word) + 1
    annotations = {}
    for source, own in tags.items():
        runs = itertools.groupby(zip(own.split(), places), lambda each: each[0])
        found = [(label, [place for _, place in run]) for label, run in runs]
        annotations[source] = [Annotation(n, p[0][0], p[-1][1]) for n, p in found if n != "-"]
    return SourcedText(AnnotatedText(words, [], places, None, "t", {}), annotations)


def random_texts(seed, num=12, sources="abc", labels="XYZ", missing=0.2):
    rng = np.random.default_rng(seed)
    texts = []
    for _ in range(num):
        size = int(rng.integers(1, 9))
        truth = rng.choice([*labels, "-", "-"], size)
        tags = {}
        for source in sources:
            own = np.where(rng.random(size) < 0.3, rng.choice([*labels, "-"], size), truth)
            if rng.random() >= missing:
                tags[source] = " ".join(own)
        texts.append(sourced(" ".join(f"w{i}" for i in range(size)), **tags))
    return texts


def values(rows):
    return {
        (row.label, row.sources): [getattr(row, name).value for name in MEASURES] for row in rows
    }


def tokens_of(text, source):
    """The label of each token, found in another way."""
    found = ["-"] * len(text.text.tokens)
    for label, start, end in text.annotations[source]:
        for i, (begin, stop) in enumerate(text.text.tokens):
            if start <= begin and stop <= end:
                found[i] = label
    return found


def test_a_source_agrees_with_itself():
    texts = [
        each._replace(annotations=dict.fromkeys("xy", each.annotations["a"]))
        for each in random_texts(0, missing=0)
    ]
    for row in (*ComparedSources(texts).of_all(), *ComparedSources(texts).of_pairs()):
        assert [getattr(row, name).value for name in MEASURES] == pytest.approx([1, 1, 1, 1])


@pytest.mark.parametrize("seed", range(3))
def test_neither_the_order_of_texts_nor_names_of_sources_matter(seed):
    texts = random_texts(seed)
    rng = np.random.default_rng(seed)
    renamed = dict(zip("abc", "zyx"))
    others = [
        texts[i]._replace(annotations={renamed[k]: v for k, v in texts[i].annotations.items()})
        for i in rng.permutation(len(texts))
    ]
    one, other = ComparedSources(texts), ComparedSources(others)
    for own, their in ((one.of_all(), other.of_all()), (one.of_pairs(), other.of_pairs())):
        expected = {
            (label, tuple(sorted(renamed[s] for s in sources))): value
            for (label, sources), value in values(own).items()
        }
        found = values(their)
        assert found.keys() == expected.keys()
        for key, value in found.items():
            assert value == pytest.approx(expected[key], nan_ok=True)


@pytest.mark.parametrize("seed", range(4))
def test_kappa_and_alpha_are_those_of_scikit_learn_and_nltk(seed):
    texts = random_texts(seed)
    compared = ComparedSources(texts)
    data = [
        (source, f"{t}-{i}", label)
        for t, text in enumerate(texts)
        for source in text.annotations
        for i, label in enumerate(tokens_of(text, source))
    ]
    # Values that nobody else gives are not pairable; nltk counts them all the same.
    nums = {item: sum(each[1] == item for each in data) for _, item, _ in data}
    pairable = [each for each in data if nums[each[1]] > 1]
    assert compared.of_all()[0].alpha.value == pytest.approx(AnnotationTask(pairable).alpha())
    for row in compared.of_pairs():
        both = [text for text in texts if set(row.sources) <= text.annotations.keys()]
        one, other = (
            [
                label if row.label in (ALL, label) else "-"
                for text in both
                for label in tokens_of(text, source)
            ]
            for source in row.sources
        )
        assert row.kappa.value == pytest.approx(cohen_kappa_score(one, other))
        task = AnnotationTask(
            [
                (source, i, label)
                for source, own in zip("ab", (one, other))
                for i, label in enumerate(own)
            ]
        )
        assert row.alpha.value == pytest.approx(task.alpha())


def test_f1_of_an_example_counted_by_hand():
    text = sourced("w0 w1 w2 w3 w4 w5 w6", a="X X - Y - Z -", b="X - - Y - - X")
    compared = ComparedSources([text], known={"a": {*"XYZ"}, "b": {*"XYZ"}})
    of_all = {row.label: row for row in compared.of_all()}
    # a has X, Y and Z; b has a shorter X, the same Y and another X.
    assert of_all[ALL].f1.value == pytest.approx(2 * 1 / 6)
    assert of_all[ALL].overlapping_f1.value == pytest.approx((2 + 2) / 6)
    assert of_all["X"].overlapping_f1.value == pytest.approx(2 / 3)
    assert of_all["Z"].f1.value == 0
    assert (of_all[ALL].num_entities, of_all["X"].num_texts) == (6, 1)


def test_what_a_source_has_not_read_or_was_not_asked_for_is_no_disagreement():
    both = sourced("w0 w1 w2", a="X - Y", b="X - -")
    alone = sourced("w0 w1", a="X Y")
    compared = ComparedSources([both, alone], known={"a": {"X", "Y"}, "b": {"X"}})
    assert compared.labels == ["X"]
    assert {row.f1.value for row in compared.of_all()} == {1}
    assert disagreements_in(0, both, compared.known) == ([], both.annotations["a"])
    asked = ComparedSources([both, alone])
    assert asked.of_all()[0].f1.value == pytest.approx(2 / 3)


def test_who_never_gives_a_frequent_label_was_not_asked_for_it():
    text = sourced("w0 w1 w2", a="Y - Y", b="Y - -", c="X - -")
    assert known_labels([text] * 6)["c"] == {"X", "Y"}
    assert known_labels([text] * 7)["c"] == {"X"}
    assert known_labels([text] * 7)["a"] == {"X", "Y"}


def test_intervals_hold_the_value_and_need_several_documents():
    compared = ComparedSources(random_texts(1, num=40))
    for name in MEASURES:
        measure = getattr(compared.of_all()[0], name)
        assert measure.interval[0] <= measure.value <= measure.interval[1]
    one = ComparedSources([sourced("w0 w1", a="X -", b="X X")])
    assert one.of_all()[0].f1.interval is None


@pytest.mark.parametrize(
    ("a", "b", "kind"),
    [
        ("X X -", "- - -", "missing"),
        ("X X -", "Y Y -", "label"),
        ("X X -", "- X X", "border"),
        ("X X -", "Y - -", "label and border"),
    ],
)
def test_kinds_of_disagreement(a, b, kind):
    text = sourced("w0 w1 w2 w3", a=f"{a} X", b=f"{b} X")
    known = {"a": {"X", "Y"}, "b": {"X", "Y"}}
    if kind == "border":
        text = sourced("w0 w1 w2 - w4", a=f"{a} - X", b=f"{b} - X")
    (found,), agreed = disagreements_in(0, text, known)
    assert found.kind == kind
    assert [each.label for each in agreed] == ["X"]
    assert {name for _, sources in found.versions for name in sources} == {"a", "b"}


def test_texts_without_tokens_have_no_measures():
    (row,) = ComparedSources([sourced("", a="", b="")]).of_all()
    assert [getattr(row, name).value for name in MEASURES] == [None] * 4


def test_texts_that_no_two_sources_share_are_an_error():
    texts = [sourced("Ada", a="X"), sourced("Bob", b="X")]
    with pytest.raises(ValueError, match=r"no text has .* two sources.*are a 'Ada' \(t\), b 'Bob'"):
        ComparedSources(texts)
