"""The transitions that a model's tags allow."""

from typing import List, Tuple

from allennlp.common.checks import ConfigurationError

from tagger.label_encoding import allowed_transitions


def legal_transitions(tag_encoding: str, tags: List[str]) -> List[Tuple[int, int]]:
    """Returns `allowed_transitions` between tags in the order of their indices.

    Raises:
        ConfigurationError: if a tag is not one of this encoding.
    """
    try:
        return allowed_transitions(tag_encoding, dict(enumerate(tags)))
    except ValueError as error:
        raise ConfigurationError(str(error)) from error
