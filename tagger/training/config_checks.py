"""Checks what a config passes to AllenNLP's own parts, which would accept any number, and its model."""

from typing import Any, Dict, Mapping, Optional, Tuple

from allennlp.common.checks import ConfigurationError

#: The keys of integers, or of integers by namespace, with their ranges.
_WHOLE_NUMBERS: Dict[str, Tuple[int, Optional[int]]] = {
    # Seeds of numpy's generator have 32 bits.
    **dict.fromkeys(("random_seed", "numpy_seed", "pytorch_seed"), (0, 2**32 - 1)),
    "dataset_reader.max_instances": (1, None),
    "validation_dataset_reader.max_instances": (1, None),
    "data_loader.batch_size": (1, 1_000_000),
    "validation_data_loader.batch_size": (1, 1_000_000),
    "vocabulary.min_count": (0, None),
    "vocabulary.max_vocab_size": (0, None),
    "trainer.checkpointer.keep_most_recent_by_count": (1, None),
}


def check_config(config: Mapping[str, Any]) -> None:
    """Raises a `ConfigurationError` unless seeds, counts and the trainer's numbers are valid.

    It also refuses an ensemble: each of its members is trained by itself.
    """
    (model_type,) = _values_at(config, "model.type").values()
    if model_type in ("ensemble", "sequence_tagger_ensemble", "document_classifier_ensemble"):
        raise ConfigurationError(
            f"`model.type` is {model_type}, which is not trained as a whole; train each member by its "
            f"own config, such as a `sequence_tagger` with another seed, and join the archives by "
            f"`allennlp ensemble`"
        )
    for path, (least, most) in _WHOLE_NUMBERS.items():
        expected = f"of at least {least}" if most is None else f"from {least} to {most}"
        for name, value in _values_at(config, path).items():
            is_valid = value is None or (_is_whole(value) and least <= value <= (most or value))
            _check(name, value, is_valid, f"a whole number {expected}, or null")
    trainer = config.get("trainer")
    if isinstance(trainer, Mapping):
        check_trainer(trainer, "trainer.")


def _values_at(config: Mapping[str, Any], path: str) -> Dict[str, Any]:
    """Returns the values at a path by their full paths; there may be one per namespace."""
    value: Any = config
    for key in path.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    if isinstance(value, Mapping):
        return {f"{path}.{name}": each for name, each in value.items()}
    return {path: value}


def check_trainer(arguments: Mapping[str, Any], prefix: str = "") -> None:
    """Checks the numbers among a trainer's arguments; errors add the prefix to their names."""
    # With null steps, AllenNLP accumulates the gradients of a whole epoch.
    for name in ("num_epochs", "num_gradient_accumulation_steps", "patience"):
        value, may_be_null = arguments.get(name, 1), name != "num_epochs"
        is_valid = (value is None and may_be_null) or (_is_whole(value) and value >= 1)
        expected = "a whole number of at least 1" + ", or null" * may_be_null
        _check(prefix + name, value, is_valid, expected)
    for name in ("grad_norm", "grad_clipping"):
        value = arguments.get(name)
        is_valid = value is None or value is False or (_is_number(value) and value > 0)
        # With `True`, AllenNLP computes norms for callbacks without scaling gradients.
        is_valid = is_valid or (name == "grad_norm" and value is True)
        _check(prefix + name, value, is_valid, "a number above 0, or null")
    scheduler = arguments.get("learning_rate_scheduler")
    if isinstance(scheduler, Mapping) and scheduler.get("type") == "slanted_triangular":
        share = scheduler.get("cut_frac", 0)
        name = f"{prefix}learning_rate_scheduler.cut_frac"
        _check(name, share, _is_number(share) and 0 <= share < 1, "at least 0 and below 1")


def _check(name: str, value: Any, is_valid: bool, expected: str) -> None:
    if not is_valid:
        raise ConfigurationError(f"`{name}` must be {expected}; got {value!r}")


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_whole(value: Any) -> bool:
    return _is_number(value) and int(value) == value
