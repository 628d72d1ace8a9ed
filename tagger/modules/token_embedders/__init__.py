"""Token embedders."""

import tagger.common.needs_allennlp  # noqa: F401
