"""Entities of different labels that overlap, and files that annotate some labels only."""

import json

import pytest
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary

from tagger.common.training_counts import count_labels
from tagger.data.dataset_readers.column import ColumnDatasetReader
from tagger.data.fields.label_chains_field import LabelChainsField
from tagger.data.formats import read_texts
from tagger.spans import IllegalTagError
from tagger.spans.overlapping import label_tag_sets

OVERLAPPING = "Bank B-ORG\nof I-ORG\nChina B-LOC|I-ORG\n, O\nRome B-LOC\n\nAda B-PER\nleft O\n"
TWO_COLUMNS = "1 Bank B-ORG O\n2 of I-ORG O\n3 China I-ORG B-LOC\n4 in O O\n5 Rome B-LOC B-LOC\n"
SETS = [["B-ORG"], ["I-ORG"], ["U-LOC", "L-ORG"], [], ["U-LOC"]]


@pytest.fixture
def read(tmp_path):
    def read(content, name="train.txt", **arguments):
        path = tmp_path / name
        path.write_text(content)
        arguments = {"label_chains": True, "tag_encoding": "BIOUL", **arguments}
        fields = [each["tags"] for each in ColumnDatasetReader(**arguments).read(path)]
        assert all(type(field) is LabelChainsField for field in fields)
        return [field.label_sets for field in fields]

    return read


@pytest.mark.parametrize("encoding", ["auto", "BIO", "IOB1"])
def test_tags_joined_by_a_bar_are_converted_by_label(encoding, read):
    assert read(OVERLAPPING, source_encoding=encoding) == [SETS, [["U-PER"], []]]
    assert read(OVERLAPPING.replace("|", "+"), label_separator="+")[0] == SETS


def test_several_tag_columns_are_joined_and_an_entity_in_both_is_one(read):
    assert read(TWO_COLUMNS, token_column=1, tag_column=[2, 3])[0] == [
        *SETS[:2],
        *[["U-LOC", "L-ORG"]],
        [],
        ["U-LOC"],
    ]
    nested = TWO_COLUMNS.replace("I-ORG B-LOC", "I-ORG B-ORG")
    with pytest.raises(
        ValueError, match="train.txt:1: entities overlap, ORG 'Bank of China'.*longest"
    ):
        read(nested, token_column=1, tag_column=[2, 3])
    kept = read(nested, token_column=1, tag_column=[2, 3], overlapping="outermost")[0]
    assert kept[:3] == [["B-ORG"], ["I-ORG"], ["L-ORG"]]


@pytest.mark.parametrize("name", ["doccano", "spacy_json", "csv"])
def test_overlapping_spans_are_kept_but_those_of_one_label_only_if_asked(name, read):
    text = "University of York"
    entities = [[0, 18, "ORG"], [14, 18, "LOC"]]
    spell = {"doccano": "label", "spacy_json": "entities"}

    def spelt(entities):
        if name == "csv":
            quoted = json.dumps(entities).replace('"', '""')
            return f'text,entities\n{text},"{quoted}"\n'
        return json.dumps({"text": text, spell[name]: entities}) + "\n"

    file = "train.csv" if name == "csv" else "train.jsonl"
    assert read(spelt(entities), file)[0] == [["B-ORG"], ["I-ORG"], ["U-LOC", "L-ORG"]]
    nested = spelt([*entities, [0, 10, "ORG"]])
    with pytest.raises(ValueError, match="entities overlap, ORG 'University'"):
        read(nested, file)
    assert read(nested, file, overlapping="longest")[0][2] == ["U-LOC", "L-ORG"]


def test_unknown_tags_leave_those_tags_possible_that_they_can_have():
    def sets(*tags):
        return label_tag_sets(tags, "BIO", "BIOUL", "?")

    assert sets("B-A", "?", "O") == [["B-A", "U-A"], ["?"], []]
    assert sets("B-A|?B", "O") == [["U-A", "?U-B"], []]
    assert sets("?", "O") == [["?"], []]
    with pytest.raises(IllegalTagError, match="`B-A.I-A` at position 1 has two tags of A"):
        sets("B-A", "B-A|I-A")
    with pytest.raises(IllegalTagError, match="I-A"):
        sets("O", "B-B|I-A")


def test_labels_that_a_file_does_not_annotate_are_unknown(tmp_path):
    path = tmp_path / "some.txt"
    path.write_text(OVERLAPPING)
    reader = ColumnDatasetReader(label_chains=True, labels=["LOC"])
    field = next(iter(reader.read(path)))["tags"]
    assert field.label_sets == [[], [], ["B-LOC"], [], ["B-LOC"]]
    vocab = Vocabulary({"labels": {"O": 9, "B-LOC": 8, "I-LOC": 7, "B-ORG": 6, "I-ORG": 5}})
    field.index(vocab)
    rows = field.as_tensor({"num_tokens": 6}).tolist()
    assert rows[:3] == [[0, 0, 0, -1, -1]] * 2 + [[0, 1, 0, -1, -1]]
    assert rows[5] == [-1] * 5


def test_training_counts_are_those_of_each_chain(tmp_path):
    path = tmp_path / "train.txt"
    path.write_text(OVERLAPPING)
    vocab = Vocabulary({"labels": {"O": 9, "B-LOC": 8, "I-LOC": 7, "B-ORG": 6, "I-ORG": 5}})
    instances = list(ColumnDatasetReader(label_chains=True, labels=["LOC"]).read(path))
    for instance in instances:
        instance.index_fields(vocab)
    counts = count_labels(instances)
    assert counts["LOC of labels"] == {"O": 5, "B-LOC": 2}
    assert counts.num_items["LOC of labels"] == 7
    assert counts.num_items["ORG of labels"] == 0


def test_in_one_chain_unannotated_labels_remain_possible_outside_of_entities(tmp_path):
    path = tmp_path / "some.txt"
    path.write_text("Ada B-PER\nleft O\nRome B-LOC\n")
    reader = ColumnDatasetReader(tag_encoding="BIOUL", labels=["PER", "ORG"])
    ada, left, rome = next(iter(reader.read(path)))["tags"].tag_sets
    assert ada.only_tag == "U-PER"
    assert left == rome
    assert [left.allows(tag) for tag in ("O", "B-LOC", "U-X", "B-PER", "U-ORG")] == [1, 1, 1, 0, 0]


def test_conversion_keeps_entities_whose_tags_are_joined(tmp_path):
    path = tmp_path / "train.txt"
    path.write_text(OVERLAPPING)
    first = next(iter(read_texts(path)))
    assert [tuple(each) for each in first.entities] == [
        ("ORG", 0, 13), ("LOC", 8, 13), ("LOC", 15, 19)
    ]  # fmt: skip


def test_mistakes_are_named(read):
    with pytest.raises(ValueError, match="entities overlap, tags joined by '|'; set `label_chains"):
        read(OVERLAPPING, label_chains=False)
    with pytest.raises(ConfigurationError, match="several columns need `label_chains: true`"):
        read(OVERLAPPING, label_chains=False, tag_column=[1, 2])
    with pytest.raises(ConfigurationError, match="`source_encoding` is null; set it to 'auto'"):
        read(OVERLAPPING, source_encoding=None, tag_encoding=None)
    with pytest.raises(ValueError, match="there is no column 7 among 2"):
        read(OVERLAPPING, tag_column=[1, 7])
    with pytest.raises(ValueError, match=r"train.txt:3: in 'China B-LOC\|I-PER', `I-PER`"):
        read(OVERLAPPING.replace("LOC|I-ORG", "LOC|I-PER"), source_encoding="BIO")


def test_a_list_of_files_says_which_labels_each_annotates(tmp_path):
    for name in "ab":
        (tmp_path / f"{name}.txt").write_text("Ada B-PER\nleft O\nRome B-LOC\n")
    path = tmp_path / "both.files.json"
    files = [{"path": "a.txt", "labels": ["PER"]}, {"path": "b.txt"}]
    path.write_text(json.dumps({"files": files}))
    first, second = (each["tags"] for each in ColumnDatasetReader(label_chains=True).read(path))
    assert (first.label_sets, first.annotated) == ([["B-PER"], [], []], ("PER",))
    assert (second.label_sets, second.annotated) == ([["B-PER"], [], ["B-LOC"]], None)
    path.write_text('{"files": [{"labels": ["PER"]}]}')
    with pytest.raises(ValueError, match='both.files.json: expected {"files"'):
        list(ColumnDatasetReader().read(path))
