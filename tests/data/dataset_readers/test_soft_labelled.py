import numpy as np
import pytest
import torch
from allennlp.common import Params
from allennlp.data import DatasetReader, Vocabulary

from tagger.data.data_loaders.bucketed import BucketedDataLoader
from tagger.data.soft_labels import SoftLabels

TAGS = ["B-PER", "I-PER", "O"]


def save(path, sentences, document_sizes=None):
    generator = np.random.default_rng(len(sentences))
    tags = generator.dirichlet([1] * 3, size=sum(map(len, sentences)))
    counts = [max(len(words) - 1, 0) for words in sentences]
    transitions = generator.dirichlet([1] * 9, size=len(sentences)).reshape(-1, 3, 3)
    transitions *= np.array(counts)[:, None, None]
    labels = SoftLabels(TAGS, sentences, tags, transitions, document_sizes)
    labels.save(path)
    return labels


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "train.txt").write_text("Ada B-PER\nleft O\n\nWhy O\n\n")
    return tmp_path


def make(folder, **arguments):
    params = {"reader": {"type": "column"}, "soft_labels": str(folder / "soft.npz"), **arguments}
    return DatasetReader.from_params(Params({"type": "soft_labelled", **params}))


def test_soft_labels_accompany_gold_tags_and_unlabelled_text_has_no_gold_tags(folder):
    # Not in the order of the data file.
    of_train = save(folder / "soft.npz", [["Why"], ["Ada", "left"]])
    of_text = save(folder / "more.npz", [["Zoë", "came", "too"]])
    reader = make(folder, unlabelled=[str(folder / "more.npz")])
    loader = BucketedDataLoader(reader, str(folder / "train.txt"), batch_size=3, shuffle=False)
    vocab = Vocabulary.from_instances(loader.iter_instances())
    # The mark for unknown tags is not a tag itself.
    assert sorted(vocab.get_token_to_index_vocabulary("labels")) == ["B-PER", "O"]
    vocab.add_token_to_namespace("I-PER", "labels")
    loader.index_with(vocab)
    (batch,) = loader
    words = [each["words"] for each in batch["metadata"]]
    tags = [vocab.get_token_from_index(k, "labels") for k in range(3)]
    order = [TAGS.index(tag) for tag in tags]
    assert sorted(words) == [["Ada", "left"], ["Why"], ["Zoë", "came", "too"]]
    for row, sentence in enumerate(words):
        found = (of_text if "Zoë" in sentence else of_train).find(sentence)
        expected = torch.from_numpy(found.tags)[:, order]
        assert torch.equal(batch["soft_tags"][row, : len(sentence)], expected)
        assert batch["soft_tags"][row, len(sentence) :].eq(0).all()
        expected = torch.from_numpy(found.transitions)[order][:, order]
        assert torch.equal(batch["soft_transitions"][row], expected.unsqueeze(0))
        known = [tags.index("B-PER"), tags.index("O")][-len(sentence) :]
        gold = batch["tags"][row, : len(sentence)].tolist()
        assert gold == ([-1] * 3 if "Zoë" in sentence else known)


@pytest.mark.parametrize("documents", [None, "docstart"])
def test_unlabelled_text_weighs_1_beside_weighted_sentences(documents, folder):
    (folder / "train.txt").write_text("-DOCSTART- 1 O\n\nAda 2 B-PER\nleft 2 O\n\nWhy 0 O\n\n")
    save(folder / "soft.npz", [["Why"], ["Ada", "left"]])
    save(folder / "more.npz", [["Zoë"], ["came", "too"]], [2])
    reader = {"type": "column", "weight": 1, "tag_column": 2, "documents": documents}
    reader = make(folder, reader=reader, unlabelled=[str(folder / "more.npz")])
    loader = BucketedDataLoader(reader, str(folder / "train.txt"), batch_size=9, shuffle=False)
    vocab = Vocabulary.from_instances(loader.iter_instances())
    vocab.add_token_to_namespace("I-PER", "labels")
    loader.index_with(vocab)
    (batch,) = loader
    assert sorted(batch["weights"].flatten().tolist()) == [0, 1, 1, 2]


def test_documents_have_the_soft_labels_of_their_sentences(folder):
    text = "-DOCSTART- O\n\nAda B-PER\nleft O\n\nWhy O\n\n-DOCSTART- O\n\nWhy O\n"
    (folder / "train.txt").write_text(text)
    of_train = save(folder / "soft.npz", [["Ada", "left"], ["Why"]])
    of_text = save(folder / "more.npz", [["Zoë", "came"], ["Too"], ["Lima"]], [2, 1])
    reader = {"type": "column", "documents": "docstart"}
    reader = make(folder, reader=reader, unlabelled=[str(folder / "more.npz")])
    instances = list(reader.read(str(folder / "train.txt")))
    expected = [
        (of_train, [["Ada", "left"], ["Why"]]),
        (of_train, [["Why"]]),
        (of_text, [["Zoë", "came"], ["Too"]]),
        (of_text, [["Lima"]]),
    ]
    assert len(instances) == len(expected)
    for instance, (labels, sentences) in zip(instances, expected):
        assert instance["sentence_lengths"].tensor.tolist() == list(map(len, sentences))
        found = [labels.find(words) for words in sentences]
        tags = np.concatenate([each.tags for each in found])
        assert np.array_equal(instance["soft_tags"].tensor.numpy(), tags)
        transitions = np.stack([each.transitions for each in found])
        assert np.array_equal(instance["soft_transitions"].tensor.numpy(), transitions)
    assert [set(each["tags"].labels) for each in instances[2:]] == [{"?"}, {"?"}]


def test_files_are_opened_when_training_data_are_read_and_must_have_all_sentences(folder):
    reader, train = make(folder), str(folder / "train.txt")
    assert "soft_tags" not in reader.text_to_instance(["Ada"]).fields
    with pytest.raises(FileNotFoundError, match="soft.npz: expected a file of soft labels"):
        list(reader.read(train))
    save(folder / "soft.npz", [["Why"]])
    message = "soft.npz: expected soft labels of all .* `Ada left ...`.*`validation_dataset_reader`"
    with pytest.raises(ValueError, match=message):
        list(reader.read(train))
