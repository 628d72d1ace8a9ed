"""A reader of column files, such as those of CoNLL-2003."""

import copy
import logging
from dataclasses import replace
from os import PathLike
from typing import Any, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple, Union

import torch
from allennlp.data import DatasetReader, Field, Instance, Token, TokenIndexer, Tokenizer
from allennlp.data.fields import MetadataField, TensorField, TextField
from allennlp.data.token_indexers import SingleIdTokenIndexer

from tagger.common.ranges import check_is_one_of
from tagger.common.training_counts import WEIGHTS
from tagger.data.dataset_readers.file_lists import listed_files, with_weights
from tagger.data.dataset_readers.instance_weights import weights_field
from tagger.data.dataset_readers.labelled_files import LabelledFiles, LabelledSentence
from tagger.data.dataset_readers.sharded_reader import ShardedReader
from tagger.data.dataset_readers.tag_spelling import converted_tags, tag_field
from tagger.data.documents import (
    DocumentTokens,
    as_document,
    cut_document,
    cut_documents,
    tokens_of_instances,
    word_ids,
)
from tagger.data.fields.tag_sets_field import TagSetsField
from tagger.data.formats import READ_FORMATS
from tagger.data.reading import AUTO, Column, Reading
from tagger.data.splitting.documents import Documents, joined_documents
from tagger.data.tokenizers import LanguageRulesTokenizer
from tagger.spans import IllegalTagError
from tagger_texts.sentences import MOST_TOKENS

logger = logging.getLogger(__name__)


@DatasetReader.register("column")
class ColumnDatasetReader(ShardedReader):
    """Reads files with a token and its tag on each line, and texts with entities.

    `tagger.data.survey` detects the delimiter, the columns of tokens and tags, and the lines that are
    comments or a header; a log line reports what it found. Blank lines separate sentences, and
    `-DOCSTART-` lines are skipped. The formats of `tagger.data.formats`, such as doccano's or Label
    Studio's, are read too: the entities of a text become tags in `source_encoding`; a text without
    tokens is split by the `tokenizer`; and a token is cut where an entity begins or ends inside it.

    An instance has the fields `tokens` (`TextField`), `tags` (absent without a tag column) and
    `metadata` (`{"words": [...]}`). `tags` is a `TagField`, a `TagSetsField` if encoded tags may be
    unknown, a `LabelSetsField` if there is a `label_separator`, or a `LabelChainsField` with
    `label_chains`.

    With `documents`, an instance is a document or a piece of one. It has two more fields:
    `sentence_lengths`, the number of tokens of each sentence, and `word_ids`, which number the distinct
    words, ignoring case. Arguments that count instances, such as `max_instances`, then count documents.

    Args:
        token_column: The column of the tokens, from 0, or its name in a header; negative ones count
            from the end. 0 is the first that does not number tokens or sentences.
        tag_column: The column of the tags, likewise. -1 is the column with the most spans, or the last
            one. None reads text without tags, for example for prediction:
            `allennlp predict --use-dataset-reader -o '{"dataset_reader.tag_column": null}' ...`.
            In CoNLL-U it may be a key in MISC, in JSON the key of the tags. With `label_chains` it may
            be a list of columns, for example for outer and inner entities.
        source_encoding: The encoding of the tags in the file: "BIO", "IOB1", "BIOUL", "BMES", "IOBES" or
            "IO", or None for plain labels that mark no spans. Each sentence is checked against it. The
            default, "auto", detects it in each file. IOB1 allows `B-` anywhere, so it also reads BIO and
            mixtures of the two, and finds the same spans as conlleval.
        tag_encoding: The encoding of the tags in the instances. None keeps that of the file, except that
            "auto", IOB1 and IO become BIO, because a vocabulary of IOB1 tags looks like one of BIO.
        unknown_tag: The string for an unknown tag in the file; None if there is none. With it, each
            token has the set of tags that remain possible, see `possible_tags`. If tokens have several
            labels, it is the prefix of an unknown label: `A|?B`.
        token_indexers: How tokens are indexed; None for a single id of namespace `tokens`.
        label_namespace: The namespace of the tags in the vocabulary.
        delimiter: The string between two columns; None to detect it.
        label_separator: The string between two labels of a token, `A|B`, if tokens may have several
            labels or none; None if each token has one tag. Labels are plain, so `source_encoding` is
            ignored.
        label_chains: Whether entities of different labels may overlap, as for the head `label_chains`.
            The tags of a token may then be joined by the `label_separator`, by default `|`.
        labels: The labels that the files annotate; None for all. Other labels are unknown, not absent,
            and their entities are ignored. A file with a name in `.files.json` lists other files
            with the labels of each: `{"files": [{"path": "a.conll", "labels": ["PER"]}, ...]}`.
        no_label_tag: With a `label_separator`, the string for a token without labels.
        documents: What separates documents in a file: "docstart" for `-DOCSTART-` lines, "blank_lines"
            for two or more blank lines in a row; None reads each sentence by itself.
        max_document_tokens: The most tokens of an instance. Longer documents are cut between sentences
            into pieces of similar length; a longer sentence stays whole.
        max_sentence_tokens: Texts with more tokens are split into sentences by rule, in files and later
            in use, see `tagger_texts.sentences.sentence_lengths`. Lists of tokens and the sentences of
            column files stay whole. None splits no text.
        instances: With `documents`, whether an instance is a document (`"documents"`) or a sentence
            (`"sentences"`); then only token indexers such as `frozen_transformer` see the document.
        tokenizer: How to split texts into tokens like those of the file, when the tagger is used: one
            of `tagger.data.tokenizers`, or any registered tokenizer of AllenNLP. None uses the rules of
            `language`. Column files already have tokens.
        language: The spaCy code of the texts' language.
        format: The format of the files, one of `tagger.data.formats`; None to recognise it, unless
            `token_column`, `tag_column` or `delimiter` imply columns.
        overlapping: What to do with overlapping entities: "refuse", "longest" or "outermost", as for
            `check_overlaps`. With a `label_separator`, "refuse" keeps them; with `label_chains`, those
            of different labels are kept in any case.
        label_names: The names of integer tags, from 0.
        offsets: The unit of entity offsets: "characters", "bytes" or "utf16".
        text_encoding: The encoding of the text, such as "utf-8" or "cp1251"; None to guess it.
        weight: The column, or the key of a text, with the weight of a sentence in the loss; None for
            equal weights. Instances then have a field `weights`.
        **kwargs: The arguments of AllenNLP's `DatasetReader`, such as `max_instances`.

    Raises:
        ConfigurationError: If an argument is unknown, or if plain labels would have to be converted.

    Example:
        >>> reader = ColumnDatasetReader(source_encoding="IOB1", tag_encoding="BIO")
        >>> instance = reader.text_to_instance(["Ada", "Lovelace", "left"], ["I-PER", "I-PER", "O"])
        >>> instance["tags"].labels
        ['B-PER', 'I-PER', 'O']
    """

    def __init__(
        self,
        token_column: Column = 0,
        tag_column: Union[int, str, List[Column], None] = -1,
        source_encoding: Optional[str] = AUTO,
        tag_encoding: Optional[str] = None,
        unknown_tag: Optional[str] = None,
        token_indexers: Optional[Dict[str, TokenIndexer]] = None,
        label_namespace: str = "labels",
        delimiter: Optional[str] = None,
        label_separator: Optional[str] = None,
        no_label_tag: str = "O",
        documents: Optional[str] = None,
        max_document_tokens: int = 1000,
        instances: str = "documents",
        tokenizer: Optional[Tokenizer] = None,
        language: str = "en",
        format: Optional[str] = None,
        overlapping: str = "refuse",
        label_names: Optional[List[str]] = None,
        offsets: Optional[str] = None,
        max_sentence_tokens: Optional[int] = MOST_TOKENS,
        text_encoding: Optional[str] = None,
        label_chains: bool = False,
        labels: Optional[List[str]] = None,
        weight: Optional[Column] = None,
        **kwargs: Any,
    ) -> None:
        # The fields of `Reading` have the names of the arguments.
        reading = Reading.of_reader(locals()).checked()
        super().__init__(**kwargs)
        check_is_one_of("format", format or "columns", tuple(READ_FORMATS))
        self.tokenizer, self.language = tokenizer, language
        self.max_sentence_tokens = max_sentence_tokens
        self.files = LabelledFiles(reading, tokenizer or LanguageRulesTokenizer(language))
        self._token_indexers = token_indexers or {"tokens": SingleIdTokenIndexer()}
        self._factor = None if weight is None else 1.0

    @property
    def reading(self) -> Reading:
        """How files are read."""
        return self.files.reading

    def with_reading(self, reading: Reading) -> "ColumnDatasetReader":
        """Returns a reader of files that are read in another way."""
        other = copy.copy(self)
        other.files = replace(self.files, reading=reading)
        return other

    @property
    def reads_documents(self) -> bool:
        """Whether instances are documents, or pieces of documents, and not sentences."""
        return self.reading.documents is not None

    @property
    def _reads_sentences(self) -> bool:
        return self.reading.instances == "sentences"

    def documents_in(
        self, file_path: Union[str, PathLike], how: Optional[str] = None
    ) -> Optional[Documents]:
        """Finds the document of each sentence of a file; None if the file does not mark documents.

        `how` says what marks them, as in `documents_of_rows` and `documents_of_texts`; by default it is
        the reader's argument `documents`, or else the first kind of mark that the file has. A list of
        files has the documents of each, if all mark them.
        """
        listed = listed_files(file_path)
        if listed is not None:
            told = [self.documents_in(path, how) for path, *_ in listed]
            return None if None in told else joined_documents([d for d in told if d is not None])
        return self.files.documents_in(file_path, how)

    def text_to_instance(
        self, tokens: Sequence[Union[str, Token]], tags: Optional[Sequence[str]] = None
    ) -> Instance:
        """Makes an instance of a sentence; with `documents`, of a document with a single sentence.

        Args:
            tokens: The tokens. A `Token` keeps its character offsets.
            tags: Their tags as in a file; None if there are none.

        Raises:
            IllegalTagError: If the tags are not a legal sequence in `source_encoding`, or if one of
                several labels is empty, or is both known and unknown. It is a `ValueError`.
        """
        part = DocumentTokens(as_document([tokens]), 0, 1)
        if tags is None:
            return self._instance(part)
        reading = self.reading.found("BIO")
        return self._instance(part, converted_tags(tags, reading), reading)

    def document_to_instances(
        self, sentences: Sequence[Sequence[Union[str, Token]]]
    ) -> List[Instance]:
        """Makes instances of a document's pieces, without tags, or of its sentences.

        `sentences` has one or more tokens for each sentence.
        """
        if not self.reads_documents:
            return [self.text_to_instance(sentence) for sentence in sentences]
        pieces = cut_document(as_document(sentences), self.reading.max_document_tokens)
        return [
            self._instance(tokens)
            for piece in pieces
            for tokens in tokens_of_instances(piece, self._reads_sentences)
        ]

    def apply_token_indexers(self, instance: Instance) -> None:
        """Sets the indexers late, because instances without them transfer faster between processes."""
        instance["tokens"].token_indexers = self._token_indexers  # type: ignore[attr-defined]

    def _read(self, file_path: Union[str, PathLike]) -> Iterable[Instance]:
        files = listed_files(file_path)
        if files is None:
            yield from self._read_file(file_path)
        for path, labels, factor in with_weights(files or ()):
            own = self.reading.labels if labels is None else labels
            reader = self.with_reading(replace(self.reading, labels=own).checked())
            reader._factor = reader._factor if factor is None else factor
            yield from reader._read(path)

    def _read_file(self, file_path: Union[str, PathLike]) -> Iterable[Instance]:
        num_known, num_certain = 0, 0
        for sentences, tokens in self.shard_iterable(self._read_parts(file_path)):
            instance = self._labelled_instance(sentences, tokens)
            if self._factor is not None:
                weights = [self._factor * sentence.weight for sentence in sentences]
                instance.add_field(WEIGHTS, weights_field(weights))
            field = instance.fields.get("tags")
            if isinstance(field, TagSetsField):
                tags = [tag for sentence in sentences for tag in sentence.tags or ()]
                unknown_tag = sentences[0].reading.unknown_tag
                num_known += sum(tag != unknown_tag for tag in tags)
                num_certain += len(field.known_tags())
            yield instance
        if num_known:
            logger.info(
                "%s: %d known tags, %d of them certain as %s; the others are sets of possible tags",
                *(file_path, num_known, num_certain, self.reading.tag_encoding),
            )

    def _read_parts(
        self, file_path: Union[str, PathLike]
    ) -> Iterator[Tuple[List[LabelledSentence], DocumentTokens]]:
        """Yields each instance's sentences and tokens."""
        borders, most = self.reading.documents, self.reading.max_document_tokens
        for piece in cut_documents(self.files.documents(file_path), file_path, borders, most):
            texts = [sentence.text for sentence in piece if sentence.text is not None]
            parts = [sentence.tokens for sentence in piece]
            for tokens in tokens_of_instances(parts, self._reads_sentences, texts or None):
                yield piece[tokens.first : tokens.last], tokens

    def _labelled_instance(
        self, sentences: Sequence[LabelledSentence], tokens: DocumentTokens
    ) -> Instance:
        if not self.reading.labelled:
            return self._instance(tokens)
        converted: List[Any] = []
        start = 0
        try:
            for sentence in sentences:
                start = len(converted)
                converted += converted_tags(sentence.tags or [], sentence.reading)
            start = 0  # the field counts positions from the first sentence
            return self._instance(tokens, converted, sentences[0].reading)
        except IllegalTagError as error:
            places = [(each, at) for each in sentences for at in range(len(each))]
            sentence, position = places[start + error.position]
            raise ValueError(f"{sentence.place_of(position)}, {error}") from None

    def _instance(
        self,
        tokens: DocumentTokens,
        converted: Optional[Sequence[Any]] = None,
        reading: Optional[Reading] = None,
    ) -> Instance:
        text = TextField(tokens)
        words = [token.text or "" for token in tokens]
        fields: Dict[str, Field] = {"tokens": text, "metadata": MetadataField({"words": words})}
        if converted is not None and reading is not None:
            fields["tags"] = tag_field(converted, text, reading)
        if self.reads_documents and not self._reads_sentences:
            lengths = [len(sentence) for sentence in tokens.document[tokens.first : tokens.last]]
            fields["sentence_lengths"] = TensorField(torch.tensor(lengths))
            fields["word_ids"] = TensorField(torch.tensor(word_ids(words)))
        return Instance(fields)
