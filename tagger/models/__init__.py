"""Models."""

from typing import TYPE_CHECKING

import tagger.common.needs_allennlp  # noqa: F401
from tagger.common.lazy_names import lazy_names

if TYPE_CHECKING:
    from tagger.models.document_classifier import DocumentClassifier
    from tagger.models.sequence_tagger import SequenceTagger
    from tagger.models.sequence_tagger_ensemble import SequenceTaggerEnsemble
    from tagger.models.tagging_model import TaggingModel

__all__ = ["DocumentClassifier", "SequenceTagger", "SequenceTaggerEnsemble", "TaggingModel"]

lazy_names(__name__)
