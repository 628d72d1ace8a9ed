import json
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


def test_labels_are_compared_by_how_often_training_shows_them(folders, tmp_path, capsys):
    # 60 spans of PER, 20 of LOC and 400 of ORG in training.
    file = tmp_path / "train.txt"
    file.write_text("a B-PER\n\n" * 60 + "a B-LOC\nb I-LOC\n\n" * 20 + "a B-ORG\n\n" * 400)
    reader = {"type": "column", "source_encoding": "BIO", "tag_encoding": "BIOUL"}
    metrics = [
        f"test_{kind}-{label}"
        for label in ("PER", "LOC", "ORG", "overall")
        for kind in ("num-gold", "f1-measure", "recall")
    ]
    # ORG has too few test entities.
    rows = {
        "CRF": [[90, 0.5, 0.4, 10, 0.2, 0.1, 9, 0, 0, 99, 0, 0]] * 2,
        "other": [
            [90, 0.6, 0.5, 10, 0.3, 0.3, 9, 1, 1, 99, 1, 1],
            [90, 0.7, 0.5, 10, 0.5, 0.3, 9, 1, 1, 99, 1, 1],
        ],
    }
    lines = [
        ",".join(map(str, [name, seed, *values]))
        for name, runs in rows.items()
        for seed, values in enumerate(runs)
    ]
    for number, folder in enumerate(folders):
        # A variant that one study lacks is left out.
        lines += [lines[-1].replace("other", "only here")] if number == 0 else []
        run = tmp_path / folder / "runs/CRF/1"
        run.mkdir(parents=True)
        config = {"dataset_reader": reader, "train_data_path": str(file)}
        (run / "config.json").write_text(json.dumps(config))
        (tmp_path / folder / "results.csv").write_text(
            "\n".join([",".join(["variant", "seed", *metrics]), *lines]) + "\n"
        )
        lines = [line for line in lines if "only" not in line]
    compare_studies.main([*folders, "--by-count"])
    assert capsys.readouterr().out.splitlines()[-4:] == [
        "| F1, recall | below 30 | 30 to 299 | 300 to 2,999 | 3,000 or more |",
        "|---|---|---|---|---|",
        "| other | +20.0, +20.0 | +15.0, +10.0 | – | – |",
        "| | 2 labels | 2 labels | 0 labels | 0 labels |",
    ]


def test_what_is_missing_is_said(folders, tmp_path):
    with pytest.raises(SystemExit, match="differences.csv.*run `allennlp study` with a `baseline`"):
        compare_studies.main([str(tmp_path)])
    with pytest.raises(SystemExit, match="--titles must be as many as folders, 2; got 1"):
        compare_studies.main([*folders, "--titles", "A"])
