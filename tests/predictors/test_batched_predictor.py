import json
import logging

import numpy as np
import pytest
from allennlp.data.fields import TextField
from allennlp.predictors import Predictor

from tagger.predictors.batched_predictor import Throughput


@pytest.fixture
def instances(archive, at_root):
    return list(archive.validation_dataset_reader.read("data/toy/test.txt"))


def numbers_and_rest(prediction):
    """Returns the probabilities of the entities, and the prediction without them."""
    entities = prediction["entities"]
    return [entity.pop("probability") for entity in entities], prediction


@pytest.mark.parametrize("batch_tokens", [1, 40, 100_000])
def test_batches_give_the_predictions_of_single_instances(archive, instances, batch_tokens):
    predictor = Predictor.from_archive(archive, extra_args={"batch_tokens": batch_tokens})
    together = predictor.predict_batch_instance(instances)
    for instance, prediction in zip(instances, together, strict=True):
        numbers, rest = numbers_and_rest(prediction)
        own_numbers, own_rest = numbers_and_rest(predictor.predict_instance(instance))
        assert rest == own_rest
        # Padding changes the order in which the encoder sums.
        assert numbers == pytest.approx(own_numbers, abs=1e-5)


@pytest.fixture
def masks(archive, monkeypatch):
    """Collects the masks of the batches passed to the model."""
    seen, predict = [], archive.model.head.predict
    monkeypatch.setattr(
        archive.model.head, "predict", lambda *given: seen.append(given[1]) or predict(*given)
    )
    return seen


def test_batches_have_similar_lengths_and_at_most_the_requested_size(
    archive, instances, masks, monkeypatch
):
    predictor = Predictor.from_archive(archive, extra_args={"batch_tokens": 60})
    predictor.predict_batch_instance(instances)
    assert all(mask.numel() <= 60 for mask in masks)
    # Batches are predicted in parallel, in any order.
    lengths = sorted((mask.sum(1).tolist() for mask in masks), reverse=True)
    assert sum(lengths, []) == sorted((len(i["tokens"]) for i in instances), reverse=True)
    masks.clear()
    predictor.predict_batch_json([{"tokens": ["Ada", "left"]}] * 70)
    assert sorted(tuple(mask.shape) for mask in masks) == [(10, 2), (30, 2), (30, 2)]
    masks.clear()
    # Texts with more word pieces than tokens do not lead to larger batches.
    monkeypatch.setattr(TextField, "__len__", lambda text: 1)
    predictor.predict_batch_instance(instances)
    assert len(masks) > 1
    assert all(mask.numel() <= 60 for mask in masks)


def test_gold_tags_are_ignored_and_there_may_be_no_inputs(archive, instances, monkeypatch):
    monkeypatch.setattr(archive.model.head, "sequence_loss", None)
    monkeypatch.setattr(archive.model.head, "measure", None)
    Predictor.from_archive(archive).predict_batch_instance(instances)
    assert Predictor.from_archive(archive).predict_batch_json([]) == []


@pytest.mark.parametrize("batch_size", ["7", "1000"])
def test_the_command_writes_predictions_in_the_order_of_the_file(
    allennlp, trained, tmp_path, batch_size
):
    texts = [" ".join(["Ada"] * length) for length in np.random.default_rng(0).permutation(20) + 1]
    source, output = tmp_path / "texts.txt", tmp_path / "predictions.jsonl"
    source.write_text("\n".join(texts))
    options = ["--silent", "--output-file", output, "--batch-size", batch_size]
    allennlp("predict", trained / "model.tar.gz", source, *options)
    assert [json.loads(line)["text"] for line in output.read_text().splitlines()] == texts


def test_speed_is_logged_at_intervals_and_at_the_end_of_long_runs(archive, instances, caplog):
    caplog.set_level(logging.INFO)
    predictor = Predictor.from_archive(archive)
    predictor.predict_batch_instance(instances)
    predictor.throughput.least = 1000.0
    predictor.throughput.log()
    predictor.throughput.least = 0.0
    assert "sentences/s" not in caplog.text
    predictor.throughput.log()
    num_tokens = sum(len(instance["tokens"]) for instance in instances)
    assert f"predicted {len(instances)} sentences, {num_tokens} tokens in" in caplog.text

    throughput = Throughput(interval=0, least=0)
    throughput.start()
    caplog.clear()
    throughput.add(3, 20)
    throughput.add(4, 30)
    assert [record.args[:2] for record in caplog.records] == [(3, 20), (7, 50)]
