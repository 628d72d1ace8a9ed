"""Checks of the arguments that a dataset reader passes on to AllenNLP's."""

import inspect
from typing import Any, Mapping, Type

from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader

from tagger.common.did_you_mean import did_you_mean

# What arguments of AllenNLP's readers are called here.
_NAMES_HERE = {"coding_scheme": "source_encoding", "convert_to_coding_scheme": "tag_encoding"}
# Our readers set these themselves.
_SET = {"manual_distributed_sharding", "manual_multiprocess_sharding"}


def check_extra_arguments(reader: Type[DatasetReader], extra: Mapping[str, Any]) -> None:
    """Checks that `DatasetReader` knows all arguments that a reader does not know itself.

    AllenNLP passes on every key of a config to a reader with `**kwargs`, and a typo ends as a TypeError
    of the base class.

    Raises:
        ConfigurationError: If an argument is unknown.
    """
    own, inherited = (
        set(inspect.signature(each.__init__).parameters) - {"self", "kwargs"} - _SET
        for each in (reader, DatasetReader)
    )
    known = sorted(own | inherited)
    for name in extra:
        if name in inherited:
            continue
        meant = _NAMES_HERE.get(name)
        hint = f"; did you mean `{meant}`?" if meant in own else did_you_mean(name, known)
        raise ConfigurationError(
            f"`{name}` is no argument of this dataset reader, which takes {', '.join(known)}{hint}"
        )
