"""How tags are chosen by the scores of a linear chain, as a user may set it after training."""

import math
from typing import Dict, List, Optional, Sequence

import torch
from allennlp.common.checks import ConfigurationError

from tagger.did_you_mean import did_you_mean
from tagger.label_encoding import labels_opened
from tagger.linear_chain import ChainScores, tag_marginals, viterbi_decode

#: What is sought: the most probable sequence, or the one with the fewest tags expected to be wrong.
DECODINGS = ("viterbi", "minimum_risk")


class ChainDecoder(torch.nn.Module):
    """Chooses the tags of sequences whose scores are linear chains.

    None of its settings takes part in training or changes a probability: they are what users turn
    afterwards, and `allennlp tune-decoding` fits to development data.

    Letters: `B` batch, `T` tokens, `K` tags.

    Args:
        tags: all tags, in the order of their indices.
        tag_encoding: how they spell spans; `None` if they spell none.
        decode_bias: for labels, in nats, what is added to the emissions of the tags that open their
            spans (Minkov et al. 2006, section 3), so once for each span: above 0 more spans of the
            label are predicted, below 0 fewer. Where tags spell no spans it is added to the tag.
        entity_thresholds: for labels, the probability that an entity must reach to be predicted (after
            Culotta & McCallum 2004). The tags of others become `O`.
        decoding: `"viterbi"`, the most probable sequence of tags; or `"minimum_risk"`, the sequence,
            among the possible ones, of whose tags the most are expected to be right.

    Raises:
        ConfigurationError: if a label is unknown, a number out of range, `decoding` none of these, or
            the tags cannot do what is asked of them.
    """

    bias: torch.Tensor

    def __init__(
        self,
        tags: Sequence[str],
        tag_encoding: Optional[str] = None,
        decode_bias: Optional[Dict[str, float]] = None,
        entity_thresholds: Optional[Dict[str, float]] = None,
        decoding: str = "viterbi",
    ) -> None:
        super().__init__()
        self.decode_bias = dict(decode_bias or {})
        self.entity_thresholds = dict(entity_thresholds or {})
        self.decoding = decoding
        if decoding not in DECODINGS:
            raise ConfigurationError(
                f"`decoding` must be one of {', '.join(DECODINGS)}; got {decoding!r}"
                + did_you_mean(str(decoding), DECODINGS)
            )
        _check_tags(self.decode_bias, self.entity_thresholds, tags, tag_encoding)
        bias = torch.zeros(len(tags))
        if self.decode_bias:
            opened = _labels_opened(tags, tag_encoding)
            bias = torch.tensor([self.decode_bias.get(label, 0.0) for label in opened])
        # Part of the config, not of the weights.
        self.register_buffer("bias", bias, persistent=False)

    def forward(self, scores: ChainScores, mask: torch.Tensor) -> torch.Tensor:
        """The best tags with the bias, before any entity is held against its threshold.

        Args:
            scores: of B sequences over K tags.
            mask: (B, T) bool, right-padded.

        Returns:
            (B, T) int64, 0 in the padding.
        """
        scores = scores._replace(emissions=self.biased(scores.emissions))
        if self.decoding == "minimum_risk":
            scores = expected_right(scores, tag_marginals(scores, mask))
        return viterbi_decode(scores, mask)[0]

    def biased(self, emissions: torch.Tensor) -> torch.Tensor:
        """Returns emissions, (..., K), with the bias added."""
        return emissions + self.bias

    def thresholds(self, labels: List[str]) -> List[float]:
        """Returns the threshold of each of these labels, 0 where there is none."""
        return [self.entity_thresholds.get(label, 0.0) for label in labels]


def expected_right(scores: ChainScores, marginals: torch.Tensor) -> ChainScores:
    """Scores under which a path's score is the expected number of its tags that are right.

    Args:
        scores: of a chain; the paths that are impossible in it, by a transition, a start or an end of
            -inf, stay so.
        marginals: (B, T, K), the probability of each tag at each token.
    """

    def possible(values: torch.Tensor) -> torch.Tensor:
        return torch.zeros_like(values).masked_fill(values == -torch.inf, -torch.inf)

    # In float64: the sum over a long chain shall not drown small differences.
    return ChainScores(
        marginals.double(),
        possible(scores.transitions),
        possible(scores.start),
        possible(scores.end),
    )


def _labels_opened(tags: Sequence[str], tag_encoding: Optional[str]) -> List[str]:
    """The label that each tag opens: empty if none, `_` for spans without a label, as in the scores."""
    opened = labels_opened(tags, tag_encoding)
    return ["" if label is None else label or "_" for label in opened]


def _check_tags(
    decode_bias: Dict[str, float],
    entity_thresholds: Dict[str, float],
    tags: Sequence[str],
    tag_encoding: Optional[str],
) -> None:
    settings = {"decode_bias": decode_bias, "entity_thresholds": entity_thresholds}
    for argument, values in settings.items():
        if not values:
            continue
        try:
            known = sorted({label for label in _labels_opened(tags, tag_encoding) if label})
        except ValueError as error:
            raise ConfigurationError(f"`{argument}` cannot be used: {error}") from error
        for label, value in values.items():
            if label not in known:
                raise ConfigurationError(
                    f"`{argument}` names `{label}`, which is no label of this vocabulary "
                    f"({', '.join(known)})" + did_you_mean(label, known)
                )
            is_number = isinstance(value, (int, float)) and math.isfinite(value)
            if not is_number or argument == "entity_thresholds" and not 0 <= value <= 1:
                expected = "finite number" if argument == "decode_bias" else "number from 0 to 1"
                raise ConfigurationError(
                    f"`{argument}` gives `{label}` {value!r}; it must be a {expected}"
                )
    if entity_thresholds and (tag_encoding is None or "O" not in tags):
        raise ConfigurationError(
            f"`entity_thresholds` needs tags that spell spans, and `O` among them; got "
            f"{', '.join(tags)}; use `decode_bias`"
        )
