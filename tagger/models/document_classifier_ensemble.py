"""An ensemble of document classifiers."""

import copy
from typing import List, cast

import torch
from allennlp.data import TextFieldTensors, Vocabulary
from allennlp.models import Model

from tagger.common.ranges import check_is_one_of
from tagger.models.classifying_model import ClassifyingModel
from tagger.models.sequence_tagger_ensemble import AVERAGES, checked_members


@Model.register("document_classifier_ensemble")
class DocumentClassifierEnsemble(ClassifyingModel):
    """Averages the predictions of document classifiers, for example of one config with several seeds.

    `allennlp ensemble` makes an ensemble's archive from classifiers' archives. The thresholds are the
    means of the members' and can be tuned again, and the loss is the binary cross-entropy.

    Letters: `B` batch, `C` labels.

    Args:
        vocab: The vocabulary of all members.
        members: Models of type `document_classifier`, with any losses.
        average: What is averaged: `"emissions"` for the scores, which are log-odds, or `"marginals"` for
            the probabilities.
    """

    def __init__(self, vocab: Vocabulary, members: List[Model], average: str) -> None:
        check_is_one_of("average", average, AVERAGES)
        classifiers = checked_members(
            members, ClassifyingModel, "classifier", "document_classifier"
        )
        super().__init__(vocab, label_namespace=classifiers[0].label_namespace)
        self.average = average
        self.members = torch.nn.ModuleList(classifiers)
        self.thresholds = copy.deepcopy(classifiers[0].thresholds)
        # An archive's weights replace these means.
        thresholds = [each.thresholds.thresholds for each in classifiers]
        self.thresholds.thresholds = torch.stack(thresholds).mean(0)

    def scores(self, tokens: TextFieldTensors) -> torch.Tensor:
        """Returns the log-odds that belong to the average, (B, C)."""
        members = [cast(ClassifyingModel, member) for member in self.members]
        # (members, B, C)
        scores = torch.stack([member.scores(tokens).float() for member in members])
        if self.average == "emissions":
            return scores.mean(0)
        # The logarithms of the sums of p and of 1 - p, so that no probability rounds to 0 or 1.
        ones, zeros = (torch.nn.functional.logsigmoid(sign * scores) for sign in (1, -1))
        return ones.logsumexp(0) - zeros.logsumexp(0)
