"""Files as annotation tools and corpora have them, such as Label Studio, brat and CoNLL-2012."""

import json
from random import Random
from typing import Any, Callable, Dict, List, Tuple

from tests.data.layouts.cases import Case, pick, with_bytes
from tests.data.layouts.contents import Corpus, contents_of_texts, random_corpus
from tests.data.layouts.reading import content_of

#: A label with the offsets of its first character and behind its last one.
Entity = Tuple[str, int, int]


def export_case(rng: Random) -> Case:
    """Makes a file or folder of one of the tools."""
    return rng.choice((_label_studio, _brat, _records, _conll2012))(rng)


def _label_studio(rng: Random) -> Case:
    corpus = random_corpus(rng, may_nest=True).with_names(rng, may_return=True)
    traits: Dict[str, Any] = {
        "text_key": rng.choice(("text", "content", "body")),
        "document_key": pick(rng, None, "doc_id", "file_name", "document"),
        "has_predictions": rng.random() < 0.3,
        "has_relations": rng.random() < 0.3,
        "are_lines": rng.random() < 0.2,
        "script": corpus.script,
        "labels": corpus.labels,
    }
    tasks = []
    for number, (sentence, name) in enumerate(zip(corpus.sentences, corpus.document_of)):
        text, entities = corpus.text_of(sentence)
        results = [_result(text, each, n) for n, each in enumerate(entities)]
        if traits["has_relations"]:
            results.append({"type": "relation", "from_id": "0", "to_id": "1", "direction": "right"})
        data = {traits["text_key"]: text}
        if traits["document_key"] is not None:
            data[traits["document_key"]] = name
        if traits["text_key"] != "text" and traits["document_key"] is not None:
            data = {"text": data.pop(traits["text_key"]), **data}  # two strings, so one is named
        task: Dict[str, Any] = {"id": number, "data": data, "annotations": [{"result": results}]}
        if traits["has_predictions"]:
            task["predictions"] = [{"result": results[:1], "score": 0.3}]
        tasks.append(task)
    truth = contents_of_texts(corpus)
    case = Case("exports, Label Studio", "file.json", b"", truth, traits)
    if traits["document_key"] is not None:
        case = case._replace(document_of=corpus.document_of)
    lines = "".join(f"{json.dumps(task)}\n" for task in tasks)
    return with_bytes(rng, case, lines if traits["are_lines"] else json.dumps(tasks, indent=1))


def _result(text: str, entity: Entity, number: int) -> Dict[str, Any]:
    label, start, end = entity
    value = {"start": start, "end": end, "text": text[start:end], "labels": [label]}
    same = {"from_name": "label", "to_name": "text", "type": "labels"}
    return {"id": str(number), **same, "value": value}


def _brat(rng: Random) -> Case:
    """Makes a folder with a text for each document, and a sentence on each line."""
    corpus = random_corpus(rng, may_nest=True)
    traits = {
        "ends": pick(rng, "\n", "\r\n", usual=0.8),
        "has_notes": rng.random() < 0.3,
        "script": corpus.script,
        "labels": corpus.labels,
    }
    files: Dict[str, bytes] = {}
    truth = []
    for name, document in zip(corpus.names, corpus.documents):
        text, entities = "", []
        for sentence in document:
            own, found = corpus.text_of(sentence)
            entities += [(label, i + len(text), j + len(text)) for label, i, j in found]
            text += own + traits["ends"]
        lines = [
            f"T{n}\t{label} {i} {j}\t{text[i:j]}"
            for n, (label, i, j) in enumerate(entities, start=1)
        ]
        if traits["has_notes"]:
            lines.append("#1\tAnnotatorNotes T1\tcheck this")
        files[f"{name}.txt"] = text.encode()
        files[f"{name}.ann"] = "".join(f"{line}\n" for line in lines).encode()
        truth.append(content_of(text, entities))
    return Case("exports, brat", "folder", files, truth, traits, document_of=corpus.names)


def _records(rng: Random) -> Case:
    corpus = random_corpus(rng, may_nest=True)
    name = rng.choice([*_RECORDS])
    traits = {"script": corpus.script, "labels": corpus.labels, "format": name}
    texts = [corpus.text_of(each) for each in corpus.sentences]
    records = [_RECORDS[name](text, entities) for text, entities in texts]
    case = Case(f"exports, {name}", "file.jsonl", b"", contents_of_texts(corpus), traits)
    if name == "spaCy":
        text = json.dumps(records, ensure_ascii=False)
        return with_bytes(rng, case._replace(name="file.json"), text)
    lines = "".join(f"{json.dumps(each, ensure_ascii=False)}\n" for each in records)
    return with_bytes(rng, case, lines)


def _dataturks(text: str, entities: List[Entity]) -> Any:
    annotation = [
        {"label": [label], "points": [{"start": i, "end": j - 1, "text": text[i:j]}]}
        for label, i, j in entities
    ]
    return {
        "content": text,
        "annotation": annotation,
        "extras": None,
        "metadata": {"status": "done"},
    }


def _cluener(text: str, entities: List[Entity]) -> Any:
    labels: Dict[str, Dict[str, List[List[int]]]] = {}
    for label, i, j in entities:
        labels.setdefault(label, {}).setdefault(text[i:j], []).append([i, j - 1])
    return {"text": text, "label": labels}


def _spacy(text: str, entities: List[Entity]) -> Any:
    return [text, {"entities": [[i, j, label] for label, i, j in entities]}]


def _doccano(text: str, entities: List[Entity]) -> Any:
    found = [
        {"id": n, "label": label, "start_offset": i, "end_offset": j}
        for n, (label, i, j) in enumerate(entities)
    ]
    return {"id": 1, "text": text, "entities": found, "relations": [], "Comments": []}


def _prodigy(text: str, entities: List[Entity]) -> Any:
    spans = [{"start": i, "end": j, "label": label} for label, i, j in entities]
    return {"text": text, "spans": spans, "answer": "accept", "_input_hash": 12, "_view_id": "ner"}


_RECORDS: Dict[str, Callable[[str, List[Entity]], Any]] = {
    "DataTurks": _dataturks,
    "CLUENER": _cluener,
    "spaCy": _spacy,
    "doccano": _doccano,
    "Prodigy": _prodigy,
}


def _conll2012(rng: Random) -> Case:
    corpus = random_corpus(rng, may_nest=True).with_names(rng, may_return=True)
    traits = {"script": corpus.script, "labels": corpus.labels}
    lines = []
    for part, (name, document) in enumerate(zip(corpus.names, corpus.documents)):
        lines.append(f"#begin document ({name}); part {part:03}")
        for sentence in document:
            lines += [*_bracketed(corpus, sentence, name, part), ""]
        lines.append("#end document")
    truth = [each.content for each in corpus.sentences]
    case = Case("exports, CoNLL-2012", "file.gold_conll", b"", truth, traits)
    case = case._replace(document_of=corpus.document_of)
    return with_bytes(rng, case, "\n".join(lines) + "\n")


def _bracketed(corpus: Corpus, sentence: Any, name: str, part: int) -> List[str]:
    rows = []
    for place, token in enumerate(sentence.tokens):
        outermost = sorted(sentence.spans, key=lambda span: (span[1][0], -span[1][1]))
        opened = "".join(f"({label}" for label, (first, _) in outermost if first == place)
        closed = ")" * sum(last == place for _, (_, last) in sentence.spans)
        cell = f"{opened}{closed}" if opened and closed else f"{opened}*{closed}"
        rows.append(
            "  ".join([name, str(part), str(place), token, "NN", "*", *"---", "X", cell, "-"])
        )
    return rows
