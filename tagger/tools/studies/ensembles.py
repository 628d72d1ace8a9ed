"""Trains the members of ensembles, and joins variants of a study."""

import json
from pathlib import Path
from typing import Any, Dict, List, Mapping, NamedTuple, Sequence

from allennlp.common.checks import ConfigurationError

from tagger.common.did_you_mean import did_you_mean
from tagger.common.ranges import check_is_one_of, check_whole
from tagger.tools.runs.jobs import Job, run_jobs, seeded_jobs

#: The distance between the seeds of a study's ensemble: those of one seed of the study are
#: seed, seed + 1000, seed + 2000, ...
_STRIDE = 1000


class EnsembleOfVariants(NamedTuple):
    """An ensemble in a study: for each seed of the study, the variants `of`, each with `seeds` seeds."""

    of: List[str]
    seeds: int = 1
    average: str = "emissions"

    def members(self, variants: Mapping[str, Any], seed: int) -> List[Job]:
        """Returns the runs of its members for a seed of the study."""
        seeds = [seed + _STRIDE * k for k in range(self.seeds)]
        return [
            job for name in self.of for job in seeded_jobs({"variant": name}, variants[name], seeds)
        ]


def read_ensembles(
    found: Any, variants: Sequence[str], path: Path
) -> Dict[str, EnsembleOfVariants]:
    """Checks the key `ensembles` of a study file."""
    from tagger.models.sequence_tagger_ensemble import AVERAGES

    expected = (
        'expected an object for each, such as {bagging: {of: ["plain, bagging"], seeds: 5}}, with '
        f"{', '.join(EnsembleOfVariants._fields)}"
    )
    if not isinstance(found, dict):
        raise ValueError(f"{path} gives `ensembles` as {found!r}; {expected}")
    ensembles = {}
    for name, each in found.items():
        if not isinstance(each, dict) or not each.get("of") or not isinstance(each["of"], list):
            raise ValueError(f"{path} gives the ensemble `{name}` as {each!r}; {expected}")
        for key in each:
            if key not in EnsembleOfVariants._fields:
                meant = did_you_mean(key, EnsembleOfVariants._fields)
                raise ValueError(
                    f"{path} gives `{name}` the unknown key `{key}`; {expected}{meant}"
                )
        ensemble = ensembles[name] = EnsembleOfVariants(**each)
        for member in ensemble.of:
            if member not in variants:
                raise ValueError(
                    f"{path} names `{member}` in the ensemble `{name}`, but has no such variant"
                    + did_you_mean(str(member), variants)
                )
        if name in variants:
            raise ValueError(f"{path} has a variant and an ensemble `{name}`; rename one of them")
        check_whole(f"`seeds` of the ensemble `{name}`", ensemble.seeds)
        check_is_one_of(f"average` of the ensemble `{name}", ensemble.average, AVERAGES)
        if len(ensemble.of) * ensemble.seeds < 2:
            raise ValueError(f"{path} gives the ensemble `{name}` one member; raise its `seeds`")
    return ensembles


def join(config: Mapping[str, Any], folder: Path) -> None:
    """Joins the archives of a study's ensemble and evaluates it; this is the work of a job.

    `config` has the paths of the `archives`, the `average`, the `overrides` of each config, the
    `validation_data_path`, and optionally a `test_data_path`. The folder gets metrics named as in
    training.
    """
    from allennlp.models import load_archive

    from tagger.tools.runs.work import measure, measure_test
    from tagger.tools.studies.ensemble_archive import write_ensemble

    paths = [Path(path) for path in config["archives"]]
    archives = [
        load_archive(path, overrides=dict(own)) for path, own in zip(paths, config["overrides"])
    ]
    folder.mkdir(parents=True)
    joined = folder / "model.tar.gz"
    write_ensemble(paths, archives, joined, config["average"])
    archive = load_archive(joined)
    metrics = measure(archive, config["validation_data_path"], "best_validation")
    if "test_data_path" in config:
        metrics.update(measure_test(archive, config["test_data_path"], folder))
    (folder / "metrics.json").write_text(json.dumps(metrics, indent=2))
    joined.unlink()


def train_members(
    configs: Mapping[str, Dict[str, Any]],
    seeds: Sequence[int],
    bagging: bool,
    folder: Path,
    num_workers: int,
) -> List[Path]:
    """Trains each config, by name, with each seed; returns the archives.

    With `bagging`, each run learns from another bootstrap sample of the documents. Finished runs of an
    interrupted call are kept.
    """
    jobs = [
        job
        for name, config in configs.items()
        for job in seeded_jobs({"config": name}, bagged(config, name) if bagging else config, seeds)
    ]
    failed = run_jobs(jobs, folder, num_workers)
    if failed:
        raise ConfigurationError(
            f"{len(failed)} of {len(jobs)} taggers failed; see {failed[0].log(folder)}, then repeat the "
            "command, which keeps the others"
        )
    return [job.folder(folder) / "model.tar.gz" for job in jobs]


def bagged(config: Dict[str, Any], name: str) -> Dict[str, Any]:
    """Returns a config with the batch sampler `bagging`."""
    loader = dict(config.get("data_loader", {}))
    size = loader.pop("batch_size", None)
    if size is None or loader.get("type") != "bucketed":
        raise ConfigurationError(
            f"`--bagging` needs a data loader `bucketed` with `batch_size`, where it puts its sampler; "
            f"{name} has {config.get('data_loader')}"
        )
    sampler = {"type": "bagging", "batch_size": size}
    return {**config, "data_loader": {"type": "bucketed", "batch_sampler": sampler}}
