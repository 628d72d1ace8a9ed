"""CoNLL-U files with entities in MISC, in random layouts."""

from random import Random
from typing import Any, Dict, Iterator, List

from tagger.spans import spans_to_tags
from tests.data.layouts.cases import Case, pick, with_bytes
from tests.data.layouts.contents import Corpus, Sentence, random_corpus

_MARKS = ("newdoc", "newdoc id", "doc_id", "document_id")


def conllu_case(rng: Random) -> Case:
    """Makes a CoNLL-U file."""
    corpus = random_corpus(rng)
    traits = {
        "key": rng.choice(("NER", "ner", "Entity", "NE", "name")),
        "encoding": pick(rng, "BIO", "BIOUL", "IOB1", "IOBES"),
        "documents": pick(rng, None, *_MARKS),
        "has_text": rng.random() < 0.5,
        "has_ids": rng.random() < 0.5,
        "has_outside": rng.random() < 0.5,
        "script": corpus.script,
        "labels": corpus.labels,
    }
    mark = traits["documents"]
    corpus = corpus.with_names(rng, mark not in (None, "newdoc"))
    case = Case("conllu", "file.conllu", b"", [each.content for each in corpus.sentences], traits)
    if mark is not None:
        case = case._replace(document_of=corpus.document_of)
    if mark in ("newdoc", "newdoc id"):  # each text is a document
        truth = [_whole(document).content for document in corpus.documents]
        case = case._replace(truth=truth, document_of=corpus.names)
    return with_bytes(rng, case, "\n".join(_lines(corpus, traits)) + "\n")


def _whole(document: List[Sentence]) -> Sentence:
    """Joins the sentences of a document."""
    whole = Sentence([], [])
    for tokens, spans in document:
        behind = len(whole.tokens)
        moved = [(label, (first + behind, last + behind)) for label, (first, last) in spans]
        whole = Sentence([*whole.tokens, *tokens], [*whole.spans, *moved])
    return whole


def _lines(corpus: Corpus, traits: Dict[str, Any]) -> Iterator[str]:
    mark, number = traits["documents"], 0
    for name, document in zip(corpus.names, corpus.documents):
        if mark in ("newdoc", "newdoc id"):
            yield f"# newdoc id = {name}" if mark == "newdoc id" else "# newdoc"
        for sentence in document:
            number += 1
            if mark in ("doc_id", "document_id"):
                yield f"# {mark} = {name}"
            if traits["has_ids"]:
                yield f"# sent_id = {number}"
            if traits["has_text"]:
                yield f"# text = {corpus.text_of(sentence)[0]}"
            tags = spans_to_tags(sentence.spans, len(sentence.tokens), traits["encoding"])
            for place, (token, tag) in enumerate(zip(sentence.tokens, tags), start=1):
                misc = [] if corpus.joint else ["SpaceAfter=No"]
                if tag != "O" or traits["has_outside"]:
                    misc.append(f"{traits['key']}={tag}")
                cells = (place, token, token.lower(), "NOUN", *"____", "_", "|".join(misc) or "_")
                yield "\t".join(map(str, cells))
            yield ""
