import logging
import os
from collections import Counter
from pathlib import Path

import pytest
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader, Token, Vocabulary
from allennlp.data.token_indexers import TokenCharactersIndexer
from seqeval.metrics.sequence_labeling import get_entities

from tagger.data import ColumnDatasetReader
from tagger.spans import PREFIXED, check_tags, convert_tags, tags_to_spans

TOY = Path(__file__).parents[3] / "data" / "toy"
# Where corpora may be that are not part of the project.
CORPORA = [Path(os.environ.get("TAGGER_CORPORA") or TOY.parent), TOY.parent]


@pytest.fixture
def write(tmp_path):
    def write_file(content, name="toy.txt"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write_file


def words_and_tags(instances):
    return [(instance["metadata"]["words"], list(instance["tags"])) for instance in instances]


def test_conll2003_is_read_as_distributed(write):
    path = write(
        "-DOCSTART- -X- O O\n\nEU NNP I-NP I-ORG\nrejects VBZ I-VP O\n\n"
        "-DOCSTART- -X- O O\n\nFischler NNP I-NP I-PER\nBonn NNP I-NP I-LOC\nParis NNP I-NP B-LOC\n\n"
    )
    reader = ColumnDatasetReader(source_encoding="IOB1", tag_encoding="IOB1")
    assert words_and_tags(reader.read(path)) == [
        (["EU", "rejects"], ["I-ORG", "O"]),
        (["Fischler", "Bonn", "Paris"], ["I-PER", "I-LOC", "B-LOC"]),
    ]
    reader = ColumnDatasetReader(source_encoding="IOB1", tag_encoding="BIOUL")
    assert words_and_tags(reader.read(path))[1][1] == ["U-PER", "U-LOC", "U-LOC"]


BIOUL, IOBES = "B-PER I-PER L-PER O U-LOC", "B-PER I-PER E-PER O S-LOC"


@pytest.mark.parametrize(
    ("lines", "settings", "words", "tags"),
    [
        ("1 EU B-ORG x\n2 rejects O x", {"token_column": 1, "tag_column": -2}, "EU rejects", "B-ORG O"),
        ("the DT\nB-52 NN", {"source_encoding": None}, "the B-52", "DT NN"),
        (BIOUL, {"source_encoding": "BIOUL", "tag_encoding": "IOBES"}, None, IOBES),
        (IOBES, {"source_encoding": "IOBES", "tag_encoding": "BIOUL"}, None, BIOUL),
        (IOBES, {"source_encoding": "IOBES"}, None, IOBES),
    ],
)  # fmt: skip
def test_columns_and_encodings_are_those_of_the_settings(write, lines, settings, words, tags):
    if words is None:
        lines, words = "".join(f"word {tag}\n" for tag in lines.split()), "word " * 5
    (read,) = words_and_tags(ColumnDatasetReader(**settings).read(write(lines + "\n")))
    assert read == (words.strip().split(" "), tags.split())


def test_tokens_may_hold_blanks_beside_a_delimiter(write):
    reader = ColumnDatasetReader(delimiter="\t")
    assert words_and_tags(reader.read(write("New York\tB-LOC\n"))) == [(["New York"], ["B-LOC"])]


def test_iob1_reads_bio_with_the_same_entities(write):
    path = write("Ada B-PER\nLovelace I-PER\nmet O\nBob B-PER\nEve B-PER\n")
    reader = ColumnDatasetReader(source_encoding="IOB1", tag_encoding="IOB1")
    assert words_and_tags(reader.read(path))[0][1] == ["I-PER", "I-PER", "O", "I-PER", "B-PER"]
    # BIO by default, since a model could not tell the tags apart
    reader = ColumnDatasetReader(source_encoding="IOB1")
    assert words_and_tags(reader.read(path))[0][1] == ["B-PER", "I-PER", "O", "B-PER", "B-PER"]


def test_a_tag_may_hold_several_labels_or_none(write):
    path = write("Bank ORG\nof ORG|?LOC\nChina ORG|LOC\nB-52 ?\nin O\n")
    reader = ColumnDatasetReader(label_separator="|", unknown_tag="?")
    (instance,) = reader.read(path)
    assert instance["tags"].label_sets == [["ORG"], ["ORG", "?LOC"], ["ORG", "LOC"], ["?"], []]
    vocab = Vocabulary.from_instances([instance])
    assert set(vocab.get_token_to_index_vocabulary("labels")) == {"ORG", "LOC"}


def test_the_tag_of_no_label_is_configurable(write):
    reader = ColumnDatasetReader(label_separator="+", no_label_tag="-", label_namespace="tags")
    (instance,) = reader.read(write("one O+A\ntwo -\n"))
    assert instance["tags"].label_sets == [["O", "A"], []]
    assert instance["tags"].label_namespace == "tags"


@pytest.mark.parametrize(
    ("tag", "message"),
    [
        ("A|O", "toy.txt:2: in 'two A|O', `A|O` at position 1 has `O`, which stands for no label"),
        ("A||B", "toy.txt:2: .* an empty string"),
        ("A|?A", "toy.txt:2: .* has 'A' both known and unknown"),
    ],
)
def test_several_labels_that_make_no_sense_are_refused_where_they_are(tag, message, write):
    reader = ColumnDatasetReader(label_separator="|", unknown_tag="?")
    with pytest.raises(ValueError, match=message.replace("|", r"\|")):
        list(reader.read(write(f"one A\ntwo {tag}\n")))


def test_the_namespace_of_the_tags_is_configurable(write):
    instances = ColumnDatasetReader(label_namespace="entity_tags").read(write("Bonn B-LOC\n"))
    vocab = Vocabulary.from_instances(instances)
    assert vocab.get_token_to_index_vocabulary("entity_tags") == {"B-LOC": 0}


def test_unknown_tags_leave_sets_of_possible_tags(write, caplog):
    path = write("Ada I-PER\nLovelace ?\nleft O\nLondon I-LOC\n\nBob I-PER\n")
    reader = ColumnDatasetReader(source_encoding="IOB1", tag_encoding="BIOUL", unknown_tag="?")
    with caplog.at_level(logging.INFO, "tagger"):
        first, second = reader.read(path)
    assert "toy.txt: 4 known tags, 3 of them certain as BIOUL" in caplog.text
    assert list(first["tags"]) == ["?", "?", "O", "U-LOC"]
    assert [tags.only_label for tags in first["tags"].tag_sets] == ["PER", None, None, "LOC"]
    assert [tags.only_tag for tags in second["tags"].tag_sets] == ["U-PER"]
    vocab = Vocabulary.from_instances([first, second])
    tags = ["B-PER", "O", "U-LOC", "U-PER"]
    assert sorted(vocab.get_token_to_index_vocabulary("labels")) == tags


def test_plain_labels_may_be_unknown(write):
    reader = ColumnDatasetReader(source_encoding=None, unknown_tag="?")
    (instance,) = reader.read(write("the DT\nB-52 ?\n"))
    instance.index_fields(Vocabulary.from_instances([instance]))
    assert instance["tags"].as_tensor({"num_tokens": 2}).tolist() == [0, -1]


def test_unknown_tags_between_that_fit_no_sentence_are_named(write):
    path = write("Ada B-PER\nLovelace ?\nleft L-LOC\n")
    reader = ColumnDatasetReader(source_encoding="BIOUL", unknown_tag="?")
    message = r"toy\.txt:3: in 'left L-LOC', .* whatever the unknown tags"
    with pytest.raises(ValueError, match=message):
        list(reader.read(path))


def test_token_indexers_are_applied_late_and_tokens_keep_their_offsets():
    indexers = {"characters": TokenCharactersIndexer(min_padding_length=1)}
    reader = ColumnDatasetReader(token_indexers=indexers)
    instance = reader.text_to_instance([Token("Ada", idx=3, idx_end=6)])
    assert instance["tokens"]._token_indexers is None
    assert [(token.idx, token.idx_end) for token in instance["tokens"]] == [(3, 6)]
    reader.apply_token_indexers(instance)
    assert instance["tokens"].token_indexers is indexers


def test_reading_is_lazy(write):
    path = write("Ada B-PER\n\nleft I-PER\n")
    instances = iter(ColumnDatasetReader(source_encoding="BIO").read(path))
    assert next(instances)["metadata"]["words"] == ["Ada"]
    with pytest.raises(ValueError, match="toy.txt:3"):
        next(instances)


BIO = {"source_encoding": "BIO"}


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
    ],
)  # fmt: skip
def test_bad_data_is_named_by_path_and_line(write, content, settings, message):
    with pytest.raises(ValueError, match=message):
        list(ColumnDatasetReader(**settings).read(write(content)))


@pytest.mark.parametrize(
    ("path", "remedy"),
    [
        ("data/conll2003/eng.train", "`python scripts/prepare_conll2003.py SOURCE` puts it there"),
        ("data/us_addresses/dev.txt", "`python scripts/prepare_us_addresses.py` puts it there"),
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


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"source_encoding": "IOB2"}, "`source_encoding` is 'IOB2', expected one of BIO, IOB1, BIOUL"),
        ({"tag_encoding": "bio"}, "`tag_encoding` is 'bio', expected one of BIO, IOB1, BIOUL, BMES"),
        ({"source_encoding": None, "tag_encoding": "BIO"}, "but `source_encoding` is null"),
        ({"label_separator": "|", "tag_encoding": "BIO"}, "there is a `label_separator`"),
        ({"documents": "doc"}, "`documents` must be one of docstart, blank_lines, or null; got 'doc'"),
        ({"max_document_tokens": 0}, "`max_document_tokens` must be at least 1; got 0"),
        ({"documents": "docstart", "instances": "words"}, "documents, sentences; got 'words'"),
        ({"instances": "sentences"}, "set `documents` to one of docstart, blank_lines"),
        ({"max_sentence_tokens": 0}, "`max_sentence_tokens` must be at least 1"),
        ({"format": "doccanno"}, "`format` must be one of"),
        ({"overlapping": "longst"}, "`overlapping` must be one of"),
    ],
)  # fmt: skip
def test_bad_settings_are_configuration_errors(settings, message):
    with pytest.raises(ConfigurationError, match=message):
        ColumnDatasetReader(**settings)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("coding_scheme", "'coding_scheme'.*; did you mean `source_encoding`?"),
        ("convert_to_coding_scheme", "did you mean `tag_encoding`?"),
        ("source_encodng", "takes delimiter, .*; did you mean `source_encoding`?"),
        ("max_instance", "did you mean `max_instances`?"),
        ("manual_distributed_sharding", "'manual_distributed_sharding'.*; it takes "),
    ],
)
def test_unknown_arguments_are_refused_with_what_may_be_meant(name, message):
    params = Params({"type": "column", name: True})
    with pytest.raises(ConfigurationError, match=message.replace("?", r"\?")):
        DatasetReader.from_params(params)


def test_the_toy_corpus_has_the_counts_of_its_readme():
    counts = {}
    for name in ("train", "dev", "test"):
        instances = list(ColumnDatasetReader().read(TOY / f"{name}.txt"))
        spans = Counter(
            label for i in instances for label, _ in tags_to_spans(list(i["tags"]), "BIO")
        )
        assert set(spans) == {"LOC", "PER", "ORG", "EVENT"}
        num_tokens = sum(len(instance["tokens"]) for instance in instances)
        counts[name] = (sum(spans.values()), len(instances), num_tokens)
    assert counts == {"train": (88, 60, 558), "dev": (23, 15, 131), "test": (27, 15, 140)}


CORPUS_FILES = [
    ("conll2003/eng.train", "IOB1", 14_041, 203_621, 23_499),
    ("conll2003/eng.testa", "IOB1", 3_250, 51_362, 5_942),
    ("conll2003/eng.testb", "IOB1", 3_453, 46_435, 5_648),
    ("wnut17/wnut17train.conll", "BIO", 3_394, None, None),
    ("wnut17/emerging.dev.conll", "BIO", 1_009, None, None),
    ("wnut17/emerging.test.annotated", "BIO", 1_287, None, None),
    ("bc5cdr/train.tsv", "BIO", 4_560, None, None),
    ("bc5cdr/devel.tsv", "BIO", 4_581, None, None),
    ("bc5cdr/test.tsv", "BIO", 4_797, None, None),
    ("crossner_music/train.txt", "BIO", 100, None, None),
    ("crossner_music/dev.txt", "BIO", 380, None, None),
    ("crossner_music/test.txt", "BIO", 465, None, None),
]


@pytest.mark.parametrize(
    ("name", "encoding", "num_sentences", "num_tokens", "num_entities"), CORPUS_FILES
)
def test_published_corpora_have_their_counts_and_the_entities_of_seqeval_in_each_encoding(
    name, encoding, num_sentences, num_tokens, num_entities
):
    path = next((folder / name for folder in CORPORA if (folder / name).exists()), None)
    if path is None:
        pytest.skip(f"{name} is neither in $TAGGER_CORPORA nor in data")
    instances = ColumnDatasetReader(source_encoding=None).read(path)
    sentences = [instance["tags"].labels for instance in instances]
    assert len(sentences) == num_sentences
    assert num_tokens in (None, sum(map(len, sentences)))
    spans = sum(len(tags_to_spans(tags, encoding)) for tags in sentences)
    assert num_entities in (None, spans)
    for position, tags in enumerate(sentences):
        check_tags(tags, encoding)
        expected = [(label, (start, end)) for label, start, end in get_entities(tags)]
        for tag_encoding in PREFIXED:
            converted = convert_tags(tags, encoding, tag_encoding)
            assert tags_to_spans(converted, tag_encoding) == expected, (position, tag_encoding)
