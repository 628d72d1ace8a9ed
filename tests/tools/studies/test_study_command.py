import csv
import json
import math
from xml.etree import ElementTree

import numpy as np
import pytest
from allennlp.common import Params

from tagger.tools.runs.jobs import seeded_jobs
from tagger.tools.runs.work import COUNTS_FILE, SentenceCounts
from tagger.tools.studies.search import read_search
from tagger.tools.studies.variants import read_study, run_study
from tests.conftest import CONFIGS, ROOT
from tests.pages import blocks

SVG = "{http://www.w3.org/2000/svg}"
STUDIES = sorted(
    path.stem
    for path in (CONFIGS / "studies").glob("*.jsonnet")
    if not path.stem.endswith(("_search", "_choice"))
)


@pytest.mark.parametrize("name", STUDIES)
def test_shipped_studies_are_complete(name, at_root):
    study = Params.from_file(CONFIGS / "studies" / f"{name}.jsonnet").as_dict(quiet=True)
    assert len(study["seeds"]) >= 3
    assert all({"title", "metrics"} == set(column) for column in study["columns"])
    for config in study["variants"].values():
        assert config.get("test_data_path") != config["validation_data_path"]


def test_the_shipped_search_starts_from_the_protocol(at_root):
    search = read_search(CONFIGS / "studies/wnut17_search.jsonnet")
    weights = search.config["model"]["head"]["weighting"]["label_weights"]
    assert {f"model.head.weighting.label_weights.{label}" for label in weights} < set(search.search)


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("*.jsonnet")), ids=lambda path: path.stem)
def test_no_shipped_config_sees_test_data(path):
    params = Params.from_file(path).as_dict(quiet=True)
    assert "test_data_path" not in params
    assert params["datasets_for_vocab_creation"] == ["train"]


@pytest.mark.slow
@pytest.mark.usefixtures("warm_python")
def test_variants_are_compared_with_a_baseline_and_tuned(allennlp, at_root, tmp_path, capfd):
    config = Params.from_file(CONFIGS / "toy_bilstm_crf.jsonnet").as_dict(quiet=True)
    config["trainer"]["num_epochs"] = 6
    config["test_data_path"] = "data/toy/test.txt"
    # Without tuning it finds no person.
    config["model"]["head"]["decode_bias"] = {"PER": -20.0}
    longer = json.loads(json.dumps(config))
    longer["trainer"]["num_epochs"] = 8
    study = {
        "variants": {"plain": config, "longer": longer},
        "seeds": [1],
        "columns": [
            {"title": "F1", "metrics": ["test_f1-measure-overall"]},
            {"title": "macro F1", "metrics": ["test_f1-measure-macro"]},
        ],
        "baseline": "plain",
        "tuned": ["plain"],
    }
    (tmp_path / "study.json").write_text(json.dumps(study))
    # The tables keep what earlier commands have run.
    for options in ([], ["--variants", "longer"], ["--variants", "plain"]):
        allennlp("study", tmp_path / "study.json", "-s", tmp_path / "out", *options)
    out = tmp_path / "out"
    table, printed = (out / "summary.md").read_text(), capfd.readouterr().out
    assert "1 runs, of which 1 are finished" in printed
    assert table.startswith("| | F1 | macro F1 | minutes | runs |")
    assert table in printed
    results, differences = (
        list(csv.DictReader((out / f"{name}.csv").read_text().splitlines()))
        for name in ("results", "differences")
    )
    assert list(results[0])[:2] == ["variant", "seed"]
    by_variant = {line["variant"]: line for line in results}
    assert list(by_variant) == ["longer", "plain", "plain, tuned"]
    assert {(line["variant"], line["column"]) for line in differences} == {
        (variant, column) for variant in ("plain, tuned", "longer") for column in ("F1", "macro F1")
    }
    names = {"F1": "test_f1-measure-overall", "macro F1": "test_f1-measure-macro"}
    for line in differences:
        before, after = (
            float(by_variant[variant][names[line["column"]]])
            for variant in ("plain", line["variant"])
        )
        assert float(line["mean"]) == pytest.approx(100 * (after - before), abs=0.001)
    dev = "best_validation_f1-measure-macro"
    assert float(by_variant["plain, tuned"][dev]) > float(by_variant["plain"][dev])
    assert "| difference from plain | F1 | macro F1 |" in table
    for name, title in (("summary", "F1"), ("differences", "difference from plain, in points")):
        figure = ElementTree.parse(out / f"{name}.svg")
        texts = {"".join(each.itertext()).strip() for each in figure.iter(f"{SVG}text")}
        assert {"plain, tuned", "longer", "macro F1", title} <= texts


@pytest.mark.slow
@pytest.mark.usefixtures("warm_python")
def test_ensembles_of_variants_are_joined_for_each_seed(allennlp, at_root, tmp_path, capfd):
    config = Params.from_file(CONFIGS / "toy_bilstm_crf.jsonnet").as_dict(quiet=True)
    config["trainer"]["num_epochs"] = 2
    config["test_data_path"] = "data/toy/test.txt"
    weighted = json.loads(json.dumps(config))
    weighted["model"]["head"]["weighting"] = {"type": "chain", "weight_rule": "balanced"}
    study = plain(
        variants={"plain": config, "weighted": weighted},
        columns=[{"title": "F1", "metrics": ["test_f1-measure-overall"]}],
        baseline="plain",
        ensembles={
            "seeds": {"of": ["plain"], "seeds": 2},
            "configs": {"of": ["plain", "weighted"], "average": "marginals"},
        },
    )
    (tmp_path / "study.json").write_text(json.dumps(study))
    out = tmp_path / "out"
    allennlp("study", tmp_path / "study.json", "-s", out)
    said = capfd.readouterr().out
    # The member with another seed is no run of the variant.
    assert "3 runs, of which 0 are finished" in said
    assert "2 runs, of which 0 are finished" in said
    lines = list(csv.DictReader((out / "results.csv").read_text().splitlines()))
    assert [line["variant"] for line in lines] == ["plain", "weighted", "configs", "seeds"]
    assert "| configs |" in (out / "differences.csv").read_text() + (out / "summary.md").read_text()
    marks = [
        json.loads((out / f"runs/{name}/1/job.json").read_text()) for name in ("seeds", "configs")
    ]
    seeds = [str(each).split("/runs/")[1] for each in marks[0]["config"]["archives"]]
    assert seeds == ["plain/1/model.tar.gz", "plain/1001/model.tar.gz"]
    allennlp("study", tmp_path / "study.json", "-s", out, "--variants", "configs")
    assert "2 runs, of which 2 are finished" in capfd.readouterr().out


def test_the_examples_of_the_page_are_studies(at_root, tmp_path):
    examples = [block.code for block in blocks("text", "studies")]
    studies = []
    for example in examples:
        path = tmp_path / "study.jsonnet"
        path.write_text(example.replace("'training_", f"'{ROOT}/training_"))
        if example != examples[-1]:
            studies.append(read_study(path))
    sizes, weights = studies
    assert read_search(path).metric.name == "f1-measure-macro"
    assert sizes.variants["wide"]["model"]["encoder"] != sizes.variants["plain"]["model"]["encoder"]
    assert [column.title for column in sizes.columns] == ["F1", "F1 of places and people"]
    heads = {name: config["model"]["head"] for name, config in weights.variants.items()}
    assert set(heads) == {
        "plain",
        *(f"{each}, ORG {weight}" for each in ("chain", "decode_bias") for weight in (0.5, 2)),
    }
    assert heads["chain, ORG 2"]["weighting"] == {"type": "chain", "label_weights": {"ORG": 2}}
    assert heads["decode_bias, ORG 2"]["decode_bias"] == {"ORG": pytest.approx(math.log(2))}


def test_a_baseline_alone_is_compared_with_nothing(tmp_path):
    file = tmp_path / "study.json"
    file.write_text(json.dumps(plain(baseline="plain")))
    (job,) = seeded_jobs({"variant": "plain"}, {}, [1])
    folder = job.folder(tmp_path)
    folder.mkdir(parents=True)
    (folder / "metrics.json").write_text('{"f": 0.5}')
    (folder / "job.json").write_text(json.dumps({"config": job.config, "files": {}}))
    SentenceCounts(["PER"], np.ones((2, 3, 1), np.int64)).write(folder / COUNTS_FILE)
    assert run_study(read_study(file), tmp_path).differences == {}
    assert "difference" not in (tmp_path / "summary.md").read_text()


def plain(*titles, **changes):
    """A study of an empty config, with columns of these titles."""
    columns = [{"title": title, "metrics": ["f"]} for title in titles or ["F1"]]
    return {"variants": {"plain": {}}, "seeds": [1], "columns": columns, **changes}


def column(**keys):
    return plain(columns=[{"title": "F1", **keys}])


def test_a_tuned_variant_may_be_the_baseline(tmp_path):
    file = tmp_path / "study.json"
    file.write_text(json.dumps(plain(tuned=["plain"], baseline="plain, tuned")))
    assert read_study(file).baseline == "plain, tuned"


@pytest.mark.parametrize(
    ("study", "message"),
    [
        ({"seeds": [1]}, "lacks the key `variants`"),
        (plain(), r"`plane`, but the study has no such variant \(plain\); did you mean `plain`"),
        (plain(colums=[]), "unknown key `colums`; .*; did you mean `columns`"),
        (plain(seeds=3), "gives `seeds` as 3; expected a list of numbers"),
        (plain(variants=[{}]), "gives `variants` as .*; expected an object"),
        (plain(columns=["f"]), "has 'f' in `columns`; expected an object with a `title`"),
        (column(metric=["f"]), "unknown key `metric`; .*; did you mean `metrics`"),
        (column(metrics="f"), "the column .*'metrics': 'f'.*; expected an object"),
        (plain(baseline="plane"), "names `plane` in `baseline`, but has no such variant; did you "
         "mean `plain`"),
        (plain(baseline="plain, tuned"), "`plain, tuned` in `baseline`"),
        (plain(tuned=["x"]), "names `x` in `tuned`, but has no such variant"),
        (plain(tuned="plain"), "gives `tuned` as 'plain'; expected a list"),
        (plain(ensembles="plain"), "gives `ensembles` as 'plain'; expected an object for each"),
        (plain(ensembles={"e": {}}), "gives the ensemble `e` as {}; expected an object"),
        (plain(ensembles={"e": {"of": ["plane"]}}), "names `plane` in the ensemble `e`, .*; did you"),
        (plain(ensembles={"e": {"of": ["plain"]}}), "the ensemble `e` one member; raise its `seeds`"),
        (plain(ensembles={"e": {"of": ["plain"], "seed": 2}}), "unknown key `seed`; .* `seeds`"),
        (plain(ensembles={"e": {"of": ["plain"], "seeds": 0}}), "must be a whole number of at least 1"),
        (plain(ensembles={"e": {"of": ["plain"], "seeds": 2, "average": "mean"}}), "must be one of em"),
        (plain(ensembles={"plain": {"of": ["plain"], "seeds": 2}}), "a variant and an ensemble `plain`"),
        (plain("minutes"), "has two columns with the title 'minutes'"),
        (plain("F1", "F1"), "has two columns with the title 'F1'"),
    ],
)  # fmt: skip
def test_a_study_that_cannot_run_says_why(study, message, allennlp, tmp_path):
    (tmp_path / "study.json").write_text(json.dumps(study))
    options = ["--variants", "plane"] if study == plain() else []
    with pytest.raises(SystemExit, match=f"^study: .*{message}"):
        allennlp("study", tmp_path / "study.json", "-s", tmp_path / "out", *options)
    assert not (tmp_path / "out").exists()
