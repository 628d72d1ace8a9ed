"""Studies of the variants of a config, each trained with several seeds."""

from pathlib import Path
from types import MappingProxyType
from typing import Any, Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from tagger.common.did_you_mean import did_you_mean
from tagger.tools.runs.jobs import (
    Job,
    default_num_workers,
    finished,
    run_jobs,
    seeded_jobs,
)
from tagger.tools.runs.results import (
    MINUTES,
    Column,
    Table,
    format_summary,
    read_results,
    tabulate,
    write_results,
)
from tagger.tools.runs.work import COUNTS_FILE, SentenceCounts, tune
from tagger.tools.studies.comparison import (
    Difference,
    compare,
    format_differences,
    write_differences,
)
from tagger.tools.studies.ensembles import EnsembleOfVariants, join, read_ensembles
from tagger.transformers.feature_store import own_cache_settings

#: An example of a column in a study file.
COLUMN = '{title: "F1", metrics: ["best_validation_f1-measure-overall"]}'
#: The type of each value that a study file must have, and a description with an example.
_FORMS: Dict[str, Tuple[type, str]] = {
    "variants": (dict, "an object with a config for each name, such as {plain: {...}}"),
    "seeds": (list, "a list of numbers, such as [1, 2, 3]"),
    "columns": (list, f"a list of columns, such as [{COLUMN}]"),
}


class Study(NamedTuple):
    """The contents of a study file."""

    variants: Dict[str, Any]  # Configs by name
    seeds: List[int]  # The seeds for each variant
    columns: List[Column]  # The columns of the table
    # The variant to compare the others with, if any, such as `plain` or `plain, tuned`.
    baseline: Optional[str] = None
    tuned: Sequence[str] = ()  # Variants that are also evaluated after tuning their decoding
    # Ensembles of variants, by name
    ensembles: Mapping[str, EnsembleOfVariants] = MappingProxyType({})


class Outcome(NamedTuple):
    """The results of a study."""

    table: Table  # The values of each variant's runs
    # The differences from the baseline, by variant and column; empty without a baseline.
    differences: Dict[str, Dict[str, Difference]]
    failed: List[Job]  # The runs that failed


def check_keys(found: Iterable[str], known: Sequence[str], path: Path, introduction: str) -> None:
    """Refuses unknown keys of a study file."""
    for key in found:
        if key not in known:
            raise ValueError(
                f"{path} has the unknown key `{key}`; {introduction} {', '.join(known)}"
                f"{did_you_mean(key, known)}"
            )


def read_study(path: Path) -> Study:
    """Reads a study file."""
    from allennlp.common import Params

    study = Params.from_file(path).as_dict(quiet=True)
    check_keys(study, Study._fields, path, "a study file has")
    for key, (form, example) in _FORMS.items():
        if not study.get(key):
            raise ValueError(f"{path} lacks the key `{key}`; a study file has {', '.join(_FORMS)}")
        if not isinstance(study[key], form):
            raise ValueError(f"{path} gives `{key}` as {study[key]!r}; expected {example}")
    columns = [_column(column, path) for column in study["columns"]]
    titles = [MINUTES, *(column.title for column in columns)]
    for title in titles[1:]:
        if titles.count(title) > 1:
            raise ValueError(f"{path} has two columns with the title {title!r}; rename one of them")
    baseline, tuned = study.get("baseline"), study.get("tuned") or []
    if not isinstance(tuned, list):
        raise ValueError(f"{path} gives `tuned` as {tuned!r}; expected a list of variants")
    variants = list(study["variants"])
    ensembles = read_ensembles(study.get("ensembles") or {}, variants, path)
    with_tuned = [*ensembles, *variants, *(f"{name}, tuned" for name in tuned)]
    named = [("tuned", name, variants) for name in tuned]
    named += [] if baseline is None else [("baseline", baseline, with_tuned)]
    for key, name, among in named:
        if name not in among:
            raise ValueError(
                f"{path} names `{name}` in `{key}`, but has no such variant"
                + did_you_mean(str(name), among)
            )
    return Study(study["variants"], study["seeds"], columns, baseline, tuned, ensembles)


def _column(column: Any, path: Path) -> Column:
    """Checks the form of a column in a study file and returns it."""
    expected = f"expected an object with a `title` and a list of `metrics`, such as {COLUMN}"
    if not isinstance(column, dict):
        raise ValueError(f"{path} has {column!r} in `columns`; {expected}")
    for key in column:
        if key not in Column._fields:
            meant = did_you_mean(key, Column._fields)
            raise ValueError(f"{path} has a column with the unknown key `{key}`; {expected}{meant}")
    title, metrics = column.get("title"), column.get("metrics")
    is_list = isinstance(metrics, list) and all(isinstance(each, str) for each in metrics)
    if not (isinstance(title, str) and title and metrics and is_list):
        raise ValueError(f"{path} has the column {column!r}; {expected}")
    return Column(title, metrics)


def run_study(
    study: Study,
    folder: Path,
    names: Optional[Sequence[str]] = None,
    num_workers: Optional[int] = None,
) -> Outcome:
    """Runs the unfinished jobs; writes `results.csv`, `summary.md` and perhaps `differences.csv`.

    With `names`, it runs the jobs of these variants and ensembles alone. The tables have all that have
    finished.
    """
    known = [*study.variants, *study.ensembles]
    for name in names or ():
        if name not in known:
            raise ValueError(
                f"`--variants` names `{name}`, but the study has no such variant "
                f"({', '.join(known)}){did_you_mean(name, known)}"
            )
    every = [
        job
        for name, config in study.variants.items()
        for job in seeded_jobs({"variant": name}, config, study.seeds)
    ]
    # All variants run with the first seed first, so a preliminary table is complete early.
    every.sort(key=lambda job: study.seeds.index(job.factors["seed"]))
    jobs = [job for job in every if job.factors["variant"] in (names or known)]
    joining = _joining_jobs(study, folder)
    chosen = [each for each in joining if each[0].factors["variant"] in (names or known)]
    jobs += [member for _, members in chosen for member in members]
    # Ensembles share members, with each other and with the variants.
    jobs = list({job.folder(folder): job for job in jobs}.values())
    num_workers = num_workers or default_num_workers(jobs[0].config)
    failed = run_jobs(jobs, folder, num_workers)
    tuning = [
        each for job in jobs if job not in failed for each in _tuning_jobs(job, study, folder)
    ]
    joint = [job for job, members in chosen if not any(each in failed for each in members)]
    for later, work in ((tuning, tune), (joint, join)):
        if later:
            failed += run_jobs(later, folder, num_workers, work)
    every += [job for job, _ in joining]
    # The tables also have what earlier commands have run.
    with_tuned = (each for job in every for each in (job, *_tuning_jobs(job, study, folder)))
    jobs = finished(with_tuned, folder)
    results = read_results(jobs, folder)
    write_results(results, folder / "results.csv")
    table = tabulate(results, study.columns)
    summary = format_summary(table)
    differences: Dict[str, Dict[str, Difference]] = {}
    counts = _read_counts(jobs, folder)
    if study.baseline in counts and len(counts) > 1:
        differences = compare(counts, study.baseline, study.columns)
        summary += f"\n\n{format_differences(differences, study.baseline)}"
        write_differences(differences, folder / "differences.csv")
    (folder / "summary.md").write_text(f"{summary}\n")
    return Outcome(table, differences, failed)


def _tuning_jobs(job: Job, study: Study, folder: Path) -> List[Job]:
    """Returns a job that tunes the decoding of another job's archive, if the study asks for it."""
    name = job.factors["variant"]
    if name not in study.tuned or job.factors["seed"] not in study.seeds:
        return []
    config = {
        "archive": str(job.folder(folder) / "model.tar.gz"),
        "overrides": own_cache_settings(dict(job.config)),
        **{key: job.config[key] for key in ("test_data_path",) if key in job.config},
    }
    return [Job({**job.factors, "variant": f"{name}, tuned"}, config)]


def _joining_jobs(study: Study, folder: Path) -> List[Tuple[Job, List[Job]]]:
    """Returns the jobs that join and evaluate the archives of ensembles, each with those of members."""
    kept, joining = ("validation_data_path", "test_data_path"), []
    for name, ensemble in study.ensembles.items():
        for seed in study.seeds:
            members = ensemble.members(study.variants, seed)
            config = {
                "archives": [str(job.folder(folder) / "model.tar.gz") for job in members],
                "average": ensemble.average,
                "overrides": [own_cache_settings(dict(job.config)) for job in members],
                **{key: members[0].config[key] for key in kept if key in members[0].config},
            }
            joining.append((Job({"variant": name, "seed": seed}, config), members))
    return joining


def _read_counts(jobs: Sequence[Job], folder: Path) -> Dict[str, Dict[int, SentenceCounts]]:
    counts: Dict[str, Dict[int, SentenceCounts]] = {}
    for job in jobs:
        path = job.folder(folder) / COUNTS_FILE
        if path.exists():
            by_seed = counts.setdefault(job.factors["variant"], {})
            by_seed[job.factors["seed"]] = SentenceCounts.read(path)
    return counts
