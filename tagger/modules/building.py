"""The parts of a model that a config describes: how they are built, and how it calls them."""

from typing import Any

from allennlp.common import Lazy, Registrable


def build(part: Any, **arguments: Any) -> Any:
    """Builds a part from its config, unless it is built already, adding the arguments that it lacks.

    AllenNLP warns if an argument is given twice.
    """
    if not isinstance(part, Lazy):
        return part
    return part.construct(**{k: v for k, v in arguments.items() if k not in part._params})


def build_encoder(encoder: Any, size: int) -> Any:
    """Builds an encoder from a config that may leave out the size of its inputs."""
    # AllenNLP's encoders use one of these names for it, and ignore the others.
    return build(encoder, **dict.fromkeys(("input_size", "input_dim", "embedding_dim"), size))


def type_name(part: type) -> str:
    """Returns the `type` of a registered class in configs, or the class name if it is unregistered."""
    for names in Registrable._registry.values():
        for name, (registered, _) in names.items():
            if registered is part:
                return name
    return part.__name__
