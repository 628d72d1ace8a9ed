"""A batch sampler that trains on a bootstrap sample of the documents."""

from typing import Any, Iterable, List, Optional, Sequence

import numpy as np
from allennlp.common.checks import ConfigurationError
from allennlp.data import Instance
from allennlp.data.samplers import BatchSampler, BucketBatchSampler


@BatchSampler.register("bagging")
class BaggingBatchSampler(BucketBatchSampler):
    """Draws as many documents as there are, with replacement, and trains on these in all epochs.

    The members of an ensemble differ more if each is trained on another such sample (Breiman 1996,
    "Bagging predictors"). About 37 % of the documents are left out. The sentences of a document stay
    together if the data loader is `bucketed` and the file marks documents; otherwise, each instance is
    drawn by itself. The vocabulary and the counts of labels are those of all instances, so members can
    be joined.

    Args:
        batch_size: The number of instances in a batch.
        seed: The seed of the sample; by default drawn from numpy's generator, which is seeded by the
            config's `numpy_seed`, so that each seed of a config has another sample.
        **kwargs: The arguments of AllenNLP's `bucket`.
    """

    def __init__(self, batch_size: int, seed: Optional[int] = None, **kwargs: Any) -> None:
        super().__init__(batch_size, **kwargs)
        self._seed = np.random.randint(2**31) if seed is None else seed
        self._documents: Optional[np.ndarray] = None

    def keep_together(self, documents: Sequence[int]) -> None:
        """Draws documents: the number of each instance's document, from 0, in the order of the file."""
        self._documents = np.asarray(documents)

    def get_batch_indices(self, instances: Sequence[Instance]) -> Iterable[List[int]]:
        drawn = self._drawn(len(instances))
        for batch in super().get_batch_indices([instances[i] for i in drawn]):
            yield [drawn[i] for i in batch]

    def get_num_batches(self, instances: Sequence[Instance]) -> int:
        # AllenNLP's sampler uses only the length of its argument.
        return super().get_num_batches(self._drawn(len(instances)))  # type: ignore[arg-type]

    def _drawn(self, number: int) -> List[int]:
        """Returns the indices of the instances in the sample, the same at each call."""
        documents = np.arange(number) if self._documents is None else self._documents
        if len(documents) != number:
            raise ConfigurationError(
                f"the sampler `bagging` was told the documents of {len(documents)} instances, but there "
                f"are {number}; use the data loader `bucketed`"
            )
        num_documents = int(documents.max()) + 1
        times = np.random.default_rng(self._seed).multinomial(
            num_documents, np.full(num_documents, 1 / num_documents)
        )
        return np.repeat(np.arange(number), times[documents]).tolist()
