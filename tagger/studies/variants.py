"""A study of the variants of a config: each trains with several seeds."""

from pathlib import Path
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from tagger.common.did_you_mean import did_you_mean
from tagger.studies.jobs import Job, default_num_workers, run_jobs, seeded_jobs
from tagger.studies.results import (
    MINUTES,
    Column,
    Table,
    format_summary,
    read_results,
    tabulate,
    write_results,
)

#: A column of a table, as a study file spells it.
COLUMN = '{title: "F1", metrics: ["best_validation_f1-measure-overall"]}'
#: The type of each value of a study file, and what it looks like.
_FORMS: Dict[str, Tuple[type, str]] = {
    "variants": (dict, "an object with a config for each name, such as {plain: {...}}"),
    "seeds": (list, "a list of numbers, such as [1, 2, 3]"),
    "columns": (list, f"a list of columns, such as [{COLUMN}]"),
}


class Study(NamedTuple):
    """What a study file holds."""

    variants: Dict[str, Any]
    seeds: List[int]
    columns: List[Column]


def read_study(path: Path) -> Study:
    """Reads a study file.

    Raises:
        ValueError: If a key is missing or unknown, a value has another form, or two columns of the
            table would have the same title.
    """
    from allennlp.common import Params

    study = Params.from_file(path).as_dict(quiet=True)
    for key in study:
        if key not in Study._fields:
            raise ValueError(
                f"{path} has the unknown key `{key}`; a study file has {', '.join(Study._fields)}"
                + did_you_mean(key, Study._fields)
            )
    for key, (form, example) in _FORMS.items():
        if not study.get(key):
            raise ValueError(
                f"{path} lacks the key `{key}`; a study file has {', '.join(Study._fields)}"
            )
        if not isinstance(study[key], form):
            raise ValueError(f"{path} gives `{key}` as {study[key]!r}; expected {example}")
    columns = [_column(column, path) for column in study["columns"]]
    titles = [column.title for column in columns]
    for title in titles:
        if title == MINUTES or titles.count(title) > 1:
            raise ValueError(
                f"{path} calls a column {title!r}, as another column of the table is called; rename it"
            )
    return Study(study["variants"], study["seeds"], columns)


def _column(column: Any, path: Path) -> Column:
    """Returns a column of a study file, after a check of its form."""
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
) -> Tuple[Table, List[Job]]:
    """Runs the unfinished jobs, and writes `results.csv` and `summary.md`; returns values and failures.

    Raises:
        ValueError: If there is no variant of a name, if the folder holds a run of the same name with
            another config, or if a column names an unknown metric.
    """
    variants = _chosen(study.variants, names)
    jobs = [
        job
        for name, config in variants.items()
        for job in seeded_jobs({"variant": name}, config, study.seeds)
    ]
    # All variants run with the first seed first, so a preliminary table is complete early.
    jobs.sort(key=lambda job: study.seeds.index(job.factors["seed"]))
    failed = run_jobs(jobs, folder, num_workers or default_num_workers(jobs[0].config))
    results = read_results(jobs, folder)
    write_results(results, folder / "results.csv")
    table = tabulate(results, study.columns)
    (folder / "summary.md").write_text(format_summary(table) + "\n")
    return table, failed


def _chosen(variants: Mapping[str, Any], names: Optional[Sequence[str]]) -> Dict[str, Any]:
    for name in names or ():
        if name not in variants:
            raise ValueError(
                f"`--variants` names `{name}`, which is no variant of the study "
                f"({', '.join(variants)}){did_you_mean(name, list(variants))}"
            )
    return {name: config for name, config in variants.items() if not names or name in names}
