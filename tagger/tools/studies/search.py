"""Search files: the settings of a config to search, the metric to improve, and the budget."""

from pathlib import Path
from typing import Any, Dict, List, Mapping, NamedTuple, Optional

import optuna
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError

from tagger.common.did_you_mean import did_you_mean
from tagger.common.ranges import is_number
from tagger.tools.studies.variants import check_keys

_RANGE = ("least", "most", "log", "whole")
_SETTING = "a range, such as {least: 0.5, most: 8, log: true}, or a list of choices"
_METRIC = (
    'a metric such as "f1-measure-macro" or "-loss"; {label: "PER", beta: 2} for an F score; or '
    '{label: "PER", precision: 0.9} for the recall at a precision'
)
_FORMS: Dict[str, Any] = {
    "config": (dict, "a config"),
    "search": (dict, f"an object that gives each setting {_SETTING}"),
    "metric": ((str, dict), _METRIC),
    "seeds": (list, "a list of numbers, such as [1]"),
}


class Metric(NamedTuple):
    """What a search improves: a metric of the model, the F score of a label, or a recall."""

    name: str = ""  # The metric of the model; lower is better after a minus
    label: str = ""  # Otherwise a label, with one of:
    beta: Optional[float] = None  # How much more recall counts than precision in an F score
    precision: Optional[float] = None  # The least precision, for the recall that it allows

    def __str__(self) -> str:
        if self.beta is not None:
            return f"F{self.beta:g} of {self.label}"
        if self.precision is not None:
            return f"recall of {self.label} at a precision of {self.precision:g}"
        return self.name.lstrip("+-")

    def value(self, metrics: Mapping[str, float], trainer: Any) -> float:
        """Returns the value of a trainer's model, which has these metrics on the validation data."""
        if self.precision is not None:
            return self._recall(trainer, self.precision)
        names = [str(self)] if self.name else [f"precision-{self.label}", f"recall-{self.label}"]
        for name in names:
            if name not in metrics:
                hint = did_you_mean(name, metrics) or f" ({', '.join(list(metrics)[:9])}, ...)"
                raise ConfigurationError(f"`metric` needs `{name}`, which this model lacks{hint}")
        first, *others = (metrics[name] for name in names)
        if self.beta is None:
            return first
        total = self.beta**2 * first + others[0]
        return (1 + self.beta**2) * first * others[0] / total if total else 0.0

    def _recall(self, trainer: Any, precision: float) -> float:
        """Tunes the decoding of the label; 0 if no setting reaches the precision."""
        from tagger.tools.tuning.goals import Goal
        from tagger.tools.tuning.labelled_file import decoding_tuner, settings_of

        goal, average = Goal((self.label,), "precision", precision), trainer._moving_average
        if average is not None:
            average.assign_average_value()
        try:
            instances = list(trainer._validation_data_loader.iter_instances())
            tuner = decoding_tuner(trainer.model, instances)
            counts = tuner.counts(tuner.tune([goal], settings_of(trainer.model)))
        except ConfigurationError as error:
            raise ConfigurationError(f"`metric` is the {self}: {error}") from error
        finally:
            if average is not None:
                average.restore()
        is_met, recall, _ = goal.merit(counts, tuner.labels)
        return recall if is_met else 0.0


class Search(NamedTuple):
    """The contents of a search file."""

    config: Dict[str, Any]  # The config to change
    search: Dict[str, optuna.distributions.BaseDistribution]  # The settings by dotted name
    metric: Metric
    seeds: List[int]  # The value of a trial is the mean over these seeds of training
    trials: Optional[int] = None  # The most trials
    minutes: Optional[float] = None  # How long a command may start trials
    prune: bool = True  # Whether to stop trials that are worse than most after as many epochs


def read_search(path: Path) -> Search:
    """Reads a search file."""
    found = Params.from_file(path).as_dict(quiet=True)
    check_keys(found, Search._fields, path, "with `search`, a study file has")
    for key, (form, expected) in _FORMS.items():
        if not isinstance(found.get(key), form) or not found[key]:
            raise ValueError(f"{path} gives `{key}` as {found.get(key)!r}; expected {expected}")
    budgets = [found[key] for key in ("trials", "minutes") if found.get(key) is not None]
    if not budgets or not all(is_number(each) and each > 0 for each in budgets):
        raise ValueError(f"{path} must limit the search with `trials` or `minutes`, above 0")
    settings, space = settings_of_config(found["config"]), {}
    for name, setting in found["search"].items():
        if name not in settings:
            raise ValueError(
                f"{path} names `{name}` in `search`, but `config` has no such setting; give it a "
                f"value there{did_you_mean(name, settings)}"
            )
        try:
            space[name] = _distribution(setting, settings[name])
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(
                f"{path} gives `{name}` in `search` as {setting!r}; expected {_SETTING} ({error})"
            ) from error
    metric = found["metric"] if isinstance(found["metric"], dict) else {"name": found["metric"]}
    beta, precision = metric.get("beta", 1), metric.get("precision", 1)
    is_known = set(metric) in ({"name"}, {"label", "beta"}, {"label", "precision"})
    if not (is_known and is_number(beta) and beta > 0 and is_number(precision, 0, 1)):
        raise ValueError(f"{path} gives `metric` as {metric!r}; expected {_METRIC}")
    return Search(**{**found, "search": space, "metric": Metric(**metric)})


def _distribution(setting: Any, own: Any) -> optuna.distributions.BaseDistribution:
    """Returns a setting's range or choices, which must include the config's own value."""
    distribution: Any
    if isinstance(setting, list):
        distribution = optuna.distributions.CategoricalDistribution(setting)
    else:
        for key in setting:
            if key not in _RANGE:
                raise ValueError(f"unknown key `{key}`{did_you_mean(key, _RANGE)}")
        kind = "IntDistribution" if setting.get("whole") else "FloatDistribution"
        bounds = setting["least"], setting["most"], setting.get("log", False)
        distribution = getattr(optuna.distributions, kind)(*bounds)
    if not distribution._contains(distribution.to_internal_repr(own)):
        raise ValueError(f"the search starts from the config's own value, {own!r}, so include it")
    return distribution


def settings_of_config(config: Any, prefix: str = "") -> Dict[str, Any]:
    """Returns the values of a config by dotted name.

    Example:
        >>> settings_of_config({"optimizer": {"lr": 0.1, "betas": [0.9, 0.98]}})
        {'optimizer.lr': 0.1, 'optimizer.betas.0': 0.9, 'optimizer.betas.1': 0.98}
    """
    if not isinstance(config, (dict, list)):
        return {prefix[:-1]: config}
    items = config.items() if isinstance(config, dict) else enumerate(config)
    parts = [settings_of_config(each, f"{prefix}{key}.") for key, each in items]
    return {name: value for part in parts for name, value in part.items()}
