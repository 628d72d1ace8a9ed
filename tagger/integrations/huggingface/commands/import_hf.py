"""The subcommand `allennlp import-hf dslim/bert-base-NER -o model.tar.gz`."""

import argparse
from pathlib import Path

from allennlp.commands.subcommand import Subcommand

from tagger.commands.command import Command, add_shared
from tagger.common.console import say


@Subcommand.register("import-hf")
class ImportHf(Command):
    """Make an archive of a Hugging Face tagger.

    Turn a token-classification model saved with `save_pretrained` into an archive for all commands of
    this package. Its logits become the emissions of a CRF that allows only legal sequences. Nothing is
    downloaded.
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add = parser.add_argument
        add("model", help="a folder, or a name in the local cache of the hub")
        text = "the archive to write"
        add("-o", "--output", type=Path, required=True, metavar="ARCHIVE", help=text)
        text = "the language (spaCy code) to split texts with; en by default"
        add("--language", default="en", metavar="CODE", help=text)
        text = "a JSON file with transition scores such as `background_to_start`"
        add("--transition-bias", type=Path, metavar="FILE", help=text)
        add_shared(parser, "--force")

    def run(self, args: argparse.Namespace) -> None:
        from tagger.common.locations import check_output
        from tagger.integrations.huggingface.import_tagger import import_tagger
        from tagger.spans import AMBIGUOUS, labels_of_tags

        inputs = [each for each in (args.model, args.transition_bias) if each is not None]
        check_output(args.output, inputs, args.force)
        imported = import_tagger(
            args.model, args.output, args.language, args.transition_bias, args.force
        )
        spell = imported.encoding or "plain labels, which mark no entities"
        if imported.is_io:
            spell = (
                "BIO, from labels without prefixes: neighbouring words of one label are an entity"
            )
        elif imported.encoding in AMBIGUOUS:
            spell += ", in which entities have no probability"
        labels = list(dict.fromkeys(filter(None, labels_of_tags(imported.tags))))
        more = f" and {len(labels) - 12} more" if len(labels) > 12 else ""
        say(f"{len(imported.tags)} tags ({spell}), of {', '.join(labels[:12])}{more}")
        if all(label.startswith("LABEL_") for label in labels):
            say("Doubt: the tags have no names; give them as `id2label` in its `config.json`")
        if imported.left_out:
            say(f"Left out, since no word has them: {', '.join(imported.left_out)}")
        say(f"Logits of trial texts differ by at most {imported.difference:.1g}")
        say(f"Wrote {args.output}")
