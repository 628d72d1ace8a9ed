"""Tables of tokens, and of sentences with lists in their cells."""

import csv
import io
import re
from collections import Counter

import pytest

from tagger.tools.start.start import start
from tests.data.layouts.reading import read_by_convert, read_by_start

TAGGED = "Ann B-PER\nLee I-PER\nleft O\n\nRome B-LOC\nfell O\n\n"
WORDS, TAGS = ["Ann", "Lee", "left", "Rome"], ["B-PER", "I-PER", "O", "B-LOC"]


def numpy(cells):
    # NumPy breaks long lines.
    return "[" + "\n ".join(map(repr, cells)) + "]"


def table(*rows):
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


RIGHT = {
    "plus.conllup": "# global.columns = ID FORM UPOS NE\n# sent_id = 0\n# text = Ann Lee left\n"
    "1\tAnn\tNOUN\tB-PER\n2\tLee\tNOUN\tI-PER\n3\tleft\tVERB\tO\n\n"
    "# sent_id = 1\n1\tRome\tNOUN\tB-LOC\n",
    "merged.tsv": "word\ttag\n" + TAGGED.replace(" ", "\t").replace("\n\n", "\n\nword\ttag\n", 1),
    "merged.csv": "word,tag\nAnn,B-PER\nLee,I-PER\nword,tag\nRome,B-LOC\nfell,O\n",
    "rows.md": "| word | tag |\n|:---|---:|\n"
    + "".join(f"| {line.replace(' ', ' | ')} |\n" for line in TAGGED.split("\n")),
    "elements.vert": '<doc id="a">\n' + "".join(
        f'<s id="{n}">\n{each.replace(" ", chr(9))}\n</s>\n'
        for n, each in enumerate(TAGGED.strip().split("\n\n"))),
    "excel.csv": "sep=;\n" + TAGGED.replace(" ", ";").replace("\n\n", "\n;\n"),
    "literal.txt": TAGGED.replace(" ", "\\t"),
    "nbsp.txt": TAGGED.replace(" ", "\u00a0"),
    "kaggle.csv": table(("Sentence #", "Sentence", "POS", "Tag"),
                        ("Sentence: 1", " ".join(WORDS), ["N", "N", "V", "N"], TAGS)),
    "lists.csv": table(("tokens", "ner_tags"), (WORDS, TAGS)),
    "lists_merged.csv": f"{table(('tokens', 'ner_tags'), (WORDS, TAGS))}tokens,ner_tags\n",
    "numpy.csv": table(("words", "labels"), (numpy(WORDS), numpy(TAGS))),
}  # fmt: skip


REFUSED = {
    "apart.tsv": ("Ann\tB\tPER\nLee\tI\tPER\nleft\tO\t_\n\nRome\tB\tLOC\nfell\tO\t_\n",
                  "column 1 has prefixes such as 'B', and column 2 their labels, such as 'PER'"),
    "long.csv": (
        "text,entity,label\n" + "Ann Lee left Rome,Ann Lee,PER\nAnn Lee left Rome,Rome,LOC\n" * 2,
        "not all entities of a text with it"),
    "conflict.conll": (f"<<<<<<< HEAD\n{TAGGED}=======\n{TAGGED}>>>>>>> x\n", "conflict marks of Git"),
    "answer.conll": ("404: Not Found", "what a server answers in place of a file"),
    "word.txt": ("{\\rtf1\\ansi\n" + TAGGED, "an RTF document"),
    "blank.tsv": ("a\tB-PER\n \tI-PER\nb\tO\n" * 2, "remove it if its token is white space"),
    "links.tsv": ("-DOCSTART- (1 EU)\nEU\tB\tEU\tE\nno\nwe\n", "links.tsv:2"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("read", [read_by_start, read_by_convert])
def test_what_is_no_table_is_named(name, read, tmp_path):
    content, message = REFUSED[name]
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match=re.escape(message)):
        read(path)


@pytest.mark.parametrize("name", RIGHT)
@pytest.mark.parametrize("read", [read_by_start, read_by_convert])
def test_tables_are_read_rightly(name, read, tmp_path):
    path = tmp_path / name
    path.write_text(RIGHT[name], encoding="utf-8")
    found = read(path)
    assert Counter((label, each.text[i:j]) for each in found for label, i, j in each.entities) == {
        ("PER", "AnnLee"): 1,
        ("LOC", "Rome"): 1,
    }
    assert not any("tag" in each.text or "-" in each.text for each in found)


def test_a_row_with_another_number_of_lists_is_named(tmp_path):
    path = tmp_path / "lists.csv"
    path.write_text(RIGHT["lists.csv"] * 2 + "['Ann']\n")
    with pytest.raises(ValueError, match=re.escape("lists.csv:5: expected 2 columns")):
        read_by_convert(path)


def test_parts_of_merged_files_have_no_header_within(tmp_path):
    path = tmp_path / "merged.tsv"
    path.write_text(("word\ttag\n" + TAGGED.replace(" ", "\t")) * 9)
    files = start([path], tmp_path / "mine.jsonnet").files
    assert [text.count("word\ttag") for text in files.values()] == [1, 1, 0]


def test_elements_mark_documents(tmp_path):
    path = tmp_path / "all.vert"
    path.write_text(RIGHT["elements.vert"] * 2 + RIGHT["elements.vert"].replace('"a"', '"b"') * 2)
    said = start([path], tmp_path / "mine.jsonnet").said
    assert any("2 documents" in line for line in said), said
