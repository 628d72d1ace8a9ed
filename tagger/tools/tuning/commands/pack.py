"""The subcommand `allennlp pack model.tar.gz -o packed.tar.gz`."""

import argparse
import tempfile
from pathlib import Path
from typing import Dict

from allennlp.commands.subcommand import Subcommand
from allennlp.common.checks import ConfigurationError

from tagger.commands.command import Command, add_shared
from tagger.common.console import say


@Subcommand.register("pack")
class Pack(Command):
    """Put the frozen transformer of a saved tagger into its archive.

    Copy an archive together with its frozen transformer, whatever its size, so that the archive does
    not depend on other files. An ensemble gets the transformers of all its members.
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add = parser.add_argument
        add("archive_file", type=Path, help="the archived tagger")
        add("-o", "--output", type=Path, required=True, help="the archive to write")
        text = "the transformer's folder; by default it is searched for as in prediction"
        add("--transformer", type=Path, metavar="FOLDER", help=text)
        add_shared(parser, "--force")

    def run(self, args: argparse.Namespace) -> None:
        from allennlp.models import load_archive

        from tagger.common.files import spell_bytes
        from tagger.common.locations import check_output
        from tagger.modules.token_embedders.frozen_transformer import FrozenTransformerEmbedder
        from tagger.tools.tuning.tuned_archive import rewrite_archive
        from tagger.transformers.carried import write_carried
        from tagger.transformers.pretrained import ARCHIVED, find_transformer, transformer_given

        inputs = [args.archive_file, *([args.transformer] if args.transformer else [])]
        check_output(args.output, inputs, args.force)
        with transformer_given(args.transformer):
            model = load_archive(args.archive_file).model
        # Members of an ensemble may share a transformer. Those unpacked from archives no longer exist.
        folders: Dict[str, Path] = {
            module.transformer_name: module.transformer_folder
            for module in model.modules()
            if isinstance(module, FrozenTransformerEmbedder) and module.transformer_folder.is_dir()
        }
        if not folders:
            raise ConfigurationError(
                f"{args.archive_file} needs no other transformer; it can be used as it is"
            )
        with tempfile.TemporaryDirectory() as carried:
            for name, folder in folders.items():
                write_carried(find_transformer(str(folder)), Path(carried, name), with_weights=True)
            files = {
                f"{ARCHIVED}/{file.relative_to(carried)}": file
                for file in Path(carried).glob("*/*")
            }
            rewrite_archive(args.archive_file, args.output, {}, args.force, added=files)
        size = spell_bytes(args.output.stat().st_size)
        say(f"Wrote {args.output}: {size}, with {', '.join(folders)}")
