"""A reader of documents with several labels each."""

import json
import re
from os import PathLike
from typing import Any, Dict, Iterable, List, Optional, Union

from allennlp.data import DatasetReader, Field, Instance, Token, TokenIndexer, Tokenizer
from allennlp.data.fields import MetadataField, TextField
from allennlp.data.token_indexers import SingleIdTokenIndexer

from tagger.common.inputs import open_input
from tagger.common.ranges import check_number
from tagger.common.training_counts import WEIGHTS
from tagger.data.dataset_readers.document_labels import NO_LABELS, parsed_labels
from tagger.data.dataset_readers.instance_weights import WeightsOfTexts, weights_field
from tagger.data.dataset_readers.sharded_reader import ShardedReader
from tagger.data.fields.label_sets_field import DocumentLabelsField
from tagger.data.text_encodings import decoded_lines
from tagger.data.tokenizers import WordsTokenizer

_PIECE = re.compile(r"\d+|[^\d_]+|_")


class _LettersAndDigitsTokenizer(WordsTokenizer):
    """Like AllenNLP's `letters_digits`, but words keep their combining marks."""

    def tokenize(self, text: str) -> List[Token]:
        return [
            Token(piece[0], idx=(token.idx or 0) + piece.start())
            for token in super().tokenize(text)
            for piece in _PIECE.finditer(token.text or "")
        ]


@DatasetReader.register("document")
class DocumentDatasetReader(ShardedReader):
    """Reads documents from files of JSON lines: `{"text": "...", "labels": ["A", "B"]}`.

    An instance has the fields `tokens` (`TextField`), `labels` (`DocumentLabelsField`; absent for a
    document without the key) and `metadata` (`{"text": "..."}`).

    Args:
        text_keys: The keys of the texts that make up a document, by default `text`. Texts are joined by
            line breaks. Some may be missing, but not all.
        labels_key: The key of the labels: a list, which may be empty, or an object that says of each
            known label whether the document has it, 1, or not, 0.
        unknown_tag: The string for unknown labels: `["?"]`, `"?"`, null and -1 mean that all labels of a
            document are unknown, `["A", "?B"]` that it has A, may have B, and has no other. In an object
            labels are also unknown if they are null or -1, or missing. None if no string means this.
        max_tokens: How many tokens of a document to keep.
        tokenizer: The tokenizer; None splits into words and other signs, and letters from digits.
        token_indexers: How tokens are indexed; None for a single id of namespace `tokens`.
        label_namespace: The namespace of the labels in the vocabulary.
        weight: The key of the weight of a document in the loss; None for equal weights.
        **kwargs: The arguments of AllenNLP's `DatasetReader`, such as `max_instances`.

    Raises:
        ConfigurationError: If `max_tokens` is not positive.

    Example:
        >>> instance = DocumentDatasetReader().text_to_instance("Wheat prices fell.", ["wheat"])
        >>> [token.text for token in instance["tokens"]], instance["labels"].labels
        (['Wheat', 'prices', 'fell', '.'], ['wheat'])
    """

    def __init__(
        self,
        text_keys: Optional[List[str]] = None,
        labels_key: str = "labels",
        max_tokens: int = 512,
        tokenizer: Optional[Tokenizer] = None,
        token_indexers: Optional[Dict[str, TokenIndexer]] = None,
        label_namespace: str = "labels",
        weight: Optional[str] = None,
        unknown_tag: Optional[str] = "?",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        check_number("max_tokens", max_tokens, max_tokens >= 1, "at least 1")
        self._text_keys = text_keys or ["text"]
        self._labels_key = labels_key
        self._max_tokens = max_tokens
        self._tokenizer = tokenizer or _LettersAndDigitsTokenizer()
        self._token_indexers = token_indexers or {"tokens": SingleIdTokenIndexer()}
        self._label_namespace, self._weight_key = label_namespace, weight
        self._unknown_tag = unknown_tag

    def text_to_instance(self, text: str, labels: Any = NO_LABELS) -> Instance:
        """Makes an instance of one document, with `labels` as in a file; without them it has none.

        Raises:
            ValueError: If the text has no token, or the labels are not understood.
        """
        tokens = self._tokenizer.tokenize(text)[: self._max_tokens]
        if not tokens:
            raise ValueError(f"a document must have a token; got the text {text!r}")
        fields: Dict[str, Field] = {
            "tokens": TextField(tokens),
            "metadata": MetadataField({"text": text}),
        }
        if labels is not NO_LABELS:
            read = parsed_labels(labels, self._unknown_tag)
            fields["labels"] = DocumentLabelsField(read.present, self._label_namespace, *read[1:])
        return Instance(fields)

    def apply_token_indexers(self, instance: Instance) -> None:
        instance["tokens"].token_indexers = self._token_indexers  # type: ignore[attr-defined]

    def _read(self, file_path: Union[str, PathLike]) -> Iterable[Instance]:
        weights = WeightsOfTexts(self._weight_key)
        with open_input(file_path) as lines:
            for number, line in self.shard_iterable(decoded_lines(lines, file_path)):
                if not line.strip():
                    continue
                try:
                    yield self._labelled_instance(line, weights)
                except ValueError as error:
                    raise ValueError(
                        f"{file_path}:{number}: {error}: {line.strip()[:80]}"
                    ) from error
        weights.warn(file_path)

    def _labelled_instance(self, line: str, weights: WeightsOfTexts) -> Instance:
        try:
            document = json.loads(line)
        except json.JSONDecodeError as error:
            raise ValueError(
                f"expected a JSON object on each line ({error}); `allennlp convert` writes them from a "
                "table of texts and labels"
            ) from None
        instance = self.text_to_instance(*self._text_and_labels(document))
        if self._weight_key is not None:
            weight = weights.of(document, f"key `{self._weight_key}`")
            instance.add_field(WEIGHTS, weights_field([weight]))
        return instance

    def _text_and_labels(self, document: Any) -> Any:
        """Returns the text of a document, and its labels if it has any."""
        is_object = isinstance(document, dict)
        texts = [document[key] for key in self._text_keys if is_object and document.get(key)]
        if not texts or not all(isinstance(text, str) for text in texts):
            raise ValueError(
                f"expected a JSON object with text under one of the keys {', '.join(self._text_keys)}; "
                f"name others with `text_keys`"
            )
        return "\n".join(texts), document.get(self._labels_key, NO_LABELS)
