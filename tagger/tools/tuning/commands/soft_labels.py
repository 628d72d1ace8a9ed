"""The subcommand `allennlp soft-labels teacher.tar.gz train.txt -o soft.npz`."""

import argparse
from contextlib import contextmanager
from pathlib import Path
from typing import Iterable, Iterator

from allennlp.commands.subcommand import Subcommand
from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader, Instance
from allennlp.models import Archive

from tagger.commands.command import Command, add_shared
from tagger.commands.command_line import load
from tagger.common.console import say
from tagger.common.files import write_atomically
from tagger.common.inputs import open_input
from tagger.common.locations import check_output
from tagger.data import ColumnDatasetReader, NumericSequencesDatasetReader
from tagger.data.text_encodings import decoded_lines
from tagger.data.text_splitter import TextSplitter, tokens_of
from tagger.data.tokenizers import max_sentence_tokens_of, tokenizer_of
from tagger_texts.inputs import check_text


@Subcommand.register("soft-labels")
class WriteSoftLabels(Command):
    """Write soft labels of a teacher.

    Tag a text with a saved tagger or an ensemble, and write the probabilities of tags and transitions
    at each token. Another tagger can be trained on them.
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add = parser.add_argument
        add("archive_file", type=Path, help="the archived teacher")
        add("input_file", help="the text")
        add("-o", "--output", type=Path, required=True, help="the file to write")
        text = "a column file, with or without tags, or a sentence on each line"
        add("--format", choices=("columns", "text"), default="columns", help=text)
        text = (
            "the language (spaCy code) to split --format text with; by default texts are split as the "
            "archive says"
        )
        add("--language", help=text)
        text = "divide the teacher's scores by this number; above 1 the labels are softer"
        add("--temperature", type=float, default=1.0, help=text)
        add_shared(parser, "--batch-size", "--cuda-device", "--force")

    def run(self, args: argparse.Namespace) -> None:
        from tagger.tools.tuning.teaching import soft_labels_of

        check_output(args.output, [args.archive_file, args.input_file], args.force)
        archive = load(args)
        if args.format == "text":
            reader = archive.validation_dataset_reader
            splitter = TextSplitter(
                *tokenizer_of(reader, args.language),
                max_sentence_tokens=max_sentence_tokens_of(reader),
            )
            instances = _instances_of_text(archive, args.input_file, splitter)
        else:
            with advising_text(args.input_file):
                instances = list(reader_without_tags(archive).read(args.input_file))
        labels = soft_labels_of(archive.model, instances, args.batch_size, args.temperature)
        with write_atomically(args.output, args.force) as path:
            labels.save(path)
        num_tokens = sum(map(len, labels.sentences))
        say(f"Wrote {args.output}: {len(labels.sentences)} sentences, {num_tokens} tokens")


def reader_without_tags(archive: Archive) -> DatasetReader:
    """Returns the teacher's reader without reading gold tags, so that it accepts files with any."""
    reader = archive.validation_dataset_reader
    if isinstance(reader, NumericSequencesDatasetReader):
        raise ConfigurationError("soft labels are found by words, and this tagger reads numbers")
    if not isinstance(reader, ColumnDatasetReader):
        return reader
    return reader.with_reading(reader.reading.without_tags())


@contextmanager
def advising_text(path: str) -> Iterator[None]:
    """Adds to the error of a file that is not in columns how to read texts."""
    try:
        yield
    except ValueError as error:
        if not str(error).startswith(f"{path}:"):
            raise
        advice = "; if each line is a text, add `--format text`"
        raise ConfigurationError(f"{error}{advice}") from None


def _instances_of_text(archive: Archive, path: str, splitter: TextSplitter) -> Iterable[Instance]:
    """Yields the sentences of a text, skipping lines without a token."""
    reader = archive.validation_dataset_reader
    with open_input(path) as lines:
        for number, text in decoded_lines(lines, path):
            check_text(text, f"{path}:{number}", splitter.run_characters)
            for sentence in tokens_of(splitter.sentence(text)):
                instance = reader.text_to_instance(sentence)
                reader.apply_token_indexers(instance)
                yield instance
