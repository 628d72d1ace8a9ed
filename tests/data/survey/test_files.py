"""Every command must understand the files that people and tools write in the same way."""

import json
from collections import Counter

import pytest

from tagger.data import ColumnDatasetReader
from tagger.data.formats import PLAIN_TAGS, read_texts
from tagger.data.reading import Reading
from tagger.spans import tags_to_spans
from tagger.tools.start.survey import survey

#: The entities `Ada Lee` and `Rome` in two sentences.
BOTH = {"PER": 1, "LOC": 1}


def columns(tags, separator=" ", before=("", "", "", "")):
    """A file with the sentences `Ada Lee left` and `Rome`; each word has a tag and preceding cells."""
    words = ("Ada", "Lee", "left", "Rome")
    lines = [
        separator.join([*each.split(), word]) + separator + tag
        for each, word, tag in zip(before, words, tags.split(" "))
    ]
    return "\n".join([*lines[:3], "", *lines[3:], ""])


def conllu(*misc):
    words = ("Ada", "Lee", "left")
    cells = (
        f"{number}\t{word}\t_\tNOUN\t_\t_\t0\tdep\t_\t{cell}"
        for number, (word, cell) in enumerate(zip(words, misc), start=1)
    )
    return "# sent_id = 1\n" + "\n".join(cells) + "\n\n"


def lines(*records):
    return "".join(json.dumps(each) + "\n" for each in records)


ADA = {"start": 0, "end": 3, "label": "PER"}
NESTED = "# http://x/1 [2010]\n1 FC B-ORG O\n2 Rome I-ORG B-LOC\n3 met O O\n4 Ada B-PER O\n\n"
TASK = {"id": 1, "text": "Ada left", "kind": [{"start": 0, "choices": ["x"]}]}
TASK["ner"] = [{**ADA, "labels": ["PER"]}]
OFFSETS = {"label": "PER", "start_offset": 0, "end_offset": 3}
REJECTED = {**ADA, "start": 4, "end": 7, "answer": "reject"}
ANNOTATOR = {"classes": ["PER"], "annotations": [["Ada\r", {"entities": [[0, 3, "PER"]]}], None]}
PLACES = {"start": "/p[1]/text()[1]", "end": "/p[1]", "hypertextlabels": ["PER"]}
HTML = {"data": {"text": "<p>Ada</p>"}, "annotations": [{"result": [{"value": PLACES}]}]}
UNKNOWN = "JSON of an unknown layout; the first record has "
BY_WORD = "one sentence a line, with a tag behind each word"

OF_BOTH = {
    "tabs.tsv": columns("B-PER I-PER O B-LOC", "\t"),
    "crlf.txt": columns("B-PER I-PER O B-LOC").replace("\n", "\r\n"),
    "comments.conll": "# text = Ada Lee\n# id = 1\n" + columns("B-PER I-PER O B-LOC"),
    "docstart.conll": "-DOCSTART- -X-\n\n" + columns("B-PER I-PER O B-LOC"),
    "suffix.conll": columns("PER-B PER-I O LOC-B"),
    "underline.conll": columns("B_PER I_PER O B_LOC"),
    "underline_suffix.conll": columns("PER_B PER_I O LOC_B"),
    "bioul.conll": columns("B-PER L-PER O U-LOC"),
    "iobes.conll": columns("B-PER E-PER O S-LOC"),
    "iob1.conll": columns("I-PER I-PER O I-LOC"),
    "io.conll": columns("PER PER O LOC") + "\nof O\n",
    "zero.conll": columns("B-PER I-PER 0 B-LOC"),
    "hyphen.conll": columns("B-PER I-PER - B-LOC"),
    "empty.tsv": columns("B-PER I-PER  B-LOC", "\t"),
    "multiconer.conll": "# id 5\tdomain=en\n" + columns("B-PER I-PER O B-LOC", " _ _ "),
    "index.conll": columns("I-PER I-PER O I-LOC", " N I-NP ", ("1", "2", "3", "1")),
    "conll2012.conll": columns("B-PER I-PER O B-LOC", "\t", ("d 0 0", "d 0 1", "d 0 2", "d 1 0")),
    "header.tsv": "Token\tNER\n" + columns("B-PER I-PER O B-LOC", "\t"),
    "header_apart.tsv": "Word\tPOS\tTag\n\n" + columns("B-PER I-PER O B-LOC", "\tN\t"),
    "reversed.csv": "tag;word\nB-PER;Ada\nI-PER;Lee\nO;left\n\nB-LOC;Rome\n",
    "kaggle.csv": 'Sentence #,Word,POS,Tag\r\nSentence: 1,Ada,N,B-PER\r\n,",",P,O\r\n,"""",P,O\r\n'
    "Sentence: 2,caf\xe9,N,B-LOC\r\n".encode("cp1252"),
    "ids.csv": "sentence_id,words,labels\n0,Ada,B-PER\n0,None,I-PER\n1,Rome,B-LOC\n",
    "bare.csv": 'Ada,B-PER\n",",O\n"""",O\n\nRome,B-LOC\n',
    "quote.tsv": 'Ada\tada\tB-PER\nLee\tlee\tI-PER\n"\t"\tO\nRome\trome\tB-LOC\n"\t"\tO\n\n',
    "within.tsv": "TOKEN\tNE\tMISC\n# language = en\nAda\tB-PER\t_\n# line = 2\nLee\tI-PER\t_\n"
    "left\tO\t_\n\n# id = 2\nRome\tB-LOC\t_\n",
    "frames.tsv": "Ada\tada.n\tB-PER\nLee\t_\tI-PER\nleft\t_\tO\nRome\t_\tB-LOC\n",
    "rows.tsv": "Ada Lee left\tB-PER I-PER O\nRome\tB-LOC\n",
    "rows.csv": 'text,label,tags\n"Ada Lee, who",x,B-PER I-PER O\nRome,y,B-LOC\n',
    "numbered.csv": "0,Ada,B-PER\n0,left,O\n1,Rome,B-LOC\n1,fell,O\n",
}
OF_PERSON = {
    "uner.iob2": "# id = 1\n1\tAda\tB-PER\tB-PER#B-OTH\ts\n2\tleft\tO\tO#O\ts\n\n",
    "always_trailing.csv": "Ada,B-PER,\nleft,O,\n",
    "marks.tsv": '"\tO\nAda\tB-PER\n"\tO\n',
    "semicolons.csv": "Ada;B-PER\n1,5;O\n",
    "norne.conllu": conllu("name=B-PER", "SpaceAfter=No|name=I-PER", "name=O"),
    "latin.conllu": conllu("NE=B-PER", "NE=I-PER", "Gloss=\xe9t\xe9").encode("cp1252"),
    "bare.conllu": conllu("B-PER", "I-PER", "O"),
    "ne.conllu": conllu("NE=PER", "NE=PER", "_") + conllu("Gloss=x", "NE=O", "NE=O"),
    "prodigy.jsonl": lines(
        {"text": "Bob", "answer": "ignore"},
        {"text": "Ada Lee", "spans": [ADA, REJECTED], "answer": "accept"},
        {"text": "Bob", "spans": [ADA], "answer": "reject"},
        {"text": "Bob", "answer": "accept"},
    ),
    "annotator.json": json.dumps(ANNOTATOR, indent=1),
    "doccano.jsonl": lines({"text": "Ada", "annotations": [OFFSETS]}),
    "latin.jsonl": '{"text": "Zo\xeb", "label": [[0, 3, "PER"]]}'.encode("cp1252"),
    "utf16.json": '[{"text": "Ada", "label": [[0, 3, "PER"]]}]'.encode("utf-16"),
    "texts.csv": 'text,label\nZo\xeb,"[[0, 3, ""PER""]]"\n'.encode("cp1252"),
    "studio.json": json.dumps([TASK]),
    "io.jsonl": lines(
        {"tokens": ["Ada", "Lee", "of"], "ner_tags": ["PER", "PER", "O"]},
        {"tokens": ["of"], "ner_tags": ["O"]},
    ),
}
FILES = {
    **{name: (content, BOTH) for name, content in OF_BOTH.items()},
    **{name: (content, {"PER": 1}) for name, content in OF_PERSON.items()},
    "small.conll": (columns("b-per i-per o b-loc"), {"per": 1, "loc": 1}),
    "nested.tsv": (NESTED, {"ORG": 1, "PER": 1}),
    "trailing.tsv": ("New York\tB-LOC\nis\tO\t\nhere\tO\n", {"LOC": 1}),
    "pos.conll": (columns("N N V N"), "plain"),
    "io.conllu": (conllu("ner=B-PER|X=B-A", "ner=B-PER|X=I-A", "ner=O"), {"PER": 2}),
    "pos.conllu": (conllu("_", "SpaceAfter=No", "_"), "plain"),
    "none.conllu": (conllu("name=O", "name=O", "name=O"), {}),
    "skills.jsonl": (
        lines({"idx": 1, "tokens": ["A", "b"], "tags_skill": ["B", "O"], "other": ["O", "O"]}),
        {"": 1},
    ),
}


@pytest.fixture
def write(tmp_path):
    def write(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.mark.parametrize("name", FILES)
def test_every_command_reads_a_file_in_the_same_way(name, write):
    content, expected = FILES[name]
    path = write(name, content)
    texts = list(read_texts(path))
    instances = list(ColumnDatasetReader().read(path))
    found = survey([path]) if expected else None
    if expected == "plain":
        assert all(text.properties.get(PLAIN_TAGS) for text in texts)
        assert found.scheme.source_encoding is None
        return
    assert Counter(entity.label for text in texts for entity in text.entities) == expected
    tags = [tags_to_spans(list(instance["tags"]), "BIO") for instance in instances]
    assert Counter(label for spans in tags for label, _ in spans) == expected
    assert found is None or found.count_labels(found.files[0]) == expected


OTHERS = {
    "brown.txt": ("Ann/NNP left/VBD ./.\nBob/NNP ran/VBD ./.\n", BY_WORD),
    "tagged.txt": ("Ann_NNP left_VBD\nBob_NNP ran_VBD away_RB\n", BY_WORD),
    "atis.tsv": (
        "to rome now\tO B-to O x\nby air\tO B-by y\n",
        "one sentence a line: its words, a tab, and their tags",
    ),
    "slots.txt": ("to:O rome:B-to\nby:O air:B-by now:O\n", r"a tag behind each word \(`to:O`\)"),
    "labelled.txt": (
        "".join(
            f"{'ABBR DESC:def'.split()[n % 2]} why did{' so' * (n % 9)} many leave ?\n"
            for n in range(80)
        ),
        "a label, such as 'ABBR', and a text on each line; .* write `__label__ABBR`",
    ),
    "topics.tsv": (
        "".join(f"{n}\t{'ab'[n // 2 % 2]}\tmost of the {n} ships fell\tNOUN\n" for n in range(40)),
        "a text and a label on each line",
    ),
    "seq_.out": ("O B_to O O\nB_by I_by O\n" * 5, "the tags of a sentence on each line, without"),
    "words.crfsuite": (
        "O\tw[0]=Ada\tw[1]=left\tw[0]|w[1]=x\nB-PER\tw[-1]=Ada\tw[0]=left\n\n" * 9,
        "features of words, as for CRFsuite",
    ),
    "seq.out": ("O B-to O O\nB-by I-by O\n" * 5, "the tags of a sentence on each line, without"),
    "places.tsv": (
        "tweet\tfirst\tlast\tkind\n" + "1299707952186\t0\t9\tB-to\n1299707952187\t0\t0\tO\n" * 9,
        "numbers, such as '1299707952186', and no column of words",
    ),
    "cv.txt": (" contact top skills" * 99, "running text: there are no tags"),
    "intents.txt": (
        "to O\nrome B-to\nby_air\n\n" * 6,
        "the last line of 6 of 6 sentences has other than 2 columns, such as 'by_air'",
    ),
    "raw.txt": (
        "Ada left Rome .\nAda B-PER\nleft O\nRome B-LOC\n. O\n\n" * 6,
        "the first line of 6 of 6 sentences has other than 2 columns, such as 'Ada left Rome .'",
    ),
    "alone.ann": ("T1\tPER 0 3\tAda\n", "expected alone.txt beside it"),
    "bars.txt": (
        "to rome ||| O B-to\nby air ||| O B-by\n",
        "one sentence a line: its words, `...`, and their tags",
    ),
    "lines.csv": (
        'words,tags\n"Ada left","NN VB"\n"Rome fell now","NN VB RB"\n',
        "one sentence a line: its words in one column, and their tags in another",
    ),
    "inline.txt": ("<PER>Ada Lee</PER> left.\nWhy?\n", "inline tags, such as '<PER>Ada Lee</PER>'"),
    "muc.txt": ('<ENAMEX TYPE="PERSON">Ada</ENAMEX> left.\n', "texts with inline tags"),
    "one.txt": ("Ann\nran\n,\nBob\n", "one column: there are no tags"),
    "running.txt": ("Ann left Rome.\nShe left as it rained.\n", "running text: there are no tags"),
    "webanno.tsv": (
        "#FORMAT=WebAnno TSV 2\n\n#Text=Ada\n1-1\t0-3\tAda\tPER\t\n",
        "an old version of WebAnno's TSV, which is not read; export",
    ),
    "data.json": ('{"a": 1, "b": [2]}', UNKNOWN + "the keys a, b;"),
    "list.json": ("[1, 2]", UNKNOWN + "'1';"),
    "old.jsonl": (
        '{"text": "Ada", "annotations": [{"label": 2, "start_offset": 0, "end_offset": 3}]}',
        "label 2 is a number, and its name is not in the file",
    ),
    "html.json": (json.dumps([HTML]), "the offsets are places in HTML"),
    "page.xml": ('<?xml version="1.0"?>\n<text>Ada</text>\n', "XML, which is not read"),
    "sheet.xlsx": (b"PK\x03\x04\x00\x00\x00\x08\x00 a b\n", "a binary file"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_every_command_says_why_it_cannot_read_a_file(name, write):
    content, message = OTHERS[name]
    path = write(name, content)
    for read in (read_texts, ColumnDatasetReader().read, lambda path: survey([path]).files):
        with pytest.raises(ValueError, match=message) as error:
            list(read(path))
        assert str(error.value).startswith(str(path))
        assert "tabs" not in str(error.value)


def test_numbered_tokens_beside_texts_of_several_words_are_columns(write):
    rows = [f"{n % 4 + 1}\tword{n}\tas{' one' * (n % 9)} says\t{'OB'[n % 2]}" for n in range(80)]
    path = write("a.tsv", "\n".join(each + "\n" * (n % 4 == 3) for n, each in enumerate(rows)))
    assert next(read_texts(path)).text == "word0 word1 word2 word3"


def test_a_header_is_no_token_if_the_tags_are_not_read(write):
    path = write("a.tsv", OF_BOTH["within.tsv"].replace("NE", "NE-LIT"))
    assert [text.text for text in read_texts(path, Reading(labelled=False))] == [
        "Ada Lee left",
        "Rome",
    ]
