import pytest
from allennlp.common.checks import ConfigurationError

from tagger.spans import spans_to_tags
from tagger.tools.labels.corpus import Corpus, make_folds

SPANS = [("PER", (0, 1)), ("PER", (2, 2)), ("LOC", (4, 5))]


def corpus_of(tmp_path, text, **reader):
    (tmp_path / "corpus.txt").write_text(text)
    return Corpus(tmp_path / "corpus.txt", reader)


def spelt(encoding, spans):
    tags = spans_to_tags(spans, 6, encoding)
    return "\n".join(f"w{i}  x\t{tag}  y" for i, tag in enumerate(tags)) + "\n"


@pytest.mark.parametrize("encoding", ["BIO", "BIOUL", "BMES", "IOBES", "IOB1"])
@pytest.mark.parametrize(
    ("removed", "added"),
    [
        ([0], [("LOC", (0, 1))]),
        ([1], []),
        ([0, 1], [("PER", (0, 2))]),
        ([0], [("PER", (0, 0))]),
        ([2], [("PER", (3, 4))]),
        ([], [("ORG", (3, 3))]),
    ],
)
def test_a_correction_changes_only_the_tags_and_reads_back(tmp_path, encoding, removed, added):
    reader = {"source_encoding": encoding, "tag_column": 2}
    corpus = corpus_of(tmp_path, spelt(encoding, SPANS), **reader)
    assert corpus.sentences[0].spans == SPANS
    gone = [SPANS[i] for i in removed]
    lines = corpus.lines()
    for number, line in corpus.edits(0, gone, added).items():
        lines[number - 1] = line
    corrected = corpus_of(tmp_path, "\n".join(lines), **reader)
    expected = sorted([*(set(SPANS) - set(gone)), *added], key=lambda span: span[1])
    assert corrected.sentences[0].spans == expected
    assert all(
        line.startswith(f"w{i}  x\t") and line.endswith("  y") for i, line in enumerate(lines)
    )


@pytest.mark.parametrize(
    "separator", ["-DOCSTART- O\n\n", "\n"], ids=["docstart lines", "blank lines"]
)
def test_no_document_is_divided_and_all_are_held_out_once(tmp_path, separator):
    document = "a B-X\n\nb O\n\n"
    corpus = corpus_of(tmp_path, separator.join([document] * 8))
    folds = make_folds(corpus, 4)
    assert sorted(n for fold in folds for n in fold.held_out) == list(range(16))
    for fold in folds:
        assert sorted(n for part in fold for n in part) == list(range(16))
        documents = [{corpus.sentences[n].document for n in part} for part in fold]
        assert all(documents)
        assert sum(map(len, documents)) == 8
    # The parts consist of documents again.
    corpus.write(tmp_path / "part.txt", folds[0].train)
    assert Corpus(tmp_path / "part.txt", {}).documents.how == corpus.documents.how


@pytest.mark.parametrize(
    ("reader", "message"),
    [
        ({"labels": ["X"]}, r"`dataset_reader.labels` is \['X'\], but"),
        ({"unknown_tag": "?"}, "`dataset_reader.unknown_tag` is"),
        ({"source_encoding": None}, "`dataset_reader.source_encoding` is None"),
        ({"source_encoding": "BIOUL"}, "corpus.txt:2: in 'b O'"),
    ],
)
def test_a_corpus_of_another_kind_or_too_few_sentences_are_refused(tmp_path, reader, message):
    with pytest.raises((ConfigurationError, ValueError), match=message):
        corpus_of(tmp_path, "a B-X\nb O\n", **reader)
    corpus = corpus_of(tmp_path, "a O\n\nb O\n\nc O\n")
    for num_folds in (1, 2):
        message = rf"`--folds` .* blocks of sentences of .*, 3; got {num_folds}"
        with pytest.raises(ConfigurationError, match=message):
            make_folds(corpus, num_folds)
