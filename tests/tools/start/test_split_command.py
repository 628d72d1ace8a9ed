import gzip
import json
import re

import pytest

from tagger.data import ColumnDatasetReader
from tagger.data.formats import AnnotatedText, Annotation, read_texts, write_texts
from tagger.tools.start.parts import source_of_columns
from tagger.tools.start.survey import survey
from tests.conftest import ROOT

TOY = ROOT / "data/toy/train.txt"


@pytest.fixture
def split(allennlp):
    return lambda *arguments: allennlp("split", *arguments)


NAMES = ("train", "dev", "test")


def sentences(path):
    instances = ColumnDatasetReader().read(path)
    return [(*each["metadata"]["words"], *each["tags"]) for each in instances]


def test_sentences_of_a_column_file_are_split_by_their_labels(split, tmp_path, capsys):
    split(TOY, tmp_path / "out", "--shares", 0.5, 0.25, 0.25)
    read = {name: sentences(tmp_path / "out" / f"{name}.txt") for name in NAMES}
    assert sorted(sum(read.values(), [])) == sorted(sentences(TOY))
    assert [len(part) for part in read.values()] == [30, 15, 15]
    with_place = [sum("B-LOC" in each for each in part) for part in read.values()]
    assert with_place == pytest.approx([15, 7.5, 7.5], abs=2)
    said = capsys.readouterr().out
    (row,) = (line for line in said.splitlines() if line.startswith("LOC"))
    assert [int(word) for word in row.replace("(", " ").split()[1::2]] == with_place
    assert "20 blocks of 3 sentences in a row, because the file marks no documents" in said


@pytest.mark.parametrize(
    ("key", "options", "sizes"),
    [("topics", ("--documents", "by", "--shares", 3, 2, 0), [12, 8]),
     ("topics", ("--shares", 1, 1, 0), [10, 10])],
)  # fmt: skip
def test_labelled_documents_are_split_and_those_of_one_group_stay_together(
    key, options, sizes, split, tmp_path
):
    records = [{"text": f"é{i}", key: ["A"] * (i % 2), "by": f"author {i % 5}"} for i in range(20)]
    lines = list(map(json.dumps, records))
    (tmp_path / "all.jsonl").write_text("\n".join(lines))
    split(tmp_path / "all.jsonl", tmp_path / "out", "--label-key", key, *options)
    assert not (tmp_path / "out/test.jsonl").exists()
    parts = [(tmp_path / f"out/{name}.jsonl").read_text().splitlines() for name in NAMES[:2]]
    assert [len(part) for part in parts] == sizes
    assert sorted(sum(parts, [])) == sorted(lines)
    for part in parts:
        assert part == [line for line in lines if line in part]
    if "--documents" in options:
        authors = [{json.loads(line)["by"] for line in part} for part in parts]
        assert [len(each) for each in authors] == [3, 2]
        assert not authors[0] & authors[1]
    else:
        assert [sum('"A"' in line for line in part) for part in parts] == [5, 5]


def test_labels_of_documents_may_be_unknown(split, tmp_path):
    labels = [["A", "?B"], {"A": 1, "B": -1}, "?", None, -1, {"A": 0}]
    lines = [json.dumps({"text": f"n {i}", "topics": labels[i % 6]}) for i in range(24)]
    (tmp_path / "all.jsonl").write_text("\n".join(lines))
    split(tmp_path / "all.jsonl", tmp_path / "out", "--label-key", "topics", "--shares", 1, 1, 0)
    parts = [(tmp_path / f"out/{name}.jsonl").read_text().splitlines() for name in NAMES[:2]]
    assert sorted(sum(parts, [])) == sorted(lines)
    known = {json.dumps({"topics": each})[1:-1] for each in labels[:2]}
    assert [sum(any(each in line for each in known) for line in part) for part in parts] == [4, 4]


def texts_of(labels):
    return [
        AnnotatedText(f"Ada {n}", [Annotation(label, 0, 3)], None, None, "", {"id": n})
        for n, label in enumerate(labels)
    ]


def test_texts_of_an_annotation_tool_are_split_by_the_labels_of_their_entities(split, tmp_path):
    texts = texts_of(["B", "A", "A", "A"] * 5)
    write_texts(texts, tmp_path / "all.jsonl", "doccano")
    split(tmp_path / "all.jsonl", tmp_path / "out", "--shares", 0.6, 0.2, 0.2)
    parts = [list(read_texts(tmp_path / "out" / f"{name}.jsonl")) for name in NAMES]
    assert [len(part) for part in parts] == [12, 4, 4]
    assert [sum(text.entities[0].label == "B" for text in part) for part in parts] == [3, 1, 1]
    found = {text.properties["id"]: (text.text, text.entities) for part in parts for text in part}
    assert found == {n: (text.text, text.entities) for n, text in enumerate(texts)}


def test_a_token_may_have_several_labels_and_unknown_ones_do_not_count(tmp_path):
    path = tmp_path / "all.txt"
    path.write_text("a A|B\nb ?\n\nc A|?B\nx B|A\n\nd O\n")
    found = survey([path])
    items = source_of_columns(found, found.files[0]).items
    assert [item.labels for item in items] == [["A", "B"], ["A", "B", "A"], []]


def test_existing_files_are_not_changed(split, tmp_path):
    (tmp_path / "dev.txt").write_text("mine")
    with pytest.raises(SystemExit, match="^split: .*dev.txt is there already"):
        split(TOY, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["dev.txt"]
    assert (tmp_path / "dev.txt").read_text() == "mine"


DOCUMENTS = "a B-A\n\nb O\n\nc B-A\n\n"


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("a O\nb\n", "", "2: expected 2 columns"),
        ("a B-A\n", "--tag-column 2", "1: .*`--tag-column`.* is 2, but there are the columns 0 to 1"),
        ("a B-A\n", "--shares 1 -1 0", "`shares` must hold a number above 0"),
        ('{"a": []}\n[]\n', "--label-key a", "2: expected a JSON object.*under 'a'"),
        ('{"a": "A"}', "--label-key a", "1: expected a JSON object"),
        ("\n", "--label-key a", " expected a JSON object on each line, got an empty file"),
        (DOCUMENTS, "--documents docstart", " `--documents` is docstart, which separates no documents"),
        (DOCUMENTS, "--documents 1", " expected at least 3 documents, told by column 1, .* got 2"),
    ],
)  # fmt: skip
def test_inputs_that_cannot_be_split_are_named(text, options, message, split, tmp_path):
    (tmp_path / "all.txt").write_text(text)
    message = message if message.startswith("`") else f".*all.txt:{message}"
    with pytest.raises(SystemExit, match=f"^split: {message}"):
        split(tmp_path / "all.txt", tmp_path / "out", *options.split())
    assert not (tmp_path / "out").exists()


def documents_of(text, border="-DOCSTART-"):
    return [part.split() for part in text.split(border)[1:]]


@pytest.mark.parametrize(
    ("name", "border", "sentence"),
    [
        ("all.txt", "-DOCSTART- -X- O O\n\n", "w{0} NN O O\nm{0} NN O B-PER\n\n"),
        ("all.conllu", "# newdoc\n",
         "# sent_id = {0}\n1\tw{0}\tl\tNOUN\t_\t_\t0\troot\t_\tner=B-PER\n\n"),
    ],
    ids=["docstart", "newdoc"],
)  # fmt: skip
def test_documents_stay_whole_and_keep_their_markers_and_columns(
    name, border, sentence, split, tmp_path, capsys
):
    text = "".join(
        border + "".join(sentence.format(10 * d + s) for s in range(3)) for d in range(20)
    )
    (tmp_path / name).write_text(text)
    split(tmp_path / name, tmp_path / "out", "--shares", 0.5, 0.3, 0.2)
    paths = [tmp_path / "out" / name.replace("all", part) for part in NAMES]
    start = border.split()[0] + (" newdoc" if name.endswith("u") else "")
    parts = [documents_of(path.read_text(), start) for path in paths]
    assert [len(part) for part in parts] == [10, 6, 4]
    assert sorted(sum(parts, [])) == sorted(documents_of(text, start))
    # What was written is split in the same way again.
    split(paths[0], tmp_path / "again", "--shares", 1, 1, 0)
    assert capsys.readouterr().out.count(" documents, told by ") == 2


def test_texts_keep_their_properties_and_learn_their_document(split, tmp_path):
    texts = [
        text._replace(properties={"meta": {"doc": n // 4}})
        for n, text in enumerate(texts_of("A" * 24))
    ]
    write_texts(texts, tmp_path / "all.jsonl", "doccano")
    split(tmp_path / "all.jsonl", tmp_path / "out")
    write_texts([text._replace(properties={}) for text in texts], tmp_path / "brat", "brat")
    split(tmp_path / "brat", tmp_path / "files")
    parts = [list(read_texts(tmp_path / f"out/{name}.jsonl")) for name in NAMES]
    documents = [{text.properties["meta"]["doc"] for text in part} for part in parts]
    assert [len(part) for part in parts] == [4 * len(each) for each in documents]
    assert sorted(sum(map(list, documents), [])) == list(range(6))
    files = [text.properties for text in read_texts(tmp_path / "files/dev.jsonl")]
    assert all(each["document"] == each["name"] for each in files)


def test_a_column_of_a_csv_file_names_the_document_of_each_text(split, tmp_path, capsys):
    rows = [f'{n % 5},Ada {n},"[[0, 3, ""PER""]]"\n' for n in range(20)]
    (tmp_path / "all.csv").write_text("doc_id,text,entities\n" + "".join(rows))
    split(tmp_path / "all.csv", tmp_path / "out", "--shares", 3, 2, 0)
    assert "5 documents, told by `doc_id`, none divided" in capsys.readouterr().out
    texts = list(read_texts(tmp_path / "out/dev.jsonl"))
    assert len(texts) == 4 * len({text.properties["doc_id"] for text in texts}) == 8


def test_the_parts_of_a_document_of_conll_2012_stay_together(split, tmp_path, capsys):
    lines = [
        f"#begin document (d{n % 4}); part 00{n // 4}\nd 0 0 Ada NN * - - - X (PER) -\n\n"
        for n in range(8)
    ]
    (tmp_path / "all.gold_conll").write_text("".join(lines))
    split(tmp_path / "all.gold_conll", tmp_path / "out", "--shares", 1, 1, 0)
    assert "4 documents, told by `doc_id`, none divided" in capsys.readouterr().out


def test_an_object_in_a_csv_file_names_the_document_of_each_text(split, tmp_path, capsys):
    rows = [f'"{{""doc"": {n % 5}}}",Ada {n},"[[0, 3, ""PER""]]"\n' for n in range(20)]
    (tmp_path / "all.csv").write_text("meta,text,entities\n" + "".join(rows))
    split(tmp_path / "all.csv", tmp_path / "out", "--shares", 3, 2, 0)
    assert "5 documents, told by `meta.doc`, none divided" in capsys.readouterr().out


def test_units_of_offsets_and_names_of_tags_are_given(split, tmp_path):
    record = {"text": "😀 Ada left", "label": [[3, 6, "PER"]]}
    (tmp_path / "a.jsonl").write_text(f"{json.dumps(record)}\n" * 9)
    split(tmp_path / "a.jsonl", tmp_path / "a", "--offsets", "utf16")
    record = {"tokens": ["Ada", "left"], "ner_tags": [1, 0]}
    (tmp_path / "b.jsonl").write_text(f"{json.dumps(record)}\n" * 9)
    split(tmp_path / "b.jsonl", tmp_path / "b", "--label-names", "O", "B-PER")
    for name, start in (("a", 2), ("b", 0)):
        text = next(iter(read_texts(tmp_path / name / "train.jsonl")))
        assert text.entities == [Annotation("PER", start, start + 3)]


def test_it_says_what_told_documents_and_how_much_the_training_part_shows(split, tmp_path, capsys):
    document = "-DOCSTART- O\n\nAda B-PER\nleft O\n\nShe O\nwrote O\n\n"
    (tmp_path / "all.txt").write_text(document * 10)
    split(tmp_path / "all.txt", tmp_path / "out", "--shares", 0.8, 0.2, 0)
    said = capsys.readouterr().out.splitlines()
    assert said[:4] == [
        f"Wrote train.txt, dev.txt to {tmp_path / 'out'}",
        "Kept together: 10 documents, told by `-DOCSTART-` lines, none divided",
        "dev.txt: 100.0% of 2 entities have the words of a training entity; 100.0% of 4 sentences "
        "nearly equal a training one, 4 exactly",
        "  warning: most entities are known by their words and many sentences nearly occur in the "
        "training part: expect lower figures on new texts",
    ]
    assert said[-1].split() == ["all", "documents", "8", "(", "80.0%)", "2", "(", "20.0%)"]


#: Ways to tell that the sentences `a` and `b` are of a document: its text, and the suffix of its file.
WAYS = {
    "newdoc": (".conll", "# newdoc id = {d}\na{d} B-PER\n\nb{n} O\n\n"),
    "comments": (".conll", "# doc_id = {d}\na{d} B-PER\n\n# doc_id = {d}\nb{n} O\n\n"),
    "begin": (".conll", "#begin document ({d}); part 00{n}\na{d} B-PER\n\nb{n} O\n\n"),
    "docstart": (".conll", "-DOCSTART- ({d}) O\n\na{d} B-PER\n\nb{n} O\n\n"),
    "docstart and comment": (".conll", "-DOCSTART- O\n# doc_id = {d}\n\na{d} B-PER\n\nb{n} O\n\n"),
    "docstart in a table": (".conll", "-DOCSTART-|O\n# doc_id = {d}\n\na{d}|B-PER\n\nb{n}|O\n\n"),
    "column": (".conll", "{d} a{d} B-PER\n{d} x O\n\n{d} b{n} O\n\n"),
    "conllu": (".conllu", "# newdoc id = {d}\n1\ta{d}\t_\t_\t_\t_\t_\t_\t_\tner=B-PER\n\n"
                          "1\tb{n}\t_\t_\t_\t_\t_\t_\t_\tner=O\n\n"),
    "comments of conllu": (".conllu", "# doc_id = {d}\n1\ta{d}\t_\t_\t_\t_\t_\t_\t_\tner=B-PER\n\n"
                                      "# doc_id = {d}\n1\tb{n}\t_\t_\t_\t_\t_\t_\t_\tner=O\n\n"),
    "key": (".jsonl", '{{"text": "a{d}", "label": [[0, 1, "PER"]], "doc_id": "{d}"}}\n'
                      '{{"text": "b{n}", "label": [], "doc_id": "{d}"}}\n'),
    "inner key": (".jsonl", '{{"text": "a{d}", "label": [[0, 1, "PER"]], "meta": {{"file": "{d}"}}}}\n'),
    "key of some": (".jsonl", '{{"text": "a{d}", "label": [[0, 1, "PER"]], "doc_id": "{d}"}}\n'
                              '{{"text": "b{n}", "label": []}}\n'),
}  # fmt: skip


@pytest.mark.parametrize("compression", ["", ".gz"])
@pytest.mark.parametrize("way", WAYS)
def test_no_document_is_on_two_sides_in_whatever_order(way, compression, split, tmp_path, capsys):
    suffix, template = WAYS[way]
    # Each document comes back after others.
    order = [f"d{n % 9}" for n in range(18)] + ["d3", "d3", "d7"]
    text = "".join(template.format(d=d, n=n) for n, d in enumerate(order))
    path = tmp_path / f"all{suffix}{compression}"
    path.write_bytes(gzip.compress(text.encode()) if compression else text.encode())
    split(path, tmp_path / "out", "--shares", 1, 1, 1)
    assert " documents, told by " in capsys.readouterr().out
    parts = [(tmp_path / f"out/{name}{suffix}").read_text() for name in NAMES]
    documents = [set(re.findall(r"\ba(d\d)", part)) for part in parts]
    assert all(documents)
    assert sum(map(len, documents)) == 9
    # What belongs to a document is where its first sentence is.
    assert sum(len(re.findall(r"\bad\d", part)) for part in parts) == len(order)


@pytest.mark.parametrize("name", ["document_id", "doc", "article_id"])
def test_a_column_with_a_name_for_documents_tells_them_in_whatever_order(
    name, split, tmp_path, capsys
):
    rows = "".join(f"{n},{n % 4},a{n % 4},B-PER\n{n},{n % 4},x,O\n" for n in range(12))
    (tmp_path / "all.csv").write_text(f"sentence_id,{name},token,tag\n{rows}")
    split(tmp_path / "all.csv", tmp_path / "out", "--shares", 1, 1, 0)
    assert "4 documents, told by column 1, none divided" in capsys.readouterr().out


def test_numbers_of_sentences_within_documents_are_no_documents(split, tmp_path, capsys):
    (tmp_path / "all.txt").write_text(
        "".join(f"{n % 6} a{n} B-PER\n{n % 6} x O\n\n" for n in range(48))
    )
    split(tmp_path / "all.txt", tmp_path / "out")
    assert "the file marks no documents" in capsys.readouterr().out


def test_labelled_documents_may_be_compressed(split, tmp_path):
    lines = "".join(f'{{"text": "é{n}", "topics": ["A"]}}\n' for n in range(9))
    (tmp_path / "all.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    split(tmp_path / "all.jsonl.gz", tmp_path / "out", "--label-key", "topics")
    parts = "".join((tmp_path / f"out/{name}.jsonl").read_text() for name in NAMES)
    assert sorted(parts.splitlines()) == lines.splitlines()
