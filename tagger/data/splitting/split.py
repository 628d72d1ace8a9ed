"""Splits sentences or texts into parts, without dividing a document."""

from collections import Counter
from os import PathLike
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

from tagger.data.splitting.documents import Documents
from tagger.data.splitting.stratified_split import check_shares, stratified_split

#: A block has 1/100 of all sentences, within these limits,
_SHORTEST_BLOCK, _LONGEST_BLOCK, _NUM_BLOCKS = 10, 50, 100
#: unless there would be fewer blocks than this.
_FEWEST_BLOCKS = 20


class Item(NamedTuple):
    """A sentence or text: its words, and the label and words of each entity or labelled token.

    Labels of the whole text have no words.
    """

    words: Sequence[str]
    entities: Sequence[Tuple[str, str]]

    @property
    def labels(self) -> List[str]:
        """The labels of the entities."""
        return [label for label, _ in self.entities]


class Groups(NamedTuple):
    """Groups that a split keeps whole: documents, or blocks of neighbours; the last may be short."""

    #: The group number of each item, from 0.
    of_item: List[int]
    documents: Optional[Documents]
    block_length: int = 1

    @property
    def number(self) -> int:
        """How many groups there are."""
        return len(set(self.of_item))

    def of(self, items: Sequence[int]) -> "Groups":
        """Returns the groups of some of the items."""
        return self._replace(of_item=[self.of_item[item] for item in items])

    def describe(self, noun: str = "sentences") -> str:
        """Says what was kept together and why; `noun` is the word for items."""
        if self.documents is not None:
            return f"{self.number:,} documents, told by {self.documents.told_by}, none divided"
        kept = f"{self.number:,} blocks of {self.block_length} {noun} in a row"
        if self.block_length == 1:
            kept = f"nothing, but single {noun}"
        return f"{kept}, because the file marks no documents; `--documents` names a mark"


def groups_of(num_items: int, documents: Optional[Documents]) -> Groups:
    """Returns the documents, or contiguous blocks of items if there are none."""
    if documents is not None:
        return Groups(documents.of_item, documents)
    length = block_length(num_items)
    return Groups([index // length for index in range(num_items)], None, length)


def block_length(num_items: int) -> int:
    """Returns how many neighbours a split keeps together if a file does not mark documents.

    Blocks should be longer than documents, which have about 10 to 15 sentences, but there must be many
    for rare labels to reach each part. So there are about 100 blocks of 10 to 50 sentences; files of
    less than 200 sentences have 20 shorter ones.

    Example:
        >>> [block_length(num) for num in (10, 100, 500, 3_000, 100_000)]
        [1, 5, 10, 30, 50]
    """
    length = min(max(num_items // _NUM_BLOCKS, _SHORTEST_BLOCK), _LONGEST_BLOCK)
    return max(min(length, num_items // _FEWEST_BLOCKS), 1)


def split_groups(
    labels: Sequence[Sequence[str]],
    groups: Groups,
    shares: Sequence[float],
    seed: int,
    name: Union[str, PathLike],
) -> List[int]:
    """Returns each item's part; `stratified_split` assigns whole groups to parts.

    `labels` belong to items and `shares` to parts; `name` is the file's, for messages.
    """
    check_shares(shares)
    if groups.number < len(shares):
        what, remedy = "sentences", "give more of them"
        if groups.documents is not None:
            what = f"documents, told by {groups.documents.told_by}"
            remedy = "name what tells the right ones by `--documents`, or `none` to divide them"
        raise ValueError(
            f"{name}: expected at least {len(shares)} {what}, for as many parts, got {groups.number}; "
            f"{remedy}"
        )
    sizes = Counter(groups.of_item)
    of_groups: Dict[int, Counter[str]] = {group: Counter() for group in sizes}
    for own, group in zip(labels, groups.of_item):
        of_groups[group].update(own)
    parts = stratified_split([*of_groups.values()], shares, seed, [*sizes.values()])
    part_of = dict(zip(sizes, parts))
    return [part_of[group] for group in groups.of_item]
