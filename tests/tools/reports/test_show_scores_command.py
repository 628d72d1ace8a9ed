import json

import pytest

METRICS = {"precision-PER": 0.5, "recall-PER": 1.0, "f1-measure-PER": 0.6667, "loss": 3.0}


@pytest.fixture
def show(allennlp, tmp_path, capsys):
    """Shows a file with this text; gives the printed lines."""

    def show(text):
        path = tmp_path / "metrics.json"
        path.write_text(text)
        allennlp("show-scores", path)
        return capsys.readouterr().out.splitlines()

    return show


def test_metrics_of_an_evaluation_or_of_the_best_epoch_become_a_table(show):
    assert show(json.dumps(METRICS))[1].split() == ["PER", "0.5000", "1.0000", "0.6667"]
    best = {f"best_validation_{name}": value / 2 for name, value in METRICS.items()}
    assert show(json.dumps({**METRICS, **best}))[1].split() == ["PER", "0.2500", "0.5000", "0.3333"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"loss": "high"}', "metrics.json holds no metrics, but loss; name"),
        ("[]", "metrics.json is no JSON object; name"),
        ("{", "metrics.json is no JSON object; name"),
    ],
)
def test_a_file_without_metrics_is_refused(text, message, show):
    with pytest.raises(SystemExit, match=f"^show-scores: .*{message}"):
        show(text)
