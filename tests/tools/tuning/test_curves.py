import json

import pytest

from tagger.tools.tuning.curves import CURVES_NAME, DecodingCurves, decoding_curves, saved_curves
from tagger.tools.tuning.decoding import Settings
from tests.tools.tuning.test_decoding import metrics, tuner  # noqa: F401  (a fixture)


def test_a_curve_has_precision_and_recall_at_each_bias(tuner):  # noqa: F811
    settings = Settings({"X": 0.5, "Y": -1.0}, {"X": 0.3})
    curves = decoding_curves(tuner, settings, "dev.txt")
    assert list(curves.labels) == ["X", "Y"]
    curve = curves.labels["X"]
    assert curve.biases == sorted(curve.biases)
    assert len(curve.biases) == 49
    for bias in (-12.0, -1.5, 0.0, 3.0):
        # The threshold of the label, and the other label's bias, stay.
        tried = Settings({"X": bias, "Y": -1.0}, {"X": 0.3})
        precision, recall = metrics(tuner, tried, "X")
        at = curve.biases.index(bias)
        assert curve.recalls[at] == pytest.approx(recall, abs=1e-4)
        assert curve.precisions[at] is None or curve.precisions[at] == pytest.approx(
            precision, abs=1e-4
        )
    assert curve.num_gold == tuner.counts(settings)[2, 0]
    assert 0 == curve.recalls[0] < curve.recalls[24]
    assert curve.precisions[0] is None


def test_curves_are_read_as_they_were_written(tuner, tmp_path):  # noqa: F811
    curves = decoding_curves(tuner, Settings({}, {}), "dev.txt")
    assert DecodingCurves.from_json(curves.to_json()) == curves
    assert saved_curves(tmp_path) is None
    (tmp_path / CURVES_NAME).write_text(curves.to_json())
    assert saved_curves(tmp_path) == curves


def curve(**changes):
    numbers = {"num_gold": 1, "biases": [0], "precisions": [None], "recalls": [0.5], **changes}
    return json.dumps({"data": "a", "labels": {"X": numbers}})


@pytest.mark.parametrize(
    "text",
    [
        *("", "[]", "[" * 100_000, '{"data": 1}', '{"data": "a", "labels": {"X": {}}}'),
        curve(biases=[0, 1]),
        curve(biases=[float("nan")]),
        curve(recalls=["a"]),
        curve(precisions=[2]),
        curve(num_gold=10**400),
    ],
)
def test_what_is_no_curve_is_refused(text):
    with pytest.raises(ValueError, match="`decoding_curves.json` must hold what .* make it again"):
        DecodingCurves.from_json(text)
