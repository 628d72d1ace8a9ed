"""The samples and configs of `scripts/experiments/measure_languages.py`; nothing is trained."""

import json
from pathlib import Path

import pytest

from scripts.experiments import measure_languages
from tests.transformers.small import save_word_pieces


@pytest.fixture
def measured(tmp_path, monkeypatch, capsys):
    """Runs the script on two languages, and gives its jobs and what it prints."""
    for name, word in (("es", "Lima"), ("de", "Kiel")):
        (tmp_path / name).mkdir()
        for part, number in (("train", 300), ("dev", 60), ("test", 30)):
            sentences = (f"{word} B-LOC\nund{n} O\n\n" for n in range(number))
            (tmp_path / name / f"{part}.txt").write_text("".join(sentences))
    save_word_pieces(tmp_path / "encoder")
    monkeypatch.setitem(measure_languages.WITH_ENCODER, "transformer_layers", [1])
    jobs = []

    def run_jobs(given, folder, num_workers):
        jobs.extend(given)
        for number, job in enumerate(given):
            job.folder(folder).mkdir(parents=True, exist_ok=True)
            metrics = {each.metrics[0]: number / 100 for each in measure_languages.COLUMNS}
            (job.folder(folder) / "metrics.json").write_text(json.dumps(metrics))
            (job.folder(folder) / "job.json").write_text("{}")
        return given[:-1] if folder.name == "fails" else []

    monkeypatch.setattr(measure_languages, "run_jobs", run_jobs)

    def run(*arguments, folder="runs"):
        encoder = str(tmp_path / "encoder")
        arguments = [str(tmp_path), *arguments, "-s", str(tmp_path / folder)]
        measure_languages.main([*arguments, "--encoder", encoder])
        return jobs, capsys.readouterr().out

    return run


def sentences_of(path):
    return Path(path).read_text().strip().split("\n\n")


def test_both_ways_are_trained_on_the_same_sample(measured, tmp_path):
    jobs, printed = measured("es", "de", "--tokens", "100", "--seeds", "1", "2")
    factors = [tuple(job.factors.values()) for job in jobs]
    # Every language comes before the second seed.
    of_seed = [("es", "without"), ("es", "with"), ("de", "without"), ("de", "with")]
    assert factors == [(*each, seed) for seed in (1, 2) for each in of_seed]
    for job in jobs:
        config = job.config
        train, dev = (sentences_of(config[f"{part}_data_path"]) for part in ("train", "validation"))
        assert (len(train), len(dev)) == (50, 16)
        assert config["test_data_path"] == str(tmp_path / job.factors["language"] / "test.txt")
        # The settings that `start` proposes for so few tokens.
        assert (config["data_loader"]["batch_size"], config["trainer"]["num_epochs"]) == (8, 60)
        embedders = config["model"]["text_field_embedder"]["token_embedders"]
        assert ("transformer" in embedders) == (job.factors["encoder"] == "with")
    assert jobs[0].config["train_data_path"] == jobs[1].config["train_data_path"]
    assert train != sentences_of(tmp_path / "de/train.txt")[:50]
    assert "| es, with | 3.0 ± 2.8 |" in printed
    assert (tmp_path / "runs/results.csv").read_text().count("\n") == 9


def test_without_a_number_of_tokens_the_files_are_trained_on(measured, tmp_path):
    jobs, _ = measured("es", "--tokens", "0", "--seeds", "1")
    assert jobs[0].config["train_data_path"] == str(tmp_path / "es/train.txt")


def test_transfer_is_measured_with_none_and_few_sentences_of_the_other_language(measured, tmp_path):
    jobs, printed = measured("es", "--source", "de", "--tokens", "100", "--seeds", "1")
    ways = {job.factors["trained on"]: job.config for job in jobs}
    assert list(ways) == ["de", "de and 100 of es", "100 of es"]
    found = [sentences_of(each["train_data_path"]) for each in ways.values()]
    assert [len(each) for each in found] == [50, 150, 100]
    assert found[1] == found[0] + found[2]
    assert all("Kiel" in each for each in found[0])
    assert all("Lima" in each for each in found[2])
    for config in ways.values():
        assert "Kiel" in Path(config["validation_data_path"]).read_text()
        assert config["test_data_path"] == str(tmp_path / "es/test.txt")
    assert "| es, de and 100 of es | 1.0 |" in printed


def test_failed_runs_are_reported_after_the_table(measured):
    with pytest.raises(SystemExit, match=r"^1 runs failed; see .*without/1.log.txt$"):
        measured("es", "--seeds", "1", folder="fails")
