"""A CRF on a token-classification model of the `transformers` library."""

from types import SimpleNamespace
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

import torch
from transformers import (
    AutoConfig,
    AutoModelForTokenClassification,
    PretrainedConfig,
    PreTrainedModel,
)
from transformers.modeling_outputs import TokenClassifierOutput

from tagger.common.from_allennlp import ConfigurationError
from tagger.integrations.huggingface.word_pieces import MASKED
from tagger.linear_chain import ChainScores
from tagger.modules import TagWeighting, WeightRule
from tagger.modules.conditional_random_field import ConditionalRandomField
from tagger.spans import infer_encoding, transition_table
from tagger_compat import outside_transformers

# Arguments that are converted to `tag_weights` and `cost`.
_BY_LABEL = ("label_weights", "weight_rule", "tag_counts", "missing", "inventing", "confusing")


class CrfConfig(PretrainedConfig):
    """The `config.json` of a `CrfForTokenClassification`.

    The labels are stored here and copied to the transformer when its model is built. All its other
    settings, such as the vocabulary size, are in `backbone`, the same object that its model holds.

    Args:
        backbone: The configuration of the token-classification model under the CRF, as an object or as
            a dictionary with a `model_type`.
        tag_encoding: How the tags in `id2label` spell spans; `None` for plain labels.
        weighting: The class weighting: its `type` and the arguments of that class, with weights by tag
            index rather than label; see `resolved_weighting`. `None` for the plain likelihood.
        constrain_decoding: Whether only sequences that `tag_encoding` allows are predicted.
        constrain_training: Whether the likelihood is restricted to these sequences too.
        **kwargs: Arguments of `PretrainedConfig`; `id2label` names the tags.
    """

    model_type = "crf_token_classification"
    # Makes transformers pass `dtype` and `attn_implementation` on to the backbone.
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
            # Otherwise the base class would set it to `None` in the backbone too.
            kwargs["attn_implementation"] = self.backbone._attn_implementation
        super().__init__(**kwargs)

    @property
    def tags(self) -> List[str]:
        """The tags in the order of their indices."""
        return [self.id2label[k] for k in range(len(self.id2label))]

    def get_text_config(self, *args: Any, **kwargs: Any) -> PretrainedConfig:
        """Returns the configuration that `resize_token_embeddings` and similar methods update."""
        if self.backbone is None:
            return super().get_text_config(*args, **kwargs)
        return self.backbone.get_text_config(*args, **kwargs)

    def make_weighting(self) -> Optional[TagWeighting]:
        """Makes the weighting described by `weighting`."""
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
        weighting: The `type` of a `TagWeighting` and its arguments, as in an AllenNLP config, such as
            `{"type": "chain", "label_weights": {"PER": 2}}`.
        tags: All tags in index order.
        tag_counts: How often each tag occurs in the training data; required for a `weight_rule`.
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
    # The only part of AllenNLP's `Vocabulary` that weightings use.
    vocab: Any = SimpleNamespace(get_index_to_token_vocabulary=lambda _: dict(enumerate(tags)))
    made: Any = TagWeighting.by_name(name)(vocab=vocab, **arguments)
    for by_label in _BY_LABEL:
        arguments.pop(by_label, None)
    resolved = {"type": name, **arguments, "tag_weights": made.tag_weights.tolist()}
    return {**resolved, "cost": made.cost.tolist()} if hasattr(made, "cost") else resolved


class CrfForTokenClassification(PreTrainedModel):
    """A weighted CRF on top of any `AutoModelForTokenClassification`, with its logits as emissions.

    The chain runs over the first word piece of each word. Special tokens and all other pieces have the
    label -100 and are skipped, so the words on either side of them are neighbours. A word with an
    unknown tag has the label -1.

    `save_pretrained` and `from_pretrained` work as for every model of the library. `config.json` stores
    the weighting. Class weights only affect training.

    Args:
        config: The configuration, as `from_backbone` makes it.

    Raises:
        ConfigurationError: If `constrain_training` is true for plain labels, or without
            `constrain_decoding`.
    """

    config_class = CrfConfig
    base_model_prefix = "token_classifier"
    supports_gradient_checkpointing = True
    # The model under the CRF checks whether it supports each of these.
    _supports_sdpa = _supports_flash_attn = _supports_flash_attn_2 = _supports_flex_attn = True
    _supports_attention_backend = True
    # The loss is a mean over sequences; the trainer averages it over accumulated batches.
    accepts_loss_kwargs = False

    def __init__(self, config: CrfConfig) -> None:
        super().__init__(config)
        constraints = None
        if config.tag_encoding is not None and config.constrain_decoding:
            constraints = torch.from_numpy(transition_table(config.tag_encoding, config.tags))
        if config.constrain_training and constraints is None:
            raise ConfigurationError(
                "`constrain_training` needs tags that spell spans, and `constrain_decoding`; set it to "
                "false, or name the tags as BIO or another encoding does"
            )
        config.backbone.id2label, config.backbone.label2id = config.id2label, config.label2id
        self._set_token_classifier(
            AutoModelForTokenClassification.from_config(config.backbone, trust_remote_code=False)
        )
        self.crf = ConditionalRandomField(
            len(config.tags),
            constraints,
            weighting=config.make_weighting(),
            constrain_training=config.constrain_training,
        )
        self.post_init()

    def _set_token_classifier(self, model: PreTrainedModel) -> None:
        """Puts a model under the CRF and lets both share one backbone configuration."""
        self.token_classifier = model
        self.config.backbone = model.config

    @classmethod
    def from_backbone(
        cls,
        name_or_path: str,
        tags: Sequence[str],
        weighting: Optional[Mapping[str, Any]] = None,
        tag_counts: Optional[Mapping[str, int]] = None,
        constrain_decoding: bool = True,
        constrain_training: bool = False,
        **kwargs: Any,
    ) -> "CrfForTokenClassification":
        """Builds a model from pretrained weights, with a new emission layer and a new CRF.

        `name_or_path` and `kwargs` are passed to `AutoModelForTokenClassification.from_pretrained`.
        `tags`, such as `["O", "B-PER", "I-PER"]`, `weighting` and `tag_counts` are as in
        `resolved_weighting`, and the constraints as in `CrfConfig`.

        Raises:
            ConfigurationError: If the tags, the weighting or the constraints are invalid, or if the
                model comes with custom code and TAGGER_TRUST_REMOTE_CODE is not 1.
        """
        id2label = dict(enumerate(tags))
        label2id = {tag: index for index, tag in id2label.items()}
        if len(label2id) < len(tags):
            raise ConfigurationError(f"`tags` must be distinct; got {', '.join(tags)}")
        if weighting is not None:
            weighting = resolved_weighting(weighting, tags, tag_counts)
        kwargs.setdefault("trust_remote_code", outside_transformers.may_run_code())
        with outside_transformers.transformer_loaded(name_or_path):
            pretrained = AutoModelForTokenClassification.from_pretrained(
                name_or_path, id2label=id2label, label2id=label2id, **kwargs
            )
        config = CrfConfig(
            pretrained.config,
            infer_encoding(tags),
            weighting,
            constrain_decoding,
            constrain_training,
            id2label=id2label,
            label2id=label2id,
        )
        model = cls(config)
        model._set_token_classifier(pretrained)
        return model

    @classmethod
    def from_pretrained(cls, *args: Any, **kwargs: Any) -> Any:
        """Loads a model like `PreTrainedModel.from_pretrained`."""
        loaded = super().from_pretrained(*args, **kwargs)
        model = loaded[0] if isinstance(loaded, tuple) else loaded
        # The library makes every loaded parameter trainable.
        model.crf._constraint_mask.requires_grad_(False)
        return loaded

    def forward(
        self,
        input_ids: Optional[torch.Tensor] = None,
        attention_mask: Optional[torch.Tensor] = None,
        token_type_ids: Optional[torch.Tensor] = None,
        labels: Optional[torch.Tensor] = None,
        **kwargs: Any,
    ) -> Union[TokenClassifierOutput, Any]:
        """Computes the emissions and, given labels, the loss.

        Args:
            input_ids: (B, T) int64.
            attention_mask: (B, T), 1 at the pieces to attend to.
            token_type_ids: (B, T) int64, for models that have them.
            labels: (B, T) int64, the tag of each word at its first piece, -1 if it is unknown, and -100
                at all other positions.
            **kwargs: Further arguments of the model under the CRF.

        Returns:
            The emissions as `logits`, (B, T, K). With `labels` also `loss`, the negative weighted
            log-likelihood averaged over the B sequences.
        """
        if token_type_ids is not None:
            kwargs["token_type_ids"] = token_type_ids
        output = self.token_classifier(input_ids=input_ids, attention_mask=attention_mask, **kwargs)
        if labels is None:
            return output
        logits = output[0]
        loss = -self.crf.log_likelihood(logits, labels, labels != MASKED).mean()
        if not isinstance(output, TokenClassifierOutput):
            return (loss, *output)
        return TokenClassifierOutput(**{**output, "loss": loss})

    def chain_scores(self, logits: torch.Tensor) -> ChainScores:
        """Returns the chain used for decoding, given emissions (B, T, K), for `tagger.linear_chain`."""
        return self.crf.decoding_scores(logits)

    @torch.no_grad()
    def decode(self, logits: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Returns the best tags that the constraints allow, (B, T) int64, -100 where there is no word.

        `logits`, (B, T, K), are the emissions. `mask`, (B, T) bool, is true at the first piece of each
        word, where `labels != -100`.
        """
        paths, _ = self.crf.viterbi_decode(logits, mask)
        return paths.masked_fill(~mask, MASKED)


def crf_model_in(model: torch.nn.Module) -> Optional[CrfForTokenClassification]:
    """Returns the CRF model inside wrappers such as adapters, or `None` for other models."""
    return next((m for m in model.modules() if isinstance(m, CrfForTokenClassification)), None)


AutoConfig.register(CrfConfig.model_type, CrfConfig, exist_ok=True)
AutoModelForTokenClassification.register(CrfConfig, CrfForTokenClassification, exist_ok=True)
