#!/usr/bin/env python
"""Measures how good labels are that were merged from weak taggers of the same kind.

    python -m scripts.experiments.measure_weak_taggers data/meddocan -s runs/weak

Three taggers are trained on four documents each of MEDDOCAN's training part, and label 50 documents of
its development part. It scores each tagger, what is merged from them, and a tagger of all twelve
documents. The settings are those that `allennlp start` proposes for data of this size; the epoch is
chosen on four other training documents. Finished runs are kept.
"""

import argparse
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Optional

from allennlp.common import Params

import tagger  # noqa: F401  (AllenNLP then knows our components)
from scripts.experiments.measure_languages import template_config
from scripts.experiments.measure_merging import GOLD, report, score, without
from tagger.common.console import say
from tagger.data.formats import AnnotatedText, convert_texts, fit_to_tokens, read_texts
from tagger.data.reading import Reading
from tagger.tools.runs.configs import config_for
from tagger.tools.runs.jobs import Job, run_jobs, seeded_jobs
from tagger.tools.sources.label_sources import label_texts
from tagger.tools.start.config import sizes_for

NUM_TAGGERS, NUM_EACH, NUM_LABELLED = 3, 4, 50
ALL = "all documents"


def _shuffled(folder: Path) -> list[AnnotatedText]:
    texts = list(read_texts(str(folder), Reading("brat")))
    random.Random(1).shuffle(texts)
    return texts


def _jobs(args: argparse.Namespace, name: str, texts: Sequence[AnnotatedText]) -> list[Job]:
    path = args.folder / f"{name}.conll"
    if not path.exists():
        convert_texts(texts, path, "columns")
    num_tokens = sum(len(fit_to_tokens(each).text.tokens or []) for each in texts)
    sizes = sizes_for(num_tokens, sum(len(each.entities) for each in texts))
    fields = {"source_encoding": "BIO", **sizes.settings}
    config: dict[str, Any] = template_config(args.folder / "config.jsonnet", fields)
    config = config_for(config, args.labels, "BIO", path, args.folder / "chosen.conll")
    return seeded_jobs({"tagger": name}, config, [args.seed])


def main(arguments: Optional[Sequence[str]] = None) -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpus", type=Path, help="the folder with `train` and `dev`")
    parser.add_argument("-s", dest="folder", type=Path, required=True, help="for all results")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args(arguments)
    args.folder.mkdir(parents=True, exist_ok=True)
    texts = _shuffled(args.corpus / "train")
    args.labels = sorted({entity.label for each in texts for entity in each.entities})
    chosen = args.folder / "chosen.conll"
    if not chosen.exists():
        convert_texts([texts.pop() for _ in range(NUM_EACH)], chosen, "columns")
    parts = [texts[NUM_EACH * n : NUM_EACH * (n + 1)] for n in range(NUM_TAGGERS)]
    jobs = [job for n, own in enumerate(parts) for job in _jobs(args, f"tagger {n + 1}", own)]
    jobs += _jobs(args, ALL, [text for own in parts for text in own])
    failed = run_jobs(jobs, args.folder, 1)
    if failed:
        raise SystemExit(f"{len(failed)} runs failed; see {failed[0].log(args.folder)}")
    gold = [fit_to_tokens(each).text for each in _shuffled(args.corpus / "dev")[:NUM_LABELLED]]
    archives = {job.factors["tagger"]: job.folder(args.folder) / "model.tar.gz" for job in jobs}
    sources = {name: {"type": "tagger", "archive": str(path)} for name, path in archives.items()}
    found = label_texts(Params({"sources": sources, "language": "es"}), gold)
    every = [
        each._replace(annotations={**each.annotations, GOLD: true.entities})
        for each, true in zip(found, gold)
    ]
    of_all = [each.text._replace(entities=each.annotations[ALL]) for each in every]
    say("{}: precision {:.1f}, recall {:.1f}, F1 {:.1f}".format(ALL, *score(of_all, every)))
    report(without(every, ALL))


if __name__ == "__main__":
    main()
