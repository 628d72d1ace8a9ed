"""Building an encoder that a config describes."""

from typing import Any

from allennlp.common import Lazy

#: What AllenNLP's encoders call the size of their input; they ignore the other names.
_SIZES = ("input_size", "input_dim", "embedding_dim")


def build_encoder(encoder: Lazy[Any], size: int) -> Any:
    """Builds an encoder from its config, which may leave out the size of the vectors that it gets.

    AllenNLP warns of a size that is given twice, so what the config has is not given again.
    """
    given = encoder._params
    return encoder.construct(**{name: size for name in _SIZES if name not in given})
