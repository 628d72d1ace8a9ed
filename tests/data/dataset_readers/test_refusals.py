"""Readers name bad settings, and bad data by path and line."""

import pytest
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader

from tagger.data import ColumnDatasetReader
from tagger.data.dataset_readers.document import DocumentDatasetReader

SEVERAL = {"label_separator": "|", "source_encoding": None}
DOCUMENTS = {"documents": "docstart"}
SOFT = {"type": "soft_labelled", "soft_labels": "soft.npz"}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"source_encoding": "IOB2"}, "`source_encoding` is 'IOB2', expected one of BIO, IOB1, BIOUL"),
        ({"tag_encoding": "bio"}, "`tag_encoding` is 'bio', expected one of BIO, IOB1, BIOUL, BMES"),
        ({"source_encoding": None, "tag_encoding": "BIO"}, "but `source_encoding` is null"),
        ({"label_separator": "|", "tag_encoding": "BIO"}, "there is a `label_separator`"),
        ({"documents": "doc"}, "`documents` must be one of docstart, blank_lines, or null; got 'doc'"),
        ({"max_document_tokens": 0}, "`max_document_tokens` must be at least 1; got 0"),
        ({**DOCUMENTS, "instances": "words"}, "documents, sentences; got 'words'"),
        ({"instances": "sentences"}, "set `documents` to one of docstart, blank_lines"),
        ({"max_sentence_tokens": 0}, "`max_sentence_tokens` must be at least 1"),
        ({"format": "doccanno"}, "`format` must be one of"),
        ({"overlapping": "longst"}, "`overlapping` must be one of"),
        ({"unknown_tag": "O"}, "`unknown_tag` is .*, which is a tag of BIO;"),
        ({"unknown_tag": "B-PER"}, "`unknown_tag` is .*, which is a tag of BIO;"),
        ({"unknown_tag": ""}, "`unknown_tag` is .*, which is empty;"),
        ({"unknown_tag": "O", **SEVERAL}, "which is the tag of a token without a label;"),
        ({"coding_scheme": 1}, r"'coding_scheme'.*; did you mean `source_encoding`\?"),
        ({"convert_to_coding_scheme": 1}, r"did you mean `tag_encoding`\?"),
        ({"source_encodng": 1}, r"takes delimiter, .*; did you mean `source_encoding`\?"),
        ({"max_instance": 1}, r"did you mean `max_instances`\?"),
        ({"manual_distributed_sharding": 1}, "'manual_distributed_sharding'.*; it takes "),
        ({"type": "document", "text_key": ["a"]}, r"'text_key'.*; did you mean `text_keys`\?"),
        ({"type": "document", "max_tokens": 0}, "`max_tokens` must be at least 1; got 0"),
        ({**SOFT, "reader": {"type": "document"}}, "`reader` must be of type `column`; got Document"),
    ],
)  # fmt: skip
def test_bad_settings_are_configuration_errors(settings, message):
    with pytest.raises(ConfigurationError, match=message):
        DatasetReader.from_params(Params({"type": "column", **settings}))


BIO, ANY = {"source_encoding": "BIO"}, {"source_encoding": None}
UNKNOWN = {**SEVERAL, "unknown_tag": "?"}
#: A file with a slot in its third sentence.
THIRD = "-DOCSTART- O\n\nAda I-PER\nBell I-PER\n\nBell I-PER\nleft {}\n"
IN_DOCUMENTS = {**DOCUMENTS, "source_encoding": "IOB1"}


@pytest.mark.parametrize(
    ("content", "settings", "message"),
    [
        ("Ada B-PER\nleft\n", {}, "toy.txt:2: expected 2 columns as on line 1"),
        ("Ada\nleft\n", {}, "toy.txt: expected a column file, got one column: there are no tags"),
        ("Ada O\n", {"tag_column": 3}, "toy.txt:1: `tag_column` .* is 3, but there are the columns 0"),
        ("Ada A|B\nis B\nin A\n", {}, "toy.txt: tags join several labels by .*; set `label_s"),
        ("Ada O\n\nin O\nBonn I-LOC\n", BIO, "toy.txt:4: in 'Bonn I-LOC', `I-LOC` at position 1 is no "
         "legal BIO tag after `O`; these tags are legal IOB1; set `source_encoding` to 'IOB1'"),
        ("Ada U-PER\n", BIO, "toy.txt:1: .* set `source_encoding` to 'BIOUL'"),
        ("Ada NN\n", BIO, "toy.txt:1: .* set `source_encoding` to null"),
        ("Ada O\nZ\u00fcrich O\n".encode("latin-1"), {"text_encoding": "utf-8"},
         "toy.txt:2: expected UTF-8, got byte 0xfc"),
        ("\n", {}, "toy.txt: expected a token and its tag on each line, got no sentence"),
        ("one A\ntwo A|O\n", UNKNOWN, r"toy.txt:2: in 'two A\|O', `A\|O` at position 1 has `O`, which "
         "stands for no label"),
        ("one A\ntwo A||B\n", UNKNOWN, "toy.txt:2: .* an empty string"),
        ("one A\ntwo A|?A\n", UNKNOWN, "toy.txt:2: .* has 'A' both known and unknown"),
        ("Ada B-PER\nLovelace ?\nleft L-LOC\n", {"source_encoding": "BIOUL", "unknown_tag": "?"},
         "toy.txt:3: in 'left L-LOC', .* whatever the unknown tags"),
        (THIRD.format("B-"), IN_DOCUMENTS, "toy.txt:7: in 'left .*'"),
        (THIRD.format("Ä"), IN_DOCUMENTS, "toy.txt:7: in 'left .*'"),
        (THIRD.format("A|?A"), {**DOCUMENTS, **UNKNOWN}, "toy.txt:7: in 'left .*'"),
        ({"text": "Go", "label": [[0, 2, "X"]]}, ANY, "got entities; set `source_enc"),
        ({"tokens": ["Go"], "ner_tags": ["VERB"]}, BIO,
         "a label for each token, which marks no entities; set `source_encoding`"),
        ({"text": "Go", "label": [[0, 2, "A|B"]]}, {"label_separator": "|"}, r"'A\|B' cannot be told"),
        ({"text": "(" * 501, "label": []}, {}, "texts.jsonl:1` has 501 characters in a row"),
        ({"text": "Go"}, {"format": "doccano"}, "texts.jsonl:1: expected a list under one of"),
        ({"text": "Go", "label": []}, {"format": "conllu"}, "texts.jsonl:1: expected ten columns"),
        ({"text": "York U", "label": [[0, 4, "LOC"], [0, 6, "ORG"]]}, {},
         "texts.jsonl:1: entities overlap, LOC 'York'.*overlapping"),
    ],
)  # fmt: skip
def test_bad_data_is_named_by_path_and_line(write, content, settings, message):
    path = write("texts.jsonl" if isinstance(content, dict) else "toy.txt", content)
    with pytest.raises(ValueError, match=message):
        list(ColumnDatasetReader(**settings).read(str(path)))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "documents.jsonl:2: expected a JSON object"),
        ("[1]", "documents.jsonl:2: expected a JSON object with text under one of the keys text"),
        ({"labels": []}, "documents.jsonl:2: expected a JSON object with text"),
        ({"text": 3}, "documents.jsonl:2: expected a JSON object with text"),
        ({"text": " "}, "documents.jsonl:2: a document must have a token"),
        ({"text": "x", "labels": "a"}, "documents.jsonl:2: expected labels: a list of strings"),
    ],
)  # fmt: skip
def test_a_line_that_is_not_a_document_is_named(write, line, message):
    with pytest.raises(ValueError, match=message):
        list(DocumentDatasetReader().read(write("documents.jsonl", {"text": "a"}, line)))


@pytest.mark.parametrize(
    ("path", "remedy"),
    [
        (
            "data/conll2003/eng.train",
            "`python scripts/experiments/prepare_conll2003.py SOURCE` puts it there",
        ),
        (
            "data/us_addresses/dev.txt",
            "`python scripts/experiments/prepare_us_addresses.py` puts it there",
        ),
        ("mine/train.txt", "correct the path"),
    ],
)
def test_a_missing_file_is_named_with_the_script_that_prepares_it(
    tmp_path, monkeypatch, path, remedy
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError) as error:
        list(ColumnDatasetReader().read(path))
    assert str(error.value).startswith(f"{path}: expected a file, got none")
    assert str(tmp_path) in str(error.value)
    assert remedy in str(error.value)
