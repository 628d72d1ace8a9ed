"""How `predict-file` turns its lines of JSON into the requested output."""

import json
from contextlib import ExitStack
from functools import partial
from itertools import islice, repeat
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import (
    Any,
    BinaryIO,
    Callable,
    ContextManager,
    Iterable,
    Iterator,
    List,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    Tuple,
)

from allennlp.common.checks import ConfigurationError
from allennlp.common.util import lazy_groups_of

from tagger.common.console import say
from tagger.common.inputs import PathOrAddress, bare_suffix
from tagger.common.outputs import new_output
from tagger.common.parquet import MAX_ROWS, batches, import_pyarrow, is_parquet, open_parquet
from tagger.data.formats import FORMATS, AnnotatedText, Annotation, convert_texts, read_texts
from tagger.data.formats.annotated_text import locate_tokens
from tagger.data.reading import Reading
from tagger.predictors.prediction_type import prediction_type, predictions_of_lines
from tagger_texts.prediction import Prediction

#: Writes lines of JSON to a file, in the output's format.
Encoder = Callable[[Iterable[bytes], BinaryIO], None]


#: What to do if predicted entities overlap and the output cannot hold them.
_OVERLAPS = (
    "write a format that keeps both, such as `--format prodigy`, and then convert it, with "
    "`allennlp convert --overlapping longest`"
)


class Output(NamedTuple):
    """Writes lines of predictions to an output, which `open` opens, as `new_output` does.

    `predictor_args` are arguments of the predictor that it needs. `sidecar` is a file that is published
    with the output; `encode` gets it, opened, as its third argument.
    """

    encode: Callable[..., None]
    open: Callable[..., ContextManager[Any]] = new_output
    predictor_args: Mapping[str, Any] = MappingProxyType({})
    sidecar: Optional[PathOrAddress] = None


class RecordLayout(NamedTuple):
    """The shape of the input and the output, after the `predict-file` options of these names.

    `input_format` is None for lines and for Parquet; `format` is None for predictions. Other properties
    of the input's texts are kept where the output format allows, unless `keep` names some. `other` is
    an output of no such format.
    """

    text_column: str = "text"
    column: str = "prediction"
    nested: bool = False
    format: Optional[str] = None
    input_format: Optional[str] = None
    other: Optional[Output] = None
    keep: Tuple[str, ...] = ()


def encoder_of(output: str, input_file: str, layout: Optional[RecordLayout] = None) -> Encoder:
    """Returns the encoder for an output; Parquet outputs keep the columns of a Parquet input."""
    layout = layout or RecordLayout()
    format, column, nested = layout.format, layout.column, layout.nested
    if format is not None:
        suffix = bare_suffix(output)
        if output.endswith("/") or (
            suffix == ".parquet" and suffix not in FORMATS[format].suffixes
        ):
            raise ConfigurationError(
                f"`--output` {output} would be Parquet with predictions; for `--format` {format}, name "
                f"a file that ends in {FORMATS[format].suffixes[0]}"
            )
        if format == "brat":
            raise ConfigurationError(
                "`--format` brat is a folder of files; write another format, such as spacy_json, then "
                "use `allennlp convert`"
            )
        if layout.keep and "properties" not in FORMATS[format].keeps:
            kept = ", ".join(name for name, each in FORMATS.items() if "properties" in each.keeps)
            raise ConfigurationError(
                f"`--format` {format} has no place for `--keep`; take one of {kept}"
            )
        texts = partial(
            texts_of_lines,
            input_file=input_file,
            input_format=layout.input_format,
            keep=layout.keep,
        )
        return lambda lines, file: _write_texts(texts(lines), file, format, suffix)
    if not (output.endswith("/") or is_parquet(output)):
        return write_lines
    if layout.keep:
        raise ConfigurationError(
            f"`--keep` is for JSON lines, and `--output` {output} is Parquet, which has all columns of "
            "a Parquet input; leave `--keep` out, or write .jsonl"
        )
    source = input_file if is_parquet(input_file) else None
    import_pyarrow()
    if source:
        with open_parquet(source) as rows:
            if column in rows.schema_arrow.names:
                raise ConfigurationError(
                    f"`--column` {column} is a column of {source}; give another name"
                )
    return lambda lines, file: _write_parquet(lines, file, source, column, nested)


def texts_of_lines(
    lines: Iterable[bytes], input_file: str, input_format: Optional[str], keep: Sequence[str] = ()
) -> Iterator[Tuple[AnnotatedText, Prediction]]:
    """Yields the texts of predictions, with the predicted entities, and the predictions.

    Texts have the properties of the input, or those that are named by `keep`.
    """
    sources: Iterator[Optional[AnnotatedText]] = repeat(None)
    if input_format is not None:
        sources = read_texts(input_file, Reading(input_format, labelled=False))
    for number, (line, source) in enumerate(zip(lines, sources), start=1):
        given = json.loads(line)
        found = Prediction.from_json(given)
        if found.entities is None or found.text is None or found.tokens is None:
            raise ConfigurationError("the tags of this tagger spell no entities to write")
        place = source.place if source else f"{input_file}, input {number}"
        properties = source.properties if source else {}
        if keep:
            properties = {key: given[key] for key in keep if key in given}
        text = AnnotatedText(
            found.text,
            [Annotation(each.label, each.start, each.end) for each in found.entities],
            locate_tokens(found.text, found.tokens, place),
            None,
            place,
            properties,
            [each.probability for each in found.entities if each.probability is not None] or None,
        )
        yield text, found


def _write_texts(
    texts: Iterator[Tuple[AnnotatedText, Prediction]], file: BinaryIO, format: str, suffix: str
) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, f"texts{suffix}")
        counts = convert_texts((text for text, _ in texts), path, format, remedy=_OVERLAPS)
        with path.open("rb") as written:
            write_lines(written, file)
    say(str(counts))


def write_lines(lines: Iterable[bytes], file: BinaryIO) -> None:
    """Writes lines unchanged."""
    for some in lazy_groups_of(lines, 1024):
        file.write(b"".join(some))


#: The predictions as they are.
PREDICTIONS = Output(write_lines)


def _write_parquet(
    lines: Iterable[bytes], file: BinaryIO, source: Optional[str], column: str, nested: bool
) -> None:
    pa = import_pyarrow()
    field = pa.field(column, prediction_type() if nested else pa.string())
    lines = iter(lines)
    with ExitStack() as opened:
        others: Iterator[Any] = iter(())
        fields = [field]
        if source:
            rows = opened.enter_context(open_parquet(source))
            others, fields = batches(rows), [*rows.schema_arrow, field]
        writer = opened.enter_context(pa.parquet.ParquetWriter(file, pa.schema(fields)))
        for batch in others:
            chunk = list(islice(lines, batch.num_rows))
            columns = [*batch.columns, column_of(chunk, field.type)]
            writer.write_batch(pa.record_batch(columns, schema=writer.schema))
        while chunk := list(islice(lines, MAX_ROWS)):
            writer.write_batch(
                pa.record_batch([column_of(chunk, field.type)], schema=writer.schema)
            )


def column_of(lines: List[bytes], type: Any) -> Any:
    """Returns an array of predictions from lines of JSON, as JSON strings or as structs."""
    pa = import_pyarrow()
    if type == pa.string():
        return pa.array([line.rstrip(b"\n") for line in lines], type)
    return predictions_of_lines(lines)
