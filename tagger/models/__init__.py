"""Models."""

import tagger.common.needs_allennlp  # noqa: F401
from tagger.models.document_classifier import DocumentClassifier
from tagger.models.sequence_tagger import SequenceTagger
from tagger.models.sequence_tagger_ensemble import SequenceTaggerEnsemble
from tagger.models.tagging_model import TaggingModel

__all__ = ["DocumentClassifier", "SequenceTagger", "SequenceTaggerEnsemble", "TaggingModel"]
