"""Helpers for AllenNLP's `Vocabulary`."""

from typing import Collection, List

from tagger.common.did_you_mean import did_you_mean
from tagger.common.from_allennlp import ConfigurationError, Vocabulary


def tags_in_order(vocab: Vocabulary, label_namespace: str) -> List[str]:
    """Returns the vocabulary's tags in the order of their indices."""
    tags = vocab.get_index_to_token_vocabulary(label_namespace)
    if not tags:
        raise ConfigurationError(
            f"the vocabulary has no tags in its namespace `{label_namespace}`; check that the dataset "
            "reader reads tags, and that `label_namespace` is the same everywhere in the config"
        )
    return [tags[k] for k in range(len(tags))]


def check_is_label(
    argument: str, name: str, labels: Collection[str], of: str = "vocabulary"
) -> None:
    """Raises a `ConfigurationError` unless an argument's value is one of the labels.

    To check many names, pass the labels as the keys of a dictionary.
    """
    if name not in labels:
        raise ConfigurationError(
            f"`{argument}` names `{name}`, which is no label of this {of} "
            f"({', '.join(labels)}){did_you_mean(name, labels)}"
        )
