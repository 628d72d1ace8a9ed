"""Tags new text: raw, split into tokens, or in a file that the dataset reader can read."""

import itertools
import json
from typing import Any, List, NamedTuple, Optional, cast

import spacy
from allennlp.common.util import JsonDict
from allennlp.data import DatasetReader, Instance, Token
from allennlp.data.fields import TextField
from allennlp.models import Model
from allennlp.predictors import Predictor

from tagger.modules.heads import ChainHead
from tagger.predictors.batched_predictor import BatchedPredictor
from tagger.spans import tags_to_spans

#: What a model may say of each token.
OF_TOKENS = ("tags", "labels", "probabilities")


class Sentence(NamedTuple):
    """A text, the words in it, and the character at which each begins."""

    text: str
    words: List[str]
    starts: List[int]

    def tokens(self) -> List[Token]:
        """The words as a dataset reader takes them."""
        return [
            Token(word, idx=start, idx_end=start + len(word))
            for word, start in zip(self.words, self.starts)
        ]


@Predictor.register("sequence_tagger")
class SequenceTaggerPredictor(BatchedPredictor):
    """Tags sentences and lists the entities that the tags spell.

    A line of input is plain text, or a JSON object with either `sentence`, a text, or `tokens`, a list
    of words. Each prediction is a JSON object:

    - `text`: the sentence; tokens that came without one are joined by single blanks;
    - `tokens` and `tags`: one string for each token; with the head `sigmoid`, in place of `tags`,
      `labels`, a list for each token;
    - `probabilities`, if asked for: for each token an object from tags, or labels, to numbers;
    - `entities`: for each its `label`, its `text`, `start` and `end`, the characters of `text` where it
      begins and before which it ends, `tokens`, its first and its last token, and its `probability`,
      exactly, but not in IOB1. Left out where tags spell no spans.

    A probability is the model's own, whatever `decode_bias` made of it, among the sequences that may be
    predicted; see `tagger.modules.ChainHead`.

    Args:
        model: a `sequence_tagger`.
        dataset_reader: makes instances of tokens with its `text_to_instance`.
        language: of the rules that split text into tokens, as a code that spaCy knows; they come with
            spaCy, nothing is downloaded.
        frozen: whether the model is in evaluation mode.
        probabilities: whether to put out the probabilities of all tags of each token too; with the head
            `sigmoid` they always are.
        batch_tokens: see `BatchedPredictor`.
    """

    def __init__(
        self,
        model: Model,
        dataset_reader: DatasetReader,
        language: str = "en",
        frozen: bool = True,
        probabilities: bool = False,
        batch_tokens: int = 2048,
    ) -> None:
        super().__init__(model, dataset_reader, frozen, batch_tokens)
        if isinstance(model.head, ChainHead):
            model.head.predicts_marginals = probabilities
        self._tokenizer = spacy.blank(language).tokenizer

    def predict(self, sentence: str) -> JsonDict:
        """Tags a text."""
        return self.predict_json({"sentence": sentence})

    def load_line(self, line: str) -> JsonDict:
        """Reads a line of input: a JSON object, or else plain text.

        Raises:
            ValueError: if the line opens like a JSON object and is none.
        """
        if not line.lstrip().startswith("{"):
            return {"sentence": line.strip()}
        try:
            return json.loads(line)
        except json.JSONDecodeError as error:
            raise ValueError(
                f"`line` opens with a brace but is no JSON object ({error}); give plain text, "
                f'{{"sentence": "..."}} or {{"tokens": ["...", "..."]}}: {line.strip()[:200]}'
            ) from error

    def predict_json(self, inputs: JsonDict) -> JsonDict:
        """Tags one input."""
        return self.predict_batch_json([inputs])[0]

    def predict_batch_json(self, inputs: List[JsonDict]) -> List[JsonDict]:
        """Tags inputs, any number of them; predictions come in their order."""
        sentences = [self._sentence(json_dict) for json_dict in inputs]
        instances = [
            self._dataset_reader.text_to_instance(sentence.tokens()) for sentence in sentences
        ]
        return self._in_parts(self._tag_part, instances, sentences)

    def predict_batch_instance(self, instances: List[Instance]) -> List[JsonDict]:
        """Tags instances of the dataset reader; predictions come in their order."""
        return self._in_parts(self._tag_part, instances, [None] * len(instances))

    def _tag_part(
        self, instances: List[Instance], sentences: List[Optional[Sentence]]
    ) -> List[JsonDict]:
        """Predictions for a part, whose sentences are made of their words where there are none."""
        tag_encoding = cast(Optional[str], self._model.tag_encoding)
        predictions = []
        for instance, sentence, output in zip(instances, sentences, self._predict_part(instances)):
            sentence = sentence or _joined([str(token) for token in _tokens(instance)])
            predictions.append(_prediction(sentence, output, tag_encoding))
        return predictions

    def _json_to_instance(self, json_dict: JsonDict) -> Instance:
        return self._dataset_reader.text_to_instance(self._sentence(json_dict).tokens())

    def _sentence(self, json_dict: JsonDict) -> Sentence:
        if isinstance(json_dict.get("sentence"), str):
            text = json_dict["sentence"]
            found = [token for token in self._tokenizer(text) if not token.is_space]
            sentence = Sentence(
                text, [token.text for token in found], [token.idx for token in found]
            )
        elif _is_list_of_words(json_dict.get("tokens")):
            sentence = _joined(json_dict["tokens"])
        else:
            raise ValueError(
                f"`inputs` must hold `sentence`, a text, or `tokens`, a list of words that are not "
                f"empty; got {json.dumps(json_dict)[:200]}"
            )
        if not sentence.words:
            raise ValueError(f"`inputs` holds no token: {json.dumps(json_dict)[:200]}")
        return sentence


def _tokens(instance: Instance) -> List[Token]:
    return cast(TextField, instance["tokens"]).tokens


def _is_list_of_words(tokens: Any) -> bool:
    return isinstance(tokens, list) and all(isinstance(word, str) and word for word in tokens)


def _joined(words: List[str]) -> Sentence:
    """Words as a sentence, one blank between neighbours."""
    ends = itertools.accumulate(len(word) + 1 for word in words)
    return Sentence(" ".join(words), words, [0, *ends][:-1])


def _prediction(sentence: Sentence, output: JsonDict, tag_encoding: Optional[str]) -> JsonDict:
    prediction: JsonDict = {"text": sentence.text, "tokens": sentence.words}
    prediction.update((name, output[name]) for name in OF_TOKENS if name in output)
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
