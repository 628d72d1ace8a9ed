import json

import pytest
import torch
from allennlp.common import Params
from allennlp.data import Batch, DatasetReader, Vocabulary
from allennlp.models import Model, load_archive

from tagger.metrics.label_metrics import metrics_by_label
from tagger.tools.runs import work
from tagger.tools.runs.work import count_sentences
from tests.conftest import CONFIGS, ROOT
from tests.documents import text_of_documents

TOY = ROOT / "data/toy/test.txt"
TEXTS = [("wheat corn", ["A"]), ("bank", ["B"]), ("wheat bank", ["A", "B"]), ("the", [])] * 5


def untrained(reader, model, path):
    """Returns a reader, an untrained model, and its metrics on a file."""
    torch.manual_seed(0)
    reader = DatasetReader.from_params(Params(reader))
    instances = list(reader.read(str(path)))
    vocab = Vocabulary.from_instances(instances)
    built = Model.from_params(Params(model), vocab=vocab).eval()
    batch = Batch(instances)
    batch.index_instances(vocab)
    with torch.no_grad():
        built(**batch.as_tensor_dict())
    return reader, built, built.get_metrics(reset=True)


def toy(**head):
    config = json.loads(
        json.dumps(Params.from_file(CONFIGS / "toy_bilstm_crf.jsonnet").as_dict(quiet=True))
    )
    config["model"]["head"].update(head)
    return config["dataset_reader"], config["model"]


def assert_adds_up(found, metrics):
    assert found.counts.sum() > 0
    summed = metrics_by_label(found.labels, found.counts.sum(0))
    for label in [*found.labels, "overall"]:
        for measure in ("precision", "recall", "f1-measure", "num-gold", "num-predicted"):
            assert summed[f"{measure}-{label}"] == pytest.approx(metrics[f"{measure}-{label}"])


def test_the_counts_of_sentences_add_up_to_the_metrics():
    reader, model, metrics = untrained(*toy(), TOY)
    found = count_sentences(model, reader, str(TOY))
    assert len(found.counts) == 15
    assert_adds_up(found, metrics)
    # In the order of the file, which is not that of the lengths.
    gold = [len(each) for each in spans_of(TOY)]
    assert found.counts[:, 2].sum(1).tolist() == gold


def spans_of(path):
    blocks = path.read_text().strip().split("\n\n")
    return [[line for line in block.splitlines() if " B-" in line] for block in blocks]


def test_the_sentences_of_a_document_count_together(tmp_path):
    path = tmp_path / "documents.txt"
    path.write_text(text_of_documents())
    reader, model = toy()
    model["document_contexts"] = ["same_words"]
    reader, model, metrics = untrained({**reader, "documents": "docstart"}, model, path)
    found = count_sentences(model, reader, str(path))
    assert len(found.counts) == 16
    assert_adds_up(found, metrics)


def test_labelled_texts_count_separately(tmp_path):
    path = tmp_path / "texts.jsonl"
    lines = (json.dumps({"text": text, "labels": labels}) for text, labels in TEXTS)
    path.write_text("\n".join(lines) + "\n")
    model = {
        "type": "document_classifier",
        "text_field_embedder": {
            "token_embedders": {"tokens": {"type": "embedding", "embedding_dim": 8}}
        },
        "encoder": {"type": "cnn", "num_filters": 4, "ngram_filter_sizes": [1]},
    }
    reader, model, metrics = untrained({"type": "document"}, model, path)
    found = count_sentences(model, reader, str(path))
    assert found.counts[:4, 2].tolist() == [
        [int(label in labels) for label in found.labels] for _, labels in TEXTS[:4]
    ]
    assert_adds_up(found, metrics)


def test_a_head_without_a_chain_has_no_counts(tmp_path):
    path = tmp_path / "tokens.txt"
    path.write_text("Ann PER\nruns O\n\n")
    reader, model = toy()
    model["head"] = {"type": "sigmoid"}
    reader.update(source_encoding=None, tag_encoding=None, label_separator="|")
    reader, model, _ = untrained(reader, model, path)
    assert count_sentences(model, reader, str(path)) is None


def test_training_never_sees_the_test_file(allennlp, at_root, tmp_path):
    test_file = tmp_path / "test.txt"
    test_file.write_text("Xylografia B-LOC\nlies O\n\n" * 3 + "Maria B-PER\nleft O\n\n")
    config = Params.from_file(CONFIGS / "toy_bilstm_crf.jsonnet").as_dict(quiet=True)
    # AllenNLP's own default, which takes the words of all files.
    config.pop("datasets_for_vocab_creation", None)
    config["trainer"]["num_epochs"] = 2
    config.update({"test_data_path": str(test_file), "evaluate_on_test": True})
    work.train(config, tmp_path / "run")
    vocab = load_archive(tmp_path / "run/model.tar.gz").model.vocab
    words = vocab.get_token_to_index_vocabulary("tokens")
    assert "Maria" in words
    assert not {"Xylografia", "xylografia"} & set(words)
    metrics = json.loads((tmp_path / "run/metrics.json").read_text())
    assert metrics["test_num-gold-LOC"] == 3
    archive, output = tmp_path / "run/model.tar.gz", tmp_path / "metrics.json"
    allennlp("evaluate", archive, test_file, "--output-file", output)
    for name, value in json.loads(output.read_text()).items():
        assert metrics[f"test_{name}"] == value
    assert config["test_data_path"] == str(test_file)
