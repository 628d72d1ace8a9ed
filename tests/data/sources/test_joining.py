"""Several annotations of a text, from all formats that hold them."""

import json

import pytest

from tagger.data.formats import Annotation, read_texts
from tagger.data.sources.annotations import write_annotations
from tagger.data.sources.joining import join_sources

PER, LOC = Annotation("PER", 0, 3), Annotation("LOC", 9, 13)
TEXT = "Ada left Rome"
#: What anna and bob say about the text; eve has not read it.
EXPECTED = {"anna": [PER, LOC], "bob": [PER]}


def _result(*entities):
    values = [{"start": start, "end": end, "labels": [label]} for label, start, end in entities]
    return {"result": [{"type": "labels", "value": value} for value in values]}


def _lists(*entities):
    return [[start, end, label] for label, start, end in entities]


def _objects(user, *entities):
    names = ("label", "start_offset", "end_offset", "user")
    return [dict(zip(names, (*each, user))) for each in entities]


def _lines(*records):
    return "\n".join(map(json.dumps, records))


def _tsv(*labels):
    tokens, end = [], 0
    for number, (word, label) in enumerate(zip(TEXT.split(), labels), start=1):
        tokens.append(f"1-{number}\t{end}-{end + len(word)}\t{word}\t{label}\t")
        end += len(word) + 1
    head = "#FORMAT=WebAnno TSV 3.3\n#T_SP=de.tudarmstadt.NamedEntity|value\n\n"
    return f"{head}\n#Text={TEXT}\n" + "\n".join(tokens) + "\n"


def _responses(form, **of):
    """What users say in Argilla; bob has discarded the text if he says None."""
    named = (
        {"user_id": user, "status": "submitted" if found is not None else "discarded"}
        | form([dict(zip(("label", "start", "end"), each)) for each in found or []])
        for user, found in of.items()
    )
    return [*named]


_BRAT = {"anna": "T1\tPER 0 3\tAda\nT2\tLOC 9 13\tRome\n", "bob": "T1\tPER 0 3\tAda\n"}
_ANNA, _BOB = {"email": "anna"}, {"username": "bob"}
_TASK = {
    "data": {"text": TEXT},
    "annotations": [
        {"completed_by": _ANNA, **_result(PER, LOC)},
        {"completed_by": {"username": "eve"}, "was_cancelled": True, "result": []},
    ],
    "predictions": [{"model_version": "bob", **_result(PER)}],
}
_WITH_VALUES = [each["value"] for each in _result(PER, LOC)["result"]]
_COLUMNS = "Ada B-PER B-PER\nleft O O\nRome B-LOC O\n"
#: Files by name, for each form.
FORMS = {
    "Label Studio": {"a.json": json.dumps([_TASK])},
    "Label Studio's JSON-MIN": {
        "a.json": json.dumps(
            [
                {"id": 1, "text": TEXT, "label": _WITH_VALUES, "annotator": "anna"},
                {"id": 1, "text": TEXT, "label": _WITH_VALUES[:1], "annotator": "bob"},
            ]
        )
    },
    "doccano's users": {
        "a.jsonl": _lines(
            {"text": TEXT, "entities": [*_objects("anna", PER, LOC), *_objects("bob", PER)]}
        )
    },
    "doccano's approver": {
        "a.jsonl": _lines(
            {"text": TEXT, "labels": _lists(PER, LOC), "annotation_approver": "anna"},
            {"text": TEXT, "labels": _lists(PER), "annotation_approver": "bob"},
        )
    },
    "Prodigy": {
        "a.jsonl": _lines(
            {"text": TEXT, "spans": _lists(PER), "_annotator_id": "bob", "answer": "accept"},
            {"text": TEXT, "spans": _lists(PER, LOC), "_annotator_id": "anna", "answer": "accept"},
            {"text": TEXT, "spans": [], "_annotator_id": "eve", "answer": "reject"},
        )
    },
    "INCEpTION": {
        "annotation/one.txt/anna.tsv": _tsv("PER", "_", "LOC"),
        "annotation/one.txt/bob.tsv": _tsv("PER", "_", "_"),
        "annotation/one.txt/INITIAL_CAS.tsv": _tsv("_", "_", "_"),
    },
    "named columns": {"a.txt": f"token anna bob\n{_COLUMNS}"},
    "columns A1 and A2": {"a.txt": f"token A1 A2\n{_COLUMNS}"},
    "a file for each, of several formats and tokenizations": {
        "folder/anna.jsonl": _lines({"text": TEXT, "label": _lists(PER, LOC)}),
        "folder/bob.conll": "Ada B-PER\nleft O\nRome O\n",
    },
    "Argilla": {
        "a.json": json.dumps(
            [
                {
                    "fields": {"text": TEXT},
                    "responses": {
                        "span": _responses(
                            lambda found: {"value": found}, anna=[PER, LOC], bob=[PER], eve=None
                        )
                    },
                    "suggestions": {"label": {"value": "news", "agent": "model"}},
                }
            ]
        )
    },
    "Argilla's suggestions": {
        "a.jsonl": _lines(
            {
                "fields": {"text": TEXT},
                "responses": {"span": _responses(lambda found: {"value": found}, bob=[PER])},
                "suggestions": {
                    "span": {
                        "value": [
                            dict(zip(("label", "start", "end"), each)) for each in (PER, LOC)
                        ],
                        "agent": "anna",
                    }
                },
            }
        )
    },
    "Argilla 1": {
        "a.jsonl": _lines(
            {
                "fields": {"text": TEXT},
                "responses": _responses(
                    lambda found: {"values": {"span": {"value": found}}}, anna=[PER, LOC], bob=[PER]
                ),
            }
        )
    },
    "a folder of brat for each": {
        f"brat/{name}/one.{suffix}": found if suffix == "ann" else TEXT
        for name, found in _BRAT.items()
        for suffix in ("ann", "txt")
    },
    "a folder of files for each": {
        "both/anna/one.jsonl": _lines({"text": TEXT, "label": _lists(PER, LOC)}),
        "both/bob/one.conll": "Ada B-PER\nleft O\nRome O\n",
        "both/.cache/bob/one.conll": "Ada O\n",
    },
    "our own": {
        "a.jsonl": _lines(
            {"text": TEXT, "annotations": {"anna": _lists(PER, LOC), "bob": _lists(PER)}}
        )
    },
}


def _write(folder, files):
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    (top, *_), *_ = [name.split("/") for name in files]
    return str(folder / top)


@pytest.mark.parametrize("form", FORMS)
def test_all_forms_keep_what_each_source_says(form, tmp_path):
    path = _write(tmp_path, FORMS[form])
    (text,) = join_sources([path])
    names = {"A1": "anna", "A2": "bob"}
    found = {names.get(name, name): entities for name, entities in text.annotations.items()}
    assert (text.text.text, found) == (TEXT, EXPECTED)
    write_annotations([text], tmp_path / "again.jsonl")
    (again,) = join_sources([str(tmp_path / "again.jsonl")])
    assert again.annotations == text.annotations


@pytest.mark.parametrize(
    "form", [form for form in FORMS if "column" not in form and "for each" not in form]
)
def test_who_reads_them_as_one_is_told_what_to_do(form, tmp_path, caplog):
    path = _write(tmp_path, {**FORMS[form]})
    try:
        list(read_texts(path))
        said = caplog.text
    except ValueError as error:
        said = str(error)
    # A task that has one annotation and a prediction is read as always.
    one_and_predictions = ("Label Studio", "Argilla's suggestions")
    assert ("`allennlp agreement` compares them" in said) == (form not in one_and_predictions)


@pytest.mark.parametrize("form", [form for form in FORMS if "each" not in form])
def test_a_file_of_several_sources_has_no_single_name(form, tmp_path):
    path = _write(tmp_path, FORMS[form])
    with pytest.raises(
        ValueError, match=f"annotated the text, .*; write {path} instead of x={path}"
    ):
        join_sources([f"x={path}"])


def test_suggestions_are_not_those_of_a_user_who_found_nothing(tmp_path):
    """Two agents, one without a name, beside a user without entities."""
    (span,) = _responses(lambda found: {"value": found}, bob=[PER])
    suggestions = [{"value": span["value"], "agent": name} for name in ("model", None)]
    of_user = {"value": [], "user_id": "bob", "status": "submitted"}
    record = {
        "fields": {"text": TEXT},
        "responses": {"span": [of_user]},
        "suggestions": suggestions,
    }
    path = _write(tmp_path, {"a.jsonl": _lines(record)})
    (text,) = join_sources([path])
    named = [Annotation(*PER)]
    assert text.annotations == {"bob": [], "model": named, "suggestions": named}
    assert [each.entities for each in read_texts(path)] == [[]]


def test_a_name_joins_what_a_source_did_under_other_names(tmp_path):
    records = [{"text": text, "spans": [], "_session_id": text} for text in ("one", "two")]
    (tmp_path / "a.jsonl").write_text(_lines(*records))
    joined = join_sources([f"anna={tmp_path / 'a.jsonl'}"])
    assert [[*each.annotations] for each in joined] == [["anna"], ["anna"]]


def test_columns_of_other_things_are_no_annotators(tmp_path):
    rows = [f"Ada NNP B-NP B-PER {x}\nleft VBD B-VP O {x}\n" for x in ("B-LOC", "I-LOC") * 5]
    path = _write(tmp_path, {"a.txt": "\n".join(rows)})
    assert {source for text in join_sources([path]) for source in text.annotations} == {"a"}
    named = join_sources([path], tag_columns=[3, 4])
    assert {source for text in named for source in text.annotations} == {"column 3", "column 4"}


def test_columns_of_nested_entities_are_no_annotators(tmp_path):
    inner = "Bank B-ORG O\nof I-ORG O\nNew I-ORG B-LOC\nYork I-ORG I-LOC\n"
    outer = "\nAda B-PER O\nleft O O\nOslo B-LOC O\nat O O\nAda B-PER O\n"
    path = _write(tmp_path, {"a.txt": inner + outer * 2})
    assert {source for text in join_sources([path]) for source in text.annotations} == {"a"}
    path = _write(tmp_path, {"b.txt": inner + outer.replace("C O", "C B-LOC")})
    assert {source for text in join_sources([path]) for source in text.annotations} == {
        "column 1",
        "column 2",
    }


def test_offsets_move_with_white_space_and_missing_texts_are_not_read(tmp_path):
    lines = _lines(
        {"text": "Run.", "label": []}, {"text": " Ada\nleft  Rome", "label": [[11, 15, "LOC"]]}
    )
    a, b = (
        _write(tmp_path, {"a.jsonl": lines}),
        _write(tmp_path, {"b.txt": "Ada O\nleft O\nRome B-LOC\n"}),
    )
    run, rome = join_sources([f"x={a}", f"y={b}"])
    assert run.annotations == {"x": []}
    assert rome.annotations["x"] == rome.annotations["y"] == [Annotation("LOC", 11, 15)]


def test_a_text_that_a_source_has_twice_is_two_texts(tmp_path):
    a = _write(tmp_path, {"a.txt": "Run O\n\nRun B-ORG\n"})
    b = _write(tmp_path, {"b.txt": "Run B-ORG\n"})
    first, second = join_sources([a, b])
    assert (*first.annotations, *second.annotations) == ("a", "b", "a")


@pytest.mark.parametrize(
    ("files", "error"),
    [
        (
            {"a.txt": "Ada O\n\nRome O\n", "b.txt": "Ada O\n\nR0me O\n"},
            "b.txt:3: 'R0me' in the text of b ",
        ),
        (
            {
                "a.jsonl": _lines({"id": 7, "text": "Ada left Rome now.", "label": []}),
                "b.jsonl": _lines(
                    {"text": "New.", "label": []}, {"id": 7, "text": "Ada left Rome now!", "label": []}
                ),
            },
            r"b.jsonl:2: 'now!' in the text of b is 'now.' in that of a \(.*a.jsonl:1\)",
        ),
        ({"x/a.txt": "Ada B-PER\n", "y/a.jsonl": ""}, "name its source: anna="),
        ({"a.conllu": "1\tAda\t_\tNOUN\t_\t_\t_\t_\t_\t_\n\n"}, "expected entities, got a label"),
    ],
)  # fmt: skip
def test_what_cannot_be_joined_is_an_error(files, error, tmp_path):
    _write(tmp_path, files)
    with pytest.raises(ValueError, match=error):
        join_sources([str(tmp_path / name) for name in files])


@pytest.mark.parametrize("name", ["anna", "annotation/one.txt/anna"])
def test_uima_is_refused_with_what_to_export_instead(name, tmp_path):
    xmi = '<?xml version="1.0" encoding="UTF-8"?><xmi:XMI xmlns:xmi="http://www.omg.org/XMI">'
    contents = {"xmi": xmi, "json": '{\n  "%TYPES" : { },\n  "%FEATURE_STRUCTURES" : [ ]\n}'}
    for suffix, content in contents.items():
        (folder := tmp_path / suffix).mkdir()
        path = _write(folder, {f"{name}.{suffix}": content})
        with pytest.raises(ValueError, match=f"anna.{suffix}: .* as WebAnno TSV v3.3"):
            join_sources([path])


def test_a_file_that_does_not_exist_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError, match="name files as FILE or NAME=FILE"):
        join_sources([f"anna={tmp_path / 'none.jsonl'}"])
    with pytest.raises(FileNotFoundError, match="name files as FILE or NAME=FILE"):
        join_sources(["anna="])


def test_predictions_alone_are_sources_and_mere_numbers_of_predictions_are_not(tmp_path):
    alone = {"data": {"text": TEXT}, "predictions": [{"model_version": "m", **_result(PER)}]}
    other = {"data": {"text": "a"}, "annotations": [_result()], "predictions": [17]}
    text, _ = join_sources([_write(tmp_path, {"a.json": json.dumps([alone, other])})])
    assert text.annotations == {"m": [PER]}
