"""Tagging heads, which turn emissions into a loss and tags, and the chain that `as_chain` returns."""

import tagger.common.needs_allennlp  # noqa: F401
from tagger.modules.heads.chain import Chain
from tagger.modules.heads.chain_head import ChainHead, SoftmaxHead
from tagger.modules.heads.crf import CrfHead
from tagger.modules.heads.label_chains import LabelChainsHead
from tagger.modules.heads.sigmoid import SigmoidHead
from tagger.modules.heads.tagging_head import TaggingHead

__all__ = [
    "Chain",
    "ChainHead",
    "CrfHead",
    "LabelChainsHead",
    "SigmoidHead",
    "SoftmaxHead",
    "TaggingHead",
]
