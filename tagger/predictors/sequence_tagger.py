"""Tags new sentences: raw text, lists of tokens, or files that the dataset reader reads."""

import copy
import itertools
import json
from typing import Any, List, NamedTuple, Optional, cast

from allennlp.common.util import JsonDict
from allennlp.data import DatasetReader, Instance, Token
from allennlp.data.fields import TextField
from allennlp.models import Model
from allennlp.predictors import Predictor

from tagger.models import SequenceTagger
from tagger.modules.heads import ChainHead
from tagger.predictors.batched_predictor import BatchedPredictor
from tagger.predictors.throughput import Throughput
from tagger.spans import tags_to_spans

#: The outputs of a model that have one entry per token.
TOKEN_OUTPUTS = ("tags", "labels", "probabilities")


class Sentence(NamedTuple):
    """A text, its words, and the character offset at which each word starts."""

    text: str
    words: List[str]
    starts: List[int]

    def tokens(self) -> List[Token]:
        """Returns the words as tokens with character offsets."""
        return [
            Token(word, idx=start, idx_end=start + len(word))
            for word, start in zip(self.words, self.starts)
        ]


@Predictor.register("sequence_tagger")
class SequenceTaggerPredictor(BatchedPredictor):
    """Tags sentences and lists the entities that the tags spell.

    An input line is plain text, or a JSON object with either `sentence`, a text, or `tokens`, a list of
    words. Each prediction is a JSON object:

    - `text`: the sentence. Tokens that came without a text are joined by single blanks.
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
    """

    def __init__(
        self,
        model: Model,
        dataset_reader: DatasetReader,
        language: str = "en",
        frozen: bool = True,
        probabilities: bool = False,
        batch_tokens: int = 2048,
        plain: bool = False,
    ) -> None:
        super().__init__(model, dataset_reader, frozen, batch_tokens, plain)
        if isinstance(model.head, ChainHead):
            model.head.predicts_marginals = probabilities
        # Training needs none, and it takes a second.
        import spacy

        self._tokenizer = spacy.blank(language).tokenizer

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

    def split(self, text: str) -> Sentence:
        """Splits a text into tokens. White space is no token."""
        found = [token for token in self._tokenizer(text) if not token.is_space]
        return Sentence(text, [token.text for token in found], [token.idx for token in found])

    def predict(self, sentence: str) -> JsonDict:
        """Tags a text."""
        return self.predict_json({"sentence": sentence})

    def predict_json(self, inputs: JsonDict) -> JsonDict:
        """Tags one input."""
        return self.predict_batch_json([inputs])[0]

    def predict_batch_json(self, inputs: List[JsonDict]) -> List[JsonDict]:
        """Tags any number of inputs and keeps their order."""
        sentences = [self._sentence(json_dict) for json_dict in inputs]
        instances = [
            self._dataset_reader.text_to_instance(sentence.tokens()) for sentence in sentences
        ]
        return self._in_parts(self._tag_part, instances, sentences)

    def predict_batch_instance(self, instances: List[Instance]) -> List[JsonDict]:
        """Tags any number of the dataset reader's instances and keeps their order."""
        return self._in_parts(self._tag_part, instances, [None] * len(instances))

    def _tag_part(
        self, instances: List[Instance], sentences: List[Optional[Sentence]]
    ) -> List[JsonDict]:
        """Tags one part; an instance without a sentence gets one made of its words."""
        tag_encoding = cast(Optional[str], self._model.tag_encoding)
        predictions = []
        for instance, sentence, output in zip(instances, sentences, self._predict_part(instances)):
            sentence = sentence or _joined([str(token) for token in _tokens(instance)])
            predictions.append(_prediction(sentence, output, tag_encoding))
        return predictions

    def _json_to_instance(self, json_dict: JsonDict) -> Instance:
        return self._dataset_reader.text_to_instance(self._sentence(json_dict).tokens())

    def _sentence(self, json_dict: JsonDict) -> Sentence:
        text = json_dict.get("sentence")
        if isinstance(text, Sentence):
            sentence = text
        elif isinstance(text, str):
            sentence = self.split(text)
        elif _is_list_of_words(json_dict.get("tokens")):
            sentence = _joined(json_dict["tokens"])
        else:
            raise ValueError(
                f"`inputs` must hold `sentence`, a text, or `tokens`, a list of non-empty words; got "
                f"{json.dumps(json_dict)[:200]}"
            )
        if not sentence.words:
            raise ValueError(f"`inputs` holds no token: {json.dumps(json_dict)[:200]}")
        return sentence


def _tokens(instance: Instance) -> List[Token]:
    return cast(TextField, instance["tokens"]).tokens


def _is_list_of_words(tokens: Any) -> bool:
    return isinstance(tokens, list) and all(isinstance(word, str) and word for word in tokens)


def _joined(words: List[str]) -> Sentence:
    """Joins words with single blanks."""
    ends = itertools.accumulate(len(word) + 1 for word in words)
    return Sentence(" ".join(words), words, [0, *ends][:-1])


def _prediction(sentence: Sentence, output: JsonDict, tag_encoding: Optional[str]) -> JsonDict:
    prediction: JsonDict = {"text": sentence.text, "tokens": sentence.words}
    prediction.update((name, output[name]) for name in TOKEN_OUTPUTS if name in output)
    if tag_encoding is not None:
        prediction["entities"] = entities = [
            _entity(sentence, label, first, last)
            for label, (first, last) in tags_to_spans(output["tags"], tag_encoding)
        ]
        for entity, probability in zip(entities, output.get("entity_probabilities", [])):
            entity["probability"] = probability
    return prediction


def _entity(sentence: Sentence, label: str, first: int, last: int) -> JsonDict:
    start, end = sentence.starts[first], sentence.starts[last] + len(sentence.words[last])
    return {
        "label": label,
        "text": sentence.text[start:end],
        "start": start,
        "end": end,
        "tokens": [first, last],
    }
