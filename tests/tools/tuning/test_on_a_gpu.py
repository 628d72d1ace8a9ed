"""What is computed from emissions on a GPU, is computed there, and equals what a CPU computes."""

import numpy as np
import pytest
import torch

from tagger.tools.tuning.decoding import Settings
from tagger.tools.tuning.labelled_file import tuner_on_file
from tests.conftest import ROOT

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]


def test_probabilities_of_entities_are_those_of_a_cpu(archive):
    head = archive.model.head
    emissions = torch.randn(8, 20, len(archive.model.tags))
    mask = torch.arange(20) < torch.randint(1, 21, (8, 1))
    expected = head.predict(emissions, mask)
    found = head.cuda().predict(emissions.cuda(), mask.cuda())
    assert found["entity_probabilities"].is_cuda
    assert torch.equal(found["predicted_tags"].cpu(), expected["predicted_tags"])
    torch.testing.assert_close(
        found["entity_probabilities"].cpu(), expected["entity_probabilities"], rtol=0, atol=1e-5
    )


def test_decoding_is_tuned_on_the_model_s_device(archive):
    model, reader = archive.model, archive.validation_dataset_reader
    path = str(ROOT / "data/toy/dev.txt")
    settings = Settings({}, {"PER": 0.5})
    expected = tuner_on_file(model, reader, path).counts(settings)
    tuner = tuner_on_file(model.cuda(), reader, path)
    assert all(batch.emissions.is_cuda for batch in tuner.batches)
    assert np.array_equal(tuner.counts(settings), expected)
