"""The base class of our dataset readers: workers divide their instances."""

from typing import Optional

from allennlp.data import DatasetReader


class ShardedReader(DatasetReader):
    """A reader that divides its instances among workers by `shard_iterable`."""

    def __init__(
        self, max_instances: Optional[int] = None, serialization_dir: Optional[str] = None
    ) -> None:
        super().__init__(max_instances, True, True, serialization_dir)
