"""Errors in several labels are found in rows of labels, and corrected in cells and in JSON."""

import json

import numpy as np
import pytest
from allennlp.common.checks import ConfigurationError

from tagger.tools.labels.cells import RUN
from tagger.tools.labels.corpus import Corpus, make_folds
from tagger.tools.labels.document_corpus import DocumentCorpus
from tagger.tools.labels.errors import error_probabilities, with_synthetic_errors
from tagger.tools.labels.issues import accept, leave_open, list_issues, write_issues
from tagger.tools.labels.out_of_fold import SentenceScores, mean_scores
from tagger.tools.labels.probabilities import LabelProbabilities

READERS = {
    "sets": {"label_separator": "|"},
    "chains": {"label_chains": True, "source_encoding": "BIO"},
}
CELLS = {
    "sets": ["A", "A|B", "B", "O", "A|C"],
    "chains": ["B-A", "B-B|I-A", "I-B", "O", "B-A|B-C"],
}
SPANS = [("A", (0, 1)), ("B", (1, 2)), ("A", (4, 4)), ("C", (4, 4))]


def corpus_of(tmp_path, kind, cells, times=1):
    sentence = "".join(f"w{i}\t{cell}\n" for i, cell in enumerate(cells))
    (tmp_path / "corpus.txt").write_text("\n".join([sentence] * times))
    return Corpus(tmp_path / "corpus.txt", READERS[kind])


def documents_of(tmp_path, label_sets):
    path = tmp_path / "corpus.jsonl"
    lines = [
        json.dumps({"id": n, "text": f"Text {n}", "labels": labels})
        for n, labels in enumerate(label_sets)
    ]
    path.write_text("\n".join(lines) + "\n")
    return DocumentCorpus(path, {"type": "document"})


@pytest.mark.parametrize("kind", READERS)
def test_each_label_of_a_sentence_is_a_row(tmp_path, kind):
    corpus = corpus_of(tmp_path, kind, CELLS[kind], times=2)
    assert [sentence.spans for sentence in corpus.sentences] == 2 * [SPANS]
    assert corpus.labels_of_rows == ["A", "B", "C"]
    rows = corpus.rows[3:]
    assert [row.row_label for row in rows] == ["A", "B", "C"]
    for row in rows:
        own = [place for label, place in SPANS if label == row.row_label]
        name = RUN if kind == "sets" else row.row_label
        assert row.spans == [(name, place) for place in own]
        assert [row.named(span)[0] for span in row.spans] == len(own) * [row.row_label]


@pytest.mark.parametrize("kind", READERS)
@pytest.mark.parametrize(
    ("label", "removed", "added"),
    [
        ("A", (0, 1), (0, 0)),
        ("B", (1, 2), None),
        ("B", None, (4, 4)),
        ("C", (4, 4), (3, 4)),
        ("A", (0, 1), (0, 2)),
    ],
)
def test_a_correction_of_one_label_leaves_the_others(tmp_path, kind, label, removed, added):
    corpus = corpus_of(tmp_path, kind, CELLS[kind])
    row = corpus.labels_of_rows.index(label)
    name = corpus.rows[row].span_label
    changes = ([(name, place)] if place else [] for place in (removed, added))
    lines = corpus.lines()
    for number, line in corpus.edits(row, *changes).items():
        lines[number - 1] = line
    corrected = corpus_of(tmp_path, kind, [line.split("\t")[1] for line in lines])
    wanted = {*SPANS, (label, added)} - {(label, removed), (label, None)}
    assert set(corrected.sentences[0].spans) == wanted


def test_a_correction_of_a_document_changes_only_its_labels(tmp_path):
    corpus = documents_of(tmp_path, [["A", "B"], ["B"], []])
    # Row 2 * d + c is that of label c.
    ((number, line),) = corpus.edits(0, [(RUN, (0, 0))], []).items()
    assert (number, json.loads(line)) == (1, {"id": 0, "text": "Text 0", "labels": ["B"]})
    ((number, line),) = corpus.edits(5, [], [(RUN, (0, 0))]).items()
    assert (number, json.loads(line)["labels"]) == (3, ["B"])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"text": "a", "labels": "A"}', "corpus.jsonl:1: expected labels: a list of strings"),
        ('{"text": "a", "labels": ["A", "?B"]}', "corpus.jsonl:1: .* that are all known"),
        ('{"text": "a", "labels": {"A": 1}}', "corpus.jsonl:1: .* that are all known"),
        ('{"text": "a", "labels": null}', "corpus.jsonl:1: .* that are all known"),
        ('{"text": "a"}', "corpus.jsonl:1: expected labels under the key `labels`"),
        ("no JSON", "corpus.jsonl:1: "),
    ],
)
def test_what_is_no_labelled_document_is_refused_by_line(tmp_path, line, message):
    (tmp_path / "corpus.jsonl").write_text(f"{line}\n")
    with pytest.raises(ConfigurationError, match=message):
        DocumentCorpus(tmp_path / "corpus.jsonl", {"type": "document", "unknown_tag": "?"})


def sure_scores(corpus, truth, sureness=5.0):
    """Scores of rows that are sure of the true spans: of each row, the places."""
    odds = []
    for row, places in zip(corpus.rows, truth):
        has = np.zeros(len(row.tokens), dtype=bool)
        for first, last in places:
            has[first : last + 1] = True
        odds.append(np.where(has, sureness, -sureness))
    flat = np.concatenate(odds)
    transitions = np.array([[0, 0, -np.inf], [0, -np.inf, 0], [0, -np.inf, 0]])
    return SentenceScores(
        np.array(["O", f"B-{RUN}", f"I-{RUN}"]),
        np.array([len(row.tokens) for row in corpus.rows]),
        np.stack([0 * flat, flat, flat], axis=1),
        transitions,
        np.array([0, 0, -np.inf]),
        np.zeros(3),
        np.array(corpus.labels_of_rows),
    )


def test_runs_have_the_probabilities_of_independent_tokens(tmp_path):
    corpus = corpus_of(tmp_path, "sets", CELLS["sets"])
    truth = [[place for _, place in row.spans] for row in corpus.rows]
    scores = sure_scores(corpus, truth, sureness=1.0)
    taggers = LabelProbabilities([(range(3), mean_scores([scores, scores]))])
    p = 1 / (1 + np.exp(-1.0))
    first, second = (item for item in taggers.items([row.spans for row in corpus.rows])[:2])
    # A run of A ends before the third token, and does not reach it.
    assert (first.place, second.place) == ((0, 1), (4, 4))
    assert first.agreement == pytest.approx(p**3)
    assert first.presence == pytest.approx(1 - (1 - p) ** 2)
    assert second.agreement == pytest.approx(p**2)


@pytest.fixture
def noisy(tmp_path):
    """Documents of which labels were removed and added, and taggers that know the truth."""
    random = np.random.default_rng(0)
    sets = [[label for label in "ABC" if random.random() < 0.4] for _ in range(300)]
    wrong = [list(labels) for labels in sets]
    changed = {3: "A", 50: "B", 77: "C", 120: "A", 200: "B"}
    for number, label in changed.items():
        if label in wrong[number]:
            wrong[number].remove(label)
        else:
            wrong[number].append(label)
    corpus = documents_of(tmp_path, wrong)
    truth = [[(0, 0)] if label in labels else [] for labels in sets for label in "ABC"]
    taggers = LabelProbabilities([(range(900), sure_scores(corpus, truth))])
    return corpus, taggers, changed, sets


def test_wrong_labels_of_documents_come_first_and_are_corrected(noisy, tmp_path):
    corpus, taggers, changed, sets = noisy
    found = error_probabilities(taggers, corpus.rows)
    issues = list_issues(corpus, found, 0.3)
    first = issues[: len(changed)]
    assert {(each.sentence - 1, (each.labelled or each.suggested)[0]) for each in first} == set(
        changed.items()
    )
    assert {each.kind for each in first} <= {"missed", "spurious"}
    assert len(found.of_sentences) == 300
    assert set(np.argsort(-found.of_sentences)[:5].tolist()) == set(changed)
    corrected = accept(corpus.lines(), first)
    assert [sorted(json.loads(line)["labels"]) for line in corrected] == sets
    page = write_issues(corpus, found, first, tmp_path)[0].read_text()
    assert "(not A)" in page
    with pytest.raises(ConfigurationError, match="labels of documents cannot be left open"):
        leave_open(corpus, first)


@pytest.mark.parametrize("kind", READERS)
def test_only_the_label_in_doubt_is_left_open(tmp_path, kind):
    corpus = corpus_of(tmp_path, kind, CELLS[kind])
    truth = [[place for _, place in row.spans] for row in corpus.rows]
    taggers = LabelProbabilities([(range(3), sure_scores(corpus, truth))])
    if kind == "chains":
        corpus = corpus_of(tmp_path, "sets", CELLS["sets"])
        issues = list_issues(corpus, _doubt(taggers, corpus, 1), 0.5)
        corpus = corpus_of(tmp_path, kind, CELLS[kind])
    else:
        issues = list_issues(corpus, _doubt(taggers, corpus, 1), 0.5)
    lines = [line.split("\t")[1] for line in leave_open(corpus, issues)]
    others = {"sets": ("A|?B", "?B"), "chains": ("I-A|?B", "?B")}[kind]
    assert lines == [CELLS[kind][0], *others, *CELLS[kind][3:]]


def _doubt(taggers, corpus, row):
    """Probabilities of errors that doubt the labels of one row alone."""
    from tagger.tools.labels.errors import ErrorProbabilities

    items = taggers.items([each.spans for each in corpus.rows])
    doubtful = np.array([float(item.sentence == row) for item in items])
    return ErrorProbabilities(items, doubtful, np.ones(len(corpus.sentences)))


def test_synthetic_errors_of_rows_stay_in_rows_that_are_legal(tmp_path):
    corpus = corpus_of(tmp_path, "chains", CELLS["chains"], times=100)
    changed = with_synthetic_errors(corpus.rows, np.random.default_rng(1))
    assert changed != [row.spans for row in corpus.rows]
    for row, spans in zip(corpus.rows, changed):
        assert {label for label, _ in spans} <= {row.row_label}
        places = [t for _, (first, last) in spans for t in range(first, last + 1)]
        assert len(places) == len(set(places))
    of_label = [sum(map(len, changed[c::3])) for c in range(3)]
    # Some places moved to another label.
    assert of_label != [200, 100, 100]


def test_folds_divide_documents_not_rows(tmp_path):
    corpus = documents_of(tmp_path, [["A"], ["B"]] * 50)
    folds = make_folds(corpus, 5)
    assert sorted(n for fold in folds for n in fold.held_out) == list(range(100))
    corpus.write(tmp_path / "part.jsonl", folds[0].held_out)
    assert len((tmp_path / "part.jsonl").read_text().splitlines()) == len(folds[0].held_out)
