"""Models."""

from typing import TYPE_CHECKING

import tagger.common.needs_allennlp  # noqa: F401
from tagger.common.lazy_names import lazy_names

if TYPE_CHECKING:
    from tagger.models.classifying_model import ClassifyingModel as ClassifyingModel
    from tagger.models.document_classifier import DocumentClassifier as DocumentClassifier
    from tagger.models.document_classifier_ensemble import (
        DocumentClassifierEnsemble as DocumentClassifierEnsemble,
    )
    from tagger.models.sequence_tagger import SequenceTagger as SequenceTagger
    from tagger.models.sequence_tagger_ensemble import (
        SequenceTaggerEnsemble as SequenceTaggerEnsemble,
    )
    from tagger.models.tagging_model import TaggingModel as TaggingModel

lazy_names(__name__)
