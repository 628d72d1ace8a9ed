"""The spaCy component `allennlp_tagger`: a trained tagger in a spaCy pipeline.

spaCy finds it through the package's entry point. This module is imported when a pipeline uses the
component, and AllenNLP when the first document arrives.
"""

import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, Iterable, Iterator, List, Optional, Tuple, Union

from spacy.language import Language
from spacy.pipeline import Pipe
from spacy.scorer import get_ner_prf
from spacy.tokens import Doc, Span, SpanGroup, Token
from spacy.training import Example
from spacy.util import ensure_path, filter_spans, minibatch

from tagger_texts.inputs import begin_of
from tagger_texts.segments import has_emoji_sequence
from tagger_texts.sentences import sentence_lengths
from tagger_texts.text import Text

if TYPE_CHECKING:
    from tagger.predictors.saved_tagger import SavedTagger

#: The name of the archive in the folder of a saved pipeline.
ARCHIVE_NAME = "model.tar.gz"


class AllenNlpTagger(Pipe):
    """Sets the entities of documents with a trained tagger.

    It tags spaCy's own tokens, except for white space and a byte order mark at the start. If an earlier
    component has set sentence boundaries, each sentence is tagged separately, as in training; otherwise
    the document is tagged as a whole. Long documents are cut like any other text. The model is loaded
    at first use.

    Args:
        name: The component's name in the pipeline.
        model: The archive of a tagger with tags that spell entities, or the folder of a training run.
        batch_size: How many documents `pipe` tags together by default.
        span_group: The name of the group in `doc.spans` for all entities found. Its
            `attrs["probabilities"]` has the probability of each, or None if the model gives none.
        overwrite: Whether to remove existing entities. Otherwise they stay, and new ones are added
            where they do not overlap.
        decode_bias: How much more readily to predict each label; see `SavedTagger.with_bias`.
        cuda_device: The number of the GPU to use, or -1 for the CPU.
    """

    def __init__(
        self,
        name: str,
        model: Union[str, Path],
        batch_size: int = 64,
        span_group: str = "allennlp_tagger",
        overwrite: bool = True,
        decode_bias: Optional[Dict[str, float]] = None,
        cuda_device: int = -1,
    ) -> None:
        self.name = name
        self._settings: Dict[str, Any] = {
            "model": str(model),
            "batch_size": batch_size,
            "span_group": span_group,
            "overwrite": overwrite,
            "decode_bias": dict(decode_bias or {}),
            "cuda_device": cuda_device,
        }
        self._archive: Union[Path, bytes] = Path(model)
        self._tagger: Optional[SavedTagger] = None

    @property
    def tagger(self) -> "SavedTagger":
        """The tagger as loaded by `tagger.load`, with the biases."""
        if self._tagger is None:
            from tagger.common.from_allennlp import ConfigurationError
            from tagger.predictors.saved_tagger import load

            device = self._settings["cuda_device"]
            with _as_file(self._archive) as path:
                if not path.exists():
                    raise FileNotFoundError(
                        f"`model` of the component `{self.name}` must be the archive of a tagger, "
                        f"such as model.tar.gz; there is no {path}"
                    )
                loaded = load(path, cuda_device=device)
            if not loaded.finds_entities:
                raise ConfigurationError(
                    f"`model` of the component `{self.name}` must be a tagger with tags that spell "
                    f"entities, such as B-PER; got one of plain labels; use `tagger.load` for it"
                )
            biases = self._settings["decode_bias"]
            self._tagger = loaded.with_bias(biases) if biases else loaded
        return self._tagger

    @property
    def labels(self) -> Tuple[str, ...]:
        """The labels that the model knows; empty if there is no archive."""
        # spaCy asks for the labels before `from_disk` says where the archive is.
        is_there = isinstance(self._archive, bytes) or self._archive.exists()
        return tuple(self.tagger.labels) if is_there else ()

    def __call__(self, doc: Doc) -> Doc:
        """Tags a document."""
        list(self.pipe([doc]))
        return doc

    def pipe(self, stream: Iterable[Doc], *, batch_size: Optional[int] = None) -> Iterator[Doc]:
        """Tags documents in batches of `batch_size` and keeps their order."""
        for docs in minibatch(stream, size=batch_size or self._settings["batch_size"]):
            try:
                self._tag(docs)
            except Exception as error:
                self.get_error_handler()(self.name, self, docs, error)
            else:
                yield from docs

    def score(self, examples: Iterable[Example], **kwargs: Any) -> Dict[str, Any]:
        """Returns precision, recall and F1 of entities, like spaCy's `ner`."""
        scores: Dict[str, Any] = get_ner_prf(examples)
        return scores

    def to_disk(self, path: Union[str, Path], *, exclude: Iterable[str] = ()) -> None:
        """Writes a folder with the archive; `exclude` is ignored here and in the other methods."""
        folder = ensure_path(path)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / ARCHIVE_NAME).write_bytes(self.to_bytes())

    def from_disk(self, path: Union[str, Path], *, exclude: Iterable[str] = ()) -> "AllenNlpTagger":
        """Uses the archive in a folder written by `to_disk`."""
        self._archive, self._tagger = ensure_path(path) / ARCHIVE_NAME, None
        return self

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """Returns the archive."""
        if isinstance(self._archive, bytes):
            return self._archive
        is_folder = self._archive.is_dir()
        return (self._archive / ARCHIVE_NAME if is_folder else self._archive).read_bytes()

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> "AllenNlpTagger":
        """Uses an archive returned by `to_bytes`."""
        self._archive, self._tagger = data, None
        return self

    def __reduce__(self) -> Any:
        return _unpickled, (self.name, self._settings, self.to_bytes())

    def _tag(self, docs: List[Doc]) -> None:
        from tagger.data.tokenizers import LanguageRulesTokenizer

        places = [(doc, indices) for doc in docs for indices in _sentences(doc)]
        # A tagger trained on differently split text has to split the text itself.
        tokenizer = self.tagger.tokenizer
        takes_tokens = isinstance(tokenizer, LanguageRulesTokenizer) and (
            not docs or docs[0].lang_ in ("", tokenizer.language)
        )
        texts = [doc[indices[0] : indices[-1] + 1].text for doc, indices in places]
        # spaCy cuts emoji, which taggers do not.
        are_taken = [takes_tokens and not has_emoji_sequence(text) for text in texts]
        inputs: List[Any] = [
            self._with_tokens(text, *place) if is_taken else text
            for text, place, is_taken in zip(texts, places, are_taken)
        ]
        found: Dict[int, List[Tuple[Span, Optional[float]]]] = {id(doc): [] for doc in docs}
        for (doc, indices), is_taken, tagged in zip(places, are_taken, self.tagger.tag(inputs)):
            for entity in tagged.entities:
                if is_taken:
                    first, last = indices[entity.first], indices[entity.last]
                else:
                    begin = doc[indices[0]].idx
                    place = begin + entity.start, begin + entity.end
                    whole = doc.char_span(*place, alignment_mode="expand")
                    assert whole is not None
                    first, last = whole.start, whole.end - 1
                span = Span(doc, first, last + 1, entity.label)
                found[id(doc)].append((span, entity.probability))
        for doc in docs:
            self._annotate(doc, found[id(doc)])

    def _with_tokens(self, text: str, doc: Doc, indices: List[int]) -> Text:
        """Returns a text with spaCy's tokens, cut into sentences as the tagger would."""
        words = [_text(doc[index]) for index in indices]
        begin = doc[indices[0]].idx
        # A byte order mark belongs before the first word.
        starts = [
            doc[index].idx - begin + len(doc[index]) - len(word)
            for index, word in zip(indices, words)
        ]
        lengths = sentence_lengths(text, starts, self.tagger.max_sentence_tokens)
        return Text(text, words, starts, lengths)

    def _annotate(self, doc: Doc, found: List[Tuple[Span, Optional[float]]]) -> None:
        """Adds entities and their probabilities to a document."""
        group, spans = self._settings["span_group"], [span for span, _ in found]
        attributes = {"probabilities": [probability for _, probability in found]}
        doc.spans[group] = SpanGroup(doc, name=group, spans=spans, attrs=attributes)
        before = [] if self._settings["overwrite"] else list(doc.ents)
        taken = {token.i for span in before for token in span}
        free = [span for span in spans if taken.isdisjoint(range(span.start, span.end))]
        # If the tagger splits more finely, two entities may share one of spaCy's tokens.
        doc.set_ents([*before, *filter_spans(free)])


@Language.factory(
    "allennlp_tagger",
    assigns=["doc.ents", "doc.spans", "token.ent_type", "token.ent_iob"],
    default_config={
        "batch_size": 64,
        "span_group": "allennlp_tagger",
        "overwrite": True,
        "decode_bias": {},
        "cuda_device": -1,
    },
    default_score_weights={"ents_f": 1.0, "ents_p": 0.0, "ents_r": 0.0, "ents_per_type": None},
)
def make_component(
    nlp: Language,
    name: str,
    model: str,
    batch_size: int,
    span_group: str,
    overwrite: bool,
    decode_bias: Dict[str, float],
    cuda_device: int,
) -> AllenNlpTagger:
    """Makes the component for a pipeline; called by spaCy."""
    return AllenNlpTagger(name, model, batch_size, span_group, overwrite, decode_bias, cuda_device)


def _text(token: Token) -> str:
    """The text of a token, without a byte order mark at the start of the document."""
    text: str = token.text
    return text[begin_of(text) :] if token.i == 0 else text


def _sentences(doc: Doc) -> Iterator[List[int]]:
    """Yields the indices of each sentence's tokens, skipping white space and empty tokens."""
    for sentence in doc.sents if doc.has_annotation("SENT_START") else [doc[:]]:
        indices = [token.i for token in sentence if _text(token) and not token.is_space]
        if indices:
            yield indices


@contextmanager
def _as_file(archive: Union[Path, bytes]) -> Iterator[Path]:
    if isinstance(archive, Path):
        yield archive
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, ARCHIVE_NAME)
        path.write_bytes(archive)
        yield path


def _unpickled(name: str, settings: Dict[str, Any], archive: bytes) -> AllenNlpTagger:
    return AllenNlpTagger(name, **settings).from_bytes(archive)
