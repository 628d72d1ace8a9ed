"""Checks of what a config gives to AllenNLP's own parts, which take any number.

The parts of this package check their arguments themselves.
"""

from typing import Any, Mapping

from allennlp.common.checks import ConfigurationError

#: The largest seed of numpy's generator.
_MOST = 2**32 - 1


def check_config(config: Mapping[str, Any]) -> None:
    """Checks the seeds of a config, and its trainer's numbers, before anything is built of it.

    Raises:
        ConfigurationError: If a value is of another type, or out of its range.
    """
    for name in ("random_seed", "numpy_seed", "pytorch_seed"):
        seed = config.get(name, 0)
        is_valid = seed is None or (_is_whole(seed) and 0 <= seed <= _MOST)
        _check(name, seed, is_valid, f"a whole number from 0 to {_MOST}, or null")
    trainer = config.get("trainer")
    if isinstance(trainer, Mapping):
        check_trainer(trainer, "trainer.")


def check_trainer(arguments: Mapping[str, Any], prefix: str = "") -> None:
    """Checks the numbers among a trainer's arguments, whose names have a prefix in errors.

    Raises:
        ConfigurationError: If a value is of another type, or out of its range.
    """
    for name in ("num_epochs", "num_gradient_accumulation_steps"):
        value = arguments.get(name, 1)
        is_valid = _is_whole(value) and value >= 1
        _check(prefix + name, value, is_valid, "a whole number of at least 1")
    value = arguments.get("patience")
    is_valid = value is None or (_is_whole(value) and value >= 1)
    _check(f"{prefix}patience", value, is_valid, "a whole number of at least 1, or null")
    for name in ("grad_norm", "grad_clipping"):
        value = arguments.get(name)
        is_valid = value is None or value is False or (_is_number(value) and value > 0)
        # By `True` AllenNLP computes norms for callbacks, and scales nothing.
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
