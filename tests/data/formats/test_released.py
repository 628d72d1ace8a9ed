"""Data in the layouts in which tools and their makers release them."""

import json

import pyarrow
import pytest
from pyarrow import parquet

from tagger.data.formats import read_texts
from tagger.tools.start.start import start
from tests.data.formats.test_webanno import DOCUMENT
from tests.data.layouts.reading import documents_by_split, read_by_convert, read_by_start

TEXT = "Ann Lee left Rome"
FOUND = (("LOC", 10, 14), ("PER", 0, 6))
SPANS = [{"start": 0, "end": 7, "label": "PER"}, {"start": 13, "end": 17, "label": "LOC"}]
VALUES = [{**each, "value": TEXT[each["start"] : each["end"]]} for each in SPANS]
TRIPLES = json.dumps([[0, 7, "PER"], [13, 17, "LOC"]])
PIECES = ["Ann", "Lee", "le", "##ft", "Rome"]
TAGS = ["B-PER", "I-PER", "O", "O", "B-LOC"]
RECORDS = {
    "ai4privacy_300k": {
        "source_text": TEXT,
        "target_text": "[PER_1] left [LOC_1]",
        "privacy_mask": VALUES,
        "span_labels": TRIPLES,
        "mbert_text_tokens": PIECES,
        "mbert_bio_labels": TAGS,
        "id": "40767A",
        "language": "English",
        "set": "train",
    },
    "ai4privacy_400k": {
        "source_text": TEXT,
        "locale": "US",
        "language": "en",
        "split": "train",
        "privacy_mask": [{**each, "label_index": 1} for each in VALUES],
        "uid": 1,
        "masked_text": "[PER_1] left [LOC_1]",
        "mbert_tokens": PIECES,
        "mbert_token_classes": TAGS,
    },
    "gretel_finance": {
        "document_type": "Loan",
        "document_description": "an agreement of two people in a few words",
        "domain": "finance",
        "generated_text": TEXT,
        "pii_spans": json.dumps(SPANS),
        "quality_score": 95.0,
    },
}


@pytest.fixture(params=[read_by_start, read_by_convert])
def read(request):
    return request.param


@pytest.mark.parametrize("is_list", [False, True])
@pytest.mark.parametrize("name", RECORDS)
def test_released_records_are_read_rather_than_their_pieces(name, is_list, read, write):
    records = [RECORDS[name]] * 3
    lines = json.dumps(records) if is_list else "".join(f"{json.dumps(each)}\n" for each in records)
    found = read(write(f"{name}.json", lines))
    assert [each.entities for each in found] == [FOUND] * 3


def test_names_without_places_are_refused(read, write):
    entities = str([{"entity": "Ann Lee", "types": ["PER"]}])
    path = write("gretel.jsonl", json.dumps({"text": TEXT, "entities": entities}))
    with pytest.raises(ValueError, match="got the keys entity, types"):
        read(path)


def saved(folder, number):
    """Writes what `Dataset.save_to_disk` does."""
    names = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]
    tags = {"feature": {"names": names, "_type": "ClassLabel"}, "_type": "Sequence"}
    described = {"info": {"features": {"ner_tags": tags}}}
    words = pyarrow.list_(pyarrow.string())
    schema = pyarrow.schema(
        [("tokens", words), ("ner_tags", pyarrow.list_(pyarrow.int64()))],
        {"huggingface": json.dumps(described)},
    )
    rows = {"tokens": [TEXT.split()] * number, "ner_tags": [[1, 2, 0, 3]] * number}
    folder.mkdir(parents=True)
    table = pyarrow.table(rows, schema=schema)
    with pyarrow.ipc.new_stream(folder / "data-00000-of-00001.arrow", schema) as file:
        file.write_table(table)
    (folder / "dataset_info.json").write_text(json.dumps(described["info"]))
    (folder / "state.json").write_text(
        '{"_data_files": [{"filename": "data-00000-of-00001.arrow"}]}'
    )


def test_saved_data_sets_are_read(read, tmp_path):
    saved(tmp_path / "mine", 3)
    assert [each.entities for each in read(tmp_path / "mine")] == [FOUND] * 3


def test_saved_splits_are_named_and_read_one_by_one(read, tmp_path):
    for split, number in (("train", 3), ("validation", 2)):
        saved(tmp_path / "all" / split, number)
    (tmp_path / "all/dataset_dict.json").write_text('{"splits": ["train", "validation"]}')
    with pytest.raises(ValueError, match="train.*validation"):
        read(tmp_path / "all")
    assert len(read(tmp_path / "all/validation")) == 2
    paths, config = [tmp_path / "all/train", tmp_path / "all/validation"], tmp_path / "mine.jsonnet"
    found = start(paths, config)
    assert f"train_data_path: '{paths[0]}'" in found.files[config]
    assert "  labels     2, by spans: LOC 3, PER 3" in found.said


def test_parquet_with_spans_beside_a_score_is_read(read, tmp_path):
    for name, order in (("a", ("text", "spans", "score")), ("b", ("score", "spans", "text"))):
        columns = {"text": [TEXT] * 4, "spans": [SPANS] * 4, "score": [0.5, 0.6, 0.7, 0.8]}
        parquet.write_table(
            pyarrow.table({key: columns[key] for key in order}), tmp_path / f"{name}.parquet"
        )
        assert [each.entities for each in read(tmp_path / f"{name}.parquet")] == [FOUND] * 4


@pytest.mark.parametrize("folder", ["{}.tsv", "annotation/{}.txt/anna.tsv"])
def test_documents_of_inception_are_read_alone_and_as_a_folder(folder, read, tmp_path):
    paths = [tmp_path / "all" / folder.format(name) for name in "ab"]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(DOCUMENT, encoding="utf-8")
    (one,) = read(paths[0])
    assert {label for label, *_ in one.entities} == {"ORG", "LO_C", "a[b\\", "LOC"}
    assert read(tmp_path / "all") == [one, one]


@pytest.mark.parametrize("mark", ["-DOCSTART- -X- O O", "-DOCSTART- (d{}) -X- O O"])
def test_documents_of_conll_2003_are_kept_together(mark, read, write):
    sentences = ["Ann NN B-NP B-PER\nLee NN I-NP I-PER\n", "Rome NN B-NP B-LOC\nfell V B-VP O\n"]
    documents = [mark.format(n) + "\n\n" + "\n".join(sentences) for n in range(6)]
    path = write("all.conll", "\n".join(documents))
    found = read(path)
    assert len(found) == 12
    assert {each.text for each in found} == {"AnnLee", "Romefell"}
    parts = documents_by_split(path)
    assert [number for number, _ in parts] == [n for n in range(6) for _ in range(2)]
    assert len({*parts}) == 6


#: Line ends of the text, and those that the offsets count.
LINE_ENDS = [("\r\n", "\r\n"), ("\r\n", "\n"), ("\n", "\n")]


@pytest.mark.parametrize(("end", "counted"), LINE_ENDS)
def test_offsets_of_brat_over_line_ends_fit_their_words(end, counted, read, tmp_path):
    (tmp_path / "in").mkdir()
    lines = "So\nAnn Lee left\nfor New\nYork\n"
    text = lines.replace("\n", counted)
    rows = []
    for number, (label, words) in enumerate([("PER", "Ann Lee"), ("LOC", "New\nYork")], start=1):
        quote = words.replace("\n", counted)
        place = text.index(quote)
        rows.append(
            f"T{number}\t{label} {place} {place + len(quote)}\t{' '.join(words.split())}{end}"
        )
    (tmp_path / "in/a.txt").write_bytes(lines.replace("\n", end).encode())
    (tmp_path / "in/a.ann").write_bytes("".join(rows).encode())
    (found,) = read_texts(tmp_path / "in")
    assert [found.text[slice(*span)].split() for _, *span in found.entities] == [
        ["Ann", "Lee"], ["New", "York"],
    ]  # fmt: skip
    (content,) = read(tmp_path / "in")
    assert content.entities == (("LOC", 15, 22), ("PER", 2, 8))


def test_words_of_brat_that_fit_no_line_ends_are_refused(read, tmp_path):
    (tmp_path / "a.txt").write_bytes(b"So\r\nAnn Lee\r\n")
    (tmp_path / "a.ann").write_text("T1\tPER 5 9\tAnn\n")
    with pytest.raises(ValueError, match="'Ann' in the record"):
        read(tmp_path)


def test_one_sentence_of_conllu_asks_for_more_texts(write, tmp_path):
    row = "{}\t{}\t_\tPROPN\t_\t_\t0\troot\t_\tNER={}\n"
    path = write("one.conllu", row.format(1, "Ann", "B-PER") + row.format(2, "left", "O") + "\n")
    with pytest.raises(ValueError, match="got 1; add more texts, or name a development file"):
        start([path], tmp_path / "mine.jsonnet")


def test_rows_of_a_comma_and_a_tag_separate_sentences_of_a_large_file(read, write):
    rows = (
        'Ann,B-PER\nLee,I-PER\nmet,O\nCourt{},B-COURT\n.,O\n{}Rome,B-LOC\n"a ""b""",O\n",",O\n,O\n'
    )
    path = write("all.csv", "".join(rows.format(n, ",O\n" * (1 + n % 3)) for n in range(2_000)))
    found = read(path)
    assert len(found) == 4_000
    labels = [label for each in found for label, *_ in each.entities]
    assert {label: labels.count(label) for label in labels} == {
        "COURT": 2_000,
        "PER": 2_000,
        "LOC": 2_000,
    }
