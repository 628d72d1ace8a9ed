import pytest
import torch
from allennlp.common import Params
from allennlp.data import Vocabulary
from allennlp.modules import TokenEmbedder

import tagger  # noqa: F401  (registers the components)


def embedder(name, dropout=0.0, **options):
    params = {
        "type": name,
        "embedding": {"embedding_dim": 3, "num_embeddings": 9},
        "encoder": {
            "type": "cnn",
            "embedding_dim": 3,
            "num_filters": 4,
            "ngram_filter_sizes": [2, 3],
            "output_dim": 5,
        },
        "dropout": dropout,
        **options,
    }
    return TokenEmbedder.from_params(Params(params), vocab=Vocabulary())


@pytest.fixture
def characters():
    """Two sentences, (2, 5, 4), with repeated words and padding."""
    words = torch.tensor([[1, 2, 3, 4], [5, 6, 0, 0], [7, 0, 0, 0], [0, 0, 0, 0]])
    return words[torch.tensor([[0, 1, 2, 1, 0], [1, 0, 3, 3, 3]])]


def test_outputs_and_gradients_equal_those_of_character_encoding(characters):
    ours, theirs = embedder("distinct_character_encoding"), embedder("character_encoding")
    ours.load_state_dict(theirs.state_dict())
    assert ours.get_output_dim() == theirs.get_output_dim() == 5
    weights = torch.randn(2, 5, 5)
    gradients = []
    for each in (ours, theirs):
        (each(characters) * weights).sum().backward()
        gradients.append([parameter.grad for parameter in each.parameters()])
    # The encoder sums in another order.
    torch.testing.assert_close(ours(characters), theirs(characters), rtol=0, atol=1e-6)
    torch.testing.assert_close(gradients[0], gradients[1], rtol=0, atol=1e-5)


def test_the_encoder_sees_each_distinct_word_once(characters):
    each = embedder("distinct_character_encoding")
    sizes = []
    each._encoder._module.register_forward_hook(lambda _, inputs, __: sizes.append(len(inputs[0])))
    each(characters)
    assert sizes == [4]


def test_dropout_differs_between_occurrences_of_a_word(characters):
    encoded = embedder("distinct_character_encoding", dropout=0.5)(characters)
    assert not torch.equal(encoded[0, 0] == 0, encoded[0, 4] == 0)


def test_character_dropout_acts_on_embedded_characters_only_in_training(characters):
    ours = embedder("distinct_character_encoding", character_dropout=0.5)
    seen = []
    ours._encoder._module.register_forward_hook(lambda _, inputs, __: seen.append(inputs[0]))
    ours(characters)
    ours.eval()(characters)
    in_training, in_evaluation = seen
    # A dropout of 0.5 doubles the kept values.
    is_kept = in_training != 0
    assert 0 < is_kept.sum() < is_kept.numel()
    torch.testing.assert_close(in_training[is_kept], 2 * in_evaluation[is_kept])
    embedded = ours._embedding._module.weight
    assert in_evaluation.flatten(0, 1).unsqueeze(1).eq(embedded).all(2).any(1).all()
