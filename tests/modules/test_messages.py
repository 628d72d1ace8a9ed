"""Invalid constructor arguments and their messages. `tests/common/test_ranges.py` tests ranges."""

from math import inf, nan

import pytest
import torch
from allennlp.common.checks import ConfigurationError

from tagger.modules import (
    BiLstmEncoder,
    ConditionalRandomField,
    CrfHead,
    LabelThresholds,
    MultiLabelLoss,
    SigmoidHead,
    SoftmaxHead,
    TagWeighting,
    TokenLoss,
    WeightRule,
)
from tagger.modules.class_weights import ClassWeights
from tagger.modules.document_contexts import PooledStates, SameWords
from tagger.modules.term_scores import TermScores
from tagger_texts.tagged_text import Extras
from tests.modules.losses import counts_for
from tests.spans.tagged import vocabulary_of

VOCAB = vocabulary_of(["O", "B-PER", "I-PER", "B-LOC", "I-LOC"])
BALANCED = WeightRule.by_name("balanced")()


def given(built, **defaults):
    """Binds default arguments to a class or a function."""
    return lambda **arguments: built(**{**defaults, **arguments})


def weights(**arguments):
    return ClassWeights(**{"vocab": VOCAB, **arguments})


def weighting(name, **defaults):
    return given(TagWeighting.by_name(name), **defaults)


def loss(base, name):
    return given(base.by_name(name), **counts_for(base, name))


def bce(**arguments):
    return MultiLabelLoss.by_name("binary_cross_entropy")(**{"vocab": VOCAB, **arguments})


def recalibrated(tag_encoding="BIO", **recalibration):
    """Builds a head with recalibration by label."""
    return CrfHead(VOCAB, tag_encoding=tag_encoding, recalibration=recalibration)


def giving(tag_encoding="BIO", **extras):
    CrfHead(VOCAB, tag_encoding=tag_encoding).check(Extras(**extras))


of_tags, of_labels = given(loss, base=TokenLoss), given(loss, base=MultiLabelLoss)
margin = weighting("softmax_margin", vocab=VOCAB)
crf = given(ConditionalRandomField, num_tags=9)
crf_head = given(CrfHead, vocab=VOCAB, tag_encoding="BIO")
softmax_head = given(SoftmaxHead, vocab=VOCAB, tag_encoding="BIO")
bilstm = given(BiLstmEncoder, input_size=7, hidden_size=4)
effective_number = WeightRule.by_name("effective_number")

#: By class or function, the arguments and a pattern of the message.
REFUSED = {
    weights: [
        ({"label_weights": {"PRE": 2.0}}, r"names `PRE`, .*\(PER, LOC\).*; did you mean `PER`\?"),
        ({"label_weights": {"PER": 0}}, "gives `PER` the weight 0; a weight must be a positive"),
        ({"label_weights": {"PER": -1.5}}, "gives `PER` the weight -1.5"),
        ({"label_weights": {"B-PER": nan}}, "gives `B-PER` the weight nan"),
        ({"tag_weights": [1.0, inf]}, "`tag_weights` gives `1` the weight inf"),
        ({}, "exactly one of `tag_weights`"),
        ({"tag_weights": [1.0], "label_weights": {"PER": 1.0}}, "exactly one of `tag_weights`"),
        ({"tag_weights": [1.0], "weight_rule": BALANCED}, "exactly one of"),
        ({"tag_weights": [1.0], "tag_counts": [3]}, "`tag_counts` need a `weight_rule`"),
        ({"label_weights": {"PER": 1.0}, "vocab": None}, "`label_weights` .* need a vocabulary"),
        ({"weight_rule": BALANCED, "vocab": None}, "`weight_rule` need a vocabulary"),
        ({"weight_rule": BALANCED, "label_namespace": "pos_tags"}, "no tags"),
    ],
    TagWeighting.by_name: [
        (
            {"name": "chian"},
            r"`chian` is not a registered name.*softmax_margin\); did you mean `chain`\?$",
        )
    ],
    effective_number: [
        ({"beta": beta}, "`beta` must be above 0 and below 1; got") for beta in (0, 1, -0.5, nan)
    ],
    of_tags(name="cross_entropy"): [
        ({"label_smoothing": 1.0}, "`label_smoothing` must be .*; got 1.0"),
        ({"label_smoothing": -0.1}, "`label_smoothing` must be .*; got -0.1"),
        (
            {"tag_weights": [1.0], "label_weights": {"PER": 2.0}},
            "at most one of `tag_weights`.*; got 2 of them",
        ),
    ],
    of_tags(name="focal"): [
        ({"gamma": -1.0}, "`gamma` must be .*; got -1.0"),
        ({"gamma": nan}, "`gamma` must be .*; got nan"),
    ],
    of_tags(name="class_balanced"): [
        ({"beta": 1.0}, "`beta` must be above 0 and below 1; got 1.0"),
        ({"tag_counts": None}, "need a vocabulary"),
    ],
    of_tags(name="dice"): [
        ({"alpha": -0.5}, "`alpha` must be a finite number of at least 0; got -0.5"),
        ({"smoothing": 0.0}, "`smoothing` must be a finite number above 0; got 0.0"),
    ],
    of_tags(name="logit_adjusted"): [
        ({"tau": inf}, "`tau` must be .*; got inf"),
        ({"tag_counts": None}, "need a vocabulary .* or give `tag_counts`"),
    ],
    bce: [
        ({"positive_weights": {"D": 2}}, "names `D`, which is no label of this vocabulary"),
        ({"positive_weights": {"O": 0}}, "`O` the weight 0; a weight must be a positive finite"),
        ({"positive_weights": {"O": 1}, "weight_rule": BALANCED}, "not both"),
        ({"positive_weights": {"O": 2.0}, "vocab": None}, "need `vocab` to look labels up"),
    ],
    of_labels(name="focal"): [
        ({"gamma": -1}, "`gamma` must be .* at least 0, 0 for no focal factor; got -1"),
        ({"alpha": 1.0}, "`alpha` must be above 0 and below 1; got 1.0"),
    ],
    of_labels(name="asymmetric"): [
        ({"negative_gamma": -1}, "`negative_gamma` must be .* at least 0.*; got -1"),
        ({"margin": 1}, "`margin` must be at least 0 and below 1; got 1"),
    ],
    of_labels(name="hill"): [
        ({"steepness": 0.5}, "`steepness` must be at least 1; got 0.5"),
        ({"margin": -1}, "`margin` must be at least 0; got -1"),
    ],
    of_labels(name="self_paced_correction"): [
        ({"threshold": 1}, "`threshold` must be above 0 and below 1; got 1"),
        ({"margin": -1}, "`margin` must be at least 0; got -1"),
        ({"warm_up_epochs": -1}, "`warm_up_epochs` must be .*; got -1"),
    ],
    of_labels(name="class_balanced_focal"): [
        ({"beta": 1.0}, "`beta` must be at least 0.*; got 1.0"),
        ({"mode": "average"}, "`mode` must be one of by_class, .*; got 'average'; did you mean"),
        (
            {"weight_norm": "batch"},
            "`weight_norm` must be one of by_instance, by_batch; got 'batch'",
        ),
        ({"label_counts": None}, "`label_counts`, .* or else `vocab`; got None"),
        ({"num_items": None}, "`label_counts`, .* or else `vocab`; got"),
        ({"label_counts": [3], "num_items": 2}, "`label_counts`, .* or else `vocab`; got"),
    ],
    of_labels(name="rebalanced_focal"): [
        ({"alpha": -0.1}, "`alpha` must be at least 0; got -0.1"),
        ({"beta": inf}, "`beta` must be at least 0"),
        ({"gamma": "auto"}, "`gamma` must be a number, .* got 'auto'; .* set `mu: 'auto'`"),
    ],
    of_labels(name="distribution_balanced"): [
        ({"mu": nan}, "`mu` must be a finite number"),
        ({"mu": "automatic"}, "`mu` must be a finite number, or 'auto'; got 'automatic'"),
        ({"mu": "auto"}, "`mu: 'auto'` is computed from the training data.*; give a number"),
    ],
    of_labels(name="negative_tolerant"): [
        ({"kappa": -1}, "`kappa` must be at least 0"),
        ({"negative_scale": 0}, "`negative_scale` must be above 0"),
    ],
    of_labels(name="class_balanced_negative_tolerant"): [
        ({"beta": -0.5}, "`beta` must be at least 0")
    ],
    margin: [
        ({"cost": [[0.0, 1.0]]}, r"`cost` must have 1 rows of 1 numbers.*rows of \[2\]"),
        ({"cost": [[0.0, -1.0], [0.0, 0.0]]}, "gives tag 1 where 0 is right the cost -1.0"),
        ({"cost": [[0.0, 1.0], [0.0, 1.0]]}, "gives the right tag 1 the cost 1.0"),
        ({"missing": nan}, "`missing` gives all labels the cost nan"),
        ({"inventing": {"PRE": 1.0}}, r"`inventing` names `PRE`, .*; did you mean `PER`\?"),
        ({"confusing": 1.0, "vocab": None}, "need a vocabulary to look labels up"),
        ({"cost": [[0.0]], "tag_weights": [1.0, 1.0]}, "`cost` must have 2 rows of 2"),
    ],
    weighting("marginal"): [
        ({"gamma": gamma}, "`gamma` must be a finite number of at least 0")
        for gamma in (-1.0, nan, inf)
    ],
    weighting("emission_transition", tag_weights=[1.0]): [
        ({"transition_weight": "both"}, "`transition_weight` must be 'to' or 'from'")
    ],
    crf: [
        ({"num_tags": 0}, "`num_tags` must be at least 1, the number of tags; got 0"),
        ({"num_tags": "chain"}, "`num_tags` must be at least 1, .*; got 'chain'"),
        ({"constraints": True}, "`constraints` must be pairs of .*; got True"),
        ({"constraints": [(0, 1, 2)]}, r"`constraints` must be pairs.*got \[\(0, 1, 2"),
        ({"constraints": torch.ones(9, 9).bool()}, r"`constraints` must be \(11, 11\) for 9 tags"),
        ({"constraints": [(0, 11)]}, r"names the transition \(0, 11\)"),
        (
            {"weighting": "marginal"},
            r"`TagWeighting` or `None`; got 'marginal'; .*`TagWeighting.by_name\('marginal'\)\(tag_",
        ),
        ({"weighting": {"type": "chain"}}, r"got \{'type': 'chain'\}; build one"),
        ({"weighting": TagWeighting.by_name("chain")}, "got <class .*; build one"),
        (
            {"weighting": TagWeighting.by_name("lannoy")(tag_weights=[1.0])},
            "one weight for each of the 9 tags; got 1",
        ),
    ],
    crf_head: [
        ({"decode_bias": {"Z": 1}}, r"`decode_bias` names `Z`, .* \(LOC, PER\)"),
        ({"entity_thresholds": {"per": 0.5}}, "`entity_thresholds` names `per`"),
        ({"decode_bias": {"PER": nan}}, "`decode_bias` gives `PER` nan"),
        ({"entity_thresholds": {"PER": 1.5}}, "`PER` 1.5; it must be a number from 0 to 1"),
        ({"decoding": "virtebi"}, "`decoding` must be one of.*did you mean `viterbi`"),
        ({"tag_encoding": None, "entity_thresholds": {"PER": 0.5}}, "needs tags that spell"),
        ({"tag_encoding": "IOB1", "decode_bias": {"PER": 1}}, "`decode_bias` cannot be .*IOB1"),
        ({"distillation_weight": 2}, "`distillation_weight` must be from 0.*; got 2"),
    ],
    recalibrated: [
        ({"Z": [1, 1, 0]}, r"`recalibration` names `Z`, which is no label .* \(LOC, PER\)"),
        ({"PER": [1, 0, 0]}, r"gives `PER` \[1, 0, 0\]; .* three numbers, the first two above 0"),
        ({"PER": [1, 1]}, "must be three numbers"),
        ({"PER": [1, 1, "a"]}, "must be three numbers"),
        ({"PER": [1, 1, 0], "tag_encoding": None}, "these are plain labels; leave it out"),
    ],
    giving: [
        ({"leak_labels": ("Z",)}, "`leak_labels` names `Z`, which is no label of this tagger"),
        ({"tag_encoding": None, "leak_labels": ("PER",)}, "`leak_labels` needs tags that spell"),
        ({"candidates": 0.0}, "`candidates` must be a probability above 0 and at most 1"),
        ({"tag_encoding": "IOB1", "candidates": 0.5}, "`candidates` needs .*; these are IOB1; "),
        ({"tag_encoding": None, "candidates": 0.5}, "`candidates` needs .* plain labels; leave"),
    ],
    softmax_head: [
        (
            {"constrain_decoding": True, "tag_encoding": None},
            "`constrain_decoding` needs tags that spell spans; got O, B-",
        ),
        (
            {"constrain_decoding": True, "vocab": vocabulary_of(["O", "L-PER"])},
            "'L-PER', which is no BIO tag",
        ),
        ({"label_namespace": "pos_tags"}, "no tags in its namespace `pos_tags`"),
    ],
    given(SigmoidHead, vocab=VOCAB): [
        ({"tag_encoding": "BIO"}, "look like BIO tags: O, B-PER, I-PER"),
        ({"threshold": 1.0}, "`threshold` must be a probability"),
    ],
    given(LabelThresholds, vocab=VOCAB): [
        ({"threshold": threshold}, "`threshold` must be a probability")
        for threshold in (0, 1, -0.5, nan)
    ],
    bilstm: [
        ({"hidden_size": 0}, "`hidden_size` must be at least 1; got 0"),
        ({"precision": "int8"}, "`precision` must be one of float32, bfloat16, auto; got 'int8'"),
    ],
    given(SameWords, input_size=5): [
        ({"size": 0}, "`size` must be at least 1; got 0"),
        ({"dropout": 1.0}, "`dropout` must be at least 0 and below 1; got 1.0"),
    ],
    given(PooledStates, input_size=5): [
        ({"size": 0}, "`size` must be at least 1; got 0"),
        ({"dropout": -0.1}, "`dropout` must be at least 0 and below 1; got -0.1"),
    ],
    TermScores: [({"vocab": VOCAB}, "has no words in its namespace `tokens`; give")],
}


@pytest.mark.parametrize(
    ("build", "arguments", "message"),
    [(build, *row) for build, rows in REFUSED.items() for row in rows],
)
def test_invalid_arguments_are_refused(build, arguments, message):
    with pytest.raises(ConfigurationError, match=message):
        build(**arguments)
