import json

import pytest

from scripts import prepare_reuters


@pytest.fixture
def source(tmp_path, monkeypatch):
    """A small corpus, which takes the place of Reuters-21578."""
    folder = tmp_path / "source"
    folder.mkdir()
    for part, count in (("train", 40), ("test", 3)):
        documents = [
            {"id": f"{part}/{i}", "title": "T", "text": "", "labels": ["a", "b"]}
            for i in range(count)
        ]
        text = "".join(json.dumps(document) + "\n" for document in documents)
        (folder / f"small.{part}.jsonl").write_text(text)
    monkeypatch.setattr(prepare_reuters, "EXPECTED", {"train": 40, "test": 3})
    monkeypatch.setattr(prepare_reuters, "NUM_LABELS", 2)
    return folder


def ids(path):
    return [json.loads(line)["id"] for line in path.read_text().splitlines()]


def test_development_documents_are_taken_from_training(source, tmp_path):
    target = tmp_path / "reuters"
    prepare_reuters.main([str(source), "--target", str(target)])
    train, dev = ids(target / "train.jsonl"), ids(target / "dev.jsonl")
    assert sorted(train + dev) == sorted(f"train/{i}" for i in range(40))
    assert 0 < len(dev) < 10
    assert ids(target / "test.jsonl") == ["test/0", "test/1", "test/2"]


def test_a_corpus_of_other_counts_is_refused(source, tmp_path):
    lines = (source / "small.test.jsonl").read_text().splitlines(keepends=True)
    (source / "small.test.jsonl").write_text("".join(lines[1:]))
    with pytest.raises(SystemExit, match="test: 2 documents of 2 labels, expected 3 of 2"):
        prepare_reuters.main([str(source), "--target", str(tmp_path / "reuters")])
    assert not (tmp_path / "reuters").exists()


def test_a_line_that_is_no_document_is_named(source):
    with open(source / "small.train.jsonl", "a") as file:
        file.write('{"id": "x"}\n')
    with pytest.raises(SystemExit, match="small.train.jsonl:41: expected a JSON object with `id`"):
        prepare_reuters.main([str(source)])


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(SystemExit, match=r"expected one file \*train.jsonl, got 0"):
        prepare_reuters.main([str(tmp_path)])
