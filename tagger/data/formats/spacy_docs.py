"""spaCy's binary files, `.spacy`, read and written with spaCy."""

import logging
from collections import Counter
from itertools import accumulate
from pathlib import Path
from typing import Any, Iterable, Iterator, List, Tuple

from tagger.common.files import write_atomically
from tagger.common.inputs import PathOrAddress, open_input
from tagger.common.word_splitter import import_spacy
from tagger.data.formats.annotated_text import AnnotatedText, Annotation, fit_to_tokens
from tagger.data.formats.overlaps import check_overlaps
from tagger.data.reading import DETECTED, Reading
from tagger.data.text_encodings import check_no_pointer

logger = logging.getLogger(__name__)


def read_spacy(path: PathOrAddress, _: Reading = DETECTED) -> Iterator[AnnotatedText]:
    """Reads the documents of a `DocBin` with their `ents` or, if there are none, the span group `sc`."""
    spacy = import_spacy()
    vocab = spacy.blank("xx").vocab
    with open_input(path) as file:
        content = file.read()
    check_no_pointer(content, path)
    left: Counter[str] = Counter()
    num_read = 0
    try:
        docs = spacy.tokens.DocBin().from_bytes(content).get_docs(vocab)
        for number, doc in enumerate(docs, start=1):
            text = _text(doc, f"{path}, document {number}")
            num_read += len(text.entities)
            own = {tuple(each) for each in text.entities}
            for name, group in doc.spans.items():
                left[name] += sum((s.label_, s.start_char, s.end_char) not in own for s in group)
            yield text
    except Exception as error:  # from zlib, msgpack, or a consequence
        reason = " ".join(str(error).split())
        raise ValueError(f"{path}: expected a DocBin of spaCy ({reason})") from None
    groups = ", ".join(f"{name} {number:,}" for name, number in left.items() if number)
    if groups and not num_read:
        raise ValueError(
            f"{path}: all spans are in other groups ({groups}) than `sc`; copy those of one to `ents`"
        )
    if groups:
        logger.warning("%s: left out spans of other groups: %s", path, groups)


def _text(doc: Any, place: str) -> AnnotatedText:
    spans = doc.ents or doc.spans.get("sc", ())
    entities = [Annotation(span.label_, span.start_char, span.end_char) for span in spans]
    entities.sort(key=lambda entity: entity[1:])
    tokens = [(token.idx, token.idx + len(token)) for token in doc if not token.is_space]
    lengths = None
    if doc.has_annotation("SENT_START"):
        counted = (sum(not token.is_space for token in sentence) for sentence in doc.sents)
        lengths = [length for length in counted if length]
    return AnnotatedText(doc.text, entities, tokens, lengths, place, {})


def write_spacy(texts: Iterable[AnnotatedText], path: Path) -> None:
    """Writes a `DocBin` with tokens, entities and, if known, sentences."""
    spacy = import_spacy()
    vocab = spacy.blank("xx").vocab
    docs = spacy.tokens.DocBin(docs=(_doc(text, vocab) for text in texts))
    with write_atomically(path) as new:
        new.write_bytes(docs.to_bytes())


def _doc(text: AnnotatedText, vocab: Any) -> Any:
    from spacy.tokens import Doc

    text = fit_to_tokens(text).text
    words, spaces, opening = _words(text)
    starts: Any = None if text.sentence_lengths is None else opening
    doc = Doc(vocab, words=words, spaces=spaces, sent_starts=starts)
    spans: Any = [doc.char_span(start, end, label=label) for label, start, end in text.entities]
    # Entities in `ents` do not overlap; the span group `sc` has room for those that do.
    if check_overlaps(text, "longest")[1]:
        doc.spans["sc"] = spans
    else:
        doc.set_ents(spans)
    return doc


def _words(text: AnnotatedText) -> Tuple[List[str], List[bool], List[bool]]:
    """Returns words that cover a text, whether a blank follows each, and which open a sentence."""
    openings = {*accumulate(text.sentence_lengths or [], initial=0)}
    words: List[str] = []
    spaces: List[bool] = []
    opening: List[bool] = []
    end = 0
    for number, token in enumerate([*(text.tokens or []), (len(text.text), len(text.text))]):
        gap = text.text[end : token[0]]
        if gap.startswith(" ") and words:
            spaces[-1] = True
            gap = gap[1:]
        for piece, opens in ((gap, False), (text.text[slice(*token)], number in openings)):
            if piece:
                words.append(piece)
                spaces.append(False)
                opening.append(opens)
        end = token[1]
    return words, spaces, opening
