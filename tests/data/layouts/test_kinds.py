"""Small files of kinds that were once misunderstood, with what they hold."""

import json
import re
from collections import Counter

import pytest

from tests.data.layouts.reading import read_by_convert, read_by_start

_TAGS = "Ann B-PER\nLee I-PER\nleft O\n\nRome B-LOC\nfell O\n"
_ROWS = [
    ("Ann", "(PERSON*"),
    ("Lee", "*)"),
    ("left", "*"),
    ("", ""),
    ("Rome", "(GPE)"),
    ("fell", "*"),
]
_CONLL2012 = "#begin document (a); part 000\n" + "".join(
    f"a 0 {n} {word} NN (NP*) - - - X {cell} -\n" if word else "\n"
    for n, (word, cell) in enumerate(_ROWS)
)
_TEXT = "Ann Lee left Rome"


def _record(start, end, label, **rest):
    keys = (start, end, label)
    spans = [dict(zip(keys, values)) for values in ((0, 7, "PER"), (13, 17, "LOC"))]
    return json.dumps({"text": _TEXT, "entities": spans, **rest}) + "\n"


def _csv(rows, header):
    entities = '"[[0, 7, ""PER""], [13, 17, ""LOC""]]"'
    return header + "\n" + "".join(f"{_TEXT},{entities},{row}\n" for row in rows)


_COMMAS = 'fell "," then "," it "," stood "," and "," we "," left'.split()
GOOD = {
    "score.csv": _csv(["0.9,train", "0.8,dev"], "text,entities,score,split"),
    "annotator.csv": _csv(["1,3.2", "2,4.5"], "text,label,annotator,lead_time"),
    "docstart.conll": "0 -DOCSTART- O\n\n0 Ann B-PER\n1 Lee I-PER\n\n0 -DOCSTART- O\n\n0 Rome B-LOC\n",
    "dash.conll": _TAGS.replace("-", "\u2013"),
    "none.conll": _TAGS.replace(" O", " B-O"),
    "null.conll": _TAGS.replace(" O", " NULL"),
    "dot.conll": _TAGS.replace("-", "."),
    "glued.conll": _TAGS.replace("-", ""),
    "lower.conll": "Ann i-per\nLee i-per\nleft O\n\nRome i-loc\n",
    "rare.conll": "Ann PER\nLee PER\nleft O\n\nRome LOC\nRome LOC\n",
    "gaps.csv": "Text,Pos,Ner\nAnn,N,B-PER\nLee,N,I-PER\nleft,V,O\n,,\nRome,N,B-LOC\n",
    "enamed.csv": "Ann,B-PER\nLee,I-PER\nleft,O\n,O\nRome,B-LOC\n",
    "numbered.tsv": "0\t1\tAnn\tB-PER\n0\t2\tLee\tI-PER\n0\t3\tis\tO\n1\t1\tRome\tB-LOC\n1\t2\tis\tO\n",
    "places.tsv": "0\t3\tAnn\tB-PER\n4\t7\tLee\tI-PER\n8\t12\tleft\tO\n\n13\t17\tRome\tB-LOC\n",
    "hash.tsv": "#\tword\ttag\n1\tAnn\tPER\n2\tLee\tPER\n3\tis\tO\n1\tRome\tLOC\n2\tis\tO\n",
    "colons.txt": "Sentence: 0|Ann|B-PER\nSentence: 0|Lee|I-PER\nSentence: 0|is|-\n"
    "Sentence: 1|Rome|B-LOC\nSentence: 1|is|-\n",
    "bars.txt": "Sentence: 1|PER|d0|Ann\nSentence: 1|PER|d0|Lee\nSentence: 1|0|d0|left\n"
    "Sentence: 1|0|d0|then\nSentence: 2|LOC|d0|Rome\nSentence: 2|0|d0|fell\n",
    "apart.csv": "doc,sent,word,tag\na,0,Ann,B-PER\na,0,Lee,I-PER\na,0,left,O\n"
    "b,0,Rome,B-LOC\nb,0,fell,O\nb,1,so,O\nb,1,what,O\n",
    "last.csv": "0,Ann,I-PER,Sentence: 1\n1,Lee,I-PER,Sentence: 1\n0,Rome,I-LOC,Sentence: 2\n"
    + "".join(f"{n},{word},OTHER,Sentence: 2\n" for n, word in enumerate(_COMMAS, start=1)),
    "scored.txt": "Sentence #|Tag|token|score\n1|B-PER|Ann|0.3\n1|E-PER|Lee|0.3\n1|O|is|0.2\n"
    "2|S-LOC|Rome|0.4\n2|O|is|0.2\n" + "2|O|is|0.2\n" * 19,
    "form.tsv": "FORM\tdocument\tlabels\n# newdoc id = d0\nAnn\td0\tB-PER\nLee\td0\tI-PER\n\n"
    "Rome\td0\tB-LOC\n",
    "marks.csv": "Wort,Note,Etikett\n"
    + "Ann,0.5,B-PER\nLee,0.5,I-PER\nis,0.2,O\nRome,0.1,B-LOC\n" * 20,
    "zero.conll": "Ann B-NP PER\nLee I-NP PER\nleft B-VP 0\nthen B-NP 0\n\nRome B-NP LOC\n",
    "chunks.conll": "Ann B-NP PER\nLee I-NP PER\nleft B-VP O\nthen B-NP O\n\nRome B-NP LOC\n",
    "brackets.gold_conll": _CONLL2012.replace("GPE", "LOC").replace("PERSON", "PER"),
    "header.conll": "Wort Etikett\n" + "Ann PER\nLee PER\nleft O\n\nRome LOC\nfell O\n\n" * 20,
    "other.csv": "词;标签\n" + _TAGS.replace(" O", ";OTHER").replace(" ", ";"),
    "glued.tsv": "Wort\tEtikett\n" + _TAGS.replace("-", "").replace(" ", "\t"),
    "marks.ssv": "Ann;B-PER\nLee;I-PER\nleft;\n\";\";\n\nRome;B-LOC\nfell;\n",
    "begin.conll": "#begin document (d0); part 000\nNP Ann 1 PER 0.3\nNP Lee 2 PER 0.3\n"
    "VP left 3 O 0.4\nVP then 4 O 0.4\n\nNP Rome 1 LOC 0.4\nVP fell 2 O 0.4\n\n#end document\n",
    "nested.tsv": "Ann\tB-NP\tB-PER\nLee\tI-NP\tI-PER|B-PER.LAST\nleft\tB-VP\tO\n\nRome\tB-NP\tB-LOC\n"
    "fell\tB-VP\tO\nthen\tB-NP\tO\n",
    "document.csv": _csv(["d1", "d2"], "data,entities,document"),
    "type.jsonl": _record("start", "end", "type"),
    "group.jsonl": _record("start", "end", "entity_group"),
    "char.jsonl": _record("start_char", "end_char", "label"),
    "begin.jsonl": _record("begin", "end", "category"),
    "lines.json": json.dumps(json.loads(_record("start", "end", "label")), indent=2) * 2,
    "turks.jsonl": json.dumps({"content": _TEXT, "annotation": [
        {"label": ["PER"], "points": [{"start": 0, "end": 6, "text": "Ann Lee"}]},
        {"label": ["LOC"], "points": [{"start": 13, "end": 16, "text": "Rome"}]}]}),
    "gliner.json": json.dumps([
        {"tokenized_text": _TEXT.split(), "ner": [[0, 1, "PER"], [3, 3, "LOC"]]}]),
    "cluener.jsonl": json.dumps({"text": _TEXT, "label": {
        "PER": {"Ann Lee": [[0, 6]]}, "LOC": {"Rome": [[13, 16]]}}}),
    "unopened.txt": "".join(
        f"a 0 {n} {word} NN (NP*) - - - X {cell} -\n" if word else "\n"
        for n, (word, cell) in enumerate(_ROWS)
    ).replace("GPE", "LOC").replace("PERSON", "PER"),
    "tuples.csv": f"id,text,entities\n1,{_TEXT},\"[(0, 7, 'PER'), (13, 17, 'LOC')]\"\n",
    "columns.jsonl": json.dumps({"text": _TEXT, "entities": {
        "start": [0, 13], "end": [7, 17], "label": ["PER", "LOC"]}}),
    "gretel.jsonl": json.dumps({"generated_text": _TEXT, "pii_spans":
        "[{'start': 0, 'end': 7, 'label': 'PER'}, {'start': 13, 'end': 17, 'label': 'LOC'}]"}),
}  # fmt: skip
_SPANS = [
    {"start": start, "end": end, "text": _TEXT[start:end], "labels": [label]}
    for start, end, label in ((0, 7, "PER"), (13, 17, "LOC"))
]
_RESULTS = [{"annotations": [{"result": [{"value": each} for each in _SPANS]}]}]
GOOD.update({
    "bmewo.conll": "Ann B-PER\nLee E-PER\nleft O\n\nRome W-LOC\nfell O\n",
    # The text is what quotes the words of the spans.
    "task.json": json.dumps([{**_RESULTS[0], "data": {"source": "wire", "body": _TEXT}}]),
    "minimal.json": json.dumps([{"id": 1, "source": "wire", "comment": _TEXT, "names": _SPANS,
                                 "annotator": 1, "annotation_id": 1}]),
})  # fmt: skip
_PREDICTED = [
    {"entity": tag, "score": 0.9, "word": word, "start": start, "end": start + len(word)}
    for tag, word, start in (("B-PER", "Ann", 0), ("I-PER", "Lee", 4), ("B-LOC", "Rome", 13))
]
_GROUPS = [{"entity_group": "LOC", "score": 0.9, "word": "Rome", "start": 13, "end": 17}] * 2
_OPENNLP = "<START:person> Ann Lee <END> left <START:city> Rome <END> .\n" * 4
_TASK = {"data": {"text": "/data/upload/1/a.txt"}, "annotations": [{"result": [
    {"value": {"start": 0, "end": 7, "labels": ["PER"]}}]}]}  # fmt: skip
REFUSED = {
    "a.train": (_OPENNLP, "inline tags"),
    "a.md": ("- fly to [Oslo](city) on day\n" * 4, "inline tags"),
    "lfs.tsv": ("version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 5\n", "git lfs pull"),
    "url.json": (json.dumps([_TASK]), "got the path '/data/upload/1/a.txt'"),
    "a.pubtator": ("9|t|Ann\n9|a|Lee\n9\t0\t3\tAnn\tPER\tD0\n", "PubTator"),
    "a.con": ('c="ann lee" 1:0 1:1||t="per"\nc="rome" 2:3 2:3||t="loc"\n', "i2b2"),
    "train.py": ("TRAIN = [\n    ('Ann', {'entities': [(0, 3, 'PER')]}),\n]\n", "Python"),
    "nlu.yml": ('version: "3.1"\nnlu:\n- intent: book\n  examples: |\n    - to Rome\n', "YAML"),
    "a.xlsx": ("PK\x03\x04abc", "a zip archive or an office document"),
    "tagged.txt": ("the###DT cats###NNS\na###DT dog###NN\n", "a tag behind each word"),
    "labels.csv": (
        "id,comment,label\n" + "1,a good thing,yes\n2,this is a bad one,no\n" * 9,
        "a text and a label on each line",
    ),
    "index.tsv": ("1\tAnn\n2\tLee\n3\tleft\n", "no column of words beside tags"),
    "one.jsonl": (json.dumps({"text": "王爱京", "label": [[0, 0, "PER"]]}), "--offsets inclusive"),
    "units.jsonl": (
        json.dumps({"text": "😀 ab", "label": [[2, 3, "X"]]}),
        "characters up to the last one of an entity or UTF-16 units, as JavaScript does, not characters",
    ),
    "rows.jsonl": (
        json.dumps({"text": _TEXT, "start": 0, "end": 3, "label": "PER"}) + "\n"
        + json.dumps({"text": _TEXT, "start": 13, "end": 17, "label": "LOC"}),
        "each record seems to be an entity"),
    "rows.csv": (
        "text,begin,end,type\n" + "".join(f"Ann met {n}.,0,{n},PER\nIn Oslo, {n}.,3,{n},LOC\n"
                                          for n in range(9)).replace("Oslo,", "Oslo"),
        "a text and a label on each line"),
    "words.conll": (_TAGS.replace("B-", "begin-").replace("I-", "inside-").replace("O", "outside"),
                    "tags of one label"),
    "brackets.conll": ("Ann (PER*\nLee *)\nleft *\n\nRome (LOC*)\nfell *\n", "brackets around"),
    "parts.json": (json.dumps({name: [{"text": _TEXT, "label": [[0, 7, "PER"]]}]
                               for name in ("train", "dev")}), "the parts dev and train"),
    "keys.jsonl": (_record("von", "bis", "art"), "got the keys von, bis, art"),
    "ioe.conll": ("Ann I-PER\nLee E-PER\nleft O\n\nRome E-LOC\nfell O\n", "these tags are IOE, where"),
    "muc.sgm": ("<DOC>\n<DOCID>w-1</DOCID>\n<TXT>\n<p>\nMr <ENAMEX TYPE='PER'>Ann\nLee</ENAMEX> left\n"
                "</p>\n</TXT>\n</DOC>\n" * 4, "texts with inline tags"),
    "pipeline.json": (json.dumps([_PREDICTED]), "the entities of a pipeline, without their texts"),
    "groups.json": (json.dumps([_GROUPS]), "the entities of a pipeline, without their texts"),
    "tagged.jsonl": (json.dumps({"text": _TEXT, "entities": _PREDICTED}),
                     'are tags of words, but an entity has one label, such as `PER`'),
    "header.csv": ("text,entities\n", "expected a text on each row, got a header alone"),
    "names.csv": ("id,word,tag\n", "got no sentence at all"),
    "other.json": (json.dumps([{**_RESULTS[0], "data": {"a": _TEXT, "b": _TEXT}}]),
                   "got the keys a, b; rename that of the text to `text`"),
}  # fmt: skip


@pytest.mark.parametrize("name", GOOD)
@pytest.mark.parametrize("read", [read_by_start, read_by_convert])
def test_files_of_known_kinds_are_read_rightly(name, read, tmp_path):
    path = tmp_path / name
    path.write_text(GOOD[name], encoding="utf-8")
    entities = Counter(
        (label, each.text[start:end])
        for each in read(path)
        for label, start, end in each.entities
        if not each.are_plain and label != "PER.LAST"
    )
    assert {label.upper(): words for label, words in entities} == {
        "PER": "AnnLee",
        "LOC": entities_of(name),
    }


@pytest.mark.parametrize("marked", ["a.txt", "a.ann"])
def test_a_byte_order_mark_moves_no_entity_of_brat(marked, tmp_path):
    for name, content in (("a.txt", _TEXT), ("a.ann", "T1\tPER 0 7\tAnn Lee\n")):
        (tmp_path / name).write_text("\ufeff" * (name == marked) + content, encoding="utf-8")
    (text,) = read_by_convert(tmp_path)
    assert [text.text[start:end] for _, start, end in text.entities] == ["AnnLee"]


@pytest.mark.parametrize("header", ["doc\tsent\tword\ttag\n", ""])
def test_a_sentence_ends_with_its_document(header, tmp_path):
    # Neither the numbers of sentences nor those of tokens tell the first three apart.
    words = [("a", 0, "Ann"), ("b", 0, "Rome"), ("c", 0, "Oslo"), ("c", 1, "Bern")]
    rows = [(*each[:2], word, tag) for *each, name in words for word, tag in
            ((name, "B-X"), ("and", "O"), (f"no{name}", "O"))]  # fmt: skip
    path = tmp_path / "all.tsv"
    path.write_text(header + "".join("\t".join(map(str, row)) + "\n" for row in rows))
    assert [each.text for each in read_by_convert(path)] == [f"{w}andno{w}" for _, _, w in words]
    assert len(read_by_start(path)) == len(words)


def test_a_task_of_label_studio_without_spans_is_read(tmp_path):
    tasks = [{"text": "Hi", "names": [], "notes": [], "annotator": 1}]
    spans = [{"start": 0, "end": 3, "labels": ["PER"]}]
    tasks += [{"text": "Ann", "names": spans, "notes": [], "annotator": 1}]
    (tmp_path / "minimal.json").write_text(json.dumps(tasks))
    assert [each.text for each in read_by_convert(tmp_path / "minimal.json")] == ["Hi", "Ann"]


def entities_of(name):
    return "RomeRome" if name == "rare.conll" else "Rome"


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("read", [read_by_start, read_by_convert])
def test_what_is_not_read_is_named(name, read, tmp_path):
    content, message = REFUSED[name]
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match=re.escape(message)):
        read(path)
