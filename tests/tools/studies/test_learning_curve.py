import json
from itertools import pairwise

import numpy as np
import pytest

from tagger.data.splitting.documents import Documents
from tagger.data.splitting.split import Item
from tagger.tools.runs.jobs import JOB_FILE, Job
from tagger.tools.runs.results import METRICS_FILE
from tagger.tools.runs.work import COUNTS_FILE, SentenceCounts
from tagger.tools.start.parts import Source
from tagger.tools.studies.learning_curve import (
    MULTIPLES,
    LearningCurve,
    _curve,
    _f1,
    _spreads,
    _with_curves,
    nested_parts,
)
from tagger.tools.studies.power_law import predict_quality
from tests.conftest import CONFIGS, ROOT

TOY = ROOT / "data/toy"
SIZES = np.array([100.0, 200.0, 400.0, 700.0, 1000.0])


def curve_at(sizes, least=0.05, rate=0.5, factor=8.0):
    return 1 / (1 + least + factor * np.asarray(sizes) ** -rate)


@pytest.mark.parametrize("rate", [0.2, 0.5, 0.9])
@pytest.mark.parametrize("least", [0.0, 0.05, 0.2])
def test_a_planted_curve_is_predicted(rate, least):
    factor = 0.7 * 100**rate
    planted = curve_at([2000, 5000], least, rate, factor)
    qualities = curve_at(SIZES, least, rate, factor)
    found = predict_quality(SIZES, qualities, [0.001] * 5, [2000, 5000])
    assert np.abs(found.middle - planted).max() < 0.02
    assert ((found.low <= planted) & (planted <= found.high)).all()


def test_intervals_hold_the_truth_about_as_often_as_they_say():
    rng, num_held, num = np.random.default_rng(0), 0, 120
    for _ in range(num):
        rate, least = rng.uniform(0.15, 0.8), rng.uniform(0.0, 0.2)
        planted = curve_at([*SIZES, 2000], least, rate, rng.uniform(0.2, 1.5) * 100**rate)
        drawn = planted + 0.008 * rng.standard_normal(6)
        found = predict_quality(SIZES, drawn[:5], [0.008] * 5, [2000])
        num_held += bool(found.low[0] <= drawn[5] <= found.high[0])
    assert 0.83 * num <= num_held


def test_larger_spreads_and_farther_sizes_are_less_certain():
    def width(spread, size):
        found = predict_quality(SIZES, curve_at(SIZES), [spread] * 5, [size])
        return float(found.high[0] - found.low[0])

    assert width(0.002, 2000) < width(0.01, 2000) < width(0.01, 8000)


def test_a_quality_that_falls_is_predicted_to_stay():
    found = predict_quality(SIZES, [0.8, 0.7, 0.6, 0.5, 0.4], [0.001] * 5, [2000])
    assert 0.3 < found.middle[0] <= 0.81


@pytest.mark.parametrize(
    ("sizes", "spreads", "message"),
    [
        ([5, 5], [1, 1], "needs runs of two sizes"),
        ([5], [1], "needs runs of two sizes"),
        ([0, 5], [1, 1], "must be above 0"),
        ([1, 5], [1, 0], "must be above 0"),
    ],
)
def test_what_is_no_curve_is_refused(sizes, spreads, message):
    with pytest.raises(ValueError, match=message):
        predict_quality(sizes, [0.5] * len(sizes), spreads, [10])


@pytest.mark.parametrize("shares", [(0.1, 0.3, 1.0), (0.2, 0.5, 0.6)])
def test_parts_are_nested_and_divide_no_document(shares):
    rng = np.random.default_rng(1)
    documents = np.sort(rng.integers(0, 60, 500)).tolist()
    items = [Item(["a"], [(label, "a")]) for label in rng.choice(["A", "B", "C"], 500)]
    source = Source("x", items, ["a\n"] * 500, Documents("marks", "docstart", documents))
    parts = [part.parts[name] for name, part in nested_parts(source, shares).items()]
    assert [len(part) / 500 for part in parts] == pytest.approx(shares, abs=0.06)
    for one, other in pairwise(parts):
        assert set(one) < set(other)
    for part in parts:
        inside = {documents[n] for n in part}
        assert len(part) == sum(each in inside for each in documents)
        assert part == sorted(part)


def test_a_tagger_that_has_not_begun_to_learn_is_left_out():
    measured = LearningCurve("F1", "sentences", [50, *SIZES], [], [])
    qualities = np.array([0.0, *curve_at(SIZES)])
    with_it = _curve("all", measured, qualities, np.full(6, 0.005))
    without = _curve("all", measured._replace(num_items=[*SIZES]), qualities[1:], np.full(5, 0.005))
    assert with_it.predicted.middle == pytest.approx(without.predicted.middle)
    assert with_it.qualities[0] == 0.0


def test_the_spread_is_that_of_differences_on_the_same_documents():
    rng = np.random.default_rng(2)
    gold = rng.integers(0, 4, (300, 1))
    right = rng.binomial(gold, 0.7)
    one = np.stack([right, gold, gold], axis=1)
    equal = _spreads(np.stack([one, one, one]), 1)
    assert equal == pytest.approx(np.full((3, 1), 0.005))
    assert _spreads(np.stack([one, one]), 4) == pytest.approx(np.full((2, 1), 0.0025))
    other = np.stack([rng.binomial(gold, 0.7), gold, gold], axis=1)
    spreads = _spreads(np.stack([other, one]), 1)
    assert (spreads > 0.01).all()
    assert _f1(one.sum(0)) == pytest.approx(right.sum() / gold.sum())


def test_seeds_shift_a_label_more_than_all_together():
    gold = np.array([[6, 2, 2]] * 50)
    one = np.stack([gold // 2, gold, gold], axis=1)
    together = _spreads(np.stack([one, one]).sum(-1, keepdims=True), 1)
    by_label = _spreads(np.stack([one, one]), 1)
    # If each label varies by itself, their weighted mean varies as the whole does.
    weights = gold[0] / 10
    assert np.sqrt(((by_label * weights) ** 2).sum(-1)) == pytest.approx(together[:, 0])


def test_a_label_with_few_training_entities_is_less_certain():
    def width(num_labelled):
        measured = LearningCurve("F1", "sentences", [*SIZES], [], [])
        found = _curve("PER", measured, curve_at(SIZES), np.full(5, 0.01), num_labelled).predicted
        return float(found.high[1] - found.low[1])

    assert width(None) == pytest.approx(width(1e6), abs=1e-3)
    assert width(1000.0) < width(20.0)


def test_a_label_that_is_never_found_has_no_curve(tmp_path):
    jobs = [Job({"share": str(share), "seed": 1}, {}) for share in (0.25, 0.5, 1.0)]
    gold = np.array([[3, 2, 0]] * 40)
    for number, job in enumerate(jobs):
        folder = job.folder(tmp_path)
        folder.mkdir(parents=True)
        right = gold * [1, 0, 0] - [[2 - number, 0, 0]]
        counts = np.stack([right, gold, gold], axis=1)
        SentenceCounts(["PER", "LOC", "ORG"], counts).write(folder / COUNTS_FILE)
        (folder / JOB_FILE).write_text("{}")
        (folder / METRICS_FILE).write_text('{"best_validation_F1": 0.3}')
    measured = LearningCurve("F1", "sentences", [10, 20, 40], [], [])
    found = _with_curves(measured, jobs, tmp_path, {"PER": 120.0, "LOC": 80.0})
    assert [each.name for each in found.curves] == ["all", "PER"]
    assert (found.left_out, found.not_begun) == (["ORG"], ["LOC"])
    assert found.says()[-1].endswith("since the tagger finds none of them yet: LOC")


@pytest.mark.slow
@pytest.mark.usefixtures("warm_python")
def test_it_trains_once_and_says_what_more_labels_bring(allennlp, at_root, tmp_path, capsys):
    out = tmp_path / "out"
    command = (
        "learning-curve",
        TOY / "train.txt",
        TOY / "dev.txt",
        "-s",
        out,
        "--shares",
        0.3,
        0.6,
        1,
    )
    config = ("--config", CONFIGS / "toy_bilstm_crf.jsonnet")
    command = (*command, *config, "--overrides", json.dumps({"trainer.num_epochs": 2}))
    allennlp(*command)
    said = capsys.readouterr().out
    assert "3 runs, of which 0 are finished" in said
    assert "f1-measure-overall" in said
    assert "with twice as many like these" in said
    record = json.loads((out / "curve.json").read_text())
    assert record["num_items"] == sorted(record["num_items"])
    assert len(record["curves"]["all"]["measured"]) == 3
    expected = record["curves"]["all"]["expected"]
    assert {len(each) for each in expected.values()} == {len(MULTIPLES)}
    assert "expected" in (out / "curve.svg").read_text()
    before = {path.name: path.read_bytes() for path in out.glob("curve.*")}
    allennlp(*command)
    again = capsys.readouterr().out
    assert "3 runs, of which 3 are finished" in again
    assert again[-200:] == said[-200:]
    assert before == {path.name: path.read_bytes() for path in out.glob("curve.*")}


@pytest.mark.usefixtures("at_root")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--shares", 0.5, 1], "must be at least three different numbers"),
        (["--shares", 0, 0.5, 1], "must be at least three different numbers"),
        (["--shares", 0.1, 0.5, 1.5], "must be at least three different numbers"),
        (["--overrides", "{}"], "name it by --config"),
        (["--documents", "docstart"], "separates no documents here"),
    ],
)
def test_wrong_options_are_refused_before_training(options, message, allennlp, tmp_path):
    command = ("learning-curve", TOY / "train.txt", TOY / "dev.txt", "-s", tmp_path / "out")
    with pytest.raises(SystemExit, match=f"^learning-curve: .*{message}"):
        allennlp(*command, *options)
    assert not (tmp_path / "out" / "runs").exists()


def test_labels_of_whole_texts_are_refused(allennlp, tmp_path):
    texts = [{"text": f"a text of words {n}", "labels": ["A", "B"][: n % 3]} for n in range(30)]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(each) + "\n" for each in texts))
    files = [tmp_path / "a.jsonl"] * 2
    with pytest.raises(SystemExit, match="expected labels of words, got labels of whole texts"):
        allennlp("learning-curve", *files, "-s", tmp_path / "out")


@pytest.mark.usefixtures("at_root")
def test_the_report_shows_the_curve(allennlp, trained, tmp_path):
    page, folder = tmp_path / "report.html", tmp_path / "curve"
    command = ("report", trained, "-o", page, "--learning-curve", folder)
    with pytest.raises(SystemExit, match="curve.json"):
        allennlp(*command)
    folder.mkdir()
    expected = {"middle": [0.8], "low": [0.7], "high": [0.9]}
    curves = {"all": {"measured": [0.3, 0.5, 0.7], "expected": expected}}
    record = {"metric": "f1", "noun": "texts", "num_items": [10, 20, 40], "num_wanted": [80]}
    says = ["f1 70.0 with 40 texts <b>"]
    (folder / "curve.json").write_text(json.dumps({**record, "curves": curves, "says": says}))
    allennlp(*command)
    text = page.read_text()
    assert "<li>f1 70.0 with 40 texts &lt;b&gt;</li>" in text
    assert 'href="#more"' in text
