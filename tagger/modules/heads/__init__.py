"""Tagging heads, which turn emissions into a loss and tags, and the chain that `as_chain` returns."""

import tagger.common.needs_allennlp  # noqa: F401
from tagger.modules.heads.chain import Chain as Chain
from tagger.modules.heads.chain_head import ChainHead as ChainHead, SoftmaxHead as SoftmaxHead
from tagger.modules.heads.crf import CrfHead as CrfHead
from tagger.modules.heads.label_chains import LabelChainsHead as LabelChainsHead
from tagger.modules.heads.sigmoid import SigmoidHead as SigmoidHead
from tagger.modules.heads.tagging_head import TaggingHead as TaggingHead
