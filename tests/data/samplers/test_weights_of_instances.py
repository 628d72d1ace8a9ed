"""A sentence with a weight of 2 counts in the samplers like the sentence twice; 0 leaves it out."""

import numpy as np
import pytest
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data.samplers import BatchSampler

from tagger.common.training_counts import WEIGHTS
from tagger.data.dataset_readers.instance_weights import weights_field
from tagger.data.samplers.repeating import format_shares
from tests.data.samplers.sentences import instance

SAMPLERS = [
    {"type": "oversampling", "threshold": 0.6, "empty_rate": 0.5},
    {"type": "undersampling", "threshold": 0.3, "rate": 0.4},
    *({"type": "sentence_resampling", "form": form} for form in ("sC", "sCR", "sCRD", "nsCRD")),
]
TAGS = ["O", "B-LOC", "B-PER", "B-ORG"]


def random_sentences(seed):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 6, size=12)
    tags = [rng.choice(TAGS, length, p=[0.6, 0.1, 0.2, 0.1]).tolist() for length in lengths]
    return [["B-PER"], *tags], np.array([1, *rng.integers(0, 4, size=12)])


def weighted(tags, weight):
    made = instance(tags)
    made.add_field(WEIGHTS, weights_field([weight]))
    return made


def factors_of(config, instances):
    """Returns how often an epoch shows each sentence, read from what the sampler draws from."""
    sampler = BatchSampler.from_params(Params({**config, "batch_size": 3}))
    drawn = []
    draw = sampler._factors_of_weighted
    sampler._factors_of_weighted = lambda sentences: drawn.append(draw(sentences)) or drawn[0]
    batches = list(sampler.get_batch_indices(instances))
    assert len(batches) == sampler.get_num_batches(instances)
    return drawn[0], {i for batch in batches for i in batch}


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("config", SAMPLERS, ids=lambda config: config.get("form", config["type"]))
def test_weights_count_like_copies(config, seed):
    sentences, weights = random_sentences(seed)
    factors, shown = factors_of(config, [weighted(*each) for each in zip(sentences, weights)])
    copies = [i for i, weight in enumerate(weights) for _ in range(weight)]
    of_copies, _ = factors_of(config, [instance(sentences[i]) for i in copies])
    assert factors[copies] == pytest.approx(of_copies)
    assert (factors[weights == 0] == 0).all()
    assert shown.isdisjoint(np.flatnonzero(weights == 0).tolist())
    # Without weights, everything is as before.
    plain, _ = factors_of(config, [instance(each) for each in sentences])
    ones, _ = factors_of(config, [weighted(each, 1) for each in sentences])
    assert plain.tolist() == ones.tolist()


def test_the_logged_shares_are_by_weight():
    sampler = BatchSampler.by_name("oversampling")(2, threshold=1.0)
    sentences = []
    sampler.factors = lambda given: sentences.extend(given) or np.ones(len(given))
    sampler.get_num_batches([weighted(["B-PER"], 3), weighted(["B-LOC"], 1)])
    rows = [line.split() for line in format_shares(sentences, np.array([1.0, 3.0])).splitlines()]
    assert rows[1:3] == [["PER", "75.00%", "50.00%"], ["LOC", "25.00%", "50.00%"]]


def test_labels_that_weigh_nothing_are_no_labels():
    instances = [weighted(["B-PER"], 0), weighted(["O"], 1)]
    for config in SAMPLERS:
        with pytest.raises(ConfigurationError, match="has a label .* and a weight above 0"):
            factors_of(config, instances)
