"""What models share that show their scores."""

import logging
from typing import Dict, List

from allennlp.models import Model

from tagger.metrics import format_metrics, progress_metrics

logger = logging.getLogger(__name__)


class ScoredModel(Model):
    """A model that logs a table of its scores at the end of `allennlp evaluate`.

    A trainer asks for scores in every epoch, and its callback `show_metrics` logs the best epoch's table
    in the end. So a model that has been asked while it was training logs none until that callback
    sets `is_in_training` to false.

    Attributes:
        is_in_training: whether scores are those of an epoch among others.
        confusions: what was taken for what in the last pass that was not of training, by name as in
            `TagMetrics.get_confusions`.
    """

    training_metrics: bool = False
    is_in_training: bool = False
    confusions: Dict[str, int] = {}  # noqa: RUF012  (replaced, never written to)

    def get_scores(self, reset: bool) -> Dict[str, float]:
        """The scores since the last reset, all with fixed names."""
        raise NotImplementedError

    def get_confusions(self) -> Dict[str, int]:
        """What was taken for what since the last reset, if that is counted."""
        return {}

    def get_tables(self) -> List[str]:
        """More tables of what was seen since the last reset, to log below that of the scores."""
        return []

    def get_metrics(self, reset: bool = False) -> Dict[str, float]:
        """The scores of what was seen since the last reset; none while training, unless asked for.

        Args:
            reset: whether this is the end of a pass. Only then come all scores: before, the trainer
                shows what it gets on a single line.

        Returns:
            Precision, recall and F1 by label, for instance. The confusions are among them unless a
            trainer is at work, which would print hundreds of numbers at every epoch.
        """
        if self.training:
            self.is_in_training = True
            if not self.training_metrics:
                return {}
        if not reset:
            return progress_metrics(self.get_scores(reset))
        confusions, tables = self.get_confusions(), self.get_tables()
        scores = self.get_scores(reset)
        if self.training:
            return scores
        self.confusions = confusions
        if self.is_in_training:
            return scores
        scores.update(confusions)
        logger.info("Scores\n%s", "\n\n".join([format_metrics(scores), *tables]))
        return scores
