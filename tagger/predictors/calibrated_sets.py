"""Sets of answers as `tune-decoding --sets` calibrates them, stored in an archive."""

import json
from pathlib import Path
from typing import NamedTuple, Optional, Union

from allennlp.common.checks import ConfigurationError
from allennlp.common.file_utils import cached_path
from allennlp.models import Model

from tagger.common.ranges import is_number
from tagger.models import TaggingModel
from tagger_compat.archive_guard import printable
from tagger_compat.tar_files import read_member
from tagger_texts.tagged_text import Extras, SetThresholds

#: The name of the file in an archive with the thresholds of sets.
SETS_NAME = "sets.json"


class CalibratedSets(NamedTuple):
    """Thresholds of sets, and what they promise for data with units drawn like those given."""

    confidence: float  # The probability that a set holds the truth
    unit: str  # The unit that is drawn: see `Groups.kind`
    num_units: int  # How many units the data had
    least_probability: Optional[float]  # See `SetThresholds`, as for the next
    most_before: Optional[float]
    num_entities: int
    num_sentences: int
    data: str  # The name of the file
    sha256: str  # The digest of the file
    date: str  # The date of the command, as in `2026-01-31`

    @property
    def thresholds(self) -> SetThresholds:
        """The thresholds alone."""
        return SetThresholds(self.least_probability, self.most_before)

    def to_json(self) -> str:
        """Formats the record for `saved_sets`."""
        return json.dumps(self._asdict(), indent=2)


def saved_sets(archive_file: Union[str, Path]) -> Optional[CalibratedSets]:
    """Returns the calibrated sets in an archive; None if it has none."""
    path = cached_path(archive_file)
    content = None if Path(path).is_dir() else read_member(path, SETS_NAME)
    if content is None:
        return None
    try:
        found = CalibratedSets(**json.loads(content))
    except (RecursionError, TypeError, ValueError):
        found = None
    if found is None or not _is_valid(found):
        raise ConfigurationError(
            f"{archive_file}: `{SETS_NAME}` must hold what `tune-decoding --sets` writes; calibrate "
            "the tagger again"
        )
    return found


def set_thresholds(archive_file: Union[str, Path, None], model: Model) -> SetThresholds:
    """Returns the thresholds of an archive's sets; refuses one without, and a model without a chain."""
    if isinstance(model, TaggingModel):
        model.head.check(Extras(sets=SetThresholds(1.0, 0.0)))
    else:
        raise ConfigurationError(
            "`sets` needs a tagger with the head `crf`, `softmax` or `label_chains`, and tags that "
            "spell entities; leave it out"
        )
    found = None if archive_file is None else saved_sets(archive_file)
    if found is None:
        name = archive_file or "this tagger"
        raise ConfigurationError(
            f"{name} has no calibrated sets; run `allennlp tune-decoding {archive_file or 'ARCHIVE'} "
            "HELD_OUT_FILE --sets 0.95 -o NEW_ARCHIVE`, and use the archive that it writes"
        )
    return found.thresholds


def _is_valid(found: CalibratedSets) -> bool:
    """Whether values have the right types and ranges and contain no terminal control sequences."""
    texts = (found.unit, found.data, found.sha256, found.date)
    counts = (found.num_units, found.num_entities, found.num_sentences)
    shares = (found.confidence, found.least_probability, found.most_before)
    return (
        all(isinstance(each, str) and printable(each) == each for each in texts)
        and all(type(each) is int and each >= 0 for each in counts)
        and all(each is None or is_number(each, 0, 1) for each in shares)
        and found.confidence is not None
        and found.least_probability != 0
        and (found.least_probability, found.most_before) != (None, None)
    )
