"""Tags new sentences: raw text, lists of tokens, or files for the dataset reader."""

import copy
import itertools
from typing import Any, Dict, List, Optional, Tuple, Union, cast

import numpy as np
from allennlp.common.checks import ConfigurationError
from allennlp.common.util import JsonDict
from allennlp.data import DatasetReader, Instance, Token, Tokenizer
from allennlp.data.fields import MetadataField, TextField
from allennlp.models import Model
from allennlp.predictors import Predictor

from tagger.common.ranges import check_is_one_of, check_whole
from tagger.data.documents import DocumentTokens
from tagger.data.text_splitter import TextSplitter, tokens_of
from tagger.data.tokenizers import max_sentence_tokens_of, tokenizer_of
from tagger.models import TaggingModel
from tagger.predictors.batched_predictor import BatchedPredictor, Throughput
from tagger.predictors.recordings import check_kind, origin
from tagger_texts.inputs import (
    RUN_CHARACTERS,
    check_list,
    check_text,
    check_text_or_tokens,
    check_tokens,
    only_field,
)
from tagger_texts.merging import merged_pieces
from tagger_texts.prediction import Prediction
from tagger_texts.recordings import check_numbers
from tagger_texts.tagged_text import Extras, SetThresholds, extras_of
from tagger_texts.text import Text

#: The fields that may hold an object's input; exactly one must be given.
FIELDS = ("sentence", "tokens", "document", "sentences", "numbers")
#: How a document's text may be split into sentences.
SENTENCE_BORDERS = ("rules", "lines")


@Predictor.register("sequence_tagger")
class SequenceTaggerPredictor(BatchedPredictor):
    """Tags sentences or documents and lists the entities that the tags spell.

    An input line is plain text, or a JSON object with one of these: `sentence`, a text, which is split
    into sentences by rule if it is longer than the reader's `max_sentence_tokens`; `tokens`, a list of
    words; `document`, the text of a document, which is split into sentences; or `sentences`, a list of
    sentences, each a text or a list of words. Each prediction is a JSON object:

    - `text`: the sentence or document. Tokens given without a text are joined by single blanks if their
      script uses blanks; sentences are joined by line feeds.
    - `sentences`, for documents: the first and the last token of each sentence.
    - `tokens` and `tags`: one string per token. Instead of `tags`, the head `sigmoid` gives `labels`, a
      list per token.
    - `probabilities`, on request: an object per token that maps tags, or labels, to numbers.
    - `leak_probability` and `expected_missed`, on request: the probability that the text has an entity
      of certain labels that is missing from `entities`, and the expected number of these.
    - `candidates`, on request: every sufficiently probable entity, predicted or not, like `entities`.
    - `sets`, on request: an object for each uncertain place, with a `token`; its `alternatives`, the
      entities that may contain the token, like `entities`; and the probability of `none`.
    - `sequences`, on request: an object for each uncertain sentence, with its `first` and `last` token,
      and `sequences`, each with `tags` and a `probability`.
    - `entities`: an object per entity with its `label`; its `text`; the character offsets `start` and
      `end` (exclusive); `first` and `last`, the indices of its tokens; and its `probability`, which is
      exact, and is missing in IOB1. There are no `entities` if the tags spell none.

    A tagger of numbers takes `{"numbers": [[0.1, 0.2], ...]}` instead, with a list for each step, and
    gives no `text` and no `tokens`. For instances of the dataset reader, there is a prediction for each
    window, with the steps that are its own: `recording` and `first_step` tell which.

    Probabilities are not changed by `decode_bias`. They cover only the sequences that the model may
    predict; see `tagger.modules.heads.Chain`.

    Args:
        model: A `sequence_tagger`.
        dataset_reader: Makes instances from tokens with its `text_to_instance`.
        language: The spaCy code of a language; its rules split text into tokens. None to use the
            dataset reader's `tokenizer` and `language`.
        probabilities: Whether to also return the probabilities of all tags of each token. The head
            `sigmoid` always returns them.
        run_characters: The longest run of characters without white space in a text that a language's
            rules split, because their time grows with its square; None for no limit.
        leak_labels: Also return `leak_probability` and `expected_missed` for entities of these labels.
        candidates: Also return `candidates` of at least this probability.
        sets: Also return `sets` and `sequences`; the thresholds, see `SetThresholds`, by name.
        sentence_borders: Where sentences of a `document` end: `"rules"` for punctuation, as found by
            spaCy's `sentencizer`, and blank lines; `"lines"` for every line end.

    Raises:
        ConfigurationError: If `language` or `sentence_borders` is unknown, `run_characters` is not
            positive, or the model does not support a requested output.
    """

    line_formats = (
        'plain text, {"sentence": "..."}, {"tokens": ["...", "..."]}, {"document": "..."} or '
        '{"sentences": ["...", ["...", "..."]]}'
    )

    def __init__(
        self,
        model: Model,
        dataset_reader: DatasetReader,
        language: Optional[str] = None,
        frozen: bool = True,
        probabilities: bool = False,
        batch_tokens: int = 2048,
        plain: bool = False,
        sentence_borders: str = "rules",
        run_characters: Optional[int] = RUN_CHARACTERS,
        leak_labels: Optional[List[str]] = None,
        candidates: Optional[float] = None,
        sets: Optional[Dict[str, Optional[float]]] = None,
    ) -> None:
        super().__init__(model, dataset_reader, frozen, batch_tokens, plain)
        thresholds = None if sets is None else SetThresholds(**sets)
        extras = extras_of(probabilities, leak_labels or (), candidates, thresholds)
        self._extras = self._checked(extras)
        check_is_one_of("sentence_borders", sentence_borders, SENTENCE_BORDERS)
        if run_characters is not None:
            check_whole("run_characters", run_characters)
        tokenizer, language = tokenizer_of(self._dataset_reader, language)
        most_tokens = max_sentence_tokens_of(self._dataset_reader)
        self._splitter = TextSplitter(
            tokenizer, language, run_characters, sentence_borders, most_tokens
        )

    def of(self, extras: Extras, model: Optional[TaggingModel] = None) -> "SequenceTaggerPredictor":
        """Returns a predictor for other extras, or a changed model; it shares the rest with this one."""
        # Skip `__init__`, where the tokenizer takes a tenth of a second.
        other = copy.copy(self)
        if model is not None:
            other._model, other.throughput = model, Throughput()
        other._extras = other._checked(extras)
        return other

    def _run(self, batch: Dict[str, Any]) -> Dict[str, Any]:
        return self._model(**batch, extras=self._extras)

    def _checked(self, extras: Extras) -> Extras:
        for name in ("leak_labels", "sets"):
            if self._numbers is not None and getattr(extras, name):
                raise ConfigurationError(f"`{name}` needs texts; this tagger reads numbers")
        self.model.head.check(extras)
        return extras

    @property
    def step_size(self) -> Optional[int]:
        """How many numbers each step of an input has; None for texts."""
        return None if self._numbers is None else len(self._numbers.number_columns)

    @property
    def run_characters(self) -> Optional[int]:
        """The longest allowed run of characters without white space."""
        return self._splitter.run_characters

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer for texts."""
        return self._splitter.tokenizer

    def split(self, text: str) -> Text:
        """Splits a text into tokens, dropping white space."""
        check_kind(False, self.reads_numbers)
        return self._split(text, "text")

    def predict(self, sentence: str) -> JsonDict:
        """Tags a text."""
        return self.predict_json({"sentence": sentence})

    def predict_json(self, inputs: JsonDict) -> JsonDict:
        """Tags one input."""
        return self.predict_batch_json([inputs])[0]

    def predict_batch_json(self, inputs: List[JsonDict]) -> List[JsonDict]:
        """Tags any number of inputs and keeps their order; the results are for JSON."""
        return [prediction.to_json() for prediction in self.predict_inputs(inputs)]

    def predict_inputs(self, inputs: List[JsonDict]) -> List[Prediction]:
        """Tags any number of inputs and keeps their order."""
        texts = [(self.read(json_dict), holds_document(json_dict)) for json_dict in inputs]
        pieces = [self._instances(text, is_document) for text, is_document in texts]
        of_pieces = iter(self.predict_instances(list(itertools.chain(*pieces))))
        predictions = []
        for (text, is_document), instances in zip(texts, pieces):
            own = list(itertools.islice(of_pieces, len(instances)))
            found = merged_pieces(own) if own else self._nothing()
            predictions.append(found if self.reads_numbers else text.locate(found, is_document))
        return predictions

    def check(self, json_dict: JsonDict) -> None:
        self.instances(json_dict)

    def instances(self, json_dict: JsonDict) -> List[Instance]:
        """Returns the instances of an input, one for each sentence or piece of it."""
        return self.instances_of(self.read(json_dict), holds_document(json_dict))

    def instances_of(self, text: Text, is_document: bool) -> List[Instance]:
        """Like `instances`, for an input from `read`."""
        instances = self._instances(text, is_document)
        for instance in instances:
            self._dataset_reader.apply_token_indexers(instance)
        return instances

    def predict_batch_instance(self, instances: List[Instance]) -> List[JsonDict]:
        """Tags any number of the dataset reader's instances and keeps their order."""
        predictions = []
        for instance, found in zip(instances, self.predict_instances(instances)):
            if self.reads_numbers:
                predictions.append({**origin(instance), **found.to_json()})
                continue
            text = _text_of_tokens(cast(TextField, instance["tokens"]).tokens, found.sentences)
            predictions.append(text.locate(found, found.sentences is not None).to_json())
        return predictions

    def predict_instances(self, instances: List[Instance]) -> List[Prediction]:
        found = super().predict_instances(instances)
        if not self.reads_numbers:
            return found
        windows = (cast(MetadataField, each["metadata"]).metadata["window"] for each in instances)
        # Tokens are numbers of steps.
        return [p.of_tokens(each.own)._replace(tokens=None) for p, each in zip(found, windows)]

    def _json_to_instance(self, json_dict: JsonDict) -> Instance:
        tokens = itertools.chain(*tokens_of(self.read(json_dict)))
        return self._dataset_reader.text_to_instance(list(tokens))

    def _instances(self, text: Union[Text, np.ndarray], is_document: bool) -> List[Instance]:
        """Makes an instance per sentence, or per piece of a document if the reader keeps documents."""
        if self._numbers is not None:
            return self._numbers.recording_to_instances(text)
        assert isinstance(text, Text)
        if not text.words:
            return []
        if not is_document and self.model.uses_documents:
            self.model.warn_of_sentences(
                'give documents: {"document": "..."} or {"sentences": [...]}, or in Python '
                "`tag_document`"
            )
        make = getattr(self._dataset_reader, "document_to_instances", None)
        if is_document and make is not None:
            return make(tokens_of(text))
        return [self._dataset_reader.text_to_instance(tokens) for tokens in tokens_of(text)]

    def read(self, json_dict: JsonDict) -> Any:
        """Returns the words of an input, with their places; `tagger_texts.inputs` checks the input.

        Of a recording, it returns the numbers, (T, D) float32.
        """
        name = only_field(json_dict, FIELDS)
        value = json_dict[name]
        check_kind(name == "numbers", self.reads_numbers)
        if self._numbers is not None:
            return check_numbers(value, len(self._numbers.number_columns), name)
        if name == "document":
            return self._splitter.document(check_text(value, name, self.run_characters))
        if name == "tokens":
            return Text.of_words(check_tokens(value))
        if name == "sentence":
            return value if isinstance(value, Text) else self._split(value, name)
        sentences = enumerate(check_list(value, name))
        return Text.of_sentences(
            [self._sentence(each, f"sentences[{place}]") for place, each in sentences]
        )

    def _sentence(self, value: Any, name: str) -> Text:
        if isinstance(value, Text):
            return value
        value = check_text_or_tokens(value, name, self.run_characters)
        return Text.of_words(value) if isinstance(value, list) else self._splitter.whole(value)

    def _split(self, text: Any, name: str) -> Text:
        return self._splitter.sentence(check_text(text, name, self.run_characters))

    def _nothing(self) -> Prediction:
        """The prediction for a text without tokens."""
        if self.model.head.describe().has_label_sets:
            return Prediction(labels=[], probabilities=[])
        return Prediction(
            tags=[],
            probabilities=[] if self._extras.probabilities else None,
            entities=None if self.model.tag_encoding is None else [],
            candidates=None if self._extras.candidates is None else [],
            leak_probability=0.0 if self._extras.leak_labels else None,
            expected_missed=0.0 if self._extras.leak_labels else None,
            sets=[] if self._extras.sets and self._extras.sets.least_probability else None,
            sequences=[]
            if self._extras.sets and self._extras.sets.most_before is not None
            else None,
        )


def _text_of_tokens(tokens: List[Token], sentences: Optional[List[Tuple[int, int]]]) -> Text:
    """Returns the text of an instance's tokens: the original if the reader kept it, else joined."""
    if not isinstance(tokens, DocumentTokens) or tokens.texts is None:
        words = Text.of_words([str(token) for token in tokens])
        if sentences is None:
            return words
        return words._replace(sentence_lengths=[last + 1 - first for first, last in sentences])
    return Text.of_sentences(
        [
            Text(text, list(map(str, words)), [word.idx or 0 for word in words], [len(words)])
            for text, words in zip(
                tokens.texts[tokens.first : tokens.last],
                tokens.document[tokens.first : tokens.last],
            )
        ]
    )


def holds_document(json_dict: JsonDict) -> bool:
    """Whether an input is a document and not a sentence."""
    return any(json_dict.get(name) is not None for name in ("document", "sentences"))
