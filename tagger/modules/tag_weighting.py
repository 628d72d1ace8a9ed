"""Strategies that weight the classes of a CRF."""

import logging
import math
from typing import Any, List, Optional, Sequence

import torch

from tagger.common.from_allennlp import (
    ConfigurationError,
    Registrable,
    Vocabulary,
    check_is_registered,
)
from tagger.common.vocabulary import tags_in_order
from tagger.linear_chain import (
    ChainScores,
    allowed_tags,
    log_likelihood,
    step_log_conditionals,
    step_log_likelihoods,
    step_log_marginals,
)
from tagger.linear_chain.checks import at_least_float32, checked_scores
from tagger.linear_chain.declared import has_unknown_tags
from tagger.linear_chain.log_space import total_of
from tagger.linear_chain.values import has_finite_sum
from tagger.modules.class_weights import ClassWeights
from tagger.modules.error_costs import LabelCosts, checked_cost, costs_of_errors
from tagger.modules.loss_formulas import check_gamma, focal_log_probabilities

logger = logging.getLogger(__name__)


class TagWeighting(ClassWeights, Registrable):
    """Weights the tags of a linear-chain CRF during training.

    It takes the arguments of `ClassWeights`. Subclasses implement `objective`.
    """

    tag_weights: torch.Tensor

    @classmethod
    def by_name(cls, name: str) -> Any:
        """Returns the strategy with this name; the error for a wrong name lists them."""
        try:
            return super().by_name(name)
        except ConfigurationError:
            # Only now, because listing the names imports all components.
            check_is_registered(cls, name)
            raise

    def objective(
        self, scores: ChainScores, gold_tags: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        """What training maximises, (B,), once the weights are known; differentiable in the scores.

        With unit weights and no other options it is the log-likelihood, except for `marginal`. It is
        -inf without a gradient where the gold tags are impossible.

        Args:
            scores: The scores of B sequences over K tags.
            gold_tags: (B, T) int64, -1 where unknown; or (B, T, K) bool, the set of tags that each token
                may have.
            mask: (B, T) bool, true at real tokens.
        """
        raise NotImplementedError

    def decoding_scores(self, scores: ChainScores) -> ChainScores:
        """The scores to decode with: the plain ones, unless a strategy changes them."""
        return scores


@TagWeighting.register("emission")
class EmissionWeighting(TagWeighting):
    """Training with emissions scaled by tag: `e'[t, k] = c[k] e[t, k]` in the score and in log Z.

    Raising a label's weight raises its precision and lowers its recall, the reverse of what most people
    expect: training scales the label's emissions up, so smaller ones suffice, and decoding uses these
    unscaled. The decoded path may not be the one that training ranks first, unless `weighted_decoding`
    is set. The objective is the log-likelihood under the distribution of the scaled scores; for partial
    labels, the log-probability of all paths that the labels allow.

    Args:
        weighted_decoding: Whether to scale the emissions in decoding too.
        **kwargs: The arguments of `ClassWeights`.
    """

    def __init__(self, weighted_decoding: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.weighted_decoding = weighted_decoding

    def scaled(self, scores: ChainScores) -> ChainScores:
        """The scores of the distribution under which training maximises the likelihood."""
        scores = checked_scores(scores)
        return scores._replace(emissions=_weighed(scores.emissions, self.tag_weights))

    def objective(
        self, scores: ChainScores, gold_tags: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        scores = checked_scores(scores)
        return log_likelihood(self.scaled(scores), gold_tags, mask).to(scores.emissions.dtype)

    def decoding_scores(self, scores: ChainScores) -> ChainScores:
        return self.scaled(scores) if self.weighted_decoding else scores


@TagWeighting.register("emission_transition")
class EmissionTransitionWeighting(EmissionWeighting):
    """Like `emission`, but scales transitions too; start and end scores are not scaled.

    Args:
        transition_weight: Which tag's weight scales `A[i, j]`. With `"to"` it is
            `A'[i, j] = c[j] A[i, j]`, as in the formula of the source
            (https://eraldoluis.github.io/2022/05/10/weighted-crf.html); with `"from"` it is
            `A'[i, j] = c[i] A[i, j]`, as in AllenNLP's code.
        **kwargs: The arguments of `EmissionWeighting`.
    """

    def __init__(self, transition_weight: str = "to", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if transition_weight not in ("to", "from"):
            raise ConfigurationError(
                f"`transition_weight` must be 'to' or 'from', the tag of a transition that gives its "
                f"weight; got {transition_weight!r}"
            )
        self.transition_weight = transition_weight

    def scaled(self, scores: ChainScores) -> ChainScores:
        # (1, K) scales columns, the tags moved to; (K, 1) rows, the tags moved from
        dim = 0 if self.transition_weight == "to" else 1
        weights = self.tag_weights.unsqueeze(dim)
        return super().scaled(scores)._replace(transitions=_weighed(scores.transitions, weights))


@TagWeighting.register("lannoy")
class LannoyWeighting(TagWeighting):
    """Each token's score and log-normaliser weighted by its gold tag.

    The objective is `sum_t c[y_t] (e[t, y_t] + A[y_{t-1}, y_t] - log z_t)`, with `s[y_1]` in the first
    term and `q[y_T]` in the last. The step log-normalisers `log z_t` sum to log Z (De Lannoy et al.
    2012, "Weighted conditional random fields for supervised interpatient heartbeat classification",
    section II). With equal weights it is the log-likelihood times the weight.

    It is not a distribution, and for unequal weights it has no upper bound: scores can grow without
    limit while the loss falls. Watch the metrics instead, and stop early. Published curves of precision
    and recall over the weight are erratic. AllenNLP's version weights a transition by the tag moved
    from, and its normaliser by the tag moved to; here the weight of the tag moved to applies to both.

    For partial labels, a token's weight is the mean over its set of tags, and the log-normalisers of
    the chain that the labels allow replace the scores.
    """

    def objective(
        self, scores: ChainScores, gold_tags: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        weights = self.token_weights(gold_tags, mask)
        return step_log_likelihoods(scores, gold_tags, mask, weights)

    def _set_weights(self, weights: Sequence[float]) -> None:
        super()._set_weights(weights)
        if len(set(weights)) > 1:
            logger.warning(
                "weighting 'lannoy' with unequal weights has no upper bound: the loss may fall below "
                "zero and without limit; watch the metrics instead, and stop early"
            )


@TagWeighting.register("chain")
class ChainWeighting(TagWeighting):
    """Each token's conditional log-probability weighted by its gold tag.

    The objective is `sum_t c[y_t] log p(y_t | y_{t-1}, x)`: the log-likelihood by the chain rule of the
    CRF's own distribution, with each factor weighted. It is never positive, and 0 only where the gold
    path is certain. With equal weights it is the log-likelihood times the weight.

    Raising a label's weight raises its recall and lowers its precision: its tokens cost more when they
    are missed. A token's weight applies to the step that leads to it, so a wrong step out of an entity
    is weighted by the tag after it.

    For partial labels, a token's weight is the mean over its set of tags, and its factor is the
    probability of the set given the labels before it.
    """

    def objective(
        self, scores: ChainScores, gold_tags: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        weights = self.token_weights(gold_tags, mask)
        return step_log_conditionals(scores, gold_tags, mask, weights)


@TagWeighting.register("marginal")
class MarginalWeighting(TagWeighting):
    """Each token's log-marginal weighted by its gold tag: a token loss on a CRF.

    The objective is `sum_t c[y_t] (1 - p_t)^gamma log p_t`, where `p_t = p(y_t | x)` is the marginal of
    the gold tag (Kakade, Teh & Roweis 2002, "An alternate objective function for Markovian fields").
    `gamma` above 0 lowers the weight of tokens that the model has learnt, as the focal loss does (Lin
    et al. 2017, "Focal loss for dense object detection"). The objective is never positive. It looks at
    each token by itself, so even with unit weights and `gamma` 0 it is not the log-likelihood of the
    path, except for sequences of one token.

    Raising a label's weight raises its recall and lowers its precision. Training fits the marginals,
    which thresholds and minimum-risk decoding use, rather than the best path.

    For partial labels, a token's weight is the mean over its set of tags, and `p_t` is the sum over the
    set, so tokens with unknown tags count for nothing.

    Args:
        gamma: At least 0; 0 leaves the focal factor out.
        **kwargs: The arguments of `ClassWeights`; by default all tags weigh 1.
    """

    _weights_are_required = False

    def __init__(self, gamma: float = 0.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        check_gamma(gamma)
        self.gamma = gamma

    def objective(
        self, scores: ChainScores, gold_tags: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        # (B, T)
        weights = self.token_weights(gold_tags, mask)
        if not self.gamma:
            return step_log_marginals(scores, gold_tags, mask, weights)
        steps = focal_log_probabilities(step_log_marginals(scores, gold_tags, mask), self.gamma)
        return total_of(weights * steps)


@TagWeighting.register("softmax_margin")
class SoftmaxMarginWeighting(TagWeighting):
    """Training adds a cost to the score of each wrong tag, which the gold tag must overcome.

    The objective is `score(x, y) - log sum_y' exp(score(x, y') + sum_t cost(y_t, y'_t))` (Gimpel &
    Smith 2010, "Softmax-margin CRFs"). A cost of log 2 doubles the odds of that error in training, and
    the scores must make up for it. The objective is never positive if no cost is negative. Without costs
    it is the log-likelihood.

    There are three kinds of errors. `missing` is the cost of giving no label to an entity's token; it
    raises recall. `inventing` is the cost of giving a label to a token that has none; it raises
    precision. `confusing` is the cost of giving a token another label than its own. In addition, a
    weight c of a gold tag adds log c to the cost of all errors at its tokens, so their odds are c times
    as high in training. Above 1 it raises the tag's recall and lowers its precision.

    For partial labels, the tags of a token's set cost nothing, and any other tag has the lowest of its
    costs against the tags of the set.

    Args:
        cost: (K, K), `cost[i][j]` of tag j where tag i is right, in nats, 0 for i = j.
        missing: By the label that is missed, or for all labels. This and the next two need `vocab`.
        inventing: By the label that is invented, or for all labels.
        confusing: By the label that is right, or for all labels.
        tag_weights: As in `ClassWeights`, like `vocab`. If there are costs, weights are optional.
        **kwargs: The other arguments of `ClassWeights`.
    """

    cost: torch.Tensor

    def __init__(
        self,
        cost: Optional[List[List[float]]] = None,
        missing: Optional[LabelCosts] = None,
        inventing: Optional[LabelCosts] = None,
        confusing: Optional[LabelCosts] = None,
        tag_weights: Optional[List[float]] = None,
        vocab: Optional[Vocabulary] = None,
        label_namespace: str = "labels",
        **kwargs: Any,
    ) -> None:
        by_error = {"missing": missing, "inventing": inventing, "confusing": confusing}
        has_costs_by_error = any(costs is not None for costs in by_error.values())
        if has_costs_by_error:
            if vocab is None:
                raise ConfigurationError(
                    "`missing`, `inventing` and `confusing` need a vocabulary to look labels up; pass "
                    "`vocab`, or give `cost`, a matrix of tags"
                )
            cost_by_error = costs_of_errors(tags_in_order(vocab, label_namespace), by_error)
        has_weights = any(
            kwargs.get(name) is not None for name in ("label_weights", "weight_rule", "tag_counts")
        )
        if tag_weights is None and not has_weights and (cost is not None or has_costs_by_error):
            tag_weights = [1.0] * len(cost if cost is not None else cost_by_error)
        super().__init__(
            tag_weights=tag_weights, vocab=vocab, label_namespace=label_namespace, **kwargs
        )
        num_tags = len(self.tag_weights)
        self.register_buffer("cost", torch.zeros(num_tags, num_tags))
        if cost is not None:
            self.cost += checked_cost(cost, num_tags)
        if has_costs_by_error:
            self.cost += cost_by_error

    def objective(
        self, scores: ChainScores, gold_tags: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        # (K, K)
        weights = at_least_float32(self.tag_weights)
        margins = at_least_float32(self.cost) + weights.log().unsqueeze(1)
        margins = margins.masked_fill(torch.eye(len(margins), device=margins.device).bool(), 0.0)
        if gold_tags.dim() == 2 and not has_unknown_tags(gold_tags, mask):
            # The padding may hold other numbers than tags.
            tags_or_zero = torch.where(mask, gold_tags, torch.zeros_like(gold_tags))
            # (B, T, K)
            margins = torch.nn.functional.embedding(tags_or_zero, margins)
        else:
            gold_tags = allowed_tags(gold_tags, len(margins))
            margins = _margins_of_sets(margins, gold_tags)
        augmented = scores._replace(emissions=scores.emissions + margins)
        return log_likelihood(augmented, gold_tags, mask)


def _weighed(scores: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """`scores` times `weights`; on a CPU in float64 if float32 cannot hold it."""
    product = scores * weights
    if has_finite_sum(product) or not bool((product.isinf() & ~scores.isinf()).any()):
        return product
    return scores.double() * weights


def _margins_of_sets(margins: torch.Tensor, allowed: torch.Tensor) -> torch.Tensor:
    """The margin of each tag against the cheapest allowed tag, (B, T, K); 0 for allowed tags."""
    cheapest = torch.full_like(allowed, math.inf, dtype=margins.dtype)
    for k, row in enumerate(margins):
        cheapest = torch.where(allowed[:, :, k : k + 1], torch.minimum(cheapest, row), cheapest)
    # In the padding no tag is allowed, so none is cheapest.
    return torch.where(allowed | cheapest.isinf(), torch.zeros_like(cheapest), cheapest)
