"""How files with labelled texts are read: one record from a config or an option to the file."""

from dataclasses import dataclass, fields, replace
from typing import Any, Dict, Mapping, Optional, Tuple, Union

from allennlp.common.checks import ConfigurationError

from tagger.common.ranges import check_is_one_of, check_number
from tagger.spans import AMBIGUOUS, ENCODINGS, split_tag
from tagger_texts.merging import SEPARATOR
from tagger_texts.sentences import MOST_TOKENS

#: A column, by its number or by its name in the header.
Column = Union[int, str]
#: Means that the encoding of the tags is detected in the file.
AUTO = "auto"
#: What may separate the documents of a column file: a `-DOCSTART-` line, or two or more blank lines.
DOCUMENT_BORDERS = ("docstart", "blank_lines")
#: What to do with overlapping entities.
OVERLAPPING = ("refuse", "longest", "outermost")


@dataclass(frozen=True)
class Reading:
    """How a file is read; what is None is detected. See the arguments of the reader `column`.

    Attributes:
        token_column: The column of the tokens; here 0 is the first one.
        tag_column: The column or the key of the tags; here -1 is the last one.
        labelled: Whether tags are read.
        more_tags: Further columns of tags.
        each_source: Whether the annotations of each annotator become a separate text.
    """

    format: Optional[str] = None
    token_column: Optional[Column] = None
    tag_column: Optional[Column] = None
    delimiter: Optional[str] = None
    text_encoding: Optional[str] = None
    overlapping: str = "refuse"
    label_names: Optional[Tuple[str, ...]] = None
    offsets: Optional[str] = None
    labelled: bool = True
    more_tags: Tuple[Column, ...] = ()
    each_source: bool = False
    weight: Optional[Column] = None
    documents: Optional[str] = None
    max_document_tokens: int = 1000
    instances: str = "documents"
    max_sentence_tokens: Optional[int] = MOST_TOKENS
    language: str = "en"
    source_encoding: Optional[str] = AUTO
    tag_encoding: Optional[str] = None
    unknown_tag: Optional[str] = None
    label_namespace: str = "labels"
    label_separator: Optional[str] = None
    no_label_tag: str = "O"
    label_chains: bool = False
    labels: Optional[Tuple[str, ...]] = None

    def __post_init__(self) -> None:
        for name in ("label_names", "labels", "more_tags"):  # so that it has a hash
            value = getattr(self, name)
            object.__setattr__(self, name, tuple(value) if isinstance(value, list) else value)

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> "Reading":
        """Takes values by their names, as far as there are fields for them, and leaves out None."""
        names = {each.name for each in fields(cls)}
        found: Dict[str, Any] = {
            name: value
            for name, value in given.items()
            if name in names and (value is not None or name == "source_encoding")
        }
        return cls(**found)

    @classmethod
    def of_reader(cls, arguments: Mapping[str, Any]) -> "Reading":
        """Takes the arguments of the reader `column`, where the columns 0 and -1 are detected."""
        tag_column = arguments.get("tag_column", -1)
        tags = tag_column if isinstance(tag_column, list) else [tag_column]
        if isinstance(tag_column, list) and not (arguments.get("label_chains") and tag_column):
            raise ConfigurationError(
                f"`tag_column` is {tag_column}; several columns need `label_chains: true`"
            )
        found = cls.of({**arguments, "tag_column": tags[0]})
        return replace(
            found,
            token_column=found.token_column or None,
            # By default, plain labels are in the last column.
            tag_column=None if tags[0] == -1 and found._spells_spans else tags[0],
            more_tags=tuple(tags[1:]),
            labelled=tag_column is not None,
            max_sentence_tokens=arguments.get("max_sentence_tokens", MOST_TOKENS),
        )

    @property
    def _spells_spans(self) -> bool:
        is_plain = self.label_separator is not None and not self.label_chains
        return self.source_encoding is not None and not is_plain

    @property
    def key(self) -> Optional[str]:
        """The key of the tags, in formats that have keys."""
        return None if self.tag_column is None else str(self.tag_column)

    @property
    def implies_columns(self) -> bool:
        """Whether something is told that only column files have."""
        tags = self.tag_column if self.tag_column != -1 else None
        told = self.token_column, self.delimiter
        return (
            told != (None, None)
            or bool(self.more_tags)
            or isinstance(tags, int)
            or isinstance(self.weight, int)
        )

    def changed(self) -> Dict[str, Any]:
        """Returns what differs from the defaults, by name."""
        values = ((each, getattr(self, each.name)) for each in fields(self))
        return {each.name: value for each, value in values if value != each.default}

    def without_tags(self) -> "Reading":
        """Returns how to read the same files without their tags."""
        return replace(self, labelled=False, tag_column=None, more_tags=())

    def found(self, source_encoding: Optional[str], unknown_tag: Optional[str] = None) -> "Reading":
        """Returns a copy with the encoding of tags found in a file, unless the user specified one."""
        if self.source_encoding != AUTO:
            return self
        return replace(
            self,
            source_encoding=source_encoding,
            tag_encoding=self.tag_encoding if source_encoding else None,
            unknown_tag=self.unknown_tag or unknown_tag,
        )

    def checked(self) -> "Reading":
        """Checks what the user specified, and fills in the encodings of tags.

        Raises:
            ConfigurationError: If a value is unknown, or does not go with another.
        """
        self._check_documents()
        check_is_one_of("overlapping", self.overlapping, OVERLAPPING)
        most = self.max_sentence_tokens
        if most is not None:
            check_number("max_sentence_tokens", most, most >= 1, "at least 1")
        return self._with_separator()._with_encodings()

    def _check_documents(self) -> None:
        documents, most = self.documents, self.max_document_tokens
        if documents not in (None, *DOCUMENT_BORDERS):
            raise ConfigurationError(
                f"`documents` must be one of {', '.join(DOCUMENT_BORDERS)}, or null; got {documents!r}"
            )
        check_number("max_document_tokens", most, most >= 1, "at least 1")
        check_is_one_of("instances", self.instances, ("documents", "sentences"))
        if self.instances == "sentences" and documents is None:
            raise ConfigurationError(
                "`instances` is 'sentences', which is for sentences of documents; set `documents` to "
                f"one of {', '.join(DOCUMENT_BORDERS)}, or leave `instances` out"
            )

    def _with_separator(self) -> "Reading":
        if (self.label_chains or self.labels is not None) and self.source_encoding is None:
            raise ConfigurationError(
                "`label_chains` and `labels` need tags that spell entities, but `source_encoding` is "
                "null; set it to 'auto', or leave them out"
            )
        needs_one = self.label_chains and self.label_separator is None
        return replace(self, label_separator=SEPARATOR) if needs_one else self

    def _with_encodings(self) -> "Reading":
        source, target = self.source_encoding, self.tag_encoding
        for name, encoding in {"source_encoding": source, "tag_encoding": target}.items():
            if encoding not in (None, *ENCODINGS) and (name, encoding) != ("source_encoding", AUTO):
                raise ConfigurationError(
                    f"`{name}` is {encoding!r}, expected one of {', '.join(ENCODINGS)}, or null"
                )
        source = source if self._spells_spans else None
        if target and not source:
            raise ConfigurationError(
                f"`tag_encoding` is {target!r}, but `source_encoding` is null, or there is a "
                "`label_separator`, and plain labels mark no spans to convert; leave `tag_encoding` out"
            )
        meaning = self._meaning_of_unknown_tag(source)
        if meaning:
            raise ConfigurationError(
                f"`unknown_tag` is {self.unknown_tag!r}, which is {meaning}; name a string that stands "
                "for nothing else in the file, such as '?'"
            )
        if self.unknown_tag is not None and target == "IO":
            raise ConfigurationError(
                "`tag_encoding` is 'IO', in which no tag may be unknown; leave `unknown_tag` or it out"
            )
        default = "BIO" if source in (AUTO, *AMBIGUOUS) else source
        return replace(self, source_encoding=source, tag_encoding=target or default)

    def _meaning_of_unknown_tag(self, source: Optional[str]) -> Optional[str]:
        if self.unknown_tag is None:
            return None
        if self.label_separator is not None and self.unknown_tag == self.no_label_tag:
            return "the tag of a token without a label"
        if not self.unknown_tag:
            return "empty"
        encoding = "BIO" if source == AUTO else source
        try:
            if encoding not in (None, "IO"):
                split_tag(self.unknown_tag, encoding)
                return f"a tag of {encoding}"
        except ValueError:
            pass
        return None


#: Everything is detected.
DETECTED = Reading()
