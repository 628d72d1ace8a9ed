"""Scores of taggers, as a metric of AllenNLP's."""

from typing import Dict, List, Optional

import numpy as np
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary
from allennlp.nn.util import dist_reduce_sum
from allennlp.training.metrics import Metric

from tagger.metrics.label_scores import counts_of_confusions, named_confusions, scores_by_label
from tagger.metrics.span_counts import (
    GOLD_FATES,
    PREDICTED_FATES,
    UNKNOWN,
    count_spans,
    lay_end_to_end,
    tag_tables,
)
from tagger.metrics.token_counts import NO_LABEL, count_tokens
from tagger.vocabulary import tags_in_order


@Metric.register("tag_scores")
class TagScores(Metric):
    """Precision, recall and F1 of spans and of tokens: for each label, for all, and their mean.

    A predicted span is right if a gold span has its label, its start and its end. Sequences that the
    encoding does not allow are read as conlleval and seqeval read them. A token is right if its tag
    has the gold tag's label, whatever the prefixes; `O` is no label. Only counts are kept, so batches
    may be of any size and a corpus of any length.

    Args:
        vocabulary: holds the tags.
        label_namespace: the vocabulary's namespace of the tags.
        encoding: how tags spell spans: BIO, IOB1, BIOUL or BMES; `None` if they spell none, as parts of
            speech do: only tokens are then scored, and each tag is its own label.
        strict: whether spans with an illegal tag, such as an `I-PER` that nothing opened, are left out
            (seqeval's `mode="strict"`) or count as they stand (conlleval, and seqeval's default).
        ignore_labels: labels whose spans never count and whose tokens count as `O`.

    Raises:
        ConfigurationError: if the vocabulary has no tags or they do not fit `encoding`, a label to
            ignore is none of theirs, or `strict` is asked of IOB1, in which no span is illegal, or of
            tags that spell none.
    """

    supports_distributed = True

    def __init__(
        self,
        vocabulary: Vocabulary,
        label_namespace: str = "labels",
        encoding: Optional[str] = "BIO",
        strict: bool = False,
        ignore_labels: Optional[List[str]] = None,
    ) -> None:
        tags = tags_in_order(vocabulary, label_namespace)
        try:
            self._tables = tag_tables(tags, encoding, strict, ignore_labels)
        except ValueError as error:
            raise ConfigurationError(
                f"scores of the tags in the vocabulary's namespace `{label_namespace}`: {error}"
            ) from error
        self._num_tags = len(tags)
        self._has_spans = encoding is not None
        self.reset()

    def __call__(
        self,
        predictions: torch.Tensor,
        gold_labels: torch.Tensor,
        mask: Optional[torch.Tensor] = None,
    ) -> None:
        """Counts the spans and the tokens of a batch.

        A span, predicted or gold, counts neither way if it holds a token of unknown gold tag or lies
        right beside one.

        Args:
            predictions: (B, T) int64, indices of predicted tags.
            gold_labels: (B, T) int64, indices of gold tags, -1 where the tag is not known.
            mask: (B, T) bool, which tokens are real; all by default. The others may hold anything.

        Raises:
            ValueError: if shapes differ, or a real token has an index that is no tag's.
        """
        if mask is None:
            mask = torch.ones_like(gold_labels, dtype=torch.bool)
        if not predictions.shape == gold_labels.shape == mask.shape:
            raise ValueError(
                "`predictions`, `gold_labels` and `mask` must have one shape (B, T); got "
                f"{tuple(predictions.shape)}, {tuple(gold_labels.shape)} and {tuple(mask.shape)}; "
                "pass tag indices, not scores"
            )
        predicted, gold, is_real = (
            tensor.detach().cpu().numpy() for tensor in (predictions, gold_labels, mask)
        )
        self._check_indices("predictions", predicted[is_real], lowest=0)
        self._check_indices("gold_labels", gold[is_real], lowest=UNKNOWN)
        predicted, gold = (
            lay_end_to_end(tags, is_real, outside=self._num_tags) for tags in (predicted, gold)
        )
        self._token_confusions += count_tokens(self._tables, predicted, gold)
        if self._has_spans:
            self._span_confusions += count_spans(self._tables, predicted, gold)

    def get_metric(self, reset: bool = False) -> Dict[str, float]:
        """Returns the scores of everything since the last reset, of all workers together.

        Under `distributed` every worker must call this equally often, as AllenNLP's trainer does; how
        many batches a worker has seen, if any, does not matter.

        Returns:
            Of spans: `precision-PER`, `recall-PER`, `f1-measure-PER` and `num-gold-PER` for each label;
            `-overall` of all together (micro average); `-macro`, the mean over the labels that are
            gold or predicted somewhere, as in seqeval. The same of tokens: `token-precision-PER`, ...
            If the tags spell no spans, those of tokens and `accuracy`, the share of right tokens. What
            is undefined, such as the precision of no predictions, is 0.
        """
        labels = self._tables.labels
        tokens = _of_all_workers(self._token_confusions)
        scores: Dict[str, float] = {}
        if self._has_spans:
            spans = _of_all_workers(self._span_confusions)
            scores = scores_by_label(labels, counts_of_confusions(spans, len(labels)))
        else:
            scores["accuracy"] = float(tokens.trace() / max(tokens.sum(), 1))
        of_tokens = scores_by_label(labels, counts_of_confusions(tokens, len(labels)))
        scores.update((f"token-{name}", value) for name, value in of_tokens.items())
        if reset:
            self.reset()
        return scores

    def get_confusions(self) -> Dict[str, int]:
        """Returns what was taken for what since the last reset, how often, of all workers together.

        As for `get_metric`, all workers are to call this or none. It is not part of `get_metric`
        because there may be hundreds, which the trainer would print at every epoch.

        Returns:
            `confusion-LOC>PER`, the number of gold spans `LOC` that are predicted as `PER`, and
            `token-confusion-LOC>O`, of tokens; none that is 0. Where boundaries are wrong,
            `confusion-LOC>boundary`, `>both` and `>missed` count gold spans, `confusion-boundary>PER`,
            `both>` and `spurious>` predicted ones: see `tagger.metrics.span_counts.count_spans`.
        """
        labels = self._tables.labels
        classes = [*labels, NO_LABEL]
        tokens = named_confusions(_of_all_workers(self._token_confusions), classes, classes)
        confusions = {f"token-confusion-{name}": number for name, number in tokens}
        if self._has_spans:
            spans = named_confusions(
                _of_all_workers(self._span_confusions),
                rows=[*labels, *PREDICTED_FATES],
                columns=[*labels, *GOLD_FATES],
            )
            confusions.update((f"confusion-{name}", number) for name, number in spans)
        return confusions

    def reset(self) -> None:
        num_labels = len(self._tables.labels)
        self._token_confusions = np.zeros((num_labels + 1,) * 2, dtype=np.int64)
        self._span_confusions = np.zeros((num_labels + len(GOLD_FATES),) * 2, dtype=np.int64)

    def _check_indices(self, name: str, indices: np.ndarray, lowest: int) -> None:
        if indices.size and not lowest <= indices.min() <= indices.max() < self._num_tags:
            wrong = indices[(indices < lowest) | (indices >= self._num_tags)][0]
            raise ValueError(
                f"`{name}` holds {wrong} at a token that the mask keeps, expected tag indices from "
                f"{lowest} to {self._num_tags - 1}; check that they are made with this vocabulary"
            )


def _of_all_workers(counts: np.ndarray) -> np.ndarray:
    return dist_reduce_sum(torch.from_numpy(counts)).cpu().numpy()
