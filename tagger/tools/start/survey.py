"""The contents of a training file and a development file, and how they are written."""

import logging
from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

from allennlp.data import Tokenizer

from tagger.common.files import check_is_file
from tagger.data.column_file import Row
from tagger.data.dataset_readers.file_lists import ListedFile, listed_files
from tagger.data.dataset_readers.labelled_files import with_tokens
from tagger.data.formats import (
    READ_FORMATS,
    AnnotatedText,
    Annotation,
    TextCounts,
    check_overlaps,
    format_of,
    tags_of,
)
from tagger.data.formats.annotated_text import PLAIN_TAGS
from tagger.data.joined_text import join_tokens
from tagger.data.reading import AUTO, DETECTED, Reading
from tagger.data.shown import MOST_TEXTS, WEIGHS, Evidence
from tagger.data.survey.column_survey import ColumnSurvey, survey_columns
from tagger.data.survey.schemes import Scheme, check_scheme, find_scheme, labels_in, spans_in
from tagger.data.text_splitter import TextSplitter
from tagger.spans import Span
from tagger.tools.start.tokenization import (
    Tokenization,
    find_tokenization,
    spread,
)
from tagger_texts.merging import SEPARATOR
from tagger_texts.sentences import MOST_TOKENS
from tagger_texts.text import Text

logger = logging.getLogger(__name__)


class TextFile(NamedTuple):
    """The texts with a token in an annotation tool's file, whole and as the dataset reader cuts them."""

    format: str
    texts: List[AnnotatedText]
    counts: TextCounts
    cut: List[AnnotatedText]


class SurveyedFile(NamedTuple):
    """A file of columns or of texts.

    Attributes:
        sentences: The lines of each sentence. For texts, there is a row for each token, with the number
            of the text, from 1, as its line number.
        gaps: The lines before each sentence that belong to none, such as `-DOCSTART-` and comments.
        head: The lines up to the names of the columns, if the file has them.
    """

    path: Path
    sentences: List[List[Row]]
    columns: Optional[ColumnSurvey] = None
    gaps: Sequence[Sequence[str]] = ()
    head: Sequence[str] = ()
    texts: Optional[TextFile] = None
    annotated: Optional[Sequence[str]] = None


@dataclass
class Survey:
    """The contents of the training file and, if there is one, of the development file.

    Attributes:
        files: The training file or the files of its list, then those for development.
        scheme: What the tags mean.
        reading: How the dataset reader is to read the files.
        num_train: The number of files for training.
    """

    files: List[SurveyedFile]
    token_column: int
    tag_column: int
    scheme: Scheme
    reading: Reading = DETECTED
    num_train: int = 1

    @property
    def train(self) -> List[SurveyedFile]:
        """The files for training."""
        return self.files[: self.num_train]

    @property
    def dev(self) -> List[SurveyedFile]:
        """The files for development."""
        return self.files[self.num_train :]

    def reading_of_parts(self) -> Reading:
        """Returns how to read parts of the files, which are in UTF-8; those of texts have one format."""
        return DETECTED if self.files[0].texts else replace(self.reading, text_encoding=None)

    @cached_property
    def tokenization(self) -> Tokenization:
        """How the tokens were made; found at first use, since it takes seconds."""
        sentences = [(file, rows) for file in self.train for rows in file.sentences]
        return find_tokenization([self._text_of(*each) for each in spread(sentences)])

    def tokens(self, rows: Sequence[Row]) -> List[str]:
        """Returns the tokens of a sentence."""
        return [row.columns[self.token_column] for row in rows]

    def tags(self, rows: Sequence[Row]) -> List[str]:
        """Returns the tags of a sentence."""
        return [row.columns[self.tag_column] for row in rows]

    def labels(self, rows: Sequence[Row]) -> List[str]:
        """Returns the labels of the spans of a sentence, or of its tokens."""
        return labels_in(self.tags(rows), self.scheme)

    def entities(self, rows: Sequence[Row]) -> List[Tuple[str, str]]:
        """Returns the label and the words of each span of a sentence, or of each token with a label."""
        tokens = self.tokens(rows)
        return [
            (label, " ".join(tokens[first : last + 1]))
            for label, (first, last) in spans_in(self.tags(rows), self.scheme)
        ]

    def count_labels(self, *files: SurveyedFile) -> Dict[str, int]:
        """Returns the number of spans or tokens with each label in files, most frequent first.

        Labels that a file does not annotate are not counted in it.
        """
        counts = Counter(
            label
            for file in files
            for rows in file.sentences
            for label in self.labels(rows)
            if file.annotated is None or label in file.annotated
        )
        return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))

    def texts_of(self, file: SurveyedFile) -> List[AnnotatedText]:
        """Returns the first texts or sentences of a file, as they were understood."""
        if file.texts is not None:
            return file.texts.texts[:MOST_TEXTS]
        return [self._text_of(file, rows) for rows in file.sentences[:MOST_TEXTS]]

    def _text_of(self, file: SurveyedFile, rows: Sequence[Row]) -> AnnotatedText:
        text, places = join_tokens(self.tokens(rows))
        entities = [
            Annotation(label, places[first][0], places[last][1])
            for label, (first, last) in spans_in(self.tags(rows), self.scheme)
        ]
        properties = {PLAIN_TAGS: True} if self.scheme.source_encoding is None else {}
        place = f"{file.path}:{rows[0].number}"
        return AnnotatedText(text, entities, places, [len(rows)], place, properties)

    def evidence(self, file: SurveyedFile) -> Evidence:
        """Returns what shows how a file was read."""
        return Evidence(file.path, self.texts_of(file), file.columns, file.sentences)

    def warn_of_weights(self) -> None:
        """Warns of weights in the training files, for commands that write a config themselves."""
        for file in self.train:
            for each in self.evidence(file).unused():
                if WEIGHS in each:
                    logger.warning("%s: not used: %s; name the config by --config", file.path, each)

    def count_overlaps(self) -> Tuple[int, int]:
        """Returns how many entities the training file has, and how many of them one chain would lose.

        A chain has no room for entities that overlap with longer ones.
        """
        texts = [
            AnnotatedText(
                "", _by_tokens(spans_in(self.tags(rows), self.scheme)), None, None, "", {}
            )
            for file in self.train
            for rows in file.sentences
        ]
        lost = (len(check_overlaps(text, "longest")[1]) for text in texts)
        return sum(len(text.entities) for text in texts), sum(lost)

    def unseen_labels(self) -> List[str]:
        """Returns the labels of the development file that the training file lacks, sorted."""
        return sorted(self.count_labels(*self.dev).keys() - self.count_labels(*self.train).keys())


def _by_tokens(spans: Sequence[Span]) -> List[Annotation]:
    return [Annotation(label, first, last + 1) for label, (first, last) in spans]


def survey(paths: Sequence[Path], reading: Reading = DETECTED) -> Survey:
    """Examines a training file and, if there is one, a development file; each may be a list of files."""
    listed = [listed_files(path) or [ListedFile(path, None)] for path in paths]
    files = [file for own in listed for file in own]
    paths = [file.path for file in files]
    for path in paths:
        if not path.exists():
            raise FileNotFoundError(
                f"{path}: expected a file, got none (the current folder is {Path.cwd()}); correct the "
                "path"
            )
        if not path.is_dir():
            check_is_file(path)
    formats = [reading.format or format_of(path) for path in paths]
    if "columns" in formats:
        found = _survey_of_columns(paths, reading)
    else:
        found = _survey_of_texts(paths, formats, reading)
    found.num_train = len(listed[0])
    found.files = [
        each._replace(annotated=labels) for each, (_, labels, _) in zip(found.files, files)
    ]
    first = found.files[0]
    if not found.count_labels(*found.train):
        found.evidence(first).unused()  # may be refused for a better reason
        raise ValueError(
            f"{first.path}: expected labels in column {found.tag_column}, got no tag but "
            f"{found.tags(first.sentences[0])[0]!r}; name another by `--tag-column`"
        )
    return found


def _survey_of_columns(paths: Sequence[Path], reading: Reading) -> Survey:
    first = survey_columns(paths[0], reading)
    layout, scheme = first.layout, first.scheme
    assert layout.tag is not None
    # The second file is read in the same way as the first.
    encoding = "IO" if scheme.source_encoding == "IO" else AUTO
    same = Reading(
        token_column=layout.token,
        tag_column=layout.tag,
        delimiter=layout.delimiter,
        text_encoding=reading.text_encoding,
        source_encoding=encoding,
    )
    surveys = [first, *(survey_columns(path, same) for path in paths[1:])]
    files = []
    for each in surveys:
        sentences, gaps, head = each.sentences_and_gaps()
        files.append(SurveyedFile(Path(each.path), sentences, each, gaps, head))
        if each.layout.num_columns != layout.num_columns:
            row = sentences[0][0]
            raise ValueError(
                f"{each.path}:{row.number}: expected {layout.num_columns} columns as in {paths[0]}, "
                f"got {each.layout.num_columns} in {row.text!r}; give files of the same form"
            )
    is_last = not first.spans and layout.tag == (layout.num_columns or 0) - 1
    # By number, since the parts of a file have no header.
    needed = replace(
        same,
        token_column=layout.token or None,
        tag_column=None if is_last else layout.tag,
        source_encoding=AUTO,
    )
    found = Survey(files, layout.token, layout.tag, scheme, needed)
    # How to read the tags of all files; texts already use our own spelling.
    if len({each.scheme for each in surveys}) > 1 and scheme.source_encoding != "IO":
        of_all = find_scheme([found.tags(rows) for file in files for rows in file.sentences])
        found.scheme = of_all._replace(spelling=scheme.spelling)
    for file in files:
        check_scheme(found.scheme, file.sentences, layout.tag, file.path)
    return found


def _survey_of_texts(paths: Sequence[Path], formats: Sequence[str], reading: Reading) -> Survey:
    counts = [TextCounts() for _ in paths]
    read = []
    for path, format, each in zip(paths, formats, counts):
        texts = READ_FORMATS[format].read(path, reading)
        # Entities of different labels may overlap.
        read.append(
            [each.without_overlaps(text, reading.overlapping, by_label=True) for text in texts]
        )
    tokenization = find_tokenization(read[0])
    files = [
        _text_file(*each, tokenization.tokenizer) for each in zip(paths, formats, read, counts)
    ]
    found = Survey(files, 0, 1, Scheme(), reading)
    found.scheme = find_scheme([found.tags(rows) for file in files for rows in file.sentences])
    if {*formats} == {"conllu"} and found.scheme.source_encoding is None:
        found.scheme = Scheme()  # `ADP+DET` is one label, that of a token of two words
    found.tokenization = tokenization
    return found


def _text_file(
    path: Path, format: str, texts: List[AnnotatedText], counts: TextCounts, tokenizer: Tokenizer
) -> SurveyedFile:
    splitter = TextSplitter(tokenizer, max_sentence_tokens=MOST_TOKENS)

    def split(text: AnnotatedText) -> Text:
        return splitter.sentence(text.text)

    kept, cut, sentences = [], [], []
    for text in texts:
        fitted = counts.add(counts.fitted(with_tokens(text, split)))
        if fitted.tokens:
            kept.append(text)
            cut.append(fitted)
            words = [fitted.text[start:end] for start, end in fitted.tokens]
            cells = [[word, tag] for word, tag in zip(words, tags_of(fitted, separator=SEPARATOR))]
            sentences.append([Row(len(kept), "\t".join(each), each) for each in cells])
    if not kept:
        raise ValueError(f"{path}: expected annotated texts in the format {format}, got none")
    return SurveyedFile(path, sentences, texts=TextFile(format, kept, counts, cut))
