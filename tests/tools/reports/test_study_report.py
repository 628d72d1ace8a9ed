import csv
import xml.etree.ElementTree as ET

import pytest

from tagger.tools.reports.study_report import read_weighting_results, write_study_report
from tagger.tools.runs.results import Result, write_results
from tests.tools.reports.pages import read_page

LABELS = ["<b>&$1$", "LOC"]


def metrics(label, weight, seed):
    """Metrics of which only the weighted label's depend on its weight: recall rises, precision falls."""
    values_by_name = {}
    for data, level in [(d, n) for d in ("best_validation_", "test_") for n in ("", "token-")]:
        for other in LABELS:
            shift = (weight - 1) / 20 * (other == label)
            luck = (seed - 1.5) / 5
            values = (0.6 - shift + luck, 0.5 + shift + luck + 0.02 * (data == "test_"), 0.55)
            names = ("precision", "recall", "f1-measure")
            for name, value in zip(names, values):
                values_by_name[f"{data}{level}{name}-{other}"] = value
        values_by_name[f"{data}{level}f1-measure-macro"] = (
            0.5 - (0.1 if weight == 4 else 0) + seed / 500
        )
        values_by_name[f"{data}{level}confusion-LOC>{LABELS[0]}"] = 3
    return values_by_name


@pytest.fixture
def results():
    return [
        Result(
            {"strategy": strategy, "label": label, "weight": weight, "seed": seed},
            metrics(label, weight, seed),
        )
        for strategy in ("chain", "emission")
        for label in LABELS
        for weight in (0.5, 1, 2, 4)
        for seed in (1, 2)
    ]


@pytest.mark.parametrize("level", ["tokens", "spans"])
def test_the_page_is_whole_and_says_what_weights_do(results, tmp_path, level):
    path = tmp_path / "new" / "study.html"
    write_study_report(results, path, tmp_path / "figures", level)
    cells = read_page(path).cells
    row = cells.index("with recall") + 1
    assert cells[row : row + 4] == [
        *(LABELS[0], "chain"),
        *("-1.00 [-1.00, -1.00]", "+1.00 [+1.00, +1.00]"),
    ]
    row = cells.index("test macro F1") + 1
    assert cells[row : row + 7] == [
        *(LABELS[0], "chain", "2"),
        *("55.0 (+5.0 [+5.0, +5.0])", "50.3 (+0.0 [+0.0, +0.0])"),
        *("57.0 (+5.0 [+5.0, +5.0])", "50.3 (+0.0 [+0.0, +0.0])"),
    ]
    title = {"tokens": "tokens", "spans": "entities"}[level]
    assert "6" in cells[cells.index(title) :]


def test_noise_around_zero_is_called_nothing_learnt(results, tmp_path):
    for result in results:
        for name, value in result.metrics.items():
            if result.factors["label"] in name and "confusion" not in name:
                # Every metric of the weighted label rises with the weight, up to an F1 of 2 %.
                result.metrics[name] = value if "macro" in name else result.factors["weight"] / 200
    write_study_report(results, tmp_path / "study.html", tmp_path)
    cells = read_page(tmp_path / "study.html").cells
    row = cells.index("with recall") + 1
    assert cells[row : row + 4] == [LABELS[0], "chain", "nothing learnt", "nothing learnt"]
    row = cells.index("test macro F1") + 1
    assert cells[row : row + 4] == [LABELS[0], "chain", "nothing learnt", ""]
    assert (tmp_path / "weights.svg").read_text().count("nothing learnt") == 4
    assert "F1 stays below 10.0 % under every" in read_page(tmp_path / "study.html").text


def test_effects_that_differ_from_seed_to_seed_are_called_unclear(results, tmp_path):
    for result in results:
        if result.factors["seed"] == 1:
            name = f"best_validation_token-recall-{result.factors['label']}"
            result.metrics[name] = 1 - result.metrics[name]
    write_study_report(results, tmp_path / "study.html")
    cells = read_page(tmp_path / "study.html").cells
    row = cells.index("with recall") + 1
    assert cells[row + 2 : row + 4] == ["-1.00 [-1.00, -1.00]", "+0.00 [-1.00, +1.00], unclear"]


def test_changes_that_may_be_chance_are_called_unclear(results, tmp_path):
    for result in results:
        if result.factors["seed"] == 1 and result.factors["weight"] == 2:
            result.metrics[f"best_validation_token-recall-{result.factors['label']}"] += 0.2
    write_study_report(results, tmp_path / "study.html")
    # The changes are 25 points with one seed, 5 with the other.
    assert "65.0 (+15.0 [-112.1, +142.1], unclear)" in read_page(tmp_path / "study.html").cells


def test_precision_without_predictions_is_shown_as_a_dash(results, tmp_path):
    for result in results:
        name = f"best_validation_token-num-predicted-{result.factors['label']}"
        result.metrics[name] = 0
    write_study_report(results, tmp_path / "study.html")
    cells = read_page(tmp_path / "study.html").cells
    row = cells.index("with recall") + 1
    assert cells[row + 2 : row + 4] == ["–", "+1.00 [+1.00, +1.00]"]
    row = cells.index("development precision") + 4
    assert cells[row : row + 5] == [LABELS[0], "chain", "1", "–", "50.3"]


def test_one_seed_has_no_interval(results, tmp_path):
    one_seed = [result for result in results if result.factors["seed"] == 1]
    write_study_report(one_seed, tmp_path / "study.html")
    cells = read_page(tmp_path / "study.html").cells
    row = cells.index("with recall") + 1
    assert cells[row + 2 : row + 4] == ["-1.00, one seed", "+1.00, one seed"]
    assert "45.0 (+5.0, one seed)" in cells


def test_the_figure_is_a_file_with_rows_for_labels_and_columns_for_strategies(results, tmp_path):
    for name in ("a", "b"):
        write_study_report(results, tmp_path / "study.html", tmp_path / name)
    svg, again = ((tmp_path / name / "weights.svg").read_text() for name in ("a", "b"))
    assert svg == again
    texts = [each.text for each in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]
    for name in (*LABELS, "chain", "emission"):
        assert texts.count(name) == 1
    assert {"0.5", "1", "2", "4", "macro F1"} <= set(texts)


def test_without_metrics_on_test_data_none_are_shown(results, tmp_path):
    for result in results:
        for name in [name for name in result.metrics if name.startswith("test_")]:
            del result.metrics[name]
    write_study_report(results, tmp_path / "study.html")
    assert not any("test" in cell for cell in read_page(tmp_path / "study.html").cells)


def test_results_survive_the_file_that_the_script_reads(allennlp, results, tmp_path):
    write_results(results, tmp_path / "results.csv")
    assert read_weighting_results(tmp_path / "results.csv") == results
    pages = [tmp_path / "a.html", tmp_path / "b.html"]
    write_study_report(results, pages[0], level="spans")
    allennlp("report", tmp_path / "results.csv", "-o", pages[1], "--level", "spans")
    assert pages[0].read_text() == pages[1].read_text()


TEXTS = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "'s-Hertogenbosch", "'=1", "''", "''=1", "a,b\n"]


@pytest.mark.parametrize("label", TEXTS)
def test_a_label_is_no_formula_in_the_file_and_the_same_when_it_is_read(label, tmp_path):
    path = tmp_path / "results.csv"
    factors = {"strategy": "chain", "label": label, "weight": 0.5, "seed": -1}
    write_results([Result(factors, {"f1": -0.5})], path)
    with path.open(newline="") as file:
        (row,) = csv.DictReader(file)
    assert row["label"][0] not in "=+-@\t\r"
    assert (row["seed"], row["f1"]) == ("-1", "-0.5")
    assert read_weighting_results(path) == [Result(factors, {"f1": -0.5})]


def test_results_of_another_study_are_refused(allennlp, tmp_path):
    write_results([Result({"variant": "plain", "seed": 1}, {"f1": 1})], tmp_path / "results.csv")
    with pytest.raises(
        SystemExit, match="must have the columns strategy, .* got variant, seed, f1"
    ):
        allennlp("report", tmp_path / "results.csv", "-o", tmp_path / "study.html")


def test_a_cell_that_is_no_number_is_named(allennlp, results, tmp_path):
    path = tmp_path / "results.csv"
    write_results(results[:1], path)
    path.write_text(path.read_text().replace(",0.5,", ",half,", 1))
    with pytest.raises(
        SystemExit, match=r"results.csv:2: .*'half'; weights, seeds and metrics must"
    ):
        allennlp("report", path, "-o", tmp_path / "study.html")


def test_no_results_and_unknown_levels_are_refused(results, tmp_path):
    for arguments in ([], {}), (results, {"level": "words"}):
        with pytest.raises(ValueError, match="`level` must be one of tokens, spans; got"):
            write_study_report(arguments[0], tmp_path / "study.html", **arguments[1])
