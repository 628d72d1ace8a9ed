import logging
import os
from collections import Counter
from pathlib import Path

import pytest
from allennlp.data import Token, Vocabulary
from allennlp.data.token_indexers import TokenCharactersIndexer
from seqeval.metrics.sequence_labeling import get_entities

from tagger.data import ColumnDatasetReader
from tagger.spans import PREFIXED, check_tags, convert_tags, tags_to_spans

TOY = Path(__file__).parents[3] / "data" / "toy"
# Folders that may hold corpora, including those outside the project.
CORPORA = [Path(os.environ.get("TAGGER_CORPORA") or TOY.parent), TOY.parent]
CONLL = (
    "-DOCSTART- -X- O O\n\nEU NNP I-NP I-ORG\nrejects VBZ I-VP O\n\n"
    "-DOCSTART- -X- O O\n\nFischler NNP I-NP I-PER\nBonn NNP I-NP I-LOC\nParis NNP I-NP B-LOC\n\n"
)
BIO = "Ada B-PER\nLovelace I-PER\nmet O\nBob B-PER\nEve B-PER\n"
BIOUL, IOBES = (f"a B-X\nb I-X\nc {end}-X\nd O\ne {only}-Y\n" for end, only in ("LU", "ES"))


@pytest.mark.parametrize(
    ("lines", "source", "target", "settings", "read"),
    [
        (CONLL, "IOB1", "IOB1", {}, "EU/I-ORG rejects/O | Fischler/I-PER Bonn/I-LOC Paris/B-LOC"),
        (CONLL, "IOB1", "BIOUL", {}, "EU/U-ORG rejects/O | Fischler/U-PER Bonn/U-LOC Paris/U-LOC"),
        ("1 EU B-X x\n2 by O x", "BIO", None, {"token_column": 1, "tag_column": -2}, "EU/B-X by/O"),
        ("the DT\nB-52 NN", None, None, {}, "the/DT B-52/NN"),
        ("New York\tB-LOC\n", "BIO", None, {"delimiter": "\t"}, "New York/B-LOC"),
        (BIOUL, "BIOUL", "IOBES", {}, "a/B-X b/I-X c/E-X d/O e/S-Y"),
        (IOBES, "IOBES", "BIOUL", {}, "a/B-X b/I-X c/L-X d/O e/U-Y"),
        (IOBES, "IOBES", None, {}, "a/B-X b/I-X c/E-X d/O e/S-Y"),
        # Read as IOB1, BIO has the same entities. The output is BIO because IOB1 tags are ambiguous.
        (BIO, "IOB1", "IOB1", {}, "Ada/I-PER Lovelace/I-PER met/O Bob/I-PER Eve/B-PER"),
        (BIO, "IOB1", None, {}, "Ada/B-PER Lovelace/I-PER met/O Bob/B-PER Eve/B-PER"),
    ],
)  # fmt: skip
def test_columns_and_encodings_follow_the_settings(write, lines, source, target, settings, read):
    settings = {"source_encoding": source, "tag_encoding": target, **settings}
    instances = ColumnDatasetReader(**settings).read(write("toy.txt", lines))
    assert read == " | ".join(
        " ".join(map("/".join, zip(each["metadata"]["words"], each["tags"]))) for each in instances
    )


def test_a_tag_may_hold_several_labels_or_none(write):
    path = write("toy.txt", "Bank ORG\nof ORG|?LOC\nChina ORG|LOC\nB-52 ?\nin O\n")
    reader = ColumnDatasetReader(label_separator="|", unknown_tag="?")
    (instance,) = reader.read(path)
    assert instance["tags"].label_sets == [["ORG"], ["ORG", "?LOC"], ["ORG", "LOC"], ["?"], []]
    vocab = Vocabulary.from_instances([instance])
    assert set(vocab.get_token_to_index_vocabulary("labels")) == {"ORG", "LOC"}


def test_the_tag_for_no_label_and_the_namespace_are_configurable(write):
    reader = ColumnDatasetReader(label_separator="+", no_label_tag="-", label_namespace="tags")
    (instance,) = reader.read(write("toy.txt", "one O+A\ntwo -\n"))
    assert instance["tags"].label_sets == [["O", "A"], []]
    assert instance["tags"].label_namespace == "tags"
    instances = ColumnDatasetReader(label_namespace="my_tags").read(write("a.txt", "Bonn B-LOC\n"))
    vocab = Vocabulary.from_instances(instances)
    assert vocab.get_token_to_index_vocabulary("my_tags") == {"B-LOC": 0}


def test_unknown_tags_become_sets_of_possible_tags(write, caplog):
    path = write("toy.txt", "Ada I-PER\nLovelace ?\nleft O\nLondon I-LOC\n\nBob I-PER\n")
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


def test_any_string_can_mark_unknown_tags_and_labels(write):
    for unknown in ("?", "U-PER", "unknown"):
        ColumnDatasetReader(source_encoding="BIO", unknown_tag=unknown)
    reader = ColumnDatasetReader(source_encoding=None, unknown_tag="?")
    (instance,) = reader.read(write("toy.txt", "the DT\nB-52 ?\n"))
    instance.index_fields(Vocabulary.from_instances([instance]))
    assert instance["tags"].as_tensor({"num_tokens": 2}).tolist() == [0, -1]


def test_token_indexers_are_applied_late_and_tokens_keep_their_offsets():
    indexers = {"characters": TokenCharactersIndexer(min_padding_length=1)}
    reader = ColumnDatasetReader(token_indexers=indexers)
    instance = reader.text_to_instance([Token("Ada", idx=3, idx_end=6)])
    assert instance["tokens"]._token_indexers is None
    assert [(token.idx, token.idx_end) for token in instance["tokens"]] == [(3, 6)]
    reader.apply_token_indexers(instance)
    assert instance["tokens"].token_indexers is indexers


def test_reading_is_lazy(write):
    path = write("toy.txt", "Ada B-PER\n\nleft I-PER\n")
    instances = iter(ColumnDatasetReader(source_encoding="BIO").read(path))
    assert next(instances)["metadata"]["words"] == ["Ada"]
    with pytest.raises(ValueError, match="toy.txt:3"):
        next(instances)


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


@pytest.mark.parametrize(
    ("name", "encoding", "num_sentences", "num_tokens", "num_entities"),
    [
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
    ],
)
def test_corpora_have_the_published_counts_and_seqevals_entities_in_each_encoding(
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
