"""New labels for a saved tagger: its tags, its weights, and what it teaches about old ones.

Letters: `B` sentences, `T` tokens, `J` tags of the old tagger, `K` tags of the new one, whose first `J`
are those of the old one.
"""

import copy
from typing import Dict, Sequence, Tuple

import torch
from allennlp.data import Vocabulary

from tagger.data.fields import TagSetsField
from tagger.linear_chain import ChainScores, tag_marginals, transition_marginals
from tagger.linear_chain.chain_scores import restricted
from tagger.spans import TagSet, complete_tags, split_tag
from tagger.spans.encodings import join_tag, rules_of


def with_new_tags(
    vocab: Vocabulary, namespace: str, labels: Sequence[str], encoding: str
) -> Vocabulary:
    """Returns a copy of a vocabulary with the tags of new labels after the old ones."""
    extended = copy.deepcopy(vocab)
    rules = rules_of(encoding)
    tags = extended.get_token_to_index_vocabulary(namespace)
    first_tags = [join_tag(rules.places[0], label) for label in labels]
    for tag in complete_tags([*tags, *first_tags], encoding):
        extended.add_token_to_namespace(tag, namespace)
    return extended


def with_new_rows(
    weights: Dict[str, torch.Tensor], names: Sequence[str], old: Sequence[str], new: Sequence[str]
) -> Dict[str, torch.Tensor]:
    """Returns a tagger's weights with rows for new tags, and all others as they are.

    A new label starts as the mean of the old ones: its row is the mean of the rows of the tags that have
    the same prefix. A transition between two of its tags is the mean of those within the old labels.

    Args:
        weights: The weights by name.
        names: The names of those that have a row for each tag, and as many columns if they are square.
        old: The J old tags.
        new: The K new tags, the old ones first.
    """
    places = {tag: k for k, tag in enumerate(old)}
    analogies = []
    for label in sorted({split_tag(tag)[1] or "" for tag in old if tag != "O"}):
        analogous = [join_tag(split_tag(tag)[0], label) for tag in new[len(old) :]]
        analogies.append([*range(len(old)), *(places[tag] for tag in analogous)])
    grown = dict(weights)
    for name in names:
        each = [weights[name][rows] for rows in analogies]
        if weights[name].shape == (len(old), len(old)):
            each = [values[:, rows] for values, rows in zip(each, analogies)]
        grown[name] = torch.stack(each).mean(0)
    return grown


def open_outside(field: TagSetsField, labels: Sequence[str], encoding: str) -> TagSetsField:
    """Returns the tags that tokens may have if annotators have looked for these labels alone.

    Where they saw nothing, a token may be outside or part of an entity of any other label.
    """
    rules = rules_of(encoding)
    prefixes = frozenset(rules.places + rules.opening)
    outside = TagSet(frozenset("O"), frozenset(labels), prefixes)
    tag_sets = [outside if tags.only_tag == "O" else tags for tags in field.tag_sets]
    return TagSetsField(tag_sets, field.sequence_field, field._label_namespace)


def taught_marginals(
    teacher: ChainScores, allowed: torch.Tensor, outside: int, mask: torch.Tensor
) -> Tuple[torch.Tensor, torch.Tensor]:
    """The old tagger's distribution over tag sequences, given what annotators of new labels saw.

    Entities do not overlap. Where the annotators saw a new entity, the old tags are `O`, so this is the
    old chain given those `O` (and given the old entities that they marked), in which the tags of the new
    entities stand in place of `O`. It is a chain again, so its marginals are all that
    `chain_cross_entropy` needs.

    Args:
        teacher: The old tagger's chains of B sentences over J tags.
        allowed: (B, T, K) bool, the tags that each token may have.
        outside: The index of `O`.
        mask: (B, T) bool, right-padded.

    Returns:
        The probabilities of tags, (B, T, K), and the expected numbers of transitions, (B, K, K). Both
        are 0 for a sentence of which the old tagger can say nothing: where a token may have several new
        tags but no old one, or where the old tagger holds what was marked impossible.
    """
    num_old, num_new = teacher.emissions.size(2), allowed.size(2)
    known = allowed[:, :, :num_old]
    is_new = mask & ~known.any(2)
    # (J,): only the tag `O`
    only_outside = torch.arange(num_old, device=mask.device) == outside
    given = restricted(teacher, torch.where(is_new.unsqueeze(2), only_outside, known))
    tags, steps = tag_marginals(given, mask), transition_marginals(given, mask)
    # (B, T, J, K): which new tag stands for an old one
    stands = torch.eye(num_old, num_new, dtype=tags.dtype, device=tags.device)
    stands = stands.expand(*mask.shape, -1, -1).clone()
    stands[is_new] = 0
    stands[:, :, outside][is_new] = allowed[is_new].to(tags.dtype)
    new_tags = torch.einsum("btj,btjk->btk", tags, stands)
    left, right = stands[:, :-1], stands[:, 1:]
    transitions = torch.einsum("btij,btia,btjc->bac", steps, left, right)
    is_open = (is_new & (allowed.sum(2) > 1)).any(1)
    # (B, 1, 1)
    taught = (~is_open & (tags.sum((1, 2)) > 0)).view(-1, 1, 1)
    padded = new_tags.masked_fill(~mask.unsqueeze(2), 0)
    return torch.where(taught, padded, 0), torch.where(taught, transitions, 0)
