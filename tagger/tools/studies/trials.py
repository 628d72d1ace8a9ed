"""Runs the trials of a search: training runs with settings that Optuna suggests."""

import json
import time
from contextlib import ExitStack
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory
from typing import Any, Dict, Iterator, Mapping, Optional

import numpy as np
import optuna
from allennlp.commands.train import TrainModel
from allennlp.common import Params
from allennlp.common.params import with_overrides
from allennlp.common.util import prepare_environment
from allennlp.training.callbacks import TrainerCallback
from allennlp.training.util import evaluate
from filelock import FileLock, Timeout
from optuna.trial import FrozenTrial, TrialState

from tagger.common.console import say
from tagger.common.training_counts import supply_training_counts
from tagger.metrics.metrics_table import BEST_PREFIX
from tagger.tools.reports.figures import draw_epochs
from tagger.tools.runs.jobs import METRICS_FILE, Job, default_num_workers, run_lazily, seeded_jobs
from tagger.tools.runs.results import format_rows, write_table
from tagger.tools.runs.work import train
from tagger.tools.studies.search import Metric, Search, settings_of_config
from tagger.training.run_inputs import differences, digests_of_inputs

#: No trial is pruned before this many have finished, nor after its first epoch.
_NUM_UNPRUNED, _EPOCHS_UNPRUNED = 5, 1
#: Importance compares the best trials, this share of all, with all; with fewer trials there is none.
_BEST_SHARE, _FEWEST = 0.25, 5
#: The number of trials in the summary.
_NUM_SHOWN = 5
_SEARCHED = f"{BEST_PREFIX}searched"


def run_search(search: Search, folder: Path, num_workers: Optional[int] = None) -> bool:
    """Runs trials until the budget is used up, and writes the results; whether any has finished.

    Other processes may run trials in the same folder at the same time. The unfinished trials of a
    process that was killed are repeated with the same settings.
    """
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    (folder / "locks").mkdir(parents=True, exist_ok=True)
    parts = {**search._asdict(), "search": sorted(map(str, search.search.items()))}
    mark = {name: parts[name] for name in ("config", "search", "metric", "seeds")}
    mark = json.loads(json.dumps({**mark, "files": digests_of_inputs(search.config)}))
    with FileLock(folder / "search.lock"):
        if not (folder / "search.db").exists():
            _check_metric(search)
            directions = optuna.study.StudyDirection
            study = optuna.create_study(
                storage=_storage(folder),
                study_name="search",
                direction=directions(1 + (not search.metric.name.startswith("-"))),
            )
            study.set_user_attr("search", mark)
            own = settings_of_config(search.config)
            study.enqueue_trial({name: own[name] for name in search.search})
    study = _load(folder)
    before = study.user_attrs.get("search", {})
    if different := [name for name in mark if mark[name] != before.get(name)]:
        changed = differences(before.get("files", {}), mark["files"])
        what = f"{', '.join(different)}{f' ({changed})' if changed else ''}"
        raise ValueError(f"{folder} has a search with other {what}; name another folder")
    with ExitStack() as locks:
        jobs = _jobs(study, search, folder, locks)
        workers = num_workers or default_num_workers(search.config)
        for job in run_lazily(jobs, folder, workers, run_trial):
            number = job.factors["trial"]
            if study.trials[number].state == TrialState.RUNNING:
                study.tell(number, state=TrialState.FAIL)
                say(f"trial {number}: FAILED, see {job.log(folder)}", flush=True)
            else:
                trial = study.trials[number]
                say(f"trial {number}: {trial.state.name.lower()}, {trial.value:.4f}", flush=True)
    return _write(study, search, folder)


def _storage(folder: Path) -> optuna.storages.RDBStorage:
    # Processes wait for one another instead of failing.
    waiting = {"connect_args": {"timeout": 120}}
    path = (folder / "search.db").resolve()
    return optuna.storages.RDBStorage(f"sqlite:///{path}", engine_kwargs=waiting)


def _load(folder: Path) -> optuna.Study:
    pruner = optuna.pruners.MedianPruner(_NUM_UNPRUNED, _EPOCHS_UNPRUNED)
    return optuna.load_study(study_name="search", storage=_storage(folder), pruner=pruner)


def _check_metric(search: Search) -> None:
    """Raises an error if the model cannot be built, or does not have the metric."""
    from tagger.training.frozen_features import keep_features

    params = Params(_trial_config(search, {}))
    prepare_environment(params)
    with TemporaryDirectory() as folder:
        loop = TrainModel.from_params(params=params, serialization_dir=folder, local_rank=0)
        trainer: Any = loop.trainer
        loader = trainer._validation_data_loader
        if loader is None:
            raise ValueError("`config` must have `validation_data_path`, to measure trials on")
        supply_training_counts(loop.model, trainer.data_loader)
        keep_features(loop.model, loader.iter_instances())
        search.metric.value(evaluate(loop.model, loader, trainer.cuda_device), trainer)


def _trial_config(search: Search, values: Dict[str, Any]) -> Dict[str, Any]:
    # Trials do not see test data.
    config = with_overrides(search.config, values)
    return {name: each for name, each in config.items() if name != "test_data_path"}


def _jobs(study: optuna.Study, search: Search, folder: Path, locks: ExitStack) -> Iterator[Job]:
    """Yields trials to run; `locks` holds their locks until this process ends."""
    start, callback = time.monotonic(), {"type": "search_trial", "folder": str(folder)}
    callback.update(metric=search.metric._asdict(), prune=search.prune)  # type: ignore[call-overload]
    while time.monotonic() - start < 60 * (search.minutes or np.inf):
        with FileLock(folder / "search.lock"):
            trial = _next(study, search, folder, locks)
        if trial is None:
            return
        config = {"config": _trial_config(search, trial.params), "seeds": search.seeds}
        yield Job(
            {"trial": trial.number}, {**config, "callback": {**callback, "trial": trial.number}}
        )


def _next(
    study: optuna.Study, search: Search, folder: Path, locks: ExitStack
) -> Optional[FrozenTrial]:
    """Returns a trial of a killed process, or a new one; None if there are enough."""
    for trial in study.get_trials(states=[TrialState.RUNNING]):
        try:
            locks.enter_context(FileLock(folder / "locks" / str(trial.number), timeout=0))
            return trial
        except Timeout:
            continue
    num_trials = sum(trial.state != TrialState.WAITING for trial in study.trials)
    if num_trials >= (search.trials or np.inf):
        return None
    # A new sampler for each trial, so that an interrupted search continues as if unbroken.
    seed = np.random.SeedSequence([search.seeds[0], num_trials]).generate_state(1)[0]
    study.sampler = optuna.samplers.TPESampler(seed=int(seed), constant_liar=True)
    number = study.ask(search.search).number
    locks.enter_context(FileLock(folder / "locks" / str(number), timeout=0))
    return study.trials[number]


def _write(study: optuna.Study, search: Search, folder: Path) -> bool:
    """Writes `results.csv`; if a trial has finished, also `best_config.json` and the summary."""
    metric, trials, names = str(search.metric), study.trials, list(search.search)
    rows = [
        {
            "trial": trial.number,
            "state": trial.state.name.lower(),
            "epochs": len(trial.intermediate_values),
            "minutes": round(trial.duration.total_seconds() / 60, 2) if trial.duration else "",
            metric: trial.value,
            **trial.params,
        }
        for trial in trials
    ]
    write_table(
        folder / "results.csv", ["trial", "state", "epochs", "minutes", metric, *names], rows
    )
    finished = study.get_trials(states=[TrialState.COMPLETE])
    if not finished:
        return False
    best, sign = study.best_trial, 1 if study.direction.name == "MAXIMIZE" else -1
    Params(with_overrides(search.config, best.params)).to_file(str(folder / "best_config.json"))
    importances: Dict[str, float] = {}
    if len(finished) >= _FEWEST:
        evaluator = optuna.importance.PedAnovaImportanceEvaluator(target_quantile=_BEST_SHARE)
        importances = optuna.importance.get_param_importances(study, evaluator=evaluator)
    table: Dict[str, Dict[str, str]] = {name: {} for name in [metric, *(importances or names)]}
    for name, share in importances.items():
        table[name]["importance"] = f"{100 * share:.0f} %"
    ranked = sorted(finished, key=lambda trial: -sign * (trial.value or 0))[:_NUM_SHOWN]
    for trial in ranked:
        for name, value in {metric: trial.value, **trial.params}.items():
            shown = f"{value:.4g}" if isinstance(value, float) else str(value)
            table[name][f"trial {trial.number}"] = shown
    titles = ["importance", *(f"trial {trial.number}" for trial in ranked)]
    summary = format_rows(titles, table, "setting")
    (folder / "summary.md").write_text(f"{summary}\n", encoding="utf-8")
    values, pruned = (
        np.array([t.value if t.state == state else np.nan for t in trials], dtype=float)
        for state in (TrialState.COMPLETE, TrialState.PRUNED)
    )
    so_far = sign * np.fmax.accumulate(sign * values)
    curves = {"finished": values, "pruned": pruned, "best so far": so_far}
    figure = draw_epochs(curves, metric, best.number, of="trial", first=0)
    (folder / "summary.svg").write_text(figure, encoding="utf-8")
    return True


def run_trial(config: Mapping[str, Any], folder: Path) -> None:
    """Trains with each seed, and tells the storage the mean of the metric."""
    callback, values, value = config["callback"], [], None
    study, state = _load(Path(callback["folder"])), TrialState.PRUNED
    try:
        for job in seeded_jobs({}, config["config"], config["seeds"]):
            trainer, run = job.config.get("trainer", {}), folder / str(job.factors["seed"])
            callbacks = [*(trainer.get("callbacks") or []), callback]
            train({**job.config, "trainer": {**trainer, "callbacks": callbacks}}, run)
            values.append(json.loads((run / METRICS_FILE).read_text())[_SEARCHED])
            # Trials are compared by their first seed.
            callback = {**callback, "prune": None}
        state, value = TrialState.COMPLETE, mean(values)
    except optuna.TrialPruned:
        for checkpoint in folder.rglob("*.th"):
            checkpoint.unlink()
    study.tell(callback["trial"], value, state)


@TrainerCallback.register("search_trial")
class SearchTrialCallback(TrainerCallback):
    """Measures a trial of a search after each epoch, and stops it if it is worse than most.

    The run's config is saved without this callback, so it trains without the search.

    Args:
        serialization_dir: The folder of the run; supplied by the trainer.
        folder: The folder of the search.
        trial: The number of the trial.
        metric: The fields of a `Metric`.
        prune: Whether to stop a bad trial; null if its epochs are not reported to the search.
    """

    def __init__(
        self,
        serialization_dir: str,
        folder: str,
        trial: int,
        metric: Dict[str, Any],
        prune: Optional[bool],
    ) -> None:
        super().__init__(serialization_dir)
        study = _load(Path(folder))
        self._trial = optuna.Trial(study, study.trials[trial]._trial_id)
        # The epochs that a repeated trial has reported before.
        self._reported = study.trials[trial].intermediate_values
        self._metric, self._prune, self._value = Metric(**metric), prune, 0.0

    def on_start(self, *args: Any, **kwargs: Any) -> None:
        super().on_start(*args, **kwargs)
        file = Path(self.serialization_dir, "config.json")
        config = json.loads(file.read_text())
        config["trainer"]["callbacks"].pop()
        file.write_text(json.dumps(config, indent=2))

    def on_epoch(
        self, trainer: Any, metrics: Dict[str, Any], epoch: int, *args: Any, **kwargs: Any
    ) -> None:
        validation = {name.removeprefix("validation_"): each for name, each in metrics.items()}
        value = self._metric.value(validation, trainer)
        if metrics["best_epoch"] == epoch:
            self._value = value
        if self._prune is not None and epoch not in self._reported:
            self._trial.report(value, epoch)
            if self._prune and self._trial.should_prune():
                raise optuna.TrialPruned

    def on_end(
        self, trainer: Any, metrics: Optional[Dict[str, Any]] = None, *args: Any, **kwargs: Any
    ) -> None:
        if metrics is not None:
            metrics[_SEARCHED] = self._value
