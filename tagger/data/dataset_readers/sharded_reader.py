"""What our dataset readers share: workers divide their instances, and typos in configs are named."""

import inspect
from typing import Any

from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader

from tagger.common.did_you_mean import did_you_mean

# What arguments of AllenNLP's readers are called here.
_NAMES_HERE = {"coding_scheme": "source_encoding", "convert_to_coding_scheme": "tag_encoding"}
# Set here, so no arguments.
_SET = {"manual_distributed_sharding", "manual_multiprocess_sharding"}


class ShardedReader(DatasetReader):
    """A reader that divides its instances among workers by `shard_iterable`.

    AllenNLP passes every key of a config on to a reader with `**kwargs`, so that a typo would end as a
    TypeError of the base class.
    """

    def __init__(self, **kwargs: Any) -> None:
        own, inherited = (
            set(inspect.signature(each.__init__).parameters) - {"self", "kwargs"} - _SET
            for each in (type(self), DatasetReader)
        )
        known = sorted(own | inherited)
        for name in kwargs.keys() - inherited:
            meant = _NAMES_HERE.get(name)
            hint = f"; did you mean `{meant}`?" if meant in own else did_you_mean(name, known)
            raise ConfigurationError(
                f"`{name}` is no argument of this dataset reader, which takes {', '.join(known)}{hint}"
            )
        super().__init__(
            manual_distributed_sharding=True, manual_multiprocess_sharding=True, **kwargs
        )
