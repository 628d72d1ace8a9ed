import json
import math

import pytest

from tagger.tools.runs.results import Result
from tagger.tools.studies.weighting import (
    biased_jobs,
    plain_jobs,
    run_weighting_study,
    weighted_jobs,
    with_plain_results,
)
from tests.conftest import CONFIGS

CONFIG = {"model": {"type": "sequence_tagger", "encoder": 1}}


def test_every_strategy_label_weight_and_seed_is_a_job_with_its_weighting():
    jobs = weighted_jobs(CONFIG, ["chain", "decode_bias"], ["PER", "LOC"], [0.5, 1, 2], [1, 2])
    assert len(jobs) == len({tuple(job.factors.values()) for job in jobs}) == 2 * 2 * 2
    assert [job.factors["seed"] for job in jobs] == [1] * 4 + [2] * 4
    job = jobs[1]
    assert job.factors == {"strategy": "chain", "label": "PER", "weight": 2, "seed": 1}
    assert job.config["model"] == {
        "type": "sequence_tagger",
        "encoder": 1,
        "head": {"type": "crf", "weighting": {"type": "chain", "label_weights": {"PER": 2}}},
    }
    assert "head" not in CONFIG["model"]


def test_a_head_keeps_its_other_settings():
    config = {"model": {"head": {"type": "crf", "constrain_training": True}}}
    (job,) = weighted_jobs(config, ["chain"], ["PER"], [2], [1])
    assert job.config["model"]["head"]["constrain_training"]


def test_a_weight_biases_decoding_by_its_logarithm(tmp_path):
    (plain,) = plain_jobs(CONFIG, [7])
    (job,) = biased_jobs([plain], tmp_path, ["PER"], [1, 2])
    assert job.factors == {"strategy": "decode_bias", "label": "PER", "weight": 2, "seed": 7}
    assert job.config["archive"] == str(plain.folder(tmp_path) / "model.tar.gz")
    assert job.config["overrides"] == {"model.head.decode_bias": {"PER": math.log(2)}}


def test_the_plain_result_stands_for_weight_one_of_every_strategy_and_label():
    plain = Result({"strategy": "plain", "label": "none", "weight": 1, "seed": 1}, {"f1": 0.5})
    heavy = Result({"strategy": "chain", "label": "PER", "weight": 2, "seed": 1}, {"f1": 0.6})
    light = Result({"strategy": "chain", "label": "PER", "weight": 0.5, "seed": 1}, {"f1": 0.4})
    results = with_plain_results([plain], [heavy, light], ["chain", "lannoy"], ["PER"])
    assert [tuple(result.factors.values()) for result in results] == [
        ("chain", "PER", 0.5, 1),
        ("chain", "PER", 1, 1),
        ("chain", "PER", 2, 1),
        ("lannoy", "PER", 1, 1),
    ]
    assert results[1].metrics == results[3].metrics == plain.metrics


@pytest.mark.slow
@pytest.mark.usefixtures("warm_python")
def test_the_study_runs_from_one_command(allennlp, at_root, tmp_path, capfd):
    overrides = {"trainer.num_epochs": 1, "test_data_path": "data/toy/test.txt"}
    arguments = [CONFIGS / "toy_bilstm_crf.jsonnet", "-s", tmp_path, "--labels", "PER"]
    arguments += ["--weights", "1", "3", "--strategies", "chain", "decode_bias", "--seeds", "1"]
    allennlp("weighting-study", *arguments, "-o", json.dumps(overrides))
    assert "decode_bias" in (tmp_path / "report.html").read_text()
    header, *lines = (tmp_path / "results.csv").read_text().splitlines()
    assert header.startswith("strategy,label,weight,seed,")
    assert {"best_validation_recall-PER", "test_recall-PER"} < set(header.split(","))
    assert [line.split(",")[:4] for line in lines] == [
        [strategy, "PER", weight, "1"] for strategy in ("chain", "decode_bias") for weight in "13"
    ]


@pytest.mark.parametrize("weight", ["0", "-1", "two"])
def test_a_weight_of_nothing_is_refused(weight, allennlp, tmp_path, capsys):
    arguments = ["config", "-s", tmp_path, "--labels", "PER", f"--weights={weight}"]
    with pytest.raises(SystemExit):
        allennlp("weighting-study", *arguments)
    assert f"weights must be above 0; got {weight}" in capsys.readouterr().err


def test_an_unknown_strategy_is_refused(tmp_path):
    with pytest.raises(ValueError, match="`chian`, which is none of emission, .*mean `chain`"):
        run_weighting_study(CONFIG, tmp_path, ["PER"], [2], [1], ["chian"])
    assert not any(tmp_path.iterdir())
