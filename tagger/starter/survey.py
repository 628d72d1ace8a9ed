"""What a training file and a development file hold, and how they spell it."""

from collections import Counter
from pathlib import Path
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence

from tagger.common.files import check_is_file
from tagger.data.column_file import Row, read_sentences
from tagger.data.decoded_lines import decoded_lines
from tagger.data.formats import recognise
from tagger.data.survey.columns import Columns, blank_comments, find_columns, find_delimiter
from tagger.data.survey.schemes import Scheme, check_scheme, find_scheme, labels_in
from tagger.data.survey.text_encodings import decode
from tagger.starter.text_files import TextFile, read_text_files
from tagger.starter.tokenization import Tokenization, find_tokenization


class ColumnFile(NamedTuple):
    """A column file.

    Attributes:
        path: The file.
        text_encoding: How its bytes spell text, in Python's words.
        comments: Its comments by the numbers of their lines.
        sentences: The lines of each sentence.
        texts: The texts that its sentences are, if it is no column file but of an annotation tool.
    """

    path: Path
    text_encoding: str
    comments: Dict[int, str]
    sentences: List[List[Row]]
    texts: Optional[TextFile] = None

    @property
    def is_readable(self) -> bool:
        """Whether the dataset reader can read it as it is: in UTF-8, without comments."""
        return self.text_encoding == "utf-8" and not self.comments


class Survey(NamedTuple):
    """What the files hold.

    Attributes:
        files: The training file, and the development file if there is one.
        delimiter: The string between two columns; None for blanks and tabs.
        columns: Where tokens and tags are.
        scheme: What the tags mean.
        tokenization: How the tokens were made.
        reading: Arguments of the dataset reader that are not its defaults, for texts.
    """

    files: List[ColumnFile]
    delimiter: Optional[str]
    columns: Columns
    scheme: Scheme
    tokenization: Tokenization
    reading: Mapping[str, Any] = {}

    def tokens(self, rows: Sequence[Row]) -> List[str]:
        """Returns the tokens of a sentence."""
        return [row.columns[self.columns.token] for row in rows]

    def labels(self, rows: Sequence[Row]) -> List[str]:
        """Returns the labels of the spans of a sentence, or of its tokens."""
        return labels_in([row.columns[self.columns.tag] for row in rows], self.scheme)

    def count_labels(self, file: ColumnFile) -> Dict[str, int]:
        """Returns the number of spans or tokens with each label, most frequent first."""
        counts = Counter(label for rows in file.sentences for label in self.labels(rows))
        return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))

    def unseen_labels(self) -> List[str]:
        """Returns the labels of the development file that the training file lacks, sorted."""
        seen = self.count_labels(self.files[0]).keys()
        return sorted({label for dev in self.files[1:] for label in self.count_labels(dev)} - seen)


def survey(
    paths: Sequence[Path],
    text_encoding: Optional[str] = None,
    token_column: Optional[int] = None,
    tag_column: Optional[int] = None,
    reading: Mapping[str, Any] = {},
) -> Survey:
    """Looks at files of one corpus.

    Args:
        paths: The training file, and the development file if there is one.
        text_encoding: How their bytes spell text, if it is known.
        token_column: The column of the tokens, if it is known; negative ones count from the end.
        tag_column: The column of the tags, likewise.
        reading: Arguments of the dataset reader for files of annotation tools, see `read_text_files`;
            and their `format`, if it is known.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If a file cannot be read; the message starts with `path:line`.
    """
    for path in paths:
        _check_is_there(path)
    if text_encoding is None and token_column is None and tag_column is None:
        formats = [reading.get("format") or recognise(path) or "columns" for path in paths]
        if "columns" not in formats:
            return _survey_of_texts(paths, formats, reading)
    texts = [_text(path, text_encoding) for path in paths]
    delimiter = find_delimiter(texts[0].lines)
    files = [_column_file(text, delimiter) for text in texts]
    columns = find_columns(files[0].sentences, files[0].path, token_column, tag_column)
    for file in files:
        first = file.sentences[0][0]
        if len(first.columns) != columns.num:
            raise ValueError(
                f"{file.path}:{first.number}: expected {columns.num} columns as in {files[0].path}, "
                f"got {len(first.columns)} in {first.text!r}; give files of the same form"
            )
    scheme = find_scheme(
        [[row.columns[columns.tag] for row in rows] for file in files for rows in file.sentences]
    )
    for file in files:
        check_scheme(scheme, file.sentences, columns.tag, file.path)
    tokenization = find_tokenization(
        [[row.columns[columns.token] for row in rows] for rows in files[0].sentences]
    )
    return _checked(Survey(files, delimiter, columns, scheme, tokenization))


def _survey_of_texts(
    paths: Sequence[Path], formats: Sequence[str], reading: Mapping[str, Any]
) -> Survey:
    read, tokenization = read_text_files(paths, formats, reading)
    files = [ColumnFile(each.path, "utf-8", {}, each.sentences, each) for each in read]
    tags = [[row.columns[1] for row in rows] for file in files for rows in file.sentences]
    found = Survey(files, "\t", Columns(2, 0, 1), find_scheme(tags), tokenization, dict(reading))
    return _checked(found)


def _checked(found: Survey) -> Survey:
    columns, files = found.columns, found.files
    if not found.count_labels(files[0]):
        raise ValueError(
            f"{files[0].path}: expected labels in column {columns.tag}, got no tag but "
            f"{files[0].sentences[0][0].columns[columns.tag]!r}; name another by `--tag-column`"
        )
    return found


class _Text(NamedTuple):
    path: Path
    text_encoding: str
    lines: List[str]


def _check_is_there(path: Path) -> None:
    if not path.exists():
        raise FileNotFoundError(
            f"{path}: expected a file, got none (the current folder is {Path.cwd()}); correct the path"
        )


def _text(path: Path, text_encoding: Optional[str]) -> _Text:
    check_is_file(path)
    text, text_encoding = decode(path.read_bytes(), path, text_encoding)
    return _Text(path, text_encoding, [line for _, line in decoded_lines([text.encode()], path)])


def _column_file(text: _Text, delimiter: Optional[str]) -> ColumnFile:
    lines, comments = blank_comments(text.lines, delimiter)
    sentences = read_sentences((line.encode() for line in lines), text.path, delimiter)
    return ColumnFile(
        text.path,
        text.text_encoding,
        {index + 1: text.lines[index] for index in comments},
        list(sentences),
    )
