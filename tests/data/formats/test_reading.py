"""How each format reads the files that annotation tools write."""

import re
from random import Random

import pytest
import spacy
from spacy.tokens import DocBin, Span

from tagger.data.formats import (
    PLAIN_TAGS,
    AnnotatedText,
    Annotation,
    read_texts,
    recognise,
    recognise_texts,
    tokens_and_tags,
    write_texts,
)
from tagger.data.reading import Reading
from tagger.data.survey.schemes import Scheme
from tagger.tools.start.survey import survey
from tests.data.formats.records import row, span, task

PER = Annotation("PER", 0, 3)
ADA = span(0, 3, "PER", "Ada")


def with_text(**keys):
    return {"text": "Ada left", **keys}


@pytest.mark.parametrize(
    ("name", "record", "properties"),
    [
        ("doccano", with_text(id=3, label=[[0, 3, "PER"]]), {"id": 3}),
        ("doccano", with_text(labels=[[0, 3, "PER"]]), {}),
        ("doccano", with_text(entities=[{"label": "PER", "start_offset": 0, "end_offset": 3}]), {}),
        ("spacy_json", with_text(entities=[[0, 3, "PER"]]), {}),
        ("spacy_json", ["Ada left", {"entities": [[0, 3, "PER"]]}], {}),
        ("prodigy", with_text(spans=[{"start": 0, "end": 3, "label": "PER"}], meta=1), {"meta": 1}),
        ("label_studio", task({"id": 1, "was_cancelled": False, "result": [ADA]}),
         {"id": 5, "source": "a"}),
        ("label_studio", with_text(id=1, label=[ADA["value"]], annotator=1), None),
    ],
)  # fmt: skip
def test_records_of_annotation_tools_are_recognised_and_read(name, record, properties, write):
    path = write("a.json", record)
    assert recognise(path) == name
    (text,) = read_texts(path)
    assert (text.text, text.entities) == ("Ada left", [PER])
    assert properties in (text.properties, None)


def test_skipped_annotations_are_left_out_and_counted(write, read_one, caplog):
    answers = ("accept", "reject", "ignore")
    read_one("a.jsonl", *({"text": "a", "spans": [], "answer": each} for each in answers))
    valid = {"result": [{"type": "choices", "value": {"choices": ["good"]}}, ADA]}
    cancelled = {"was_cancelled": True, "result": []}
    tasks = (task(cancelled), task(cancelled, valid, {"result": []}), task())
    assert read_one("tasks.json", *tasks).entities == [PER]
    for said in (
        "left out 2 records",
        "2 cancelled annotations",
        "1 tasks with several annotations, of which the first is read",
        "2 tasks without an annotation",
        "1 results that are no spans",
    ):
        assert said in caplog.text


def test_answers_to_questions_are_no_rejections(write):
    for answer in ("London", {"text": "Ada", "url": None}, 3):
        record = {"text": "Ada left", "spans": [{"start": 0, "end": 3, "label": "PER"}]}
        (text,) = read_texts(write("a.jsonl", {**record, "answer": answer}))
        assert text.entities == [PER]


@pytest.mark.parametrize("seed", range(20))
def test_numbers_of_letters_are_entities(seed, write):
    random = Random(seed)
    ends = sorted(random.sample(range(30), 2 * random.randint(1, 5)))
    spans = list(zip(ends[::2], ends[1::2]))
    letters = [n for span in spans for n in range(*span)]
    merged = [
        [n for n, _ in spans if (n - 1) not in letters],
        [n for _, n in spans if n not in letters],
    ]
    name = random.choice(["spans", "index_spans"])
    text = " ".join("abcdefghijklmnop")
    path = write("a.csv", f'text,{name}\n{text},"{letters}"\n{text},[]\n')
    first, second = read_texts(path)
    assert [each[1:] for each in first.entities] == [*zip(*merged)]
    assert {each.label for each in first.entities} == {"SPAN"}
    assert not second.entities


def test_other_labels_of_entities_are_named(write, caplog):
    spans = [{"start": n, "end": n + 1, "class": "X", "kind": "ab"[n % 2], "source": "me", "id": f"T{n}"}
             for n in range(4)]  # fmt: skip
    (text,) = read_texts(write("a.jsonl", {"text": "Ada left", "spans": spans}))
    assert {each.label for each in text.entities} == {"X"}
    (warning,) = caplog.messages
    assert "entities have 2 different labels under `kind`, which are not read" in warning


def test_tokens_are_read(read_one):
    tokens = [
        {"text": "Ada", "start": 0, "end": 3, "id": 0},
        {"text": "left", "start": 4, "end": 8},
    ]
    assert read_one("a.jsonl", with_text(spans=[], tokens=tokens)).tokens == [(0, 3), (4, 8)]


@pytest.mark.parametrize(
    ("offsets", "entity"), [("utf16", [3, 6, "PER"]), ("bytes", [5, 8, "PER"])]
)
def test_offsets_in_another_unit_are_recognised_and_converted(offsets, entity, read_one):
    record = {"text": "😀 Ada left", "label": [entity]}
    with pytest.raises(ValueError, match=rf"jsonl:1: offsets seem to count .*--offsets {offsets}`"):
        read_one("a.jsonl", record)
    assert read_one("a.jsonl", record, offsets=offsets).entities == [Annotation("PER", 2, 5)]


def test_entities_in_scripts_without_spaces_are_not_reported_as_cutting_words(read_one):
    record = {"text": "我，我王小明来", "label": [[3, 6, "PER"]]}
    assert read_one("a.jsonl", record).entities == [Annotation("PER", 3, 6)]


@pytest.mark.parametrize(
    ("part", "expected"),
    [([[4, 8]], "O ? O"), ([], "O B-PER O"), ([[0, 5], [9, 10]], "? ? ?"), ([[8, 9]], "O B-PER O")],
)
def test_parts_that_nobody_annotated_have_no_tag(part, expected, read_one):
    record = {"text": "Der Adaa sah", "label": [[4, 8, "PER"]], "tagger_open": part}
    assert tokens_and_tags(read_one("a.jsonl", record))[1] == expected.split()


def test_a_folder_and_a_file_of_brat_are_recognised_and_read(write, tmp_path, caplog):
    lines = "T1\tPER 0 6\tÉlodie\nT2\tLOC 13 17\tRome\nR1\tin Arg1:T1 Arg2:T2\n#1\tNote T1\tok\n"
    for path in (tmp_path, write("a.txt", "Élodie\r\nleft Rome"), write("a.ann", lines)):
        assert recognise(path) == "brat"
        (text,) = read_texts(path)
        assert text.text == "Élodie\r\nleft Rome"
        assert text.entities == [Annotation("PER", 0, 6), Annotation("LOC", 13, 17)]
        assert text.properties == {"name": "a"}
    assert "left out 2 relations, events" in caplog.text


def test_offsets_of_brat_may_be_apart_by_tabs(write):
    write("a.txt", "Élodie left Rome")
    (text,) = read_texts(write("a.ann", "T1\tPER\t0\t6\tÉlodie\nT2\tLOC 12 16\tRome\n"))
    assert text.entities == [("PER", 0, 6), ("LOC", 12, 16)]


def test_an_entity_of_brat_in_several_parts_becomes_one(write, caplog):
    write("a.txt", "left and right arm,\r\nthe New\r\nYork team")
    # brat divides an entity where a line ends.
    lines = ["T2\tLOC 25 28;30 34\tNew York", "T1\tPART 0 4;15 18\tleft arm"]
    (text,) = read_texts(write("a.ann", "\n".join([*lines, "T3\tPART 9 18\tright arm"])))
    assert text.entities == [
        Annotation("PART", 0, 18),
        Annotation("PART", 9, 18),
        Annotation("LOC", 25, 34),
    ]
    (warning,) = caplog.messages
    assert "1 entities in several parts became one each" in warning
    assert "a.ann: 'left and right arm', of which 'left arm' was marked" in warning


FRENCH = [(1, "Le", "DET"), (2, "prix", "NOUN"), ("3-4", "du", "_"), (3, "de", "ADP")]
FRENCH += [(4, "le", "DET"), ("4.1", "vu", "VERB"), (5, "pain", "NOUN", "SpaceAfter=No")]
FRENCH += [(6, ".", "PUNCT")]


def test_parts_of_speech_are_plain_labels_and_ranges_are_tokens(write, tmp_path):
    rows = "".join(row(*each) for each in FRENCH)
    path = write("a.conllu", f"# sent_id = fr-1\n# text = Le prix du pain.\n{rows}\n")
    assert recognise(path) == "conllu"
    (text,) = read_texts(path)
    assert text.text == "Le prix du pain."
    assert text.properties == {"sent_id": "fr-1", PLAIN_TAGS: True}
    labels = [f"{text.text[start:end]} {label}" for label, start, end in text.entities]
    assert labels == ["Le DET", "prix NOUN", "du ADP+DET", "pain NOUN", ". PUNCT"]
    write_texts([text], tmp_path / "b.txt", "columns")
    assert (tmp_path / "b.txt").read_text().split() == " ".join(labels).split()


def test_parts_of_speech_of_two_words_are_one_label_and_may_be_in_the_next_column(write):
    rows = "".join(row(*each) for each in FRENCH) + "\n"
    for content in (rows, re.sub(r"(\t_)(\t[A-Z]+)(\t_)", r"\1\3\2", rows)):
        found = survey([write("a.conllu", content * 2)])
        assert found.scheme == Scheme()
        assert found.count_labels(*found.train)["ADP+DET"] == 2


def test_entities_in_the_misc_column_take_precedence_and_documents_keep_their_sentences(read_one):
    sentence = row(1, "Ada", "PROPN", "ner=B-PER") + row(2, "left", "VERB", "ner=O|SpaceAfter=No")
    content = "# newdoc id = d\n" + sentence + row(3, ".", "PUNCT") + "\n" + row(1, "Why", "ADV")
    text = read_one("a.conllu", content + "\n")
    assert (text.text, text.sentence_lengths) == ("Ada left. Why", [3, 1])
    assert [text.text[start:end] for _, start, end in text.entities] == ["Ada"]


def test_entities_in_brackets_that_are_not_read_are_named(write, caplog):
    (text,) = read_texts(write("a.conllu", row(1, "Ada", "PROPN", "Entity=(1-person)") + "\n"))
    assert [each.label for each in text.entities] == ["PROPN"]
    assert "MISC has entities in brackets (Entity), which are not read" in caplog.text


def test_spans_of_other_groups_of_spacy_are_named(tmp_path, caplog):
    docs = [spacy.blank("en")("Ada left Rome") for _ in range(2)]
    docs[0].spans["mine"] = [Span(docs[0], 0, 1, "PER")]
    docs[1].spans["sc"] = [Span(docs[1], 0, 1, "PER")]
    path = tmp_path / "a.spacy"
    DocBin(docs=docs).to_disk(path)
    assert [len(each.entities) for each in read_texts(path)] == [0, 1]
    assert "left out spans of other groups: mine 1" in caplog.text
    DocBin(docs=docs[:1]).to_disk(path)
    with pytest.raises(ValueError, match=r"all spans are in other groups \(mine 1\) than `sc`"):
        list(read_texts(path))


def test_documents_of_spacy_are_read_and_written_back(tmp_path):
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    doc = nlp("Ada  left Rome.\nShe can't go.")
    doc.ents = [Span(doc, 0, 1, "PER"), Span(doc, 3, 4, "LOC")]
    path = tmp_path / "a.spacy"
    DocBin(docs=[doc]).to_disk(path)
    assert recognise(path) == "spacy"
    (text,) = read_texts(path)
    assert text.text == doc.text
    assert text.entities == [Annotation("PER", 0, 3), Annotation("LOC", 10, 14)]
    assert text.sentence_lengths == [4, 5]
    write_texts([text], tmp_path / "b.spacy", "spacy")
    (again,) = read_texts(tmp_path / "b.spacy")
    assert again._replace(place=text.place) == text


@pytest.mark.parametrize(
    "content",
    [
        "Sentence #,Word,POS,Tag\r\nSentence: 1,Ada,N,B-PER\r\n,left,V,O\r\nSentence: 2,Why,W,O\r\n",
        "sentence_id;token;ner\n1;Ada;B-PER\n1;left;O\n2;Why;O\n",
        "tag\tword\tsentence\nB-PER\tAda\t1\nO\tleft\t1\nO\tWhy\t2\n",
    ],
)
def test_a_table_may_have_one_token_per_row(content, write):
    path = write("a.csv", content)
    assert recognise(path) == recognise(path, labelled=False) == "columns"
    assert list(read_texts(path)) == list(read_texts(path, Reading("csv")))
    words = [each.text for each in read_texts(path, Reading(labelled=False))]
    assert words == [each.text for each in read_texts(path)]
    first, second = read_texts(path)
    assert (first.text, first.entities, first.tokens) == ("Ada left", [PER], [(0, 3), (4, 8)])
    assert (second.text, second.entities) == ("Why", [])


def test_a_table_may_have_one_text_per_row(write):
    path = write("a.csv", 'id,text,label\n1,"Ada\nleft","[[0, 3, ""PER""]]"\n2,Why,[]\n')
    assert recognise(path) == "csv"
    texts = [(each.text, each.entities) for each in read_texts(path)]
    assert texts == [("Ada\nleft", [PER]), ("Why", [])]


def test_column_files_join_their_tokens(write):
    path = write("a.txt", "Ada NNP I-PER\nleft VBD O\n. . O\n\nWhy W O\n")
    first, second = read_texts(path, Reading("columns"))
    assert (first.text, first.entities) == ("Ada left.", [PER])
    assert (second.text, second.place) == ("Why", f"{path}:5")


def test_in_column_output_entities_split_tokens_and_join_sentences(tmp_path):
    text = AnnotatedText("Adas ox. No", [PER], [(0, 4), (5, 7), (7, 8), (9, 11)], [3, 1], "a", {})
    write_texts([text], tmp_path / "a.txt", "columns")
    assert (tmp_path / "a.txt").read_text() == "Ada\tB-PER\ns\tO\nox\tO\n.\tO\n\nNo\tO\n\n"
    entity, tokens = Annotation("ORG", 4, 12), [(0, 3), (4, 7), (8, 12), (13, 15)]
    text = AnnotatedText("Big St. Ives Co", [entity], tokens, [2, 2], "a", {})
    write_texts([text], tmp_path / "b.txt", "columns")
    (read,) = read_texts(tmp_path / "b.txt", Reading("columns"))
    assert read.entities == [entity]


@pytest.mark.parametrize(
    "tokens", [["\ufeffAda", "left"], ["\ufeff", "Ada"], ["Ada", "\ufeff\ufeff"]]
)
def test_a_byte_order_mark_in_a_token_survives(tokens, tmp_path):
    text, middle = " ".join(tokens), len(tokens[0])
    spans = [(0, middle), (middle + 1, len(text))]
    tagged = AnnotatedText(text, [Annotation("PER", *spans[0])], spans, None, "a", {})
    write_texts([tagged], tmp_path / "a.conll", "columns")
    (read,) = read_texts(tmp_path / "a.conll")
    assert [read.text[start:end] for start, end in read.tokens] == tokens
    assert [read.text[start:end] for _, start, end in read.entities] == tokens[:1]


@pytest.mark.parametrize(
    ("name", "text", "format"),
    [
        ("a.jsonl", '{"sentence": "Ada left"}', None),
        ("a.jsonl", '{"tokens": ["Ada"]}', None),
        ("a.jsonl", '{"id": 1, "sentence": "Ada left"}', "doccano"),
        ("a.jsonl", '{"text": "Ada left"}', "doccano"),
        ("a.jsonl", '{"sentense": "Ada left"}', None),
        ("a.jsonl", "{Ada left", None),
        ("a.txt", "Ada left", None),
        ("a.txt", "Ada B-PER\nleft O\n\nRome B-LOC", "columns"),
        ("a.txt", "# columns\nAda\tB-PER\tada\nleft\tO\tleave\nRome\tB-LOC\t_", "columns"),
        ("a.tsv", "TOKEN\tNE\tMISC\n# id = 1\n" + "Ada\tB-PER\t_\nleft\tO\t_\n" * 9, "columns"),
        ("a.txt", "Vitamin B-12\nType O\nType A", None),
        ("a.txt", "\n".join("Ada left Rome or not".split() * 4), None),
        ("a.txt", "id,text", None),
        ("a.csv", "id,text\n1,Ada left", "csv"),
        ("a.csv", "text,label\nAda left Rome,x", "csv"),
        ("a.csv", "text,label\nAda,B-PER\nleft,O", "columns"),
        ("a.tsv", "id\tbody\n1\tAda left", "csv"),
    ],
)
def test_texts_are_recognised_where_a_line_is_no_input(name, text, format, tmp_path):
    (tmp_path / name).write_text(f"{text}\n")
    assert recognise_texts(tmp_path / name) == format


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Ada\nleft\nRome\n.\n\nBob\nfell\n.\n" * 2, "got a word on each, such as 'Ada' and '.'; "),
        (
            "<?xml version='1.0'?>\n<a>Ada left</a>\n",
            "got XML or HTML; extract its texts, or add --p",
        ),
    ],
)
def test_lines_that_are_no_texts_are_refused(text, message, write):
    with pytest.raises(ValueError, match=re.escape(message)):
        recognise_texts(write("a.txt", text))


def test_a_table_without_a_column_of_texts_is_refused(tmp_path):
    (tmp_path / "a.csv").write_text("remark,id\nAda left,1\n")
    with pytest.raises(ValueError, match="a.csv: expected a column `text` in the table; rename"):
        recognise_texts(tmp_path / "a.csv")
