"""Documents with several labels as a corpus with labels that can be corrected."""

import json
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader

from tagger.common.files import check_is_file
from tagger.data.column_file import Row
from tagger.data.dataset_readers.document_labels import NO_LABELS, parsed_labels
from tagger.data.text_encodings import decoded_lines, open_text
from tagger.spans import Span
from tagger.tools.labels.cells import RUN
from tagger.tools.labels.corpus import Corpus, Sentence, rows_by_label


class DocumentCorpus:
    """A file of JSON lines for the dataset reader `document`, with the interface of `Corpus`.

    A document is a sentence of one token, its text, and a label that it has is a span.
    """

    encoding = documents = None
    suffix = ".jsonl"

    def __init__(self, path: Path, reader: Mapping[str, Any]) -> None:
        from allennlp.common import Params

        check_is_file(path)
        self.path = path
        own = DatasetReader.from_params(Params(json.loads(json.dumps(reader))))
        self._labels_key: str = reader.get("labels_key", "labels")
        self._numbered = [
            (number, line) for number, line in enumerate(self.lines(), start=1) if line.strip()
        ]
        self.sentences: List[Sentence] = []
        for number, line in self._numbered:
            try:
                text, found = own._text_and_labels(json.loads(line))  # type: ignore[attr-defined]
                if found is NO_LABELS:
                    raise ValueError(f"expected labels under the key `{self._labels_key}`")
                labels, unknown, _ = parsed_labels(found, reader.get("unknown_tag"))
                if unknown or not isinstance(found, list):
                    raise ValueError(
                        f"expected a list of labels that are all known, under the key "
                        f"`{self._labels_key}`; got {found!r}"
                    )
            except ValueError as error:
                raise ConfigurationError(
                    f"{path}:{number}: {error}: {line.strip()[:80]}"
                ) from error
            row = Row(number, line, labels)
            spans = [(label, (0, 0)) for label in sorted(set(labels))]
            self.sentences.append(Sentence([row], [text], spans, 0))
        self.labels = sorted({label for each in self.sentences for label, _ in each.spans})
        self.set_rows(self.labels)

    def set_rows(self, labels: Sequence[str]) -> None:
        """Gives each document a row for each of these labels."""
        self.labels_of_rows = list(labels)
        self.rows = rows_by_label(self.sentences, labels, RUN)

    def write(self, path: Path, sentences: Sequence[int]) -> None:
        """Writes some of the documents, in order."""
        lines = (self._numbered[number][1] for number in sentences)
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

    def lines(self) -> List[str]:
        """Returns all lines of the file; line n is at index n - 1."""
        with open_text(self.path) as (file, _):
            return [line for _, line in decoded_lines(file, self.path)]

    def edits(self, number: int, removed: Sequence[Span], added: Sequence[Span]) -> Dict[int, str]:
        """Returns the changed line of a row's document, by its number."""
        row, label = self.rows[number].rows[0], self.rows[number].row_label
        labels = [each for each in row.columns if each != label] + [label] * bool(added)
        document = {**json.loads(row.text), self._labels_key: labels}
        return {row.number: json.dumps(document, ensure_ascii=False)}

    def cell(self, row: Row) -> str:
        """Refuses, because labels of documents cannot be left open."""
        raise ConfigurationError(
            f"{self.path}: labels of documents cannot be left open; leave `--leave-open` out, and "
            "accept or reject suggestions"
        )

    def opened(self, cell: str, row_label: Optional[str], unknown_tag: str) -> str:
        """Is never reached, see `cell`."""
        raise NotImplementedError

    def with_tag(self, row: Row, tag: str) -> str:
        """Is never reached, see `cell`."""
        raise NotImplementedError


AnyCorpus = Union[Corpus, DocumentCorpus]
