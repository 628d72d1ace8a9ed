"""What was read is shown: sentences in brackets, examples of labels, and what was not used."""

import pytest

from tagger.common import console
from tagger.common.console import Painted, say_lines, topics
from tagger.data.formats import AnnotatedText, Annotation, read_texts
from tagger.data.formats.annotated_text import DOCUMENT_KEYS
from tagger.data.reading import DETECTED, Reading
from tagger.data.shown import Evidence, Watched, bracketed, evidence_of, examples_of, unused_keys


def text_of(text, *entities, **properties):
    found = [Annotation(label, start, end) for label, start, end in entities]
    return AnnotatedText(text, sorted(found, key=lambda e: e[1:]), None, None, "a", properties)


@pytest.mark.parametrize(
    ("texts", "lines"),
    [
        ([text_of("Nobody."), text_of("Ann Lee met Bob", ("PER", 0, 7), ("PER", 12, 15)),
          text_of("No."), text_of("/data/upload", ("PER", 0, 7)), text_of("Bo", ("PER", 0, 2))],
         ["[Ann Lee PER] met [Bob PER]", "[/data/u PER]pload"]),
        ([text_of("York University", ("ORG", 0, 15), ("LOC", 0, 4))], ["[[York LOC] University ORG]"]),
        ([text_of("a b c", ("X", 0, 3), ("Y", 2, 5))], ["[a [b X] c Y]"]),
        ([text_of("one"), text_of("two"), text_of("three")], ["one", "two"]),
        ([text_of("Ann\nmet\x1b[2J Bob\tLee", ("PER", 0, 3), ("PER", 12, 19))],
         ["[Ann PER] ...", "... met\\x1b[2J [Bob\\tLee PER]"]),
        ([text_of("ab", ("\x1b[2J", 0, 2))], ["[ab \\x1b[2J]"]),
    ],
)  # fmt: skip
def test_the_first_sentences_with_entities_are_in_brackets(texts, lines):
    assert bracketed(texts) == lines


def test_long_texts_are_shown_around_their_entities():
    text = text_of("word " * 400 + "Ann " + "word " * 400, ("PER", 2000, 2003))
    (line,) = bracketed([text])
    assert "... word" in line
    assert "word [Ann PER] word" in line
    assert len(line) < 400
    (line,) = bracketed([text_of("x" * 10_000, ("PER", 0, 10_000))])
    assert len(line) < 1_200


def test_examples_are_the_longest_and_the_most_frequent_entity():
    texts = [text_of("Ann", ("PER", 0, 3))] * 3 + [text_of("Bob\n Lee", ("PER", 0, 8))]
    (found,) = examples_of(texts)
    assert str(found) == "PER: longest 'Bob Lee', most frequent 'Ann' (3 of 4)"


def test_only_a_terminal_gets_colours(capsys, monkeypatch):
    line = Painted([("[Ann", None), (" PER\x1b[2J", 1), ("]", None)])
    say_lines([line, "\x1b[2J"])
    assert capsys.readouterr().out == "[Ann PER\\x1b[2J]\n\\x1b[2J\n"
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(console.sys.stdout, "isatty", lambda: True, raising=False)
    say_lines([line])
    assert capsys.readouterr().out == "[Ann\x1b[1;32m PER\\x1b[2J\x1b[0m]\n"
    monkeypatch.setenv("NO_COLOR", "1")
    say_lines([line])
    assert "\x1b" not in capsys.readouterr().out


def test_a_report_has_what_was_not_used_sentences_and_doubts():
    texts = [text_of("Ann", ("7", 0, 3), id=3, doc_id="d")]
    lines = topics(Evidence("a", texts).report(["doc_id"]), margin="", width=9)
    assert lines[:3] == [
        "not used key id, in 1 texts, 1 bytes",
        "read     [Ann 7]",
        "examples 7: longest 'Ann', most frequent 'Ann' (1 of 1)",
    ]
    assert lines[3].startswith("doubt 6  1 of 1 labels look like tags")
    said = topics(Evidence("a", texts).report(["doc_id", "id"], quiet=True), margin="")
    assert [line[:7] for line in said] == ["doubt 6"]


@pytest.mark.parametrize("spans", [[[0, 3, "PER"]], [{"from": 0, "to": 3, "what": "PER"}]])
def test_entities_that_were_not_used_are_refused_if_there_are_no_others(spans):
    empty = [text_of("Ann", marks=spans), text_of("Bob", marks=[])]
    with pytest.raises(ValueError, match="^a: no text has an entity, but `marks` looks like ent"):
        unused_keys(empty, "a")
    assert unused_keys([*empty, text_of("Bo", ("PER", 0, 2))], "a") == [
        f"key marks, in 2 texts, {len(str(spans).encode()) + 2} bytes"
    ]
    assert len(unused_keys([text_of("Ann", marks=[1, 2]), text_of("B", marks=["x"])], "a")) == 1


def test_columns_that_were_not_used_are_named(tmp_path):
    path = tmp_path / "a.conll"
    path.write_text("Ann NNP B-PER\nran VBD O\n\n" * 3)
    assert evidence_of([], path, "columns", DETECTED).unused() == [
        "column 1, 6 cells such as 'NNP'"
    ]
    path.write_text("text,entities,doc_id,source,\nAnn,[],1,web,7\nBob,[],1,,8\n")
    texts = [*read_texts(path, Reading("csv"))]
    assert evidence_of(texts, path, "csv", DETECTED).unused(DOCUMENT_KEYS) == [
        "key source, in 1 texts, 5 bytes",
        "key column 4, in 2 texts, 6 bytes",
    ]


def test_words_beside_numbers_that_were_taken_for_tokens_are_refused(tmp_path):
    path = tmp_path / "a.conll"
    rows = "".join(f"{n}.5 word{chr(97 + n)} {'B-PER' if n % 3 else 'O'}\n" for n in range(9))
    path.write_text(f"{rows}\n{rows}")
    with pytest.raises(ValueError, match="`--token-column 1`"):
        evidence_of([], path, "columns", Reading(token_column=0)).unused()


def test_texts_that_cannot_be_right_are_refused_before_a_writer_ends():
    read = Watched([text_of(f"/data/{n}", ("PER", 0, 2)) for n in range(9)], "a")
    with pytest.raises(ValueError, match="^a: 9 of 9 texts are paths"):
        list(read)
    assert len(read.kept) == 9
