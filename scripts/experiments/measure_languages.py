#!/usr/bin/env python
"""Measures what a multilingual encoder brings to taggers of other languages than English.

    python scripts/experiments/measure_languages.py corpora -s runs/languages es ar zh
    python scripts/experiments/measure_languages.py corpora -s runs/languages es de --source en

`corpora` has a folder for each language, with the column files train.txt, dev.txt and test.txt. A
tagger is trained on random sentences of train.txt with 12,000 tokens together, its epoch is chosen on a
third as many of dev.txt, and all of test.txt is tagged. The settings are those that `allennlp start`
proposes for data of this size, without and with the encoder.

With `--source`, taggers with the encoder are tested on the other languages, which must have the same
labels: trained on the sample of the source alone, with 100 sentences of the other language added, and
trained on those 100 alone. The epoch is always chosen on the source's sample.

Finished runs are kept; results.csv has the metrics of each.
"""

import argparse
import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Optional

from allennlp.common import Params

import tagger  # noqa: F401  (AllenNLP then knows our components)
from tagger.common.console import say
from tagger.data.column_file import read_sentences
from tagger.tools.runs.configs import config_for
from tagger.tools.runs.jobs import Job, run_jobs, seeded_jobs
from tagger.tools.runs.results import Column, format_summary, read_results, tabulate, write_results
from tagger.tools.start.config import size_of, sizes_for
from tagger.tools.start.survey import survey

#: Template fields that use the encoder.
WITH_ENCODER = {"transformer_layers": [4, 6, 8, 10, 12], "carry_transformer": False}
NUM_ADDED = 100
COLUMNS = [
    Column("test F1", ["test_f1-measure-overall"]),
    Column("macro", ["test_f1-measure-macro"]),
    Column("development F1", ["best_validation_f1-measure-overall"]),
]


def main(arguments: Optional[Sequence[str]] = None) -> None:
    """Runs the command line."""
    args = _options(arguments)
    (args.folder / "samples").mkdir(parents=True, exist_ok=True)
    encoder = {**WITH_ENCODER, "transformer": args.encoder}
    jobs: list[Job] = []
    for language in args.languages:
        test = args.corpora / language / "test.txt"
        if args.source is None:
            files = [_sample(args, language, part) for part in ("train", "dev")]
            for way, settings in (("without", {}), ("with", encoder)):
                config = _config(args, [*files, test], settings)
                jobs += seeded_jobs({"language": language, "encoder": way}, config, args.seeds)
        else:
            for way, path in _transfer_files(args, language).items():
                config = _config(args, [path, _sample(args, args.source, "dev"), test], encoder)
                jobs += seeded_jobs({"language": language, "trained on": way}, config, args.seeds)
    # Every language has a figure before any has a second one.
    jobs.sort(key=lambda job: job.factors["seed"])
    failed = run_jobs(jobs, args.folder, args.workers)
    results = read_results(jobs, args.folder)
    results.sort(key=lambda result: args.languages.index(result.factors["language"]))
    write_results(results, args.folder / f"results{'_transfer' if args.source else ''}.csv")
    say(format_summary(tabulate(results, COLUMNS)))
    if failed:
        raise SystemExit(f"{len(failed)} runs failed; see {failed[0].log(args.folder)}")


def _transfer_files(args: argparse.Namespace, language: str) -> dict[str, Path]:
    """Returns training files, by what is in them."""
    source, few = _sample(args, args.source, "train"), f"{NUM_ADDED} of {language}"
    path = args.folder / "samples" / f"{language}.{NUM_ADDED}.txt"
    both = path.with_name(f"{args.source}+{path.name}")
    sentences = _shuffled(args.corpora / language / "train.txt")[:NUM_ADDED]
    path.write_text("".join(sentences), encoding="utf-8")
    both.write_text(source.read_text("utf-8") + path.read_text("utf-8"), encoding="utf-8")
    return {args.source: source, f"{args.source} and {few}": both, few: path}


def _sample(args: argparse.Namespace, language: str, part: str) -> Path:
    """Writes random sentences of a part, with the wanted number of tokens together."""
    path = args.corpora / language / f"{part}.txt"
    if not args.tokens:
        return path
    most = args.tokens if part == "train" else args.tokens // 3
    kept, num_tokens = [], 0
    for sentence in _shuffled(path):
        num_tokens += sentence.count("\n") - 1
        if num_tokens > most:
            break
        kept.append(sentence)
    sample = args.folder / "samples" / f"{language}.{part}.txt"
    sample.write_text("".join(kept), encoding="utf-8")
    return sample


def _shuffled(path: Path) -> list[str]:
    """Returns the sentences of a column file as text, in a random order that is always the same."""
    with path.open("rb") as lines:
        sentences = [
            "".join(f"{row.columns[0]} {row.columns[-1]}\n" for row in rows) + "\n"
            for rows in read_sentences(lines, path)
        ]
    random.Random(1).shuffle(sentences)
    return sentences


def _config(
    args: argparse.Namespace, files: Sequence[Path], settings: Mapping[str, Any]
) -> dict[str, Any]:
    """Returns the config that trains on the first file, chooses on the second and tests on the third."""
    train_file, dev_file, test_file = files
    found = survey([train_file, dev_file, test_file])
    sizes = sizes_for(*size_of(found, found.files[0].sentences)).settings
    fields = {"source_encoding": found.scheme.source_encoding, **sizes, **settings}
    config = template_config(args.folder / "samples" / "config.jsonnet", fields)
    labels = found.count_labels(*found.files)
    own = config_for(config, labels, found.scheme.source_encoding, train_file, dev_file)
    return {**own, "test_data_path": str(test_file)}


def template_config(path: Path, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Writes a config that sets fields of the template, and returns it, without files."""
    text = ", ".join(f"{name}:: {json.dumps(value)}" for name, value in fields.items())
    paths = "train_data_path: '', validation_data_path: ''"
    path.write_text(f"(import 'tagger/training/template.libsonnet') + {{ {text}, {paths} }}\n")
    config: dict[str, Any] = Params.from_file(path).as_dict(quiet=True)
    return config


def _options(arguments: Optional[Sequence[str]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpora", type=Path, help="a folder with a folder for each language")
    parser.add_argument("languages", nargs="+", help="names of these folders")
    parser.add_argument("-s", dest="folder", type=Path, required=True, help="for all results")
    parser.add_argument("--source", help="the language to train on, for another one's test file")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    text = "tokens to train on (12,000); 0 for the whole files"
    parser.add_argument("--tokens", type=int, default=12_000, help=text)
    parser.add_argument("--encoder", default="data/multilingual-e5-small", help="its folder")
    parser.add_argument("--workers", type=int, default=1, help="how many runs at the same time (1)")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
