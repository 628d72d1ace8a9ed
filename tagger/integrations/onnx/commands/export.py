"""The subcommand `allennlp export model.tar.gz -o tagger.onnx`."""

import argparse
from pathlib import Path
from typing import Optional

from allennlp.commands.subcommand import Subcommand
from allennlp.models import Archive

from tagger.commands.command import Command, add_shared
from tagger.common.console import say
from tagger.common.extras import check_installed
from tagger.common.files import write_atomically
from tagger_onnx.checksum import with_checksum


@Subcommand.register("export")
class Export(Command):
    """Write a saved tagger as one ONNX file.

    Write a saved tagger as one ONNX file that also holds its vocabulary, its labels and the rules for
    splitting texts. The package `tagger_onnx` runs it with only numpy, onnxruntime and regex. It also
    runs in a web page.
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add = parser.add_argument
        add("archive_file", type=Path, help="the archived tagger")
        text = "the file to write, such as tagger.onnx"
        add("-o", "--output", type=Path, required=True, help=text)
        add_shared(parser, "--force")
        text = "the language (spaCy code) to split texts with, instead of the archive's"
        add("--language", help=text)

    def run(self, args: argparse.Namespace) -> None:
        from allennlp.models import load_archive

        from tagger.common.locations import check_output
        from tagger.data import NumericSequencesDatasetReader
        from tagger.data.tokenizers import tokenizer_of

        check_output(args.output, [args.archive_file], args.force)
        archive = load_archive(args.archive_file)
        export(archive, args.output, args.language, args.force)
        size = args.output.stat().st_size
        reader = archive.validation_dataset_reader
        reads = f"texts are split by {tokenizer_of(reader, args.language)[0]}"
        if isinstance(reader, NumericSequencesDatasetReader):
            reads = "it reads numbers"
        say(f"Wrote {args.output}: {size / 1e6:.1f} MB; {reads}")


def export(
    archive: Archive, output: Path, language: Optional[str] = None, overwrite: bool = False
) -> None:
    """Writes the tagger of an archive as an ONNX file."""
    check_installed("export")
    from tagger.integrations.onnx.export import exported

    archive.model.eval()
    model = exported(archive.model, archive.validation_dataset_reader, language)
    with write_atomically(output, overwrite) as path:
        path.write_bytes(with_checksum(model.SerializeToString()))
