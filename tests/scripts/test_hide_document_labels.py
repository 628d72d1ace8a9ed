import json
from collections import Counter

import pytest

from scripts import hide_document_labels

DOCUMENTS = [
    {"id": str(number), "text": "é", "labels": ["A", "B"] if number % 2 else ["A"]}
    for number in range(400)
] + [{"text": "rare", "labels": ["C", "A"]}, {"text": "none", "labels": []}]


@pytest.fixture
def hidden(tmp_path):
    source, target = tmp_path / "train.jsonl", tmp_path / "out" / "hidden.jsonl"
    source.write_text("".join(json.dumps(document) + "\n" for document in DOCUMENTS))

    def run(*arguments):
        target.unlink(missing_ok=True)
        hide_document_labels.main([str(source), str(target), *arguments])
        return [json.loads(line) for line in target.read_text().splitlines()]

    return run


def pairs(documents):
    return {(number, label) for number, each in enumerate(documents) for label in each["labels"]}


def test_a_share_of_the_labels_is_hidden_and_nothing_else_changes(hidden):
    documents = hidden("--share", "0.3")
    assert [{**each, "labels": []} for each in documents] == [
        {**each, "labels": []} for each in DOCUMENTS
    ]
    before, after = (Counter(label for _, label in pairs(each)) for each in (DOCUMENTS, documents))
    assert pairs(documents) < pairs(DOCUMENTS)
    for label in "AB":
        assert 1 - after[label] / before[label] == pytest.approx(0.3, abs=0.1)
    assert any(not each["labels"] for each in documents[:400])


def test_a_seed_hides_the_same_labels_and_a_larger_share_hides_more_of_them(hidden):
    half = pairs(hidden("--share", "0.5"))
    assert pairs(hidden("--share", "0.5")) == half
    assert half < pairs(hidden("--share", "0.1"))
    assert pairs(hidden("--share", "0.5", "--seed", "1")) != half
    assert pairs(hidden("--share", "0")) == pairs(DOCUMENTS)


def test_every_label_is_left_in_its_first_document(hidden):
    assert pairs(hidden("--share", "1")) == {(0, "A"), (1, "B"), (400, "C")}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "train.jsonl:1: expected a JSON object"),
        ('{"labels": "A"}', "with a list of `labels`"),
    ],
)
def test_lines_without_labels_are_refused(tmp_path, line, message):
    source = tmp_path / "train.jsonl"
    source.write_text(line)
    with pytest.raises(SystemExit, match=message):
        hide_document_labels.main([str(source), str(tmp_path / "out"), "--share", "0.1"])


def test_nothing_is_overwritten_and_shares_are_checked(tmp_path, hidden):
    source = tmp_path / "train.jsonl"
    with pytest.raises(SystemExit, match="is there already"):
        hide_document_labels.main([str(source), str(source), "--share", "0.1"])
    with pytest.raises(SystemExit, match=r"--share must lie in \[0, 1\]; got 1.5"):
        hidden("--share", "1.5")
