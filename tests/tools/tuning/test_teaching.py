import numpy as np
import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.models import load_archive
from allennlp.nn.util import get_text_field_mask

from tagger.data.dataset_readers.soft_labelled import SoftLabelledDatasetReader
from tagger.linear_chain import (
    ChainMarginals,
    ChainScores,
    chain_marginals,
    tag_marginals,
    transition_marginals,
)
from tagger.models import SequenceTaggerEnsemble
from tagger.tools.tuning.teaching import soft_labels_of
from tests.conftest import ROOT
from tests.documents import document
from tests.linear_chain.chains import random_chains
from tests.models.batches import tensors

DEV = str(ROOT / "data/toy/dev.txt")
# Soft labels are stored in float16.
CLOSE = {"rtol": 2e-3, "atol": 2e-4}


@pytest.fixture
def instances(archive):
    return list(archive.validation_dataset_reader.read(DEV))


def expected_marginals(model, instance, temperature=1.0):
    """Tag marginals, (T, K), and summed transition marginals, (K, K), of a single sentence."""
    tokens = tensors(model, [instance])["tokens"]
    mask = get_text_field_mask(tokens)
    with torch.no_grad():
        scores = model.head.chain_scores(model.emissions(tokens, mask))
        scores = ChainScores(*(each / temperature for each in scores))
        return tag_marginals(scores)[0].numpy(), transition_marginals(scores)[0].sum(0).numpy()


@pytest.mark.parametrize("temperature", [1.0, 4.0])
def test_soft_labels_are_the_marginals_of_each_sentence(archive, instances, temperature):
    labels = soft_labels_of(archive.model, instances, 3, temperature)
    assert labels.tags == archive.model.tags
    assert [list(words) for words in labels.sentences] == [
        each["metadata"]["words"] for each in instances
    ]
    for instance in instances:
        found = labels.find(instance["metadata"]["words"])
        tags, transitions = expected_marginals(archive.model, instance, temperature)
        np.testing.assert_allclose(found.tags, tags, **CLOSE)
        np.testing.assert_allclose(found.transitions, transitions, **CLOSE)


def test_an_ensemble_of_marginals_teaches_the_mean_marginals(archive, trained, instances):
    first, second = (load_archive(trained / "model.tar.gz").model for _ in range(2))
    with torch.no_grad():
        second.projection.weight.mul_(0.2)
    ensemble = SequenceTaggerEnsemble(first.vocab, [first, second], "marginals")
    labels = soft_labels_of(ensemble, instances[:2])
    found = labels.find(instances[0]["metadata"]["words"])
    by_member = [expected_marginals(each, instances[0]) for each in (first.eval(), second.eval())]
    for actual, (ours, theirs) in zip(found, zip(*by_member)):
        np.testing.assert_allclose(actual, (ours + theirs) / 2, **CLOSE)


def test_a_document_tagger_gives_soft_labels_for_sentences(trained_on_documents):
    archive = load_archive(trained_on_documents / "model.tar.gz")
    documents = list(
        archive.dataset_reader.read(str(trained_on_documents.parent / "documents.txt"))
    )
    labels = soft_labels_of(archive.model, documents, 5)
    lengths = [n for each in documents for n in each["sentence_lengths"].tensor.tolist()]
    assert [len(words) for words in labels.sentences] == lengths
    sizes = [len(each["sentence_lengths"].tensor) for each in documents]
    assert [len(each) for each in labels.documents()] == sizes
    words = [word for sentence in labels.sentences for word in sentence]
    assert words == [word for each in documents for word in each["metadata"]["words"]]
    best = labels.find(["in", "Lima", "rained"]).tags.argmax(1)
    assert [labels.tags[k] for k in best] == ["O", "U-LOC", "O"]


def test_a_training_step_uses_soft_labels_and_validation_does_not(archive, instances):
    model = archive.model
    batch = tensors(model, instances[:2])
    mask = get_text_field_mask(batch["tokens"])
    num_tags = len(model.tags)
    teacher = chain_marginals(random_chains(*mask.shape, num_tags, dtype=torch.float32), mask)
    soft = {"soft_tags": teacher.tags, "soft_transitions": teacher.transitions.unsqueeze(1)}
    model.head._distillation_weight = 1.0
    emissions = model.eval().emissions(batch["tokens"], mask)
    expected = model.head.crf.cross_entropy(emissions, teacher, mask).mean()
    plain = model(**batch)["loss"]
    assert torch.equal(model(**batch, **soft)["loss"], plain)
    model.train()
    for module in model.modules():
        # Without dropout, training and validation compute the same.
        if module is not model:
            module.eval()
    torch.testing.assert_close(model(**batch, **soft)["loss"], expected)


def test_a_student_of_documents_learns_from_the_soft_labels_of_each_sentence(
    trained_on_documents, tmp_path
):
    archive = load_archive(trained_on_documents / "model.tar.gz")
    student, reader, path = archive.model.eval(), archive.dataset_reader, tmp_path / "some.txt"
    path.write_text(document("Lima", "PER") + document("Austin", "LOC") + document("Paris", "PER"))
    soft_labels_of(student, list(reader.read(path)), temperature=4).save(tmp_path / "soft.npz")
    reader = SoftLabelledDatasetReader(reader, str(tmp_path / "soft.npz"))
    batch = tensors(student, list(reader.read(path)))
    mask = get_text_field_mask(batch["tokens"])
    rows = student.sentence_rows(mask, batch["sentence_lengths"], batch["word_ids"])
    student.head._distillation_weight = 1.0
    emissions = student.emissions(batch["tokens"], mask, rows)
    scores = ChainScores(*(each / 4 for each in student.head.chain_scores(emissions)))
    teacher = ChainMarginals(*(each.detach() for each in chain_marginals(scores, rows.mask)))
    expected = student.head.crf.cross_entropy(emissions, teacher, rows.mask).mean()
    # Training, but without dropout.
    student.training = True
    actual = student(**batch)["loss"]
    torch.testing.assert_close(actual, expected, rtol=1e-3, atol=0)
    weights = [student.projection.bias, student.head.crf.transitions]
    gradients = (torch.autograd.grad(loss, weights) for loss in (actual, expected))
    for ours, theirs in zip(*gradients):
        torch.testing.assert_close(ours, theirs, rtol=1e-2, atol=1e-4)


def test_user_errors_are_named(archive, instances):
    with pytest.raises(ConfigurationError, match="`temperature` must be a positive number; got 0"):
        soft_labels_of(archive.model, instances, temperature=0)
    with pytest.raises(ConfigurationError, match="there is no sentence to label"):
        soft_labels_of(archive.model, [])
    with pytest.raises(ConfigurationError, match="a teacher must be a `sequence_tagger`"):
        soft_labels_of(archive.model.projection, instances)
