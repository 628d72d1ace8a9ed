"""Tags of spans that overlap: a token has one tag for each label that it lies in, joined by a bar.

`B-ORG|I-LOC` says that an ORG begins at the token and a LOC goes on. Spans of one label do not overlap.
"""

from typing import Dict, Iterable, List, Optional, Sequence, Set

from tagger.spans.conversion import convert_tags, spans_to_tags
from tagger.spans.encodings import Span, join_tag, prefixes_of, split_tag
from tagger.spans.possible_tags import possible_tags
from tagger.spans.transitions import IllegalTagError, check_tags
from tagger_texts.merging import SEPARATOR, joined_tags


def chain_namespace(label_namespace: str, label: str) -> str:
    """Returns the namespace of a label's own tags, under which training counts them."""
    return f"{label or '_'} of {label_namespace}"


def spans_to_joined_tags(
    spans: Iterable[Span], num_tokens: int, tag_encoding: str, separator: str = SEPARATOR
) -> List[str]:
    """Spells spans, of which those of one label do not overlap.

    Example:
        >>> spans_to_joined_tags([("ORG", (0, 2)), ("LOC", (2, 2))], 3, "BIO")
        ['B-ORG', 'I-ORG', 'B-LOC|I-ORG']
    """
    by_label: Dict[str, List[Span]] = {}
    for span in spans:
        by_label.setdefault(span[0], []).append(span)
    rows = [
        list(spans_to_tags(by_label[each], num_tokens, tag_encoding)) for each in sorted(by_label)
    ]
    return [joined_tags(tags, separator) for tags in zip(*rows)] if rows else ["O"] * num_tokens


def tags_by_label(
    tags: Sequence[str],
    tag_encoding: Optional[str],
    unknown_tag: Optional[str] = None,
    separator: str = SEPARATOR,
) -> Dict[str, List[str]]:
    """Returns the tags of each label of a sentence, `O` where a token has another one or none.

    `unknown_tag` alone makes a token unknown for all labels, and before a label or its tag for that one.

    Raises:
        IllegalTagError: If a token has two tags of one label.

    Example:
        >>> tags_by_label(["B-ORG", "B-LOC|I-ORG", "?"], "BIO", "?")
        {'ORG': ['B-ORG', 'I-ORG', '?'], 'LOC': ['O', 'B-LOC', '?']}
    """
    found: Dict[str, Dict[int, str]] = {}
    are_unknown: Set[int] = set()
    for position, joined in enumerate(tags):
        for tag in [] if joined == "O" else joined.split(separator):
            if tag == unknown_tag:
                are_unknown.add(position)
                continue
            is_known = unknown_tag is None or not tag.startswith(unknown_tag)
            # `?B-PER` is of PER, as `?PER` is.
            own = tag.removeprefix(unknown_tag or "")
            label = (
                own if not is_known and "-" not in own else split_tag(own, tag_encoding)[1] or ""
            )
            of_label = found.setdefault(label, {})
            if position in of_label:
                raise IllegalTagError(
                    f"`{joined}` at position {position} has two tags of {label or 'one label'}, but its "
                    "spans cannot overlap; keep one of them",
                    position,
                )
            of_label[position] = tag if is_known else unknown_tag or ""
    otherwise = [unknown_tag or "" if at in are_unknown else "O" for at in range(len(tags))]
    return {
        label: [of_label.get(at, tag) for at, tag in enumerate(otherwise)]
        for label, of_label in found.items()
    }


def label_tag_sets(
    tags: Sequence[str],
    source: str,
    target: str,
    unknown_tag: Optional[str] = None,
    separator: str = SEPARATOR,
) -> List[List[str]]:
    """Converts joined tags into those of another encoding, a list for each token.

    Where unknown neighbours leave several tags of a label possible, all are there. `?` before a tag says
    that the token may have it or none of its label; `?` alone, that all labels are unknown.

    Example:
        >>> label_tag_sets(["B-ORG", "B-LOC|I-ORG", "?"], "BIO", "BIOUL", "?")
        [['B-ORG'], ['B-LOC', 'U-LOC', 'I-ORG', 'L-ORG'], ['?']]
    """
    sets: List[List[str]] = [[] for _ in tags]
    for label, own in sorted(tags_by_label(tags, source, unknown_tag, separator).items()):
        if unknown_tag is None or unknown_tag not in own:
            check_tags(own, source)
            for position, tag in enumerate(convert_tags(own, source, target)):
                sets[position] += [tag] if tag != "O" else []
            continue
        of_label = sorted({join_tag(prefix, label) for prefix in prefixes_of(target)})
        for position, possible in enumerate(possible_tags(own, source, target, unknown_tag)):
            mark = unknown_tag if own[position] == unknown_tag else ""
            sets[position] += [mark + each for each in of_label if possible.allows(each)]
    return [
        [unknown_tag or ""] if unknown_tag in joined.split(separator) else found
        for joined, found in zip(tags, sets)
    ]
