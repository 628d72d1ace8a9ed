"""The subcommand `pack`: puts the frozen transformer of a saved tagger into its archive.

allennlp pack model.tar.gz -o packed.tar.gz
"""

import argparse
import tarfile
from pathlib import Path
from typing import Dict

from allennlp.commands.subcommand import Subcommand
from allennlp.common.checks import ConfigurationError

from tagger.commands.command import Command, add_shared
from tagger.common.console import say


@Subcommand.register("pack")
class Pack(Command):
    """Writes an archive that needs no transformer beside it."""

    help = "Put the frozen transformer of a saved tagger into its archive."
    description = (
        "Copy an archive together with the frozen transformer that it needs, whatever its size, so that "
        "the archive can be used on its own. An ensemble gets those of all members."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add = parser.add_argument
        add("archive_file", type=Path, help="the archived tagger")
        add("-o", "--output", type=Path, required=True, help="the archive to write")
        text = "the transformer's folder; by default it is looked for as in prediction"
        add("--transformer", type=Path, metavar="FOLDER", help=text)
        add_shared(parser, "--force")

    def run(self, args: argparse.Namespace) -> None:
        from allennlp.common.file_utils import cached_path
        from allennlp.models import load_archive

        from tagger.commands.command_line import check_output
        from tagger.common.files import spell_bytes, write_atomically
        from tagger.modules.token_embedders import FrozenTransformerEmbedder
        from tagger.transformers.pretrained import ARCHIVED, transformer_files, transformer_given
        from tagger_compat.archive_files import new_archive

        check_output(args.output, [args.archive_file], args.force)
        with transformer_given(args.transformer):
            model = load_archive(args.archive_file).model
        # All members of an ensemble may have the same. A carried one was unpacked, and is gone.
        folders: Dict[str, Path] = {
            module.transformer_name: module.transformer_folder
            for module in model.modules()
            if isinstance(module, FrozenTransformerEmbedder) and module.transformer_folder.is_dir()
        }
        if not folders:
            raise ConfigurationError(
                f"{args.archive_file} needs no transformer beside it; it can be used as it is"
            )
        with (
            write_atomically(args.output, args.force) as path,
            tarfile.open(cached_path(args.archive_file)) as old,
            new_archive(path) as new,
        ):
            for member in old:
                new.addfile(member, old.extractfile(member) if member.isfile() else None)
            # The cache of the Hugging Face hub has links, which an archive must not have.
            new.dereference = True
            for name, folder in folders.items():
                for file in transformer_files(folder):
                    new.add(file, f"{ARCHIVED}/{name}/{file.name}")
        size = spell_bytes(args.output.stat().st_size)
        say(f"Wrote {args.output}: {size}, with {', '.join(folders)}")
