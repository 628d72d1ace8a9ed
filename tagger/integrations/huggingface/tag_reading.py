"""What the tags in a classifier's `id2label` mean."""

import re
from typing import Any, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from allennlp.common.checks import ConfigurationError

from tagger.data.survey.spellings import (
    OUTSIDE,
    SPELLINGS,
    STANDARD,
    canonical,
    find_spelling,
    separator_of_spans,
)
from tagger.spans import infer_encoding, labels_of_tags
from tagger.spans.encodings import join_tag

#: The most tags. A chain has the square of their number in transition scores.
MAX_TAGS = 5_000
#: The longest tag, in letters.
MAX_LETTERS = 200

# Tags of special pieces and of the pieces inside words; no word has them.
_OF_PIECES = re.compile(
    r"PAD|</?s>|[<\[](PAD|CLS|SEP|UNK|MASK|BOS|EOS|START|STOP|END)[>\]]", re.IGNORECASE
)
# The tag of the pieces inside words in the first taggers that were built on BERT.
_INSIDE_WORDS = "X"
# `O` with the prefix of an entity, in the usual spelling.
_OUTSIDE_WITH_PREFIX = re.compile(r"[BILUMES]-(O|OUTSIDE)", re.IGNORECASE)
_REMEDY = "correct `id2label` in its `config.json`"


class TagReading(NamedTuple):
    """How a classifier's tags are read.

    Attributes:
        tags: The tags of the tagger, in the usual spelling.
        rows: The index in `id2label` of each.
        encoding: How they spell entities; None for plain labels.
        left_out: The tags that no word has.
        is_io: Whether the classifier has labels without prefixes. Each becomes two tags of BIO with the
            same score, of which `B-` never follows its own label, so that neighbours of one label are
            one entity, with a probability.
    """

    tags: List[str]
    rows: List[int]
    encoding: Optional[str]
    left_out: List[str]
    is_io: bool = False


def names_of_tags(id2label: Any) -> List[str]:
    """Returns the tags in the order of their indices, or raises a `ConfigurationError`."""
    number = len(id2label) if isinstance(id2label, Mapping) else 0
    names = [id2label.get(k) for k in range(number)] if number else []
    if not names or not all(isinstance(each, str) for each in names):
        raise ConfigurationError(
            f"expected `id2label` with a tag for each index from 0; got {id2label!s:.80}; {_REMEDY}"
        )
    longest = max(map(len, names))
    if number > MAX_TAGS or longest > MAX_LETTERS:
        raise ConfigurationError(
            f"expected at most {MAX_TAGS} tags of at most {MAX_LETTERS} letters in `id2label`; got "
            f"{number} of up to {longest} letters"
        )
    return names


def read_tags(names: Sequence[str]) -> TagReading:
    """Reads tags as `allennlp start` reads those of a file.

    Tags of special pieces such as `[CLS]`, and beside tags with prefixes also `X`, are left out.

    Raises:
        ConfigurationError: If two tags mean the same, or only some have a prefix.

    Example:
        >>> reading = read_tags(["O", "B_PER", "I_PER", "[CLS]"])
        >>> reading.tags, reading.encoding, reading.left_out
        (['O', 'B-PER', 'I-PER'], 'BIO', ['[CLS]'])
    """
    rows = [row for row, name in enumerate(names) if not _OF_PIECES.fullmatch(name)]
    spelling = find_spelling(dict.fromkeys((names[row] for row in rows), 1))
    if spelling is not None:
        rows = [row for row in rows if names[row] != _INSIDE_WORDS]
    kept = [names[row] for row in rows]
    tags = _labels(kept) if spelling is None else _with_prefixes(kept, spelling)
    _check_distinct(kept, tags)
    left_out = [name for row, name in enumerate(names) if row not in set(rows)]
    if not tags or set(tags) == {"O"}:
        raise ConfigurationError(
            f"expected tags of words in `id2label`; got {', '.join(names[:8])}; {_REMEDY}"
        )
    encoding = None if spelling is None else _encoding_of(tags)
    labels = labels_of_tags(tags)
    is_io = "O" in tags if spelling is None else not any(tag[0] != "I" for tag in set(tags) - {"O"})
    if not is_io:
        return TagReading(tags, rows, encoding, left_out)
    # (tag, row): two tags for each label
    spelt = [
        each
        for label, row in zip(labels, rows)
        for each in ([("O", row)] if label is None else _both(label, row))
    ]
    both, of_both = zip(*spelt)
    return TagReading(list(both), list(of_both), "BIO", left_out, is_io=True)


def _both(label: str, row: int) -> List[Tuple[str, int]]:
    return [(join_tag(prefix, label), row) for prefix in "BI"]


def _check_distinct(names: Sequence[str], tags: Sequence[str]) -> None:
    same = [name for name, tag in zip(names, tags) if tags.count(tag) > 1]
    if same:
        raise ConfigurationError(
            f"expected distinct tags in `id2label`, but {', '.join(same[:5])} mean the same; {_REMEDY}"
        )


def _with_prefixes(names: Sequence[str], spelling: str) -> List[str]:
    """Returns tags in the usual spelling."""
    joining = separator_of_spans(names, spelling)
    if joining is not None:
        raise ConfigurationError(
            f"`id2label` joins the tags of overlapping entities with {joining!r} "
            f"({next(each for each in names if joining in each)}), but the imported tagger gives each "
            "word one tag"
        )
    usual = [canonical(name, spelling) for name in names]
    tags = ["O" if _OUTSIDE_WITH_PREFIX.fullmatch(tag) else tag for tag in usual]
    without = [name for name, tag in zip(names, tags) if not _is_tag(tag)]
    if without:
        others = [name for name in names if name not in without]
        raise ConfigurationError(
            f"`id2label` has tags with a prefix ({', '.join(others[:3])}) and others without "
            f"({', '.join(without[:3])}); {_REMEDY}: spell all of them in one way"
        )
    return tags


def _is_tag(tag: str) -> bool:
    return tag == "O" or SPELLINGS[STANDARD].fullmatch(tag) is not None


def _labels(names: Sequence[str]) -> List[str]:
    """Returns labels without a prefix, with the tag outside of entities spelt `O`."""
    opened = [name for name in names if name[:2] in ("B-", "B_") and len(name) > 2]
    if opened:
        raise ConfigurationError(
            f"`id2label` has tags with a prefix ({', '.join(opened[:3])}), but most have none; "
            f"{_REMEDY}: spell all of them in one way"
        )
    digits = "".join(name for name in names if name not in OUTSIDE).isdigit()
    spelt = {"o"} if digits else {"o", "0"}
    return ["O" if name in spelt else name for name in names]


def _encoding_of(tags: Sequence[str]) -> Optional[str]:
    """Returns the encoding of tags with prefixes; IOB1 if they are BIO but an `I-` has no `B-`."""
    encoding = infer_encoding(tags)
    if encoding is None:
        raise ConfigurationError(
            f"`id2label` mixes the prefixes of several encodings ({', '.join(tags[:8])}); {_REMEDY}"
        )
    if encoding == "BMES" and not any(tag.startswith("M-") for tag in tags):
        return "IOBES"
    if encoding == "BIO":
        opened, inside = ({tag[2:] for tag in tags if tag[:2] == each} for each in ("B-", "I-"))
        return "IOB1" if inside - opened else "BIO"
    return encoding
