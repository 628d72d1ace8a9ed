import zlib

import pytest
import spacy
import srsly
from spacy.tokens import DocBin, Span

from tagger.data.formats import Annotation, read_texts, recognise, write_texts


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


def test_damage_behind_the_first_bytes_is_refused(write):
    content = DocBin(docs=[spacy.blank("en")("Ada")]).to_bytes()
    damaged = {**srsly.msgpack_loads(zlib.decompress(content)), "strings": []}
    path = write("a.spacy", zlib.compress(srsly.msgpack_dumps(damaged)))
    with pytest.raises(ValueError, match=r"a.spacy: expected a DocBin of spaCy \(.*\[E018\]"):
        list(read_texts(path))
