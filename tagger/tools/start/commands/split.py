"""The subcommand `split`, which splits a data set so that each part has its share of each label.

allennlp split labelled.txt splits
allennlp split documents.jsonl splits --label-key topics
"""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Dict, Optional, Sequence, Tuple

from allennlp.commands.subcommand import Subcommand

from tagger.commands.command import Command, add_shared
from tagger.common.console import Said, say, say_lines, topics

if TYPE_CHECKING:
    from tagger.data.shown import Evidence
    from tagger.tools.start.parts import Division, Source


@Subcommand.register("split")
class Split(Command):
    """Split a data set by its documents and labels.

    Split a file into train, dev and test so that no document is divided and each part has its share of
    each label. A file that marks no documents is split between blocks of neighbouring sentences. The
    command reports how documents were recognised, and how much of dev and test also occurs in train.
    Column files and CoNLL-U keep their lines; other files from annotation tools or libraries become
    Prodigy's JSON lines with all their properties. Texts labelled as a whole become JSON lines,
    too. With --label-key, a file with one JSON object on each line is split by the list of labels under
    that key. The files in a list are split one by one, and the parts are lists. Nothing is overwritten.
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add = parser.add_argument
        add("file", type=Path, help="the labelled file")
        add(
            "folder",
            type=Path,
            help="gets train, dev and test, with the suffix of the file, uncompressed",
        )
        add(
            "--shares",
            type=float,
            nargs=3,
            default=[0.8, 0.1, 0.1],
            metavar=("TRAIN", "DEV", "TEST"),
            help="a share of 0 makes no file",
        )
        add("--seed", type=int, default=0, help="the random seed")
        add_shared(parser, "--documents", "--text-encoding", "--token-column", "--tag-column")
        add_shared(parser, "--label-names", "--offsets", "--quiet")
        add("--label-key", metavar="KEY", help="the key of the labels, in files of JSON lines")

    def run(self, args: argparse.Namespace) -> None:
        from tagger.common.files import write_atomically
        from tagger.data.dataset_readers.file_lists import (
            SUFFIX,
            ListedFile,
            list_of_files,
            listed_files,
        )
        from tagger.tools.start.parts import PARTS, divide, paths_of_parts, write_parts

        shares = dict(zip(PARTS, args.shares))
        names = [name for name, share in shares.items() if share != 0]
        listed = listed_files(args.file)
        lists = paths_of_parts(args.folder, SUFFIX, names) if listed else {}
        divisions, parts, shown = [], [], []
        for number, file in enumerate(listed or [ListedFile(args.file, None)], start=1):
            source, suffix, read = _source(file.path, args)
            shown.append(read)
            numbered = f".{number}{suffix}" if listed else suffix
            parts.append(paths_of_parts(args.folder, numbered, names))
            divisions.append(divide(source, shares, args.seed, args.documents))
        # Nothing is written if what was read from one of the files cannot be right.
        reports = [
            read.report(division.marks, args.quiet) if read else []
            for read, division in zip(shown, divisions)
        ]
        for division, paths, said in zip(divisions, parts, reports):
            write_parts(division, paths)
            _tell(division, paths, args.folder, said)
        for name, path in lists.items():
            own = [
                file._replace(path=Path(paths[name].name))
                for file, paths in zip(listed or (), parts)
            ]
            with write_atomically(path) as new:
                new.write_text(list_of_files(own), encoding="utf-8")
        if lists:
            say(f"\nWrote {', '.join(path.name for path in lists.values())} to {args.folder}")


def _tell(division: "Division", paths: Dict[str, Path], folder: Path, said: Sequence[Said]) -> None:
    from tagger.data.doubts import COPIES, copies
    from tagger.tools.start.parts import table_of

    noun = division.source.noun
    say(f"Wrote {', '.join(path.name for path in paths.values())} to {folder}")
    say(f"Kept together: {division.groups.describe(noun)}")
    for name, found in division.overlaps().items():
        say(f"{paths[name].name}: {found.describe(noun)}")
        if found.warning():
            say(f"  warning: {found.warning()}")
        doubt = copies(found, noun)
        if doubt:
            say(f"  doubt {COPIES}: {doubt}")
    say_lines(topics(said))
    say(f"\n{table_of(division)}")


def _source(path: Path, args: argparse.Namespace) -> Tuple["Source", str, Optional["Evidence"]]:
    """Returns a file's contents, the suffix for its parts, and how it was read, if not as labels."""
    from tagger.common.inputs import bare_suffix
    from tagger.data.formats import READ_FORMATS, format_of
    from tagger.data.reading import Reading
    from tagger.data.shown import MOST_TEXTS, Evidence
    from tagger.tools.start.classifier import source_of_classified
    from tagger.tools.start.labelled_texts import find_labelled_texts
    from tagger.tools.start.parts import (
        source_of_columns,
        source_of_conllu,
        source_of_labelled_texts,
        source_of_texts,
    )
    from tagger.tools.start.recordings import check_no_recordings
    from tagger.tools.start.survey import survey

    if args.label_key:
        source = source_of_labelled_texts(path, args.label_key, args.documents)
        return source, bare_suffix(path), None
    labelled = find_labelled_texts(path, args.tag_column)
    if labelled is not None:
        return source_of_classified(labelled, args.documents), ".jsonl", None
    if args.token_column is None:
        check_no_recordings(path, args.tag_column)
    format = format_of(path)
    names = ("text_encoding", "token_column", "tag_column", "label_names", "offsets")
    reading = Reading.of({"format": format, **{name: getattr(args, name) for name in names}})
    if format == "columns":
        found = survey([path], reading)
        source = source_of_columns(found, found.files[0], args.documents)
        return source, bare_suffix(path), found.evidence(found.files[0])
    texts = list(READ_FORMATS[format].read(path, reading))
    evidence = Evidence(path, texts[:MOST_TEXTS]) if texts else None
    if format == "conllu":
        source = source_of_conllu(texts, path, args.documents)
        return source, bare_suffix(path), evidence
    return source_of_texts(texts, path, format, args.documents), ".jsonl", evidence
