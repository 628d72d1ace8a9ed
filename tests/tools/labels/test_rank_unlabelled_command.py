"""`rank-unlabelled` writes questions for annotators. The answers are training data."""

import json

import pytest

from tagger.data.dataset_readers.column import ColumnDatasetReader
from tagger.data.formats import OPEN, read_texts

TEXTS = ["Zyx Qwv Bnm sold Asd Fgh to Uio Plm Tre .", "It rained .", "Maria Lindqvist left ."]


@pytest.fixture
def rank(allennlp, trained, tmp_path, monkeypatch):
    """Runs the subcommand on texts in an empty folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "texts.txt").write_text("\n".join(TEXTS) + "\n", encoding="utf-8")

    def run(output, *arguments, texts="texts.txt", budget=50):
        archive = trained / "model.tar.gz"
        allennlp("rank-unlabelled", archive, texts, "-o", output, "--budget", budget, *arguments)

    return run


def test_parts_without_a_question_stay_unknown(rank, allennlp, tmp_path, capsys):
    rank("next.jsonl", "--by", "span", "--least-doubt", 0.001, "--most-similar", 2, budget=2)
    said = capsys.readouterr().out
    assert "Wrote next.jsonl" in said
    (first, *_) = read_texts(tmp_path / "next.jsonl")
    assert first.properties["meta"]["ask"] in said
    # The annotator's export is training data.
    reader = ColumnDatasetReader(source_encoding="BIO", tag_encoding="BIO", unknown_tag="?")
    (instance, *_) = reader.read(str(tmp_path / "next.jsonl"))
    tags = instance["tags"].labels
    words = [str(token) for token in instance["tokens"].tokens]
    left_open = [word for a, b in first.properties[OPEN] for word in first.text[a:b].split()]
    assert [word for word, tag in zip(words, tags) if tag == "?"] == left_open != []
    allennlp("convert", "next.jsonl", "next.conll")
    lines = (tmp_path / "next.conll").read_text().split("\n\n")[0].splitlines()
    assert lines == [f"{word}\t{tag}" for word, tag in zip(words, tags)]
    with pytest.raises(ValueError, match=r"next.jsonl:1: .*; set `unknown_tag`"):
        list(ColumnDatasetReader(source_encoding="BIO").read(str(tmp_path / "next.jsonl")))


def test_the_suggestions_of_each_format_have_probabilities(rank, tmp_path):
    for format, name in (("label_studio", "next.json"), ("prodigy", "next.jsonl")):
        rank(name, "--format", format, "--rare-labels", "--score", "expected_missed")
    tasks = json.loads((tmp_path / "next.json").read_text())
    scores = [each["score"] for own in tasks for each in own["predictions"][0]["result"]]
    records = map(json.loads, (tmp_path / "next.jsonl").read_text().splitlines())
    assert scores == [span["score"] for record in records for span in record["spans"]] != []
    assert all(0 < score <= 1 for score in scores)
    # Ranking an export again keeps its metadata.
    tasks[0]["data"]["page"] = 17
    (tmp_path / "export.json").write_text(json.dumps(tasks))
    rank("again.json", "--format", "label_studio", "--force", texts="export.json")
    pages = {text.text: text.properties.get("page") for text in read_texts("again.json")}
    assert pages[tasks[0]["data"]["text"]] == 17


def test_plain_lines_may_look_like_json(rank, tmp_path):
    (tmp_path / "lists.txt").write_text('["It rained ."]\n', encoding="utf-8")
    with pytest.raises(SystemExit, match="lists.txt:1: .*set `plain`"):
        rank("next.jsonl", texts="lists.txt")
    rank("next.jsonl", "--plain", texts="lists.txt")
    assert [text.text for text in read_texts(tmp_path / "next.jsonl")] == ['["It rained ."]']


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (("--by", "span", "--format", "columns"), {}, "`--format` columns cannot store"),
        ((), {"budget": 1}, "nothing to ask: 3 questions, of which none fits `--budget` 1"),
        ((), {"texts": "none.txt"}, "none.txt"),
        (("--least-doubt", 0), {}, "`least_doubt` must be above 0"),
    ],
)
def test_impossible_requests_are_one_line_errors(rank, arguments, options, message):
    with pytest.raises(SystemExit, match=message):
        rank("next.jsonl", *arguments, **options)
