"""What a training file and a development file hold, and how they spell it."""

from collections import Counter
from pathlib import Path
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from tagger.common.files import check_is_file
from tagger.data.column_file import Row
from tagger.data.formats import format_of
from tagger.data.survey.column_survey import AUTO, ColumnSurvey, Known, survey_columns
from tagger.data.survey.columns import Column
from tagger.data.survey.schemes import Scheme, check_scheme, find_scheme, labels_in, spans_in
from tagger.tools.start.text_files import TextFile, read_text_files
from tagger.tools.start.tokenization import Tokenization, find_tokenization


class ColumnFile(NamedTuple):
    """A file.

    Attributes:
        path: The file.
        sentences: The lines of each sentence.
        columns: What a column file looks like.
        texts: The texts that its sentences are, if it is no column file but of an annotation tool.
        gaps: The lines before each sentence that belong to none, such as `-DOCSTART-` and comments.
        head: The lines down to the names of the columns, if the file has them.
    """

    path: Path
    sentences: List[List[Row]]
    columns: Optional[ColumnSurvey] = None
    texts: Optional[TextFile] = None
    gaps: Sequence[Sequence[str]] = ()
    head: Sequence[str] = ()


class Survey(NamedTuple):
    """What the files hold.

    Attributes:
        files: The training file, and the development file if there is one.
        token_column: The column of the tokens, from 0.
        tag_column: The column of the tags.
        scheme: What the tags mean.
        tokenization: How the tokens were made.
        reading: Arguments of the dataset reader that are not its defaults.
    """

    files: List[ColumnFile]
    token_column: int
    tag_column: int
    scheme: Scheme
    tokenization: Tokenization
    reading: Mapping[str, Any] = {}

    def tokens(self, rows: Sequence[Row]) -> List[str]:
        """Returns the tokens of a sentence."""
        return [row.columns[self.token_column] for row in rows]

    def labels(self, rows: Sequence[Row]) -> List[str]:
        """Returns the labels of the spans of a sentence, or of its tokens."""
        return labels_in([row.columns[self.tag_column] for row in rows], self.scheme)

    def entities(self, rows: Sequence[Row]) -> List[Tuple[str, str]]:
        """Returns the label and the words of each span of a sentence, or of each token with a label."""
        tokens, tags = self.tokens(rows), [row.columns[self.tag_column] for row in rows]
        return [
            (label, " ".join(tokens[first : last + 1]))
            for label, (first, last) in spans_in(tags, self.scheme)
        ]

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
    token_column: Optional[Column] = None,
    tag_column: Optional[Column] = None,
    reading: Mapping[str, Any] = {},
) -> Survey:
    """Looks at files of one corpus.

    Args:
        paths: The training file, and the development file if there is one.
        text_encoding: How their bytes spell text, if it is known.
        token_column: The number or the name of the column of the tokens, if it is known.
        tag_column: The column of the tags, likewise.
        reading: Arguments of the dataset reader for files of annotation tools, see `read_text_files`;
            and their `format`, if it is known.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If a file cannot be read; the message starts with `path:line`.
    """
    for path in paths:
        _check_is_there(path)
    formats = [reading.get("format") or format_of(path) for path in paths]
    columns = {"token_column": token_column, "tag_column": tag_column}
    options: Dict[str, Any] = {"text_encoding": text_encoding, **columns}
    given = {key: value for key, value in options.items() if value is not None}
    if "columns" not in formats:
        return _survey_of_texts(paths, formats, {**reading, **given})
    surveys = [survey_columns(paths[0], Known(**given))]
    layout = surveys[0].layout
    # The other file is read as the first one.
    encoding = "IO" if surveys[0].scheme.source_encoding == "IO" else AUTO
    same = Known(text_encoding, layout.delimiter, layout.token, layout.tag, encoding)
    surveys += [survey_columns(path, same) for path in paths[1:]]
    files = [_column_file(each) for each in surveys]
    for each, file in zip(surveys, files):
        if each.layout.num_columns != layout.num_columns:
            first = file.sentences[0][0]
            raise ValueError(
                f"{each.path}:{first.number}: expected {layout.num_columns} columns as in {paths[0]}, "
                f"got {each.layout.num_columns} in {first.text!r}; give files of the same form"
            )
    assert layout.tag is not None
    # What the tags of all files mean, which are spelled in our way already.
    schemes = {each.scheme for each in surveys}
    rows_of = [rows for file in files for rows in file.sentences]
    scheme = surveys[0].scheme
    if len(schemes) > 1 and scheme.source_encoding != "IO":
        found = find_scheme([[row.columns[layout.tag] for row in rows] for rows in rows_of])
        scheme = found._replace(spelling=scheme.spelling)
    for file in files:
        check_scheme(scheme, file.sentences, layout.tag, file.path)
    tokenization = find_tokenization(
        [[row.columns[layout.token] for row in rows] for rows in files[0].sentences]
    )
    return _checked(
        Survey(files, layout.token, layout.tag, scheme, tokenization, _arguments(surveys[0], given))
    )


def _arguments(found: ColumnSurvey, given: Mapping[str, Any]) -> Dict[str, Any]:
    """Returns the arguments of the dataset reader that read a column file like this one."""
    layout = found.layout
    arguments = {
        "token_column": layout.token or None,
        # Numbers, since the parts of a file have no header.
        "tag_column": layout.tag
        if found.spans or layout.tag != (layout.num_columns or 0) - 1
        else None,
        "delimiter": layout.delimiter,
        "text_encoding": given.get("text_encoding"),
    }
    return {name: value for name, value in arguments.items() if value is not None}


def _survey_of_texts(
    paths: Sequence[Path], formats: Sequence[str], reading: Mapping[str, Any]
) -> Survey:
    read, tokenization = read_text_files(paths, formats, reading)
    files = [ColumnFile(each.path, each.sentences, None, each) for each in read]
    tags = [[row.columns[1] for row in rows] for file in files for rows in file.sentences]
    found = Survey(files, 0, 1, find_scheme(tags), tokenization, dict(reading))
    return _checked(found)


def _checked(found: Survey) -> Survey:
    first = found.files[0]
    if not found.count_labels(first):
        raise ValueError(
            f"{first.path}: expected labels in column {found.tag_column}, got no tag but "
            f"{first.sentences[0][0].columns[found.tag_column]!r}; name another by `--tag-column`"
        )
    return found


def _check_is_there(path: Path) -> None:
    if not path.exists():
        raise FileNotFoundError(
            f"{path}: expected a file, got none (the current folder is {Path.cwd()}); correct the path"
        )
    if not path.is_dir():
        check_is_file(path)


def _column_file(found: ColumnSurvey) -> ColumnFile:
    sentences, gaps, head = found.sentences_and_gaps()
    return ColumnFile(Path(found.path), sentences, found, gaps=gaps, head=head)
