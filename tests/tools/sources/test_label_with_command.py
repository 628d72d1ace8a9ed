"""`label-with` labels texts with lists, rules, taggers and files, and runs nothing of a stranger."""

import json

import pytest

from tagger.data.sources.annotations import read_annotations

TEXTS = "Ada met Cy Young in York on 2024-01-02.\n\nBo left Lima.\n"


@pytest.fixture
def label(tmp_path, monkeypatch, allennlp):
    """Labels the texts with sources, and returns the labelled strings of each source by text."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "texts.txt").write_text(TEXTS)

    def run(sources, *arguments, texts="texts.txt", **settings):
        (tmp_path / "sources.jsonnet").write_text(json.dumps({"sources": sources, **settings}))
        allennlp("label-with", "sources.jsonnet", texts, "-o", "out.jsonl", *arguments)
        return [
            {
                name: [(each.label, sourced.text.text[each.start : each.end]) for each in found]
                for name, found in sourced.annotations.items()
            }
            for sourced in read_annotations("out.jsonl")
        ]

    return run


def test_lists_take_the_longest_term_and_expressions_every_match(label, tmp_path, capsys):
    (tmp_path / "names.txt").write_text("Ada\nCy\nCy Young\n\nBo\n")
    first, second = label(
        {
            "names": {"type": "lexicon", "label": "PER", "file": "names.txt"},
            "places": {
                "type": "lexicon",
                "label": "LOC",
                "terms": ["york", "LIMA"],
                "ignore_case": True,
            },
            "exact": {"type": "lexicon", "label": "LOC", "terms": ["york", "Lima"]},
            "dates": {
                "type": "regular_expression",
                "label": "DATE",
                "pattern": r"\d{4}-\d\d-\d\d",
            },
        }
    )
    assert first == {
        "names": [("PER", "Ada"), ("PER", "Cy Young")],
        "places": [("LOC", "York")],
        "exact": [],
        "dates": [("DATE", "2024-01-02")],
    }
    assert second == {
        "names": [("PER", "Bo")],
        "places": [("LOC", "Lima")],
        "exact": [("LOC", "Lima")],
        "dates": [],
    }
    assert "names       2  PER 3" in capsys.readouterr().out


def test_files_are_found_by_their_texts_and_labels_are_renamed(label, tmp_path):
    records = [{"text": "Bo left Lima.", "label": [[0, 2, "person"], [8, 12, "city"]]}]
    (tmp_path / "llm.jsonl").write_text("\n".join(map(json.dumps, records)))
    labels = {"person": "PER", "city": None}
    first, second = label({"llm": {"type": "file", "file": "llm.jsonl", "labels": labels}})
    assert first == {}
    assert second == {"llm": [("PER", "Bo")]}


def test_a_text_that_a_file_repeats_has_other_entities_each_time(label, tmp_path):
    (tmp_path / "texts.txt").write_text("Bo left.\n" * 3)
    records = [{"text": "Bo left.", "label": [[0, 2, label]]} for label in ("PER", "ORG")]
    (tmp_path / "llm.jsonl").write_text("\n".join(map(json.dumps, records)))
    found = label({"llm": {"type": "file", "file": "llm.jsonl"}})
    assert [each["llm"] for each in found] == [[("PER", "Bo")], [("ORG", "Bo")], [("ORG", "Bo")]]


def test_a_new_name_for_a_label_that_nobody_gave_is_a_warning(label, caplog):
    label({"a": {**TERMS, "terms": ["Bo"], "labels": {"X": "PER", "x": "LOC"}}})
    assert "source `a`: `labels` renames x, which it never gave" in caplog.text


def test_white_space_makes_no_other_text_and_no_entity(label, tmp_path):
    (tmp_path / "llm.jsonl").write_text('{"text": "Bo  left Lima .", "label": [[9, 13, "LOC"]]}')
    sources = {
        "llm": {"type": "file", "file": "llm.jsonl"},
        "blanks": {"type": "regular_expression", "label": "X", "pattern": r"\sleft\s|\s+"},
    }
    assert label(sources)[1] == {"llm": [("LOC", "Lima")], "blanks": [("X", "left")]}


def test_a_saved_tagger_is_a_source(label, trained):
    found = label({"toy": {"type": "tagger", "archive": str(trained / "model.tar.gz")}})
    assert [[*each] for each in found] == [["toy"]] * 2


def test_what_is_labelled_can_be_merged(label, allennlp, tmp_path):
    label(
        {
            "names": {"type": "lexicon", "label": "PER", "terms": ["Ada", "Bo", "Cy Young"]},
            "places": {"type": "lexicon", "label": "LOC", "terms": ["York", "Lima"]},
        }
    )
    allennlp("merge-labels", "out.jsonl", "-o", "merged.conll")
    lines = (tmp_path / "merged.conll").read_text().split("\n")
    assert [line for line in lines if line and not line.endswith("\tO")] == [
        "Ada\tB-PER",
        "Cy\tB-PER",
        "Young\tI-PER",
        "York\tB-LOC",
        "Bo\tB-PER",
        "Lima\tB-LOC",
    ]


def test_a_column_file_keeps_its_tokens(label, tmp_path):
    (tmp_path / "texts.conll").write_text("Ada O\nleft.now O\n\nBo B-PER\n")
    sources = {"names": {"type": "lexicon", "label": "PER", "terms": ["Ada", "Bo"]}}
    label(sources, "--input-format", "columns", texts="texts.conll")
    (first, second) = read_annotations("out.jsonl")
    assert first.text.tokens == [(0, 3), (4, 12)]
    assert [*second.annotations] == ["names"]


TERMS = {"type": "lexicon", "label": "X", "terms": ["x"]}
PATTERN = {"type": "regular_expression", "label": "X"}


@pytest.mark.parametrize(
    ("sources", "error"),
    [
        ({}, "`sources` must be an object of sources by name"),
        (
            {"a": {"type": "lexikon", "label": "X"}},
            "source `a`: `type` must be one of lexicon, regular_expression, tagger, file, got "
            "'lexikon'; did you mean `lexicon`",
        ),
        ({"a": {"type": "os.path.x", "code": "x"}}, "source `a`: `type` must be .*'os.path.x'$"),
        ({"a": {"label": "X"}}, "source `a`: `type` must be one of .*got None"),
        ({"a": 3}, "source `a`: expected an object with a `type`, got 3"),
        (
            {"a": {**TERMS, "labels": "Y"}},
            "source `a`: `labels` must be an object of new names.*'Y'",
        ),
        (
            {"a": {**TERMS, "labels": {"X": 1}}},
            "source `a`: `labels` must be an object of new names",
        ),
        ({"a": {**TERMS, "labels": {"X": " "}}}, "source `a`: `labels` must be an object"),
        ({"a": {**TERMS, "terms": "x"}}, "source `a`: `terms` must be a list of strings, got 'x'"),
        ({"a": {**TERMS, "terms": [1]}}, "source `a`: `terms` must be a list of strings, got .1"),
        ({"a": {**TERMS, "terms": 1}}, "source `a`: `terms` must be a list of strings, got 1"),
        ({"a": {**TERMS, "label": ""}}, "source `a`: `label` must be a string .*got ''"),
        ({"a": {**TERMS, "label": 3}}, "source `a`: `label` must be a string .*got 3"),
        ({"a": {**TERMS, "label": None}}, "source `a`: `label` must be a string .*got None"),
        ({"a": {**TERMS, "file": 3}}, "source `a`: `file` must be a string .*got 3"),
        ({"a": {**TERMS, "ignore_case": "x"}}, "source `a`: Expected ignore_case to be a bool"),
        ({"a": {**PATTERN, "pattern": ""}}, "source `a`: `pattern` must be a string .*got ''"),
        ({" ": TERMS}, "source ` `: its name is blank"),
        ({"a": {"type": "lexicon", "label": "X"}}, "source `a`: the list of `X` has no term"),
        ({"a": {"type": "lexicon", "label": "X", "file": "no.txt"}}, "source `a`: .*no.txt"),
        ({"a": {**PATTERN, "pattern": "("}}, "source `a`: .pattern. must be a regular expression"),
        ({"a": {**PATTERN, "pattern": "(a{999}){999}"}}, "source `a`: .pattern. must have at most"),
        ({"a": {"type": "tagger", "archive": "no.tar.gz"}}, "source `a`: .*no.tar.gz"),
        ({"a": {"type": "file", "file": "other.jsonl"}}, "source `a`: .*it has none of the texts"),
        ({"a": {"type": "file", "file": "pos.conll"}}, "source `a`: .*got a label for each token"),
    ],
)
def test_a_bad_source_is_an_error_that_names_it(label, tmp_path, sources, error):
    (tmp_path / "other.jsonl").write_text('{"text": "Else", "label": [[0, 4, "X"]]}\n')
    (tmp_path / "pos.conll").write_text("Bo NN\nleft VB\nLima NN\n. .\n")
    with pytest.raises(SystemExit, match=error) as caught:
        label(sources)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out.jsonl").exists()


def test_a_pattern_that_takes_too_long_is_an_error(label, tmp_path, monkeypatch):
    monkeypatch.setattr("tagger.data.tokenizers._TIMEOUT", 0.01)
    (tmp_path / "texts.txt").write_text("a" * 40 + "\n")
    with pytest.raises(SystemExit, match="source `slow`: .*took more than"):
        label({"slow": {**PATTERN, "pattern": "(?:(?:a|a)+)+b"}})


def test_a_config_that_is_no_object_is_an_error(label, tmp_path, allennlp):
    (tmp_path / "list.jsonnet").write_text("[1]")
    with pytest.raises(SystemExit, match=r"`sources` must be an object .*got \[1\]"):
        allennlp("label-with", "list.jsonnet", "texts.txt", "-o", "out.jsonl")


def test_a_file_without_texts_is_an_error(label, tmp_path):
    (tmp_path / "none.txt").write_text(" \n\n")
    with pytest.raises(SystemExit, match="none.txt: expected a text on each line, got none"):
        label({"a": TERMS}, texts="none.txt")
    assert not (tmp_path / "out.jsonl").exists()


def test_unknown_keys_of_the_config_are_errors(label):
    with pytest.raises(SystemExit, match="sourcs"):
        label({"a": {"type": "lexicon", "label": "X", "terms": ["x"]}}, sourcs=1)
