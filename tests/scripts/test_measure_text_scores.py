import re

import pytest

from scripts import measure_text_scores
from scripts.measure_text_scores import CORPORA, write_corpus
from tagger.data.column_file import read_sentences
from tagger.spans import tags_to_spans


@pytest.mark.parametrize("name", CORPORA)
def test_the_columns_hold_the_texts_and_their_entities(name, tmp_path):
    texts = write_corpus(CORPORA[name], 200, tmp_path)
    with open(tmp_path / "test.txt", "rb") as lines:
        rows = [list(zip(*(row.columns for row in each))) for each in read_sentences(lines, name)]
    for text, (tokens, tags) in zip(texts, rows, strict=True):
        (sentence,) = text.sentences
        assert "".join(tokens) == re.sub(r"\s", "", sentence)
        in_tokens = {
            (label, "".join(tokens[first : last + 1]))
            for label, (first, last) in tags_to_spans(tags, "BIO")
        }
        assert in_tokens == {
            (label, re.sub(r"\s", "", sentence[start:end])) for label, start, end in text.entities
        }


@pytest.mark.slow
def test_french_text_needs_french_rules(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(measure_text_scores, "CORPORA", {"French": CORPORA["French news"]})
    measure_text_scores.main(["--sentences", "60", "--addresses", str(tmp_path)])
    *_, row, note = capsys.readouterr().out.splitlines()
    found = re.fullmatch(
        r"\| French \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| the rules of `fr` \|", row
    )
    of_tokens, english, french = map(float, found.groups())
    assert french == pytest.approx(of_tokens, abs=5)
    assert english < french - 10
    assert "prepare_us_addresses.py" in note
