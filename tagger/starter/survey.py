"""What a training file and a development file hold, and how they spell it."""

from collections import Counter
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional, Sequence

from tagger.common.files import check_is_file
from tagger.data.column_file import Row, read_sentences
from tagger.data.decoded_lines import decoded_lines
from tagger.starter.columns import Columns, blank_comments, find_columns, find_delimiter
from tagger.starter.schemes import Scheme, check_scheme, find_scheme, labels_in
from tagger.starter.text_encodings import decode
from tagger.starter.tokenization import Tokenization, find_tokenization


class ColumnFile(NamedTuple):
    """A column file.

    Attributes:
        path: The file.
        text_encoding: How its bytes spell text, in Python's words.
        comments: Its comments by the numbers of their lines.
        sentences: The lines of each sentence.
    """

    path: Path
    text_encoding: str
    comments: Dict[int, str]
    sentences: List[List[Row]]

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
    """

    files: List[ColumnFile]
    delimiter: Optional[str]
    columns: Columns
    scheme: Scheme
    tokenization: Tokenization

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
) -> Survey:
    """Looks at files of one corpus.

    Args:
        paths: The training file, and the development file if there is one.
        text_encoding: How their bytes spell text, if it is known.
        token_column: The column of the tokens, if it is known; negative ones count from the end.
        tag_column: The column of the tags, likewise.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If a file cannot be read; the message starts with `path:line`.
    """
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
    found = Survey(files, delimiter, columns, scheme, tokenization)
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


def _text(path: Path, text_encoding: Optional[str]) -> _Text:
    if not path.exists():
        raise FileNotFoundError(
            f"{path}: expected a file, got none (the current folder is {Path.cwd()}); correct the path"
        )
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
