"""A trained tagger in Python: `tagger.load` reads an archive, `SavedTagger.tag` tags texts."""

import copy
import html
import itertools
from functools import cached_property
from pathlib import Path
from typing import (
    Dict,
    Iterable,
    Iterator,
    List,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    Tuple,
    Union,
    overload,
)

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.common.util import JsonDict
from allennlp.data import DatasetReader
from allennlp.models import load_archive

from tagger.collections_paused import collections_paused
from tagger.did_you_mean import did_you_mean
from tagger.models import SequenceTagger
from tagger.modules import ChainDecoder
from tagger.modules.heads import ChainHead, SigmoidHead
from tagger.predictors import SequenceTaggerPredictor
from tagger.spans import labels_of_tags

#: A text, or its tokens.
TextOrTokens = Union[str, Sequence[str]]


class Entity(NamedTuple):
    """A span of a text that has a label.

    Attributes:
        label: The label, such as `PER`.
        text: The characters of the span.
        start: The offset of its first character in the text.
        end: The offset behind its last character.
        first: The index of its first token.
        last: The index of its last token.
        probability: How sure the model is that exactly these tokens form an entity of this label. `None`
            if the model gives none, as under IOB1.
    """

    label: str
    text: str
    start: int
    end: int
    first: int
    last: int
    probability: Optional[float]


class TaggedText(NamedTuple):
    """A text with what a tagger found in it. A notebook shows the text with its entities marked.

    Attributes:
        text: The text; tokens that came without one are joined by single blanks.
        tokens: The tokens.
        tags: A tag for each token, such as `B-PER`; empty if tokens may have several labels.
        labels: For each token the list of its labels, if tokens may have several; else empty.
        entities: The entities in the order of the text; empty if the tags spell no spans.
        probabilities: For each token the probability of each tag, or label; empty unless asked for.
        sentences: Of a document, the first and the last token of each sentence; else empty.
    """

    text: str
    tokens: List[str]
    tags: List[str]
    labels: List[List[str]]
    entities: List[Entity]
    probabilities: List[Dict[str, float]]
    sentences: Sequence[Tuple[int, int]] = ()

    def _repr_html_(self) -> str:
        parts, position = [], 0
        for entity in self.entities:
            parts.append(html.escape(self.text[position : entity.start]))
            parts.append(_marked(entity.text, entity.label, entity.probability))
            position = entity.end
        parts.append(html.escape(self.text[position:]))
        if any(self.labels):
            parts = [
                _marked(token, ", ".join(labels)) if labels else html.escape(token)
                for token, labels in zip(self.tokens, self.labels)
            ]
            return f'<div style="line-height: 2">{" ".join(parts)}</div>'
        return f'<div style="line-height: 2; white-space: pre-wrap">{"".join(parts)}</div>'


class SavedTagger:
    """Tags texts with a trained model; `tagger.load` makes it from an archive.

    Args:
        model: The model.
        dataset_reader: Makes instances of tokens.
        name: What the tagger is called, such as the archive's path.
        language: The spaCy code of the language whose rules split texts into tokens.
    """

    def __init__(
        self, model: SequenceTagger, dataset_reader: DatasetReader, name: str, language: str = "en"
    ) -> None:
        self._model = model
        self._dataset_reader = dataset_reader
        self._name = name
        self._language = language

    @property
    def labels(self) -> List[str]:
        """The labels that the model knows, sorted."""
        return sorted({label for label in labels_of_tags(self._model.tags) if label is not None})

    @overload
    def tag(  # type: ignore[overload-overlap]  # a text is iterable too
        self, inputs: str, *, probabilities: bool = False
    ) -> TaggedText: ...

    @overload
    def tag(self, *, tokens: Sequence[str], probabilities: bool = False) -> TaggedText: ...

    @overload
    def tag(
        self, inputs: Iterable[TextOrTokens], *, probabilities: bool = False
    ) -> List[TaggedText]: ...

    def tag(
        self,
        inputs: Union[TextOrTokens, Iterable[TextOrTokens], None] = None,
        *,
        tokens: Optional[Sequence[str]] = None,
        probabilities: bool = False,
    ) -> Union[TaggedText, List[TaggedText]]:
        """Tags a text, or many at once, which is faster than one by one.

        Args:
            inputs: A text; or any number of texts and of lists of tokens.
            tokens: The tokens of one text, instead of `inputs`.
            probabilities: Whether to compute the probabilities of all tags of each token.

        Returns:
            The text with its tags and entities, or a list of such for several inputs, in their order. A
            text without a token has none.

        Raises:
            TypeError: If an input is neither a text nor a list of tokens.
        """
        if (inputs is None) == (tokens is None):
            raise TypeError("give either `inputs`, one text or several, or `tokens`")
        if tokens is not None:
            return self._tag_all([list(tokens)], probabilities)[0]
        if isinstance(inputs, str):
            return self._tag_all([inputs], probabilities)[0]
        if not isinstance(inputs, Iterable):
            raise TypeError(f"`inputs` must be a text, or several; got {inputs!r}")
        return self._tag_all(list(inputs), probabilities)

    def tag_document(
        self, document: Union[str, Sequence[TextOrTokens]], *, probabilities: bool = False
    ) -> TaggedText:
        """Tags the sentences of a document together.

        A tagger that has learnt from documents tags a sentence with the help of the others; any other
        tags each by itself.

        Args:
            document: A text, which is split into sentences at punctuation and at blank lines; or its
                sentences, each a text or a list of tokens.
            probabilities: See `tag`.

        Returns:
            The document with its tags and entities; offsets and indices are those of the whole. Its
            text is that of the sentences joined by line feeds, if these are given.

        Raises:
            TypeError: If a sentence is neither a text nor a list of tokens.
        """
        if isinstance(document, str):
            inputs: JsonDict = {"document": document}
            is_empty = not document.strip()
        else:
            sentences = [_as_json(sentence) for sentence in document]
            inputs = {"sentences": [next(iter(sentence.values())) for sentence in sentences]}
            is_empty = not any(map(_has_token, sentences))
        if is_empty:
            return TaggedText(document if isinstance(document, str) else "", [], [], [], [], [])
        predictor = self._predictor_with_probabilities if probabilities else self._predictor
        return _tagged_text(predictor.predict_json(inputs), probabilities)

    def stream(
        self,
        inputs: Iterable[TextOrTokens],
        *,
        window: int = 2048,
        probabilities: bool = False,
    ) -> Iterator[TaggedText]:
        """Tags any number of inputs one after another, such as the lines of a file.

        Args:
            inputs: Texts or lists of tokens.
            window: How many are read, sorted by length and tagged at a time. All are in memory.
            probabilities: See `tag`.

        Yields:
            The texts with their tags, in the order of the inputs.
        """
        inputs = iter(inputs)
        while some := list(itertools.islice(inputs, window)):
            yield from self._tag_all(some, probabilities)

    def with_bias(
        self, biases: Optional[Mapping[str, float]] = None, **more: float
    ) -> "SavedTagger":
        """Returns a tagger that finds entities of some labels more, or less, readily.

        It shares the weights with this one. Probabilities stay the same.

        Args:
            biases: By label, a number of nats that is added to the scores of the tags that open an
                entity: above 0 finds more of them, below 0 fewer. It replaces the label's earlier bias.
            **more: The same, for labels that are Python names: `with_bias(PER=1.5)`.

        Raises:
            ConfigurationError: If a label is unknown, or the tagger decides each label by itself.
        """
        return self._with_settings({**(biases or {}), **more}, {})

    def with_thresholds(
        self, thresholds: Optional[Mapping[str, float]] = None, **more: float
    ) -> "SavedTagger":
        """Returns a tagger that keeps entities of some labels only if they are probable enough.

        It shares the weights with this one.

        Args:
            thresholds: By label, the least probability, from 0 to 1, of an entity; or of a label, if a
                token may have several. It replaces the label's earlier threshold.
            **more: The same, for labels that are Python names: `with_thresholds(PER=0.6)`.

        Raises:
            ConfigurationError: If a label is unknown, or a number is not from 0 to 1.
        """
        return self._with_settings({}, {**(thresholds or {}), **more})

    def __repr__(self) -> str:
        num_weights = sum(weights.numel() for weights in self._model.parameters())
        text = f"{self._name}: {', '.join(self.labels)}; {num_weights:,} weights"
        decoder = getattr(self._model.head, "decoder", None)
        for name in ("decode_bias", "entity_thresholds"):
            if getattr(decoder, name, None):
                text += f"; {name} {getattr(decoder, name)}"
        return f"<SavedTagger {text}>"

    def _repr_html_(self) -> str:
        return f"<code>{html.escape(repr(self))}</code>"

    def _tag_all(self, inputs: List[TextOrTokens], probabilities: bool) -> List[TaggedText]:
        sentences = [_as_json(each) for each in inputs]
        # The predictor refuses inputs without a token.
        full = [index for index, sentence in enumerate(sentences) if _has_token(sentence)]
        predictor = self._predictor_with_probabilities if probabilities else self._predictor
        results = [
            TaggedText(str(each.get("sentence", "")), [], [], [], [], []) for each in sentences
        ]
        predictions = predictor.predict_batch_json([sentences[index] for index in full])
        for index, prediction in zip(full, predictions):
            results[index] = _tagged_text(prediction, probabilities)
        return results

    @cached_property
    def _predictor(self) -> SequenceTaggerPredictor:
        return SequenceTaggerPredictor(self._model, self._dataset_reader, self._language)

    @cached_property
    def _predictor_with_probabilities(self) -> SequenceTaggerPredictor:
        return SequenceTaggerPredictor(
            _with_same_weights(self._model),
            self._dataset_reader,
            self._language,
            probabilities=True,
        )

    def _with_settings(
        self, biases: Mapping[str, float], thresholds: Mapping[str, float]
    ) -> "SavedTagger":
        model = _with_same_weights(self._model)
        head = model.head
        if isinstance(head, ChainHead):
            before = head.decoder
            head.decoder = ChainDecoder(
                model.tags,
                model.tag_encoding,
                {**before.decode_bias, **biases},
                {**before.entity_thresholds, **thresholds},
                before.decoding,
            ).to(before.bias.device)
        elif isinstance(head, SigmoidHead) and not biases:
            head.thresholds.thresholds = _replaced(
                head.thresholds.thresholds, model.tags, thresholds
            )
        else:
            raise ConfigurationError(
                "this tagger decides each label by itself and has no biases; use `with_thresholds`"
            )
        return SavedTagger(model, self._dataset_reader, self._name, self._language)


def load(path: Union[str, Path], *, language: str = "en", cuda_device: int = -1) -> SavedTagger:
    """Loads a trained tagger.

    Args:
        path: An archive, such as `model.tar.gz`, or the folder of a training run.
        language: The spaCy code of the language whose rules split texts into tokens. The rules are part
            of spaCy; nothing is downloaded.
        cuda_device: The number of the GPU to use; -1 for the CPU.

    Raises:
        FileNotFoundError: If there is no such file.
        ConfigurationError: If the archive is refused, or holds no sequence tagger.
    """
    with collections_paused():
        archive = load_archive(path, cuda_device=cuda_device)
    model = archive.model
    if not isinstance(model, SequenceTagger):
        raise ConfigurationError(
            f"{path}: expected a `sequence_tagger` or an ensemble of such; got a "
            f"`{type(model).__name__}`; `allennlp.predictors.Predictor.from_path` loads any model"
        )
    model.eval()
    tagger = SavedTagger(model, archive.validation_dataset_reader, str(path), language)
    with collections_paused():
        tagger._predictor  # noqa: B018  (imports spaCy now, not in the first call)
    return tagger


def _as_json(text_or_tokens: TextOrTokens) -> JsonDict:
    """What the predictor takes."""
    if isinstance(text_or_tokens, str):
        return {"sentence": text_or_tokens}
    is_list = isinstance(text_or_tokens, (list, tuple))
    if not is_list or not all(isinstance(token, str) and token for token in text_or_tokens):
        raise TypeError(
            f"an input must be a text or a list of non-empty tokens; got {text_or_tokens!r:.200}"
        )
    return {"tokens": list(text_or_tokens)}


def _has_token(sentence: JsonDict) -> bool:
    return bool(sentence["sentence"].strip() if "sentence" in sentence else sentence["tokens"])


def _tagged_text(prediction: JsonDict, probabilities: bool) -> TaggedText:
    entities = [
        Entity(
            entity["label"],
            entity["text"],
            entity["start"],
            entity["end"],
            first=entity["tokens"][0],
            last=entity["tokens"][1],
            probability=entity.get("probability"),
        )
        for entity in prediction.get("entities", [])
    ]
    return TaggedText(
        prediction["text"],
        prediction["tokens"],
        prediction.get("tags", []),
        prediction.get("labels", []),
        entities,
        prediction["probabilities"] if probabilities else [],
        [(first, last) for first, last in prediction.get("sentences", [])],
    )


def _with_same_weights(model: SequenceTagger) -> SequenceTagger:
    """A copy of a model that shares its weights."""
    shared = itertools.chain(model.parameters(), model.buffers())
    return copy.deepcopy(model, {id(weights): weights for weights in shared})


def _replaced(
    thresholds: torch.Tensor, labels: Sequence[str], changes: Mapping[str, float]
) -> torch.Tensor:
    """Thresholds by label, (C,), some of them changed."""
    thresholds = thresholds.clone()
    for label, threshold in changes.items():
        if label not in labels:
            raise ConfigurationError(
                f"the tagger knows no label {label!r}; it has {', '.join(labels)}"
                + did_you_mean(label, labels)
            )
        if not 0 <= threshold <= 1:
            raise ConfigurationError(
                f"a threshold must be from 0 to 1; got {threshold!r} for {label!r}"
            )
        thresholds[labels.index(label)] = threshold
    return thresholds


#: Light colours for labels, on which black is readable.
_COLOURS = ("#ffe08a", "#b5e3c8", "#b8d8f8", "#f6c1c1", "#dcc8f2", "#ffd0a6", "#c9e8ea", "#e3dfb4")


def _marked(text: str, label: str, probability: Optional[float] = None) -> str:
    """HTML of a text with a coloured background, followed by its label in small letters."""
    colour = _COLOURS[sum(label.encode()) % len(_COLOURS)]
    note = label if probability is None else f"{label} {probability:.2f}"
    return (
        f'<mark style="background: {colour}; color: #000; padding: .15em .3em; border-radius: .3em">'
        f'{html.escape(text)} <small style="opacity: .7">{html.escape(note)}</small></mark>'
    )
