import json

import optuna
import pytest
from allennlp.common import Params
from allennlp.models import load_archive

from tagger.tools.runs.results import read_table
from tagger.tools.studies.search import Metric, read_search, settings_of_config
from tagger.tools.studies.trials import run_search
from tagger.tools.tuning.goals import Goal
from tagger.tools.tuning.labelled_file import settings_of, tuner_on_file
from tests.conftest import CONFIGS

LR, SIZE = "trainer.optimizer.lr", "model.encoder.hidden_size"
WEIGHT = "model.head.weighting.label_weights.PER"


@pytest.fixture
def write(at_root, tmp_path):
    """Writes a search of the toy config; each keyword changes a key of the file, null removes it."""
    config = Params.from_file(CONFIGS / "toy_bilstm_crf.jsonnet").as_dict(quiet=True)
    config["trainer"]["num_epochs"] = 2
    config["model"]["head"]["weighting"] = {"type": "chain", "label_weights": {"PER": 1}}
    config["test_data_path"] = "data/toy/test.txt"

    def write(**changes):
        space = {
            LR: {"least": 0.001, "most": 0.05, "log": True},
            SIZE: {"least": 10, "most": 40, "whole": True},
            WEIGHT: {"least": 0.5, "most": 4},
            "model.encoder.variational": [True, False],
        }
        search = {"config": config, "search": space, "metric": "token-f1-measure-macro"}
        search.update({"seeds": [1], "trials": 3, **changes})
        path = tmp_path / "search.json"
        path.write_text(json.dumps({k: v for k, v in search.items() if v is not None}))
        return path

    return write


def results(folder):
    rows = read_table(folder / "results.csv")
    return [{name: row[name] for name in row if name != "minutes"} for row in rows]


@pytest.mark.slow
def test_a_search_writes_its_trials_and_the_config_of_the_best(
    write, allennlp, tmp_path, capfd, monkeypatch
):
    monkeypatch.setattr("tagger.tools.studies.trials.run_lazily", in_this_process)
    path, folder = write(), tmp_path / "whole"
    allennlp("study", path, "-s", folder)
    printed, found = capfd.readouterr().out, results(folder)
    own = settings_of_config(read_search(path).config)
    assert float(found[0][LR]) == own[LR]
    scores = [float(row["token-f1-measure-macro"]) for row in found]
    best = found[scores.index(max(scores))]
    config = json.loads((folder / "best_config.json").read_text())
    assert config["trainer"]["optimizer"]["lr"] == float(best[LR])
    assert config["model"]["head"]["weighting"]["label_weights"]["PER"] == float(best[WEIGHT])
    assert config["trainer"]["callbacks"] == read_search(path).config["trainer"]["callbacks"]
    # The run of the best trial is that config, except for test data, which trials do not see.
    run = json.loads((folder / "runs" / best["trial"] / "1/config.json").read_text())
    seeds = dict.fromkeys(("random_seed", "numpy_seed", "pytorch_seed"), 1)
    del config["test_data_path"]
    assert run == {**config, **seeds}
    assert f"| setting | importance | trial {best['trial']} |" in printed
    assert "best so far" in (folder / "summary.svg").read_text()


@pytest.mark.slow
def test_a_trial_is_pruned_and_the_recall_at_a_precision_is_that_of_tuned_decoding(write, tmp_path):
    metric = {"label": "PER", "precision": 0.6}
    search = read_search(write(metric=metric, trials=1, seeds=[1, 2]))
    search.config["trainer"].update(
        num_epochs=9, moving_average={"type": "fused_exponential", "decay": 0.9}
    )
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr("tagger.tools.studies.trials.run_lazily", in_this_process)
        assert run_search(search, tmp_path)
    recalls = []
    for seed in search.seeds:
        archive = load_archive(tmp_path / f"runs/0/{seed}/model.tar.gz")
        goal = Goal(("PER",), "precision", 0.6)
        tuner = tuner_on_file(archive.model, archive.dataset_reader, "data/toy/dev.txt")
        counts = tuner.counts(tuner.tune([goal], settings_of(archive.model)))
        is_met, recall, _ = goal.merit(counts, tuner.labels)
        recalls.append(recall if is_met else 0)
    assert max(recalls) > 0
    (first,) = results(tmp_path)
    assert float(first[str(search.metric)]) == pytest.approx(sum(recalls) / 2)
    assert first["epochs"] == "9"
    study = optuna.load_study(study_name="search", storage=f"sqlite:///{tmp_path}/search.db")
    for _ in range(5):
        better = {"value": 2.0, "intermediate_values": {0: 2.0, 1: 2.0}}
        trial = optuna.create_trial(
            params=study.trials[0].params, distributions=study.trials[0].distributions, **better
        )
        study.add_trial(trial)
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr("tagger.tools.studies.trials.run_lazily", in_this_process)
        run_search(search._replace(trials=7, prune=False), tmp_path)
        run_search(search._replace(trials=8), tmp_path)
    states = [(row["state"], row["epochs"]) for row in results(tmp_path)]
    assert states[6:] == [("complete", "9"), ("pruned", "2")]
    assert not list((tmp_path / "runs/7").rglob("*.th"))


def in_this_process(jobs, folder, num_workers, work):
    for job in jobs:
        work(job.config, job.folder(folder))
        yield job


def test_an_f_score_weighs_recall_by_beta():
    metrics = {"precision-PER": 0.5, "recall-PER": 0.8, "loss": 3.0}
    # 5 right, 10 predicted: (1 + 4) 5 / (10 + 4 * 6.25)
    assert Metric(label="PER", beta=2).value(metrics, None) == pytest.approx(25 / 35)
    assert Metric("-loss").value(metrics, None) == 3
    nothing = {"precision-PER": 0.0, "recall-PER": 0.0}
    assert Metric(label="PER", beta=1).value(nothing, None) == 0
    assert str(Metric(label="PER", beta=0.5)) == "F0.5 of PER"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"metrik": "f"}, "unknown key `metrik`; .*; did you mean `metric`"),
        ({"metric": None}, "gives `metric` as None; expected a metric such as"),
        ({"metric": {"label": "PER"}}, "gives `metric` as .*'label': 'PER'.*; expected a metric"),
        ({"metric": {"label": "PER", "precision": 2}}, "gives `metric` as"),
        ({"metric": "f1-measure-makro"}, "`f1-measure-makro`.*; did you mean `f1-measure-macro`"),
        ({"metric": {"label": "PRE", "beta": 1}}, "`precision-PRE`.*; did you mean `precision-PER`"),
        ({"metric": {"label": "PRE", "precision": 0.9}}, "`PRE`.*; did you mean `PER`"),
        ({"seeds": 3}, "gives `seeds` as 3; expected a list of numbers"),
        ({"trials": None}, "must limit the search with `trials` or `minutes`"),
        ({"trials": 0}, "must limit the search with `trials` or `minutes`"),
        ({"search": {"model.encoder.hiden_size": [1, 2]}},
         "`model.encoder.hiden_size`.*; did you mean `model.encoder.hidden_size`"),
        ({"search": {SIZE: 3}}, f"gives `{SIZE}` in `search` as 3; expected a range"),
        ({"search": {SIZE: {"least": 1, "moost": 40}}}, "`moost`; did you mean `most`"),
        ({"search": {SIZE: {"least": 1}}}, "expected a range.*'most'"),
        ({"search": {SIZE: {"least": 50, "most": 1}}}, "expected a range"),
        ({"search": {SIZE: {"least": 0, "most": 50, "log": True}}}, "expected a range"),
        ({"search": {SIZE: {"least": 25, "most": 50}}}, "own value, 20, so include it"),
        ({"search": {LR: [0.1, 0.2]}}, "expected a range, .*, or a list of choices"),
        ({"variants": {}}, "unknown key `variants`"),
    ],
)  # fmt: skip
def test_a_search_that_cannot_run_says_why(changes, message, write, allennlp, tmp_path):
    with pytest.raises(SystemExit, match=f"^study: .*{message}"):
        allennlp("study", write(**changes), "-s", tmp_path / "out")
    assert not (tmp_path / "out" / "runs").exists()


def test_options_and_folders_of_another_search_are_refused(write, allennlp, tmp_path):
    with pytest.raises(SystemExit, match="`--variants` names variants"):
        allennlp("study", write(), "-s", tmp_path, "--variants", "plain")
    search = read_search(write(minutes=1e-9, trials=None))
    assert not run_search(search, tmp_path)
    with pytest.raises(ValueError, match="has a search with other metric, seeds; name another"):
        run_search(search._replace(metric=Metric("-loss"), seeds=[2]), tmp_path)
    with pytest.raises(SystemExit, match="no trial has finished"):
        allennlp("study", write(minutes=1e-9, trials=None), "-s", tmp_path)


@pytest.mark.slow
@pytest.mark.usefixtures("warm_python")
def test_a_trial_that_fails_is_told_and_the_search_goes_on(write, allennlp, tmp_path, capfd):
    path = write(search={SIZE: [20, -1, -2, -3, -4]}, trials=2)
    allennlp("study", path, "-s", tmp_path / "out", "--workers", "1")
    assert [row["state"] for row in results(tmp_path / "out")] == ["complete", "fail"]
    assert f"trial 1: FAILED, see {tmp_path}/out/runs/1.log.txt" in capfd.readouterr().out
    assert "hidden_size" in (tmp_path / "out/runs/1.log.txt").read_text()
