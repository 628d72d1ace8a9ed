"""The configuration of a CRF on a token-classification model."""

from types import SimpleNamespace
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from transformers import AutoConfig, PretrainedConfig

from tagger.common.from_allennlp import ConfigurationError
from tagger.modules import TagWeighting, WeightRule

# Arguments that become `tag_weights` and `cost`.
_BY_LABEL = ("label_weights", "weight_rule", "tag_counts", "missing", "inventing", "confusing")


class CrfConfig(PretrainedConfig):
    """What `config.json` of a `CrfForTokenClassification` holds.

    The labels stand here, and the transformer gets them when its model is made. All else about it, such
    as the size of its vocabulary, stands in `backbone`, which its model shares.

    Args:
        backbone: The configuration of the token-classification model under the CRF, or that as a
            dictionary with its `model_type`.
        tag_encoding: How the tags in `id2label` spell spans; `None` for plain labels.
        weighting: The class weighting: its `type` and the arguments of that class, without names of
            labels; see `resolved_weighting`. `None` for the plain likelihood.
        constrain_decoding: Whether only sequences that `tag_encoding` allows are predicted.
        constrain_training: Whether the likelihood, too, is over these sequences only.
        **kwargs: The arguments of `PretrainedConfig`, of which `id2label` names the tags.
    """

    model_type = "crf_token_classification"
    # With this, transformers hands `dtype` and `attn_implementation` on to the backbone.
    sub_configs = {"backbone": AutoConfig}  # noqa: RUF012

    def __init__(
        self,
        backbone: Union[PretrainedConfig, Mapping[str, Any], None] = None,
        tag_encoding: Optional[str] = None,
        weighting: Optional[Dict[str, Any]] = None,
        constrain_decoding: bool = True,
        constrain_training: bool = False,
        **kwargs: Any,
    ) -> None:
        self.backbone: Any = backbone
        if backbone is not None and not isinstance(backbone, PretrainedConfig):
            settings = dict(backbone)
            self.backbone = AutoConfig.for_model(settings.pop("model_type"), **settings)
        self.tag_encoding = tag_encoding
        self.weighting = weighting
        self.constrain_decoding = constrain_decoding
        self.constrain_training = constrain_training
        if kwargs.get("attn_implementation") is None and backbone is not None:
            # It would be set to `None` in the backbone, too.
            kwargs["attn_implementation"] = self.backbone._attn_implementation
        super().__init__(**kwargs)

    @property
    def tags(self) -> List[str]:
        """The tags in the order of their indices."""
        return [self.id2label[k] for k in range(len(self.id2label))]

    def get_text_config(self, *args: Any, **kwargs: Any) -> PretrainedConfig:
        """Returns the configuration that `resize_token_embeddings` and others ask and change."""
        if self.backbone is None:
            return super().get_text_config(*args, **kwargs)
        return self.backbone.get_text_config(*args, **kwargs)

    def make_weighting(self) -> Optional[TagWeighting]:
        """Makes the weighting that `weighting` describes."""
        if self.weighting is None:
            return None
        arguments = dict(self.weighting)
        return TagWeighting.by_name(arguments.pop("type"))(**arguments)


def resolved_weighting(
    weighting: Mapping[str, Any],
    tags: Sequence[str],
    tag_counts: Optional[Mapping[str, int]] = None,
) -> Dict[str, Any]:
    """Replaces labels and rules in a description of a weighting by `tag_weights` and `cost`.

    Args:
        weighting: The `type` of a `TagWeighting` and its arguments as in a config of AllenNLP, such as
            `{"type": "chain", "label_weights": {"PER": 2}}`.
        tags: All tags, in the order of their indices.
        tag_counts: How often training shows each tag, which a `weight_rule` needs.
    """
    arguments = dict(weighting)
    if "type" not in arguments:
        raise ConfigurationError(
            f"`weighting` must name its `type`, one of {', '.join(TagWeighting.list_available())}; "
            f"got {weighting!r}"
        )
    name = arguments.pop("type")
    rule = arguments.get("weight_rule")
    if rule is not None:
        if tag_counts is None:
            raise ConfigurationError(
                f"`weight_rule` needs the tags of the training data; give `tag_counts`, a count for "
                f"each of {', '.join(tags)}"
            )
        options = {"type": rule} if isinstance(rule, str) else dict(rule)
        arguments["weight_rule"] = WeightRule.by_name(options.pop("type"))(**options)
        arguments["tag_counts"] = [tag_counts.get(tag, 0) for tag in tags]
    # What weightings read of AllenNLP's `Vocabulary`.
    vocab: Any = SimpleNamespace(get_index_to_token_vocabulary=lambda _: dict(enumerate(tags)))
    made: Any = TagWeighting.by_name(name)(vocab=vocab, **arguments)
    for by_label in _BY_LABEL:
        arguments.pop(by_label, None)
    resolved = {"type": name, **arguments, "tag_weights": made.tag_weights.tolist()}
    return {**resolved, "cost": made.cost.tolist()} if hasattr(made, "cost") else resolved
