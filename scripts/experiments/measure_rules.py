#!/usr/bin/env python
"""Measures how many gold sentences labels from rules, lists and taggers are worth.

    python -m scripts.experiments.measure_rules runs/wnut17/model.tar.gz -s runs/rules

It labels 4,000 sentences of eng.train with the sources of sources_conll2003.jsonnet: lists of
prepare_lexicons.py, rules, and a tagger of another corpus, from wnut17_frozen_minilm_crf.jsonnet. It
scores what is merged against the gold labels, trains taggers on it and on 50 to 800 gold sentences of
other documents, and scores them on eng.testb. The settings are those that `allennlp start` proposes for
data of each size, with frozen MiniLM; the epoch is chosen on 200 sentences of eng.testa.

Finished runs are kept.
"""

import argparse
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Optional

from allennlp.common import Params

import tagger  # noqa: F401  (AllenNLP then knows our components)
from scripts.experiments.measure_languages import template_config
from scripts.experiments.measure_merging import (
    GOLD,
    report,
    score,
    with_gold,
    with_soft_labels,
    without,
)
from tagger.common.console import say
from tagger.data.column_file import read_documents
from tagger.data.formats import AnnotatedText, Annotation, convert_texts
from tagger.data.sources.annotations import SourcedText, read_annotations, write_annotations
from tagger.spans import tags_to_spans
from tagger.tools.runs.configs import config_for
from tagger.tools.runs.jobs import Job, run_jobs, seeded_jobs
from tagger.tools.runs.results import Column, format_summary, read_results, tabulate
from tagger.tools.sources.label_sources import label_texts
from tagger.tools.sources.merging import Merged, merge
from tagger.tools.start.config import sizes_for

CORPUS = Path("data/conll2003")
SOURCES = Path(__file__).with_name("sources_conll2003.jsonnet")
TRANSFORMER = {"transformer": "data/all-MiniLM-L6-v2", "carry_transformer": False}
NUM_LABELLED, NUM_DEV, NUM_ADDED = 4_000, 200, 100
NUM_GOLD = (50, 100, 200, 400, 800)
COLUMNS = [Column("test F1", ["test_f1-measure-overall"])]


def read_conll2003(path: Path) -> list[list[SourcedText]]:
    """Reads the sentences of each document, with the gold labels as the source `gold`."""
    documents = []
    with path.open("rb") as lines:
        for number, document in enumerate(read_documents(lines, path)):
            rows = ([row.columns for row in sentence] for sentence in document)
            documents.append([_sentence(own, f"document {number}") for own in rows])
    return documents


def _sentence(rows: Sequence[Sequence[str]], document: str) -> SourcedText:
    places: list[tuple[int, int]] = []
    for word, *_ in rows:
        start = places[-1][1] + 1 if places else 0
        places.append((start, start + len(word)))
    spans = tags_to_spans([row[-1] for row in rows], "IOB1")
    gold = [Annotation(label, places[a][0], places[b][1]) for label, (a, b) in spans]
    words = " ".join(row[0] for row in rows)
    text = AnnotatedText(words, [], places, [len(places)], document, {"document": document})
    return SourcedText(text, {GOLD: gold})


def full_names(documents: Sequence[Sequence[SourcedText]]) -> Iterator[dict[str, Any]]:
    """Labels first names with the capitalised words behind them, and then their last names."""
    names = Path("data/lexicons/first_names.txt").read_text(encoding="utf-8").split("\n")
    first_names = {each for each in names if each[:1].isupper()}
    for document in documents:
        known: set[str] = set()
        for sourced in document:
            text, places = sourced.text.text, sourced.text.tokens or []
            words = [text[start:end] for start, end in places]
            found, at = [], 0
            while at < len(words):
                end = at + 1
                while end < min(len(words), at + 3) and words[end].istitle():
                    end += 1
                is_full = end > at + 1 and words[at] in first_names
                if is_full:
                    known.add(words[end - 1])
                elif words[at] in known:
                    end = at + 1
                if is_full or words[at] in known:
                    found.append([places[at][0], places[end - 1][1], "PER"])
                at = end if is_full else at + 1
            yield {"text": text, "label": found}


def label_conll2003(args: argparse.Namespace) -> tuple[list[SourcedText], list[SourcedText]]:
    """Returns sentences labelled by all sources and gold, and gold sentences of other documents."""
    documents = read_conll2003(CORPUS / "eng.train")
    random.Random(1).shuffle(documents)
    labelled: list[list[SourcedText]] = []
    while sum(map(len, labelled)) < NUM_LABELLED:
        labelled.append(documents.pop())
    rest = [sentence for document in documents for sentence in document]
    random.Random(1).shuffle(rest)
    # What rules say about the sentences that are added is needed, too.
    texts = [sentence for document in labelled for sentence in document] + rest[:NUM_ADDED]
    path = args.folder / "labelled.jsonl"
    if path.exists():
        return list(read_annotations(path)), rest
    names = args.folder / "full_names.jsonl"
    records = full_names([*labelled, *([each] for each in rest[:NUM_ADDED])])
    names.write_text("".join(json.dumps(each) + "\n" for each in records), encoding="utf-8")
    variables = {"full_names": str(names), "tagger": args.tagger}
    config = Params.from_file(str(SOURCES), ext_vars=variables)
    found = label_texts(config, [each.text for each in texts])
    both = [
        each._replace(annotations={**each.annotations, **gold.annotations})
        for each, gold in zip(found, texts)
    ]
    write_annotations(both, path)
    return both, rest


def measure_training(
    args: argparse.Namespace,
    own: Sequence[SourcedText],
    rest: Sequence[SourcedText],
    results: Mapping[str, Merged],
    soft: Merged,
) -> None:
    """Trains on merged labels, and on gold sentences; `soft` has the labels of some of `rest`, too."""
    _write_parts(args.folder)
    jobs: list[Job] = []
    every = {
        "majority": results["majority"],
        "union": results["union"],
        "hidden_chain": results["hidden_chain"],
        "hidden_chain and gold": soft,
    }
    for name, merged in every.items():
        path = _written(merged.texts, args.folder / f"{name}.conll")
        jobs += _jobs(args, {"labels": f"{name}, hard"}, path, merged.texts)
        if name.startswith("hidden_chain"):
            jobs += _jobs(args, {"labels": f"{name}, soft"}, path, merged.texts, merged)
    for number in NUM_GOLD:
        for seed in args.seeds:
            first = NUM_GOLD[-1] * args.seeds.index(seed)
            gold = with_gold(rest[first : first + number])
            path = _written(gold, args.folder / f"gold {number} {seed}.conll")
            factors = {"labels": f"gold, {number} sentences"}
            jobs += _jobs(args, factors, path, gold, seeds=[seed])
    gold = with_gold(own)
    path = _written(gold, args.folder / "gold.conll")
    jobs += _jobs(args, {"labels": "gold, all"}, path, gold, seeds=args.seeds[:1])
    _run(jobs, args.folder)


def _merge_with_gold(texts: Sequence[SourcedText]) -> Merged:
    """Merges texts of which the last have gold labels, and prints the scores of the others."""
    own, added = texts[:-NUM_ADDED], texts[-NUM_ADDED:]
    merged = merge([*without(own), *added], gold=GOLD)
    precision, recall, f1, of_tokens = score(merged.texts[:-NUM_ADDED], own)
    say(f"with gold: {precision:.1f} {recall:.1f} {f1:.1f} {of_tokens:.1f}")
    return merged


def report_sources(texts: Sequence[SourcedText]) -> None:
    """Prints how good each source is, about the labels that it gives."""
    for name in sorted({name for each in texts for name in each.annotations} - {GOLD}):
        labels = {each.label for text in texts for each in text.annotations.get(name, ())}
        gold, found = [], []
        for text in texts:
            if name in text.annotations:
                true = [each for each in text.annotations[GOLD] if each.label in labels]
                gold.append(text._replace(annotations={GOLD: true}))
                found.append(text.text._replace(entities=text.annotations[name]))
        if labels:
            precision, recall, f1, _ = score(found, gold)
            about = "/".join(sorted(labels))
            say(f"{name:20}{about:20}{precision:8.1f}{recall:8.1f}{f1:8.1f}")


def _write_parts(folder: Path) -> None:
    for part, number in (("testa", NUM_DEV), ("testb", None)):
        documents = read_conll2003(CORPUS / f"eng.{part}")
        sentences = [sentence for document in documents for sentence in document]
        if number is not None:
            random.Random(1).shuffle(sentences)
        _written(with_gold(sentences[:number]), folder / f"{part}.conll")


def _written(texts: Sequence[AnnotatedText], path: Path) -> Path:
    if not path.exists():
        own = (each._replace(properties={**each.properties, "document": None}) for each in texts)
        convert_texts(own, path, "columns")
    return path


def _jobs(
    args: argparse.Namespace,
    factors: Mapping[str, Any],
    path: Path,
    texts: Sequence[AnnotatedText],
    merged: Optional[Merged] = None,
    seeds: Optional[Sequence[int]] = None,
) -> list[Job]:
    """Returns runs that train on a file; on soft labels if there is something `merged`."""
    num_entities = sum(len(each.entities) for each in texts)
    sizes = sizes_for(sum(len(each.tokens or []) for each in texts), num_entities)
    fields = {"source_encoding": "BIO", **sizes.settings, **TRANSFORMER}
    config = template_config(args.folder / "config.jsonnet", fields)
    dev, test = args.folder / "testa.conll", args.folder / "testb.conll"
    config = config_for(config, args.labels, "BIO", path, dev)
    config |= {"test_data_path": str(test), "evaluate_on_test": True}
    if merged is not None:
        soft = path.with_suffix(".npz")
        if not soft.exists():
            merged.soft_labels("BIOUL").save(soft)
        config["validation_dataset_reader"] = config["dataset_reader"]
        config = with_soft_labels(config, soft)
    return seeded_jobs(factors, config, args.seeds if seeds is None else seeds)


def _run(jobs: list[Job], folder: Path) -> None:
    # All have a figure before one has a second.
    jobs.sort(key=lambda job: job.factors["seed"])
    failed = run_jobs(jobs, folder, 1)
    say(format_summary(tabulate(read_results(jobs, folder), COLUMNS)))
    if failed:
        raise SystemExit(f"{len(failed)} runs failed; see {failed[0].log(folder)}")


def main(arguments: Optional[Sequence[str]] = None) -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tagger", help="the archive of a tagger of WNUT-17")
    parser.add_argument("-s", dest="folder", type=Path, required=True, help="for all results")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    args = parser.parse_args(arguments)
    args.folder.mkdir(parents=True, exist_ok=True)
    args.labels = ["LOC", "MISC", "ORG", "PER"]
    texts, rest = label_conll2003(args)
    own = texts[:-NUM_ADDED]
    report_sources(own)
    rules = without(texts, "tweets")
    say("rules and lists alone, and with gold sentences")
    report(rules[:-NUM_ADDED])
    _merge_with_gold(rules)
    say("all sources, and with gold sentences")
    measure_training(args, own, rest, report(own), _merge_with_gold(texts))


if __name__ == "__main__":
    main()
