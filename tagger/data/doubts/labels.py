"""Doubts about labels. Each returns what it saw and what to do, or None."""

import re
import unicodedata
from collections import Counter
from typing import Dict, List, Optional

from tagger.data.doubts.contents import (
    FEWEST,
    MARK_UP,
    MOST,
    RULE,
    TAG_LABEL,
    Contents,
    label_counts,
    quoted,
)

#: Labels that are tags, or that end with a score, as in `PER/0.97`.
_TAG, _SCORE = re.compile(rf"\A{TAG_LABEL.pattern}\Z"), re.compile(r"\d\.\d+\W*\Z")
#: What may differ between spellings of one label.
_BETWEEN = re.compile(r"[\s_\-\u00ad\u200b-\u200f\u2060\ufeff]")
_NO_LABEL = ("X", "[CLS]", "[SEP]", "[PAD]", "-DOCSTART-", "-X-", "NULL", "NONE", "O", "_")


def labels_like_tags(contents: Contents) -> Optional[str]:
    """Labels look like tags, like signs for no label, like numbers or like mark-up."""
    counts = label_counts(contents)
    # Parts of speech have a label X, and every token has one.
    known = [] if contents.is_plain else [*_NO_LABEL]
    if "" in counts:
        return f"{counts['']:,} entities have no label; write tags such as `B-PER` in place of `B`"
    odd = [each for each in counts if each.upper() in known or each.isdecimal()]
    odd += [each for each in counts if any(p.search(each) for p in (_TAG, MARK_UP, _SCORE))]
    if not odd:
        return _labels_alike(counts, contents.is_plain) or _labels_like_names(contents)
    listed = ", ".join(f"{quoted(each)} {counts[each]:,}" for each in odd[:5])
    numbers = f"{len(odd):,} of {len(counts):,} labels"
    return f"{numbers} look like tags, numbers or mark-up: {listed}; rename them"


def _labels_alike(counts: Counter[str], is_plain: bool) -> Optional[str]:
    """Labels of entities differ only in case, blanks, dashes or invisible signs."""
    found: Dict[str, List[str]] = {}
    for label in counts if not is_plain else ():
        common = _BETWEEN.sub("", unicodedata.normalize("NFKC", label)).casefold()
        found.setdefault(common, []).append(label)
    alike = [label for own in found.values() if len(own) > 1 for label in own]
    listed = ", ".join(f"{quoted(each)} {counts[each]:,}" for each in alike[:6])
    what = f"{len(alike):,} labels differ only in case or signs from others"
    return f"{what}: {listed}; write each label in one way" if alike else None


def _labels_like_names(contents: Contents) -> Optional[str]:
    """Nearly every entity has its own label: its words, or its identifier."""
    counts = Counter(each.label for _, each in contents.entities)
    words = sum(text[each.start : each.end] == each.label for text, each in contents.entities)
    several, num = max(len(counts), words), counts.total()
    if num < 2 * FEWEST or several <= MOST * num:
        return None
    return (
        f"{several:,} labels for {num:,} entities, such as {quoted(next(iter(counts)))}, look like the "
        "entities or their identifiers; name the key or column of their kinds"
    )


def outside_label(contents: Contents) -> Optional[str]:
    """One label is on nearly all tokens, or `OTHER` on most."""
    size: Counter[str] = Counter()
    for text in contents.texts:
        for label, start, end in text.entities:
            size[label] += len(text.text[start:end].replace(" ", ""))
    every = sum(len("".join(text.text.split())) for text in contents.texts)
    label, most = next(iter(size.most_common(1)), ("", 0))
    is_other = label.upper() in ("OTHER", "OUTSIDE", "OUT", "NO_ENTITY", "NOTHING")
    if len(contents.texts) < FEWEST or most < (MOST if is_other else RULE) * every:
        return None
    return (
        f"the label {quoted(label)} is on {most / every:.0%} of all {every:,} characters; if it means "
        "that there is no entity, write `O`"
    )
