"""Our CRF under the name by which pytorch-crf's own tests import theirs."""

from tagger.modules.torchcrf import CRF

__all__ = ["CRF"]
