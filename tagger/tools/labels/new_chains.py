"""Chains of new labels, beside those of a tagger with the head `label_chains`."""

from typing import Dict, List, Sequence

import torch

from tagger.data.fields.label_chains_field import LabelChainsField
from tagger.modules.heads import LabelChainsHead
from tagger.spans import split_tag


def known_chains(old: LabelChainsHead, new: LabelChainsHead) -> Dict[str, str]:
    """Returns the names of the old chains' weights, by the names that they have in a new head."""
    places = {label: place for place, label in enumerate(old.labels)}
    return {
        f"head.chains.{place}.{name}": f"head.chains.{places[label]}.{name}"
        for place, (label, chain) in enumerate(zip(new.labels, new.chains.by_label))
        if label in places
        for name in chain.state_dict()
    }


def with_new_chains(
    weights: Dict[str, torch.Tensor], old: LabelChainsHead, new: LabelChainsHead
) -> Dict[str, torch.Tensor]:
    """Returns a tagger's weights for a new head; its new chains get the mean of the old ones."""
    grown = {name: each for name, each in weights.items() if not name.startswith("head.chains.")}
    grown |= {name: weights[before] for name, before in known_chains(old, new).items()}
    for place, (label, chain) in enumerate(zip(new.labels, new.chains.by_label)):
        for name in ("transitions", "start_transitions", "end_transitions"):
            own = f"head.chains.{place}.crf.{name}"
            if label in old.labels or not hasattr(chain.crf, name):
                continue
            values = []
            for each in old.chains.by_label:
                prefixes = [split_tag(tag)[0] for tag in each.tags]
                rows = [prefixes.index(split_tag(tag)[0]) for tag in chain.tags]
                before = getattr(each.crf, name).detach()[rows]
                values.append(before if before.dim() == 1 else before[:, rows])
            grown[own] = torch.stack(values).mean(0)
    return grown


def only_new(field: LabelChainsField, labels: Sequence[str]) -> LabelChainsField:
    """Returns the tags of these labels; all others are unknown, because nobody looked for them."""
    return LabelChainsField(
        field.label_sets, field.sequence_field, field.label_namespace, field.unknown_tag, labels
    )


def tags_in(field: LabelChainsField) -> List[str]:
    """Returns the known tags."""
    unknown = field.unknown_tag
    tags = [tag for tags in field.label_sets for tag in tags]
    return [tag for tag in tags if unknown is None or not tag.startswith(unknown)]
