"""The subcommand `agreement`, which says how far annotators agree.

allennlp agreement export.json -o agreement
allennlp agreement anna=anna.conll bob=bob.jsonl -o agreement
"""

import argparse
from pathlib import Path
from typing import Any, Dict, List, Sequence, Set

from allennlp.commands.subcommand import Subcommand

from tagger.commands.command import Command
from tagger.common.console import say_lines
from tagger.common.extras import check_installed
from tagger.tools.sources.commands.inputs import add_inputs, paths_of, read_inputs
from tagger_texts.display import aligned

#: The files in the folder of results.
FILES = ("agreement.html", "agreement.json", "disagreements.jsonl", "annotations.jsonl")
_MOST_PAIRS = 10


@Subcommand.register("agreement")
class AgreementCommand(Command):
    """Measure how far annotators agree.

    Compare what several people or models say about the same texts: F1 of entities, kappa and alpha of
    tokens, for each label and each pair, with intervals. The folder gets agreement.html, a page with the
    places where they disagree, side by side, on which you decide and save the result;
    disagreements.jsonl, a list of them; agreement.json, all numbers; and annotations.jsonl, all
    annotations in one file.
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add = parser.add_argument
        add_inputs(parser)
        add("-o", "--output", type=Path, required=True, help="the folder for all results")
        text = (
            "the labels that a source was asked for, if it gives more or fewer, such as "
            "bob=PER,LOC; by default all, but for those that it gives nowhere and others often"
        )
        add("--labels", nargs="+", default=[], metavar="SOURCE=LABEL,LABEL", help=text)

    def run(self, args: argparse.Namespace) -> None:
        check_installed("report")
        from tagger.common.locations import check_not_inputs
        from tagger.common.outputs import json_line
        from tagger.data.sources.annotations import write_annotations
        from tagger.tools.sources.agreement import ComparedSources, known_labels
        from tagger.tools.sources.disagreements import write_disagreements
        from tagger.training.run_folder import take_folder

        take_folder(args.output, "--output")
        check_not_inputs([args.output / name for name in FILES], paths_of(args.inputs))
        texts = read_inputs(args)
        known = known_labels(texts)
        guessed = {name: set(labels) for name, labels in known.items()}
        known.update(_asked(args.labels, known))
        compared = ComparedSources(texts, known)
        rows, pairs = compared.of_all(), compared.of_pairs()
        notes = [_readers(texts), *_unknown(guessed, known)]
        args.output.mkdir(parents=True, exist_ok=True)
        found = write_disagreements(compared, rows, pairs, notes, args.output)
        write_annotations(texts, args.output / "annotations.jsonl", overwrite=True)
        record = {"sources": [*known], "all": _records(rows), "pairs": _records(pairs)}
        (args.output / "agreement.json").write_text(json_line(record), encoding="utf-8")
        say_lines([*notes, "", *_table(rows)])
        of_pairs = [each for each in pairs if each.label == rows[0].label]
        if len(of_pairs) > 1:
            of_pairs.sort(key=lambda each: -1 if each.f1.value is None else each.f1.value)
            few = len(of_pairs) > _MOST_PAIRS
            title = (
                f"The {_MOST_PAIRS} of {len(of_pairs)} pairs that agree least" if few else "Pairs"
            )
            say_lines(["", title, *_table(of_pairs[:_MOST_PAIRS], by_sources=True)])
        written = ", ".join(str(args.output / name) for name in FILES)
        say_lines(["", f"{len(found):,} places of disagreement. Wrote {written}"])


def _asked(given: Sequence[str], known: Dict[str, Set[str]]) -> Dict[str, Set[str]]:
    """Parses `--labels`."""
    from tagger.common.did_you_mean import did_you_mean

    asked = {}
    every = set().union(*known.values())
    for each in given:
        source, _, labels = each.partition("=")
        if source not in known or not labels:
            raise ValueError(
                f"`--labels`: expected a source and its labels, such as {next(iter(known), 'anna')}"
                f"=PER,LOC, got {each!r}; the sources are {', '.join(known)}"
                f"{did_you_mean(source, known)}"
            )
        asked[source] = set(labels.split(","))
        for label in sorted(asked[source] - every):
            raise ValueError(
                f"`--labels`: {label!r} is no label of any source{did_you_mean(label, every)}; the "
                f"labels are {', '.join(sorted(every))}"
            )
    return asked


def _readers(texts: Sequence[Any]) -> str:
    from tagger.tools.sources.label_sources import counts_of

    read = ", ".join(f"{name} {num:,}" for name, (num, _) in sorted(counts_of(texts).items()))
    shared = sum(len(text.annotations) > 1 for text in texts)
    return f"{len(texts):,} texts: {read}; {shared:,} have been read by several."


def _unknown(guessed: Dict[str, Set[str]], known: Dict[str, Set[str]]) -> List[str]:
    """Says which labels a source is not compared about."""
    every = set().union(*known.values())
    notes = []
    for name, labels in known.items():
        missing = sorted(every - labels)
        if missing and labels == guessed[name]:
            option = f"--labels {name}={','.join(sorted(every))}"
            notes.append(
                f"{name} gives {', '.join(missing)} nowhere, so it is not compared about that; if it "
                f"was asked for it: `{option}`"
            )
    return notes


def _records(rows: Sequence[Any]) -> List[Dict[str, Any]]:
    names = ("f1", "overlapping_f1", "kappa", "alpha")
    return [{**row._asdict(), **{n: getattr(row, n)._asdict() for n in names}} for row in rows]


def _table(rows: Sequence[Any], by_sources: bool = False) -> List[str]:
    titles = ("texts", "entities", "F1", "overlapping F1", "kappa", "alpha")
    lines: List[Sequence[str]] = [("sources" if by_sources else "label", *titles)]
    for row in rows:
        name = " and ".join(row.sources) if by_sources else row.label
        measures = (row.f1, row.overlapping_f1, row.kappa, row.alpha)
        lines.append((name, f"{row.num_texts:,}", f"{row.num_entities:,}", *map(_spell, measures)))
    return aligned(lines)


def _spell(measure: Any) -> str:
    if measure.value is None:
        return "-"
    interval = " ({:.2f} to {:.2f})".format(*measure.interval) if measure.interval else ""
    return f"{measure.value:.3f}{interval}"
