"""Our components refuse numbers out of range."""

import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary
from allennlp.modules.token_embedders import Embedding

from tagger.common.ranges import is_number
from tagger.modules.encoders.bilstm import BiLstmEncoder
from tagger.modules.encoders.masked_cnn import MaskedCnnEncoder
from tagger.modules.token_embedders.distinct_characters_encoder import DistinctCharactersEncoder
from tagger.modules.token_embedders.word_vectors import WordVectors
from tagger.training import LayerwiseAdamW
from tagger.training.optimizers import FusedAdam, FusedAdamW, FusedExponentialMovingAverage

PARAMETERS = [("transformer_model.layer.0.weight", torch.nn.Parameter(torch.ones(2, 2)))]


def characters(**changes):
    embedding = Embedding(embedding_dim=changes.pop("embedding_dim", 3), num_embeddings=5)
    return DistinctCharactersEncoder(embedding, MaskedCnnEncoder(3, 4), **changes)


#: Required arguments by component. All others are optimizers and moving averages.
NEEDED = {
    BiLstmEncoder: {"input_size": 3, "hidden_size": 4},
    MaskedCnnEncoder: {"embedding_dim": 3, "num_filters": 4},
    WordVectors: {"embedding_dim": 3, "vocab": Vocabulary()},
}


def make(part, **changes):
    if part is DistinctCharactersEncoder:
        return characters(**changes)
    return part(**NEEDED[part] | changes) if part in NEEDED else part(PARAMETERS, **changes)


DROPOUTS = [-0.1, 1.0, 2, float("nan")]
SIZES = [-3, 0, 10**30]
RATES = [-1.0, 0.0, 1e30, float("inf")]
ADAM = {"lr": RATES, "weight_decay": [-1.0, 1e9], "eps": [-1.0]}
#: Values out of range, by parameter name.
OUTSIDE = {
    BiLstmEncoder: {
        "input_size hidden_size num_layers": SIZES,
        "dropout input_dropout output_dropout recurrent_dropout": DROPOUTS,
    },
    MaskedCnnEncoder: {
        "embedding_dim num_filters output_dim": SIZES,
        "ngram_filter_sizes": [(), (0,), (2, -1)],
    },
    WordVectors: {"embedding_dim": SIZES, "word_dropout": DROPOUTS},
    DistinctCharactersEncoder: {"dropout character_dropout": DROPOUTS, "embedding_dim": [0]},
    FusedAdam: ADAM,
    FusedAdamW: ADAM,
    LayerwiseAdamW: {**ADAM, "transformer_lr": RATES, "layer_decay": [-1.0, 0.0, 1.5]},
    FusedExponentialMovingAverage: {"decay": [-0.1, 1.0, 2], "numerator denominator": [-1.0, 0.0]},
}


@pytest.mark.filterwarnings("ignore:Initializing zero-element tensors")
@pytest.mark.parametrize(
    ("part", "name", "value"),
    [
        (part, name, value)
        for part, values_of in OUTSIDE.items()
        for names, values in values_of.items()
        for name in names.split()
        for value in values
    ],
)
def test_a_number_out_of_range_is_refused_by_name(part, name, value):
    make(part)
    meaning = "at least 0 and below 1" if "dropout" in name else ".*"
    with pytest.raises(ConfigurationError, match=f"^`{name}` must be {meaning}; got "):
        make(part, **{name: value})


@pytest.mark.parametrize("betas", [(2.0, 3.0), (0.9, 1.0), (-0.1, 0.9)])
@pytest.mark.parametrize("optimizer", [FusedAdam, FusedAdamW, LayerwiseAdamW])
def test_adams_betas_must_be_below_1(optimizer, betas):
    with pytest.raises(ConfigurationError, match=r"`betas\[[01]\]` must be at least 0 and below 1"):
        make(optimizer, betas=betas)


def test_integers_too_large_for_a_float_are_refused():
    values = (1, 0.5, 10**400, -(10**400), float("nan"), float("inf"), "1")
    assert list(map(is_number, values)) == [True, True] + [False] * 5
