"""Legal sequences of tags: which tag may follow which."""

from typing import List, Mapping, Optional, Sequence, Tuple

import numpy as np

from tagger.spans.encodings import PREFIXED, rules_of, split_tag


class IllegalTagError(ValueError):
    """A tag that its encoding does not allow in its place."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(message)
        self.position = position


def may_follow(tag_encoding: str, before: str, after: str) -> bool:
    """Says whether tag `after` may come right after tag `before`."""
    rules = rules_of(tag_encoding)
    before_prefix, before_label = split_tag(before, tag_encoding)
    after_prefix, after_label = split_tag(after, tag_encoding)
    if after_prefix in rules.bound:
        return before_prefix in rules.extensible and before_label == after_label
    return before_prefix not in rules.unfinished


def allowed_transitions(tag_encoding: str, tags: Mapping[int, str]) -> List[Tuple[int, int]]:
    """Returns the pairs of tag indices, 0 ... K - 1, in which the second tag may follow the first.

    Index K is the start of a sentence, K + 1 its end. This equals AllenNLP's function of the same name,
    except that AllenNLP lets `O` follow no tag of BMES. For many tags, `transition_table` is smaller.
    """
    table = transition_table(tag_encoding, [tags[k] for k in range(len(tags))])
    return list(zip(*(each.tolist() for each in table.nonzero())))


def transition_table(tag_encoding: str, tags: Sequence[str]) -> np.ndarray:
    """Returns which of K tags may follow which, (K + 2, K + 2) bool, `[tag before, tag]`.

    Index K is the start of a sentence, K + 1 its end.

    Example:
        >>> transition_table("BIO", ["O", "I-PER"]).astype(int)
        array([[1, 0, 0, 1],
               [1, 1, 0, 1],
               [1, 0, 0, 0],
               [0, 0, 0, 0]])
    """
    rules, start, end = rules_of(tag_encoding), len(tags), len(tags) + 1
    # A sentence starts as after an `O` and ends as before one.
    prefixes, labels = zip(*(split_tag(tag, tag_encoding) for tag in [*tags, "O", "O"]))
    number_of = {label: number for number, label in enumerate(dict.fromkeys(labels))}
    # (K + 2,) each
    label = np.array([number_of[each] for each in labels])
    is_extensible, is_bound, is_unfinished = (
        np.array([prefix in each for prefix in prefixes])
        for each in (rules.extensible, rules.bound, rules.unfinished)
    )
    # (K + 2, K + 2)
    table: np.ndarray = label[:, np.newaxis] == label
    table &= is_extensible[:, np.newaxis]
    np.copyto(table, ~is_unfinished[:, np.newaxis], where=~is_bound)
    table[:, start] = table[end] = table[start, end] = False
    return table


def check_tags(tags: Sequence[str], tag_encoding: str, unknown_tag: Optional[str] = None) -> None:
    """Raises an `IllegalTagError` unless `tags` are a legal sequence of this encoding.

    The error names the tag and an encoding that would fit. In IOB1 a `B-` is legal anywhere. In some
    places `I-` would mean the same span: the training file of CoNLL-2003 has two such `B-`, and
    `convert_tags` replaces them.
    """
    position = _first_illegal(tags, tag_encoding, unknown_tag)
    if position is None:
        return
    remedies = (
        f"these tags are legal {other}; set `source_encoding` to '{other}'"
        for other in PREFIXED
        if _first_illegal(tags, other, unknown_tag) is None
    )
    remedy = next(
        remedies,
        "if it marks tokens with unknown tags, set `unknown_tag` of the reader to '?'"
        if unknown_tag is None and tags[min(position, len(tags) - 1)] == "?"
        else "these tags are IOE, where `E-` ends an entity, which is not read; write `B-` at the first "
        "token of each entity, and `I-` at its others"
        if _are_ioe(tags, unknown_tag)
        else f"these tags fit none of {', '.join(PREFIXED)}; correct them, or set `source_encoding` to "
        "null if they are plain labels that mark no spans, or to 'IO' if labels alone mark them",
    )
    if position == len(tags):
        position, place = position - 1, "at the end"
    else:
        place = f"after `{tags[position - 1]}`" if position else "at the start"
    raise IllegalTagError(
        f"`{tags[position]}` at position {position} is no legal {tag_encoding} tag {place}; {remedy}",
        position,
    )


def _are_ioe(tags: Sequence[str], unknown_tag: Optional[str]) -> bool:
    """Whether tags are BIO from right to left, with E for B."""
    turned = [f"B{tag[1:]}" if tag[:2] == "E-" else tag for tag in reversed(tags)]
    return turned != [*reversed(tags)] and _first_illegal(turned, "BIO", unknown_tag) is None


def _first_illegal(
    tags: Sequence[str], tag_encoding: str, unknown_tag: Optional[str]
) -> Optional[int]:
    """Returns the position of the first illegal tag, `len(tags)` for the end, `None` for none."""
    previous = "O"
    for position, tag in enumerate([*tags, "O"]):
        if tag != unknown_tag:
            try:
                split_tag(tag, tag_encoding)
            except ValueError:
                return position
            is_readable = tag_encoding == "IOB1" or previous == unknown_tag
            if not is_readable and not may_follow(tag_encoding, previous, tag):
                return position
        previous = tag
    return None
