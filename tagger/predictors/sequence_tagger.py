"""Tags new sentences: raw text, lists of tokens, or files that the dataset reader reads."""

import copy
import itertools
import json
from typing import Any, List, Sequence, cast

from allennlp.common.checks import ConfigurationError
from allennlp.common.util import JsonDict
from allennlp.data import DatasetReader, Instance
from allennlp.data.fields import TextField
from allennlp.models import Model
from allennlp.predictors import Predictor

from tagger.models import SequenceTagger
from tagger.modules.heads import ChainHead
from tagger.predictors.batched_predictor import BatchedPredictor
from tagger.predictors.texts import (
    Text,
    TextSplitter,
    document_of_sentences,
    document_of_words,
    sentence_of_words,
)
from tagger.predictors.throughput import Throughput

#: The outputs of a model that have one entry per token.
TOKEN_OUTPUTS = ("tags", "labels", "probabilities")
#: How a document's text may be split into sentences.
SENTENCE_BORDERS = ("rules", "lines")


@Predictor.register("sequence_tagger")
class SequenceTaggerPredictor(BatchedPredictor):
    """Tags sentences or documents and lists the entities that the tags spell.

    An input line is plain text, or a JSON object with one of these: `sentence`, a text; `tokens`, a list
    of words; `document`, the text of a document, which is split into sentences; or `sentences`, a list
    with a text or a list of words for each. Each prediction is a JSON object:

    - `text`: the sentence or document. Tokens that came without a text are joined by single blanks,
      sentences by line feeds.
    - `sentences`, of documents: the first and the last token of each sentence.
    - `tokens` and `tags`: one string per token. The head `sigmoid` gives `labels` in place of `tags`, a
      list per token.
    - `probabilities`, on request: an object per token that maps tags, or labels, to numbers.
    - `entities`: an object per entity with its `label`; its `text`; the character offsets `start` and
      `end`, of which `end` is exclusive; `tokens`, its first and its last token; and its `probability`,
      which is exact and is missing in IOB1. There are no `entities` if the tags spell no spans.

    A probability is the model's own: `decode_bias` does not change it. It counts only sequences that the
    model may predict; see `tagger.modules.ChainHead`.

    Args:
        model: A `sequence_tagger`.
        dataset_reader: Makes instances from tokens with its `text_to_instance`.
        language: The spaCy code of the language whose rules split text into tokens. The rules are part
            of spaCy; nothing is downloaded.
        frozen: Whether to put the model into evaluation mode.
        probabilities: Whether to return the probabilities of all tags of each token too. The head
            `sigmoid` always returns them.
        batch_tokens: See `BatchedPredictor`.
        plain: See `BatchedPredictor`.
        sentence_borders: Where sentences of a `document` end: `"rules"` for punctuation, as spaCy's
            `sentencizer` sees it, and blank lines; `"lines"` for every line's end.

    Raises:
        ConfigurationError: If `sentence_borders` is unknown.
    """

    line_formats = (
        'plain text, {"sentence": "..."}, {"tokens": ["...", "..."]}, {"document": "..."} or '
        '{"sentences": ["...", ["...", "..."]]}'
    )

    def __init__(
        self,
        model: Model,
        dataset_reader: DatasetReader,
        language: str = "en",
        frozen: bool = True,
        probabilities: bool = False,
        batch_tokens: int = 2048,
        plain: bool = False,
        sentence_borders: str = "rules",
    ) -> None:
        super().__init__(model, dataset_reader, frozen, batch_tokens, plain)
        if isinstance(model.head, ChainHead):
            model.head.predicts_marginals = probabilities
        if sentence_borders not in SENTENCE_BORDERS:
            raise ConfigurationError(
                f"`sentence_borders` must be one of {', '.join(SENTENCE_BORDERS)}; got "
                f"{sentence_borders!r}"
            )
        self._splitter = TextSplitter(language, sentence_borders)

    def of(self, model: SequenceTagger, probabilities: bool = False) -> "SequenceTaggerPredictor":
        """Returns a predictor of a changed copy of the model, which shares all else with this one.

        Args:
            model: The copy; its head must be its own.
            probabilities: Whether to return the probabilities of all tags of each token too.
        """
        # Without `__init__`: the tokenizer takes a tenth of a second.
        other = copy.copy(self)
        other._model = model
        other.throughput = Throughput()
        if isinstance(model.head, ChainHead):
            model.head.predicts_marginals = probabilities
        return other

    def split(self, text: str) -> Text:
        """Splits a text into tokens. White space is no token."""
        return self._splitter.sentence(text)

    def predict(self, sentence: str) -> JsonDict:
        """Tags a text."""
        return self.predict_json({"sentence": sentence})

    def predict_json(self, inputs: JsonDict) -> JsonDict:
        """Tags one input."""
        return self.predict_batch_json([inputs])[0]

    def predict_batch_json(self, inputs: List[JsonDict]) -> List[JsonDict]:
        """Tags any number of inputs and keeps their order."""
        texts = [self._text(json_dict) for json_dict in inputs]
        are_documents = [_is_document(json_dict) for json_dict in inputs]
        model = self._model
        if not all(are_documents) and isinstance(model, SequenceTagger) and model.uses_documents:
            model.warn_of_sentences(
                'give documents: {"document": "..."} or {"sentences": [...]}, or in Python '
                "`tag_document`"
            )
        instances = [
            self._instances(text) if is_document else [self._instance(text)]
            for text, is_document in zip(texts, are_documents)
        ]
        outputs = iter(self._in_parts(self._predict_part, list(itertools.chain(*instances))))
        return [
            self._prediction(
                text, _joined(list(itertools.islice(outputs, len(pieces)))), is_document
            )
            for text, pieces, is_document in zip(texts, instances, are_documents)
        ]

    def predict_batch_instance(self, instances: List[Instance]) -> List[JsonDict]:
        """Tags any number of the dataset reader's instances and keeps their order."""
        predictions = []
        for instance, output in zip(instances, self._in_parts(self._predict_part, instances)):
            words = [str(token) for token in cast(TextField, instance["tokens"]).tokens]
            lengths = output.get("sentence_lengths", [len(words)])
            text = document_of_words(words, lengths)
            predictions.append(self._prediction(text, output, "sentence_lengths" in output))
        return predictions

    def _json_to_instance(self, json_dict: JsonDict) -> Instance:
        return self._instance(self._text(json_dict))

    def _instance(self, text: Text) -> Instance:
        tokens = list(itertools.chain(*text.sentences()))
        return self._dataset_reader.text_to_instance(tokens)

    def _instances(self, text: Text) -> List[Instance]:
        """Makes instances of a document: pieces if the reader keeps documents, else sentences."""
        make = getattr(self._dataset_reader, "document_to_instances", None)
        if make is not None:
            return make(text.sentences())
        return [self._dataset_reader.text_to_instance(tokens) for tokens in text.sentences()]

    def _text(self, json_dict: JsonDict) -> Text:
        sentences = json_dict.get("sentences")
        if isinstance(json_dict.get("document"), str):
            text = self._splitter.document(json_dict["document"])
        elif isinstance(sentences, list) and all(map(_is_text_or_words, sentences)):
            text = document_of_sentences([self._sentence(each) for each in sentences])
        elif isinstance(json_dict.get("sentence"), (str, Text)):
            text = self._sentence(json_dict["sentence"])
        elif _is_list_of_words(json_dict.get("tokens")):
            text = self._sentence(json_dict["tokens"])
        else:
            raise ValueError(
                f"`inputs` must hold `sentence`, a text, or `tokens`, a list of non-empty words, or, of "
                f"a document, `document`, its text, or `sentences`, a list of texts and lists of words; "
                f"got {json.dumps(json_dict)[:200]}"
            )
        if not text.words:
            raise ValueError(f"`inputs` holds no token: {json.dumps(json_dict)[:200]}")
        return text

    def _sentence(self, text_or_words: Any) -> Text:
        if isinstance(text_or_words, Text):
            return text_or_words
        if isinstance(text_or_words, str):
            return self._splitter.sentence(text_or_words)
        return sentence_of_words(text_or_words)

    def _prediction(self, text: Text, output: JsonDict, is_document: bool) -> JsonDict:
        prediction: JsonDict = {"text": text.text, "tokens": text.words}
        prediction.update((name, output[name]) for name in TOKEN_OUTPUTS if name in output)
        if is_document:
            prediction["sentences"] = [list(span) for span in text.sentence_spans()]
        if "entities" in output:
            prediction["entities"] = [_in_text(entity, text) for entity in output["entities"]]
        return prediction


def _is_document(json_dict: JsonDict) -> bool:
    return "document" in json_dict or "sentences" in json_dict


def _is_list_of_words(tokens: Any) -> bool:
    return isinstance(tokens, list) and all(isinstance(word, str) and word for word in tokens)


def _is_text_or_words(sentence: Any) -> bool:
    return isinstance(sentence, str) or _is_list_of_words(sentence)


def _joined(outputs: Sequence[JsonDict]) -> JsonDict:
    """Joins the outputs for the pieces of a document."""
    joined = {
        name: list(itertools.chain(*(output[name] for output in outputs)))
        for name in TOKEN_OUTPUTS
        if name in outputs[0]
    }
    if "entities" in outputs[0]:
        ends = itertools.accumulate((len(output["tags"]) for output in outputs), initial=0)
        joined["entities"] = [
            {**entity, "tokens": [index + start for index in entity["tokens"]]}
            for start, output in zip(ends, outputs)
            for entity in output["entities"]
        ]
    return joined


def _in_text(entity: JsonDict, text: Text) -> JsonDict:
    """Adds its text and its character offsets to an entity."""
    first, last = entity["tokens"]
    start, end = text.starts[first], text.starts[last] + len(text.words[last])
    offsets = {"text": text.text[start:end], "start": start, "end": end}
    return {"label": entity["label"], **offsets, **entity}
