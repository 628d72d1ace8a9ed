"""Which weightings give AllenNLP's numbers, as `docs/how_to/weighting.md` says."""

import pytest
import torch
from allennlp.modules import conditional_random_field as theirs

from tagger.modules import ConditionalRandomField, TagWeighting

CLASSES = {
    "emission": theirs.ConditionalRandomFieldWeightEmission,
    "emission_transition": theirs.ConditionalRandomFieldWeightTrans,
    "lannoy": theirs.ConditionalRandomFieldWeightLannoy,
}


def is_equal(name, options, seed, weights=None):
    torch.manual_seed(seed)
    num_tags, length = (int(torch.randint(2, 7, ())) for _ in range(2))
    weights = weights or (0.25 + 2 * torch.rand(num_tags)).tolist()
    weighting = TagWeighting.by_name(name)(tag_weights=weights[:num_tags], **options)
    ours = ConditionalRandomField(num_tags, weighting=weighting).double()
    reference = CLASSES[name](num_tags, weights[:num_tags]).double()
    ours.load_state_dict(reference.state_dict(), strict=False)
    emissions = torch.randn(3, length, num_tags, dtype=torch.float64)
    tags = torch.randint(0, num_tags, (3, length))
    lengths = torch.tensor([[length], [length - 1], [1]])
    mask = torch.arange(length) < lengths
    given = (crf(emissions, tags, mask) for crf in (ours, reference))
    return torch.isclose(*given, rtol=1e-5)


@pytest.mark.parametrize(
    ("name", "options", "num_equal"),
    [
        ("emission", {}, 100),
        ("emission_transition", {"transition_weight": "from"}, 100),
        ("emission_transition", {}, 0),
        ("lannoy", {}, 0),
    ],
)
def test_numbers_equal_allennlps_as_the_page_says(name, options, num_equal):
    assert sum(is_equal(name, options, seed) for seed in range(100)) == num_equal


@pytest.mark.parametrize("name", CLASSES)
def test_with_weights_of_1_all_equal_allennlps(name):
    assert all(is_equal(name, {}, seed, [1.0] * 7) for seed in range(20))
