from xml.etree import ElementTree

import pytest

from scripts import compare_studies


@pytest.fixture
def folders(tmp_path):
    rows = {
        "one": [
            '"CRF, tuned",macro F1,1.25,0.5,2.0',
            '"CRF, tuned",micro F1,9,9,9',
            "softmax,macro F1,-1,-2,1",
        ],
        "two": ["'=x,macro F1,-3.0,-4.0,-1.0"],
    }
    for name, lines in rows.items():
        folder = tmp_path / name
        folder.mkdir()
        (folder / "differences.csv").write_text(
            "\n".join(["variant,column,mean,low,high", *lines]) + "\n"
        )
        (folder / "results.csv").write_text(
            "variant,seed,test_f1-measure-macro\nCRF,1,0.5\nCRF,2,0.6\nsoftmax,1,0.1\n"
        )
    return [str(tmp_path / name) for name in rows]


def test_studies_stand_side_by_side(folders, tmp_path, capsys):
    figure = tmp_path / "figure.svg"
    compare_studies.main([*folders, "--titles", "A", "B", "--figure", str(figure)])
    assert capsys.readouterr().out.splitlines() == [
        "| | A | B |",
        "|---|---|---|",
        "| CRF | 55.0 | 55.0 |",
        "| =x | – | **-3.0 (-4.0 to -1.0)** |",
        "| CRF, tuned | **+1.2 (+0.5 to +2.0)** | – |",
        "| softmax | -1.0 (-2.0 to +1.0) | – |",
    ]
    texts = {"".join(each.itertext()).strip() for each in ElementTree.parse(figure).iter()}
    assert {"A", "B", "softmax", "difference from CRF, in points"} <= texts


def test_another_column_may_be_shown(folders, capsys):
    compare_studies.main([*folders, "--column", "micro F1"])
    assert "| CRF, tuned | **+9.0 (+9.0 to +9.0)** | – |" in capsys.readouterr().out


def test_what_is_missing_is_said(folders, tmp_path):
    with pytest.raises(SystemExit, match="differences.csv.*run `allennlp study` with a `baseline`"):
        compare_studies.main([str(tmp_path)])
    with pytest.raises(SystemExit, match="--titles must be as many as folders, 2; got 1"):
        compare_studies.main([*folders, "--titles", "A"])
