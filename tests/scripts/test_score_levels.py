"""Levels of nested entities, as `scripts/experiments/score_levels.py` divides and scores them."""

import pytest

from scripts.experiments.score_levels import levels, main

#: Skills in the second column, knowledge in the third; both cover `SQL`.
NESTED = """writes	B-Skill	O
Java	I-Skill	B-Knowledge
for	O	O
SQL	B-Skill	B-Knowledge
in	O	O
Oslo	O	B-Knowledge

"""


def test_an_entity_in_another_one_is_inner():
    spans = [("A", (0, 3)), ("B", (3, 3)), ("C", (3, 4)), ("D", (3, 3))]
    assert levels(spans) == ({("A", (0, 3)), ("C", (3, 4))}, {("B", (3, 3)), ("D", (3, 3))})


def test_outermost_entities_are_written_and_levels_are_scored(trained, tmp_path, capsys):
    file, target = tmp_path / "nested.conll", tmp_path / "outermost/nested.conll"
    file.write_text(NESTED)
    main(["outermost", str(file), str(target)])
    rows = [line.split("\t") for line in target.read_text().split("\n") if line]
    tags = ["B-Skill", "I-Skill", "O", "B-Knowledge", "O", "B-Knowledge"]
    assert rows == [[line.split("\t")[0], tag] for line, tag in zip(NESTED.split("\n"), tags)]
    main(["score", str(file), str(trained / "model.tar.gz")])
    assert "outer F1 0.0 of 3; inner F1 0.0 of 2" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["score", str(file)])
