"""WebAnno TSV 3, as INCEpTION exports it."""

import re

import pytest

from tagger.data.dataset_readers.column import ColumnDatasetReader
from tagger.data.formats import read_texts, recognise
from tagger.data.reading import Reading
from tagger.tools.start.start import start

HEAD = r"""#FORMAT=WebAnno TSV 3.3
#T_SP=de.tudarmstadt.ukp.dkpro.core.api.lexmorph.type.pos.POS|PosValue|coarseValue
#T_SP=de.tudarmstadt.ukp.dkpro.core.api.ner.type.NamedEntity|identifier|value
#T_SP=webanno.custom.Skill|
#T_RL=webanno.custom.Rel|kind|BT_de.tudarmstadt.ukp.dkpro.core.api.ner.type.NamedEntity

"""
# The offset of `Bank` is 3, because an emoji has two UTF-16 units.
DOCUMENT = rf"""{HEAD}
#Sentence.id=first
#Text=😊 Bank of China \[a\] ,
#Text=said
1-1	0-2	😊	NN	_	_	_	_	_	_
1-2	3-7	Bank	NN	NOUN	*[1]	ORG[1]	*	_	_
1-3	8-10	of	_	_	*[1]	ORG[1]	_	_	_
1-4	11-16	China	_	_	*[1]|*[2]	ORG[1]|LO\_C[2]	*[3]	rel	1-2[1_2]
1-5	17-20	\[a\]	_	_	_	_	*[3]	_	_
1-6	21-22	,	_	_	*	a\[b\\	_	_	_
1-7	23-27	said	_	_	_	_	_	_	_

#Text= Mid-Rome
2-1	30-38	Mid-Rome	_	_	_	_	_	_	_
2-1.1	34-38	Rome	_	_	*	LOC	_	_	_
"""
# Each row ends with a tab.
DOCUMENT = re.sub("(?m)^([0-9].*)$", "\\1\t", DOCUMENT)


def entities(text):
    return [(label, text.text[start:end]) for label, start, end in text.entities]


def test_nested_escaped_and_partial_annotations_are_read(write):
    path = write("a.tsv", DOCUMENT)
    assert recognise(path) == "webanno"
    (text,) = read_texts(path)
    assert text.text == "😊 Bank of China [a] ,\nsaid   Mid-Rome"
    assert entities(text) == [
        ("ORG", "Bank of China"), ("LO_C", "China"), ("a[b\\", ","), ("LOC", "Rome"),
    ]  # fmt: skip
    assert text.sentence_lengths == [7, 1]
    words = [text.text[start:end] for start, end in text.tokens]
    assert words == ["😊", "Bank", "of", "China", "[a]", ",", "said", "Mid-Rome"]
    for name in ("Skill", "PosValue", "POS.PosValue"):
        (named,) = read_texts(path, Reading(tag_column=name))
        skills = [("Skill", "Bank"), ("Skill", "China [a]")]
        tags = [("NN", "😊"), ("NN", "Bank")]
        assert entities(named) == (skills if name == "Skill" else tags)
    (bare,) = read_texts(path, Reading(labelled=False))
    assert (bare.text, bare.entities) == (text.text, [])


def test_the_layer_with_the_most_annotations_is_read_if_there_are_no_named_entities(write):
    document = DOCUMENT.replace("ORG[1]|LO\\_C[2]", "_").replace("ORG[1]", "_")
    document = document.replace("a\\[b\\\\", "_").replace("LOC", "_")
    (text,) = read_texts(write("a.tsv", document))
    assert {label for label, _ in entities(text)} == {"Skill"}


def test_start_proposes_chains_and_the_reader_reads_them(write, tmp_path):
    path = write("a.tsv", DOCUMENT)
    said = "\n".join(start([path, path], tmp_path / "mine.jsonnet").said)
    assert "head label_chains, since entities overlap: one CRF would lose 1 of 4" in said
    (instance,) = ColumnDatasetReader(label_chains=True, documents="docstart").read(path)
    assert instance["tags"].label_sets[3] == ["B-LO_C", "I-ORG"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("3-7	Bank", "3-8	Bank", r"a.tsv:12: expected 'Bank' at 3-8, got 'Bank '"),
        ("1-2	3-7", "1-2	3", r"a.tsv:12: expected the number of a token, its offsets"),
        ("rel	1-2[1_2]", "rel", r"a.tsv:14: expected .* and 7 values of the layers"),
        ("LO\\_C[2]", "*[2]", r"a.tsv:14: expected a value of NamedEntity.value, got none"),
    ],
)
def test_mistakes_are_named_with_their_place(old, new, message, write):
    assert old in DOCUMENT
    with pytest.raises(ValueError, match=message):
        list(read_texts(write("a.tsv", DOCUMENT.replace(old, new))))


def test_a_missing_layer_and_an_empty_file_are_refused(write):
    path = write("a.tsv", DOCUMENT)
    with pytest.raises(ValueError, match="`tag_column` is 'Skil', expected one of POS.PosValue, "):
        list(read_texts(path, Reading(tag_column="Skil")))
    with pytest.raises(ValueError, match="expected sentences in WebAnno TSV, got none"):
        list(read_texts(write("b.tsv", HEAD)))
    tokens = "\n".join(
        line for line in DOCUMENT.split("\n") if "T_" not in line and "\t" not in line
    )
    with pytest.raises(ValueError, match="expected a layer of spans, got no layer"):
        list(read_texts(write("c.tsv", f"{tokens}\n1-1\t0-2\t😊\n")))
    old = write("d.tsv", DOCUMENT.replace("TSV 3.3", "TSV 2"))
    with pytest.raises(ValueError, match="an old version of WebAnno's TSV"):
        list(ColumnDatasetReader().read(old))
