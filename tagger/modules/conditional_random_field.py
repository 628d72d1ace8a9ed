"""The linear-chain CRF as a module: parameters, constraints and class weighting."""

from typing import List, Optional, Tuple, Union

import numpy as np
import torch

from tagger.common.from_allennlp import ConfigurationError
from tagger.linear_chain import (
    ChainMarginals,
    ChainScores,
    chain_cross_entropy,
    compacted,
    k_best_decode,
    log_likelihood,
    log_partition,
    tag_marginals,
    viterbi_decode,
)
from tagger.linear_chain.checks import checked_mask, tags_as_int64
from tagger.linear_chain.padding import real_tokens
from tagger.linear_chain.tracing import first_place, holds_anywhere
from tagger.modules.tag_weighting import TagWeighting

#: A path, as tag indices, and its score.
ScoredPath = Tuple[List[int], float]


class ConditionalRandomField(torch.nn.Module):
    """A linear-chain CRF, a drop-in for `allennlp.modules.ConditionalRandomField`.

    With default arguments, signatures, parameter names and results are AllenNLP's, so trained weights
    can be exchanged in both directions. There are three differences. A masked token is absent wherever
    it stands, so the probabilities of all paths sum to 1; AllenNLP's likelihood only skips the
    transitions next to a hole in the mask. A tag out of range is an error. A path that the constraints
    forbid scores -inf. Half precision is computed in float32. As in PyTorch's own losses, an emission
    of NaN or +inf at a real token makes the log-likelihood NaN without an error.

    Args:
        num_tags: K, the number of tags.
        constraints: The allowed transitions `(from, to)`, with K for the start and K + 1 for the end of
            a sequence, as `tagger.spans.allowed_transitions` lists them; or a (K + 2, K + 2) bool
            tensor, as `transition_table` gives. They apply to decoding. `None` allows all.
        include_start_end_transitions: Whether there are scores for starting and ending with a tag.
        weighting: Weights the tags in training; `None` for the plain likelihood.
        constrain_training: Whether the constraints also apply to the likelihood and the marginals.

    Raises:
        ConfigurationError: If an argument does not fit `num_tags`, or `weighting` is not a
            `TagWeighting`.
    """

    def __init__(
        self,
        num_tags: int,
        constraints: Union[torch.Tensor, List[Tuple[int, int]], None] = None,
        include_start_end_transitions: bool = True,
        weighting: Optional[TagWeighting] = None,
        constrain_training: bool = False,
    ) -> None:
        super().__init__()
        if not (isinstance(num_tags, (int, np.integer)) and num_tags >= 1):
            raise ConfigurationError(
                f"`num_tags` must be at least 1, the number of tags; got {num_tags!r}"
            )
        if not (weighting is None or isinstance(weighting, TagWeighting)):
            name = weighting if weighting in TagWeighting.list_available() else "chain"
            raise ConfigurationError(
                f"`weighting` must be a `TagWeighting` or `None`; got {weighting!r}; build one, such as "
                f"`TagWeighting.by_name({name!r})(tag_weights=[...])`"
            )
        tag_weights = None if weighting is None else weighting.tag_weights
        if tag_weights is not None and len(tag_weights) != num_tags:
            raise ConfigurationError(
                f"`weighting` must have one weight for each of the {num_tags} tags; "
                f"got {len(tag_weights)}"
            )
        self.num_tags = num_tags
        self.include_start_end_transitions = include_start_end_transitions
        self.weighting = weighting
        self.constrain_training = constrain_training
        self.transitions = torch.nn.Parameter(torch.empty(num_tags, num_tags))
        # A parameter instead of a buffer, and at this position, as in AllenNLP.
        self._constraint_mask = torch.nn.Parameter(
            _constraint_mask(num_tags, constraints), requires_grad=False
        )
        if include_start_end_transitions:
            self.start_transitions = torch.nn.Parameter(torch.empty(num_tags))
            self.end_transitions = torch.nn.Parameter(torch.empty(num_tags))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws new transition scores, in AllenNLP's order."""
        torch.nn.init.xavier_normal_(self.transitions)
        if self.include_start_end_transitions:
            torch.nn.init.normal_(self.start_transitions)
            torch.nn.init.normal_(self.end_transitions)

    def forward(
        self, inputs: torch.Tensor, tags: torch.Tensor, mask: Optional[torch.Tensor] = None
    ) -> torch.Tensor:
        """The (weighted) log-likelihood, summed over the batch.

        Args:
            inputs: (B, T, K), emission scores.
            tags: (B, T) integers, the gold tags, -1 where unknown; or (B, T, K) bool, the set of tags
                that each token may have.
            mask: (B, T) bool, true at real tokens; or (B,) int64, the number of real tokens of each
                sequence; `None` if every token is real.

        Returns:
            A scalar, to be maximised.

        Raises:
            ValueError: If shapes do not fit, a tag is out of range, or `constrain_training` forbids a
                gold path.
            TypeError: If `tags` are neither integers nor bool.
            RuntimeError: If the weighting still waits for the counts of its `weight_rule`.
        """
        return self.log_likelihood(inputs, tags, mask).sum()

    def log_likelihood(
        self, inputs: torch.Tensor, tags: torch.Tensor, mask: Optional[torch.Tensor] = None
    ) -> torch.Tensor:
        """The (weighted) log-likelihood of each sequence, (B,); arguments as for `forward`."""
        mask = self._mask(inputs, mask)
        scores = self._training_scores(inputs)
        if self.weighting is None:
            log_likelihoods = log_likelihood(scores, tags, mask)
        else:
            self.weighting.check_weights()
            log_likelihoods = self.weighting.objective(scores, tags_as_int64(tags), mask)
        if self.constrain_training and holds_anywhere(log_likelihoods == -torch.inf):
            row = first_place(log_likelihoods == -torch.inf)[0]
            raise ValueError(
                f"`constraints` forbid the gold tags of row {row}, so training cannot learn them; "
                f"correct the tags, or set `constrain_training` to false"
            )
        return log_likelihoods

    def cross_entropy(
        self,
        inputs: torch.Tensor,
        teacher: Union[ChainMarginals, ChainScores],
        mask: Optional[torch.Tensor] = None,
    ) -> torch.Tensor:
        """Minus the expected log-likelihood under a teacher's distribution, (B,), without weighting.

        `teacher` holds the teacher's chains over the same tags, or their `chain_marginals`. The result
        is inf where `constrain_training` forbids what the teacher considers possible.
        """
        scores = self._training_scores(inputs)
        return chain_cross_entropy(teacher, scores, self._mask(inputs, mask))

    def log_partition(
        self, inputs: torch.Tensor, mask: Optional[torch.Tensor] = None
    ) -> torch.Tensor:
        """Log Z of each sequence, (B,), without weighting; arguments as for `forward`."""
        return log_partition(self._training_scores(inputs), self._mask(inputs, mask))

    def marginals(self, inputs: torch.Tensor, mask: Optional[torch.Tensor] = None) -> torch.Tensor:
        """p(y_t = k | x), (B, T, K), without weighting; arguments as for `forward`."""
        return tag_marginals(self._training_scores(inputs), self._mask(inputs, mask))

    def viterbi_decode(
        self, logits: torch.Tensor, mask: Optional[torch.Tensor] = None
    ) -> Tuple[torch.Tensor, torch.Tensor]:
        """The best paths that the constraints allow, and their scores; arguments as for `forward`.

        Paths are (B, T) int64, 0 at masked tokens; scores (B,), -inf where the constraints allow no
        path. Both stay on the device of `logits`.
        """
        return viterbi_decode(self.decoding_scores(logits), self._mask(logits, mask))

    def viterbi_tags(
        self, logits: torch.Tensor, mask: Optional[torch.Tensor] = None, top_k: Optional[int] = None
    ) -> Union[List[ScoredPath], List[List[ScoredPath]]]:
        """The best path, or the `top_k` best paths, as lists; arguments as for `forward`.

        Returns:
            For each sequence its `(path, score)` or, with `top_k`, a list of at most `top_k` of them,
            best first. A path has a tag for each real token. If the constraints allow no path, the
            score is -inf and the path is meaningless.
        """
        logits, lengths = compacted(logits, self._mask(logits, mask))
        paths, path_scores = k_best_decode(self.decoding_scores(logits), lengths, k=top_k or 1)
        # NumPy creates lists several times as fast as PyTorch.
        rows = zip(*(each.cpu().numpy().tolist() for each in (lengths, paths, path_scores)))
        if top_k is None:
            return [(best[:length], score) for length, (best,), (score,) in rows]
        k_best = [
            [(path[:length], score) for path, score in zip(row_paths, row_scores)]
            for length, row_paths, row_scores in rows
        ]
        return [row[:1] + [best for best in row[1:] if best[1] > -torch.inf] for row in k_best]

    def decoding_scores(self, logits: torch.Tensor) -> ChainScores:
        """The chain of emissions (B, T, K) that decoding uses: forbidden transitions score -inf."""
        scores = self._scores(logits)
        if self.weighting is not None:
            scores = self.weighting.decoding_scores(scores)
        return self._constrained(scores)

    def _training_scores(self, emissions: torch.Tensor) -> ChainScores:
        scores = self._scores(emissions)
        return self._constrained(scores) if self.constrain_training else scores

    def _scores(self, emissions: torch.Tensor) -> ChainScores:
        if self.include_start_end_transitions:
            return ChainScores(
                emissions, self.transitions, self.start_transitions, self.end_transitions
            )
        zeros = self.transitions.new_zeros(self.num_tags)
        return ChainScores(emissions, self.transitions, zeros, zeros)

    def _constrained(self, scores: ChainScores) -> ChainScores:
        """`scores` with -inf for the transitions that the constraints forbid."""
        is_forbidden = self._constraint_mask == 0
        # On a GPU, this check would take longer than what it saves.
        if not (is_forbidden.is_cuda or holds_anywhere(is_forbidden)):
            return scores
        return scores._replace(
            transitions=scores.transitions.masked_fill(is_forbidden[:-2, :-2], -torch.inf),
            start=scores.start.masked_fill(is_forbidden[-2, :-2], -torch.inf),
            end=scores.end.masked_fill(is_forbidden[:-2, -1], -torch.inf),
        )

    @staticmethod
    def _mask(emissions: torch.Tensor, mask: Optional[torch.Tensor]) -> torch.Tensor:
        if mask is None:
            return torch.ones(emissions.shape[:2], dtype=torch.bool, device=emissions.device)
        if mask.dim() == 1:
            lengths, _ = checked_mask(mask, emissions)
            return real_tokens(lengths, emissions.size(1))
        return mask if mask.dtype == torch.bool else mask.bool()


def _constraint_mask(
    num_tags: int, constraints: Union[torch.Tensor, List[Tuple[int, int]], None]
) -> torch.Tensor:
    """(K + 2, K + 2): 1 where a transition is allowed, 0 elsewhere."""
    size = num_tags + 2
    if constraints is None:
        return torch.ones(size, size)
    if isinstance(constraints, torch.Tensor) and constraints.dtype == torch.bool:
        if constraints.shape != (size, size):
            raise ConfigurationError(
                f"`constraints` must be ({size}, {size}) for {num_tags} tags, the start and the end; "
                f"got {tuple(constraints.shape)}"
            )
        mask = torch.zeros(size, size)
        return mask.masked_fill_(constraints.to(mask.device), 1)
    try:
        pairs = np.array([(int(i), int(j)) for i, j in constraints], dtype=np.int64).reshape(-1, 2)
    except (TypeError, ValueError, OverflowError):
        raise ConfigurationError(
            f"`constraints` must be pairs of tags' indices, such as `tagger.spans.allowed_transitions` "
            f"lists; got {constraints!r:.100}"
        ) from None
    is_wrong = ((pairs < 0) | (pairs >= size)).any(1)
    if is_wrong.any():
        raise ConfigurationError(
            f"`constraints` names the transition {tuple(pairs[is_wrong][0].tolist())}; with {num_tags} "
            f"tags, indices end at {num_tags} for the start and {num_tags + 1} for the end of a sequence"
        )
    mask = torch.zeros(size, size)
    mask[tuple(torch.from_numpy(pairs).T.to(mask.device))] = 1
    return mask
