"""Augments the training data in each epoch."""

from typing import Any, Dict, Optional

from allennlp.common.checks import ConfigurationError
from allennlp.training import GradientDescentTrainer
from allennlp.training.callbacks import TrainerCallback

from tagger.common.ranges import check_number, is_number
from tagger.data.augmentation import Augmenter
from tagger.data.data_loaders.bucketed import BucketedDataLoader


@TrainerCallback.register("augmentation")
class AugmentationCallback(TrainerCallback):
    """Draws new versions of the training sentences with entities in each epoch; other data never change.

    The draws depend only on the data loader's seed, the epoch and the batch, also after `--recover`.
    Give at least one method a probability; several are applied in this order. Words between entities
    change with the highest probability of the sentence's labels. Tokens without a certain tag do not
    change. The soft labels of a changed sentence, which no teacher has seen, are its gold tags.

    Args:
        serialization_dir: The folder of the run; supplied by the trainer.
        mention_replacement: The probability of replacing an entity of a rare label by any of the
            training entities with its label, all equally likely (Dai & Adel 2020, section 3).
        token_replacement: The probability of replacing a token by one that has its tag in training,
            drawn as often as it occurs (Dai & Adel 2020).
        segment_shuffling: The probability of shuffling the words of an entity, or those between two
            entities (Dai & Adel 2020).
        threshold: A label is rare if at most this share of the training entities have it. A label with
            a larger share gets lower probabilities, by the factor `threshold / share`.
        terms: Files with a term on each line, and blanks between its tokens, by label. They are drawn
            like training entities.

    Raises:
        ConfigurationError: If a number is out of range or all probabilities are 0. When training
            starts: if the data loader is not `bucketed`, tokens may have several labels, there is no
            entity, or `terms` names an unknown label.
    """

    def __init__(
        self,
        serialization_dir: str,
        mention_replacement: float = 0.0,
        token_replacement: float = 0.0,
        segment_shuffling: float = 0.0,
        threshold: float = 0.1,
        terms: Optional[Dict[str, str]] = None,
    ) -> None:
        super().__init__(serialization_dir)
        self._probabilities = {
            "mention_replacement": mention_replacement,
            "token_replacement": token_replacement,
            "segment_shuffling": segment_shuffling,
        }
        for name, value in self._probabilities.items():
            check_number(name, value, is_number(value, 0, 1), "at least 0 and at most 1")
        is_share = is_number(threshold, 0, 1) and threshold > 0
        check_number("threshold", threshold, is_share, "above 0 and at most 1")
        if not any(self._probabilities.values()):
            names = ", ".join(self._probabilities)
            raise ConfigurationError(f"`augmentation` needs a probability above 0: {names}")
        self._threshold, self._terms = threshold, terms

    def on_start(
        self, trainer: GradientDescentTrainer, is_primary: bool = True, **kwargs: Any
    ) -> None:
        super().on_start(trainer, is_primary, **kwargs)
        loader = trainer.data_loader
        if not isinstance(loader, BucketedDataLoader):
            raise ConfigurationError(
                f"`augmentation` needs a `data_loader` of type `bucketed`; got {type(loader).__name__}"
            )
        instances = list(loader.iter_instances())
        augmenter = Augmenter(instances, self._probabilities, self._threshold, self._terms)
        loader.augment_with(augmenter.draw)
