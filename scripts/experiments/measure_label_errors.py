#!/usr/bin/env python
"""Measures how well known label errors are found, compared with cleanlab.

    python scripts/experiments/measure_label_errors.py -s runs/label_errors --noises expert crowd llm
    python scripts/experiments/measure_label_errors.py -s runs/crossweigh \
        --tagger runs/documents/model.tar.gz

The first command trains taggers on five folds of NoiseBench's corpora, in data/noisebench, and compares
the errors found with the clean labels. The second checks CoNLL-2003's test file with a tagger of the
training file, and compares the result with CrossWeigh's corrections, in data/crossweigh. Both methods
get the same probabilities, and nothing is fitted to the corrections.

--retrain also trains on variants of each noisy corpus: unchanged; with the 500 most suspicious labels
checked against the clean ones; with all suggestions above one half accepted, or the first 2,000; with
these labels left open. F1 is measured on CrossWeigh's file. Finished runs are kept.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Optional

import numpy as np
from allennlp.common import Params
from allennlp.models import load_archive
from sklearn.metrics import average_precision_score

from tagger.common.console import say
from tagger.spans import Span
from tagger.tools.labels.corpus import Corpus, make_folds
from tagger.tools.labels.errors import ErrorProbabilities, are_errors, error_probabilities
from tagger.tools.labels.issues import accept, leave_open, list_issues
from tagger.tools.labels.out_of_fold import out_of_fold, score_file
from tagger.tools.labels.probabilities import LabelProbabilities, overlap
from tagger.tools.runs.jobs import Job, run_jobs, seeded_jobs
from tagger.tools.runs.results import Result, read_results, write_results

CONFIG = "training_config/conll2003_frozen_minilm_crf.jsonnet"
#: Fits NoiseBench, which is a third of CoNLL-2003's training file.
OVERRIDES = {
    "dataset_reader.source_encoding": "BIO",
    "model.encoder.hidden_size": 150,
    "data_loader.batch_size": 16,
    "trainer.num_epochs": 6,
}
NUM_FOLDS = 5
NUM_JUDGED = 500
#: How many suggestions are accepted or left open without a check.
NUM_UNSEEN = 2000


def main(arguments: Optional[Sequence[str]] = None) -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-s", dest="folder", type=Path, required=True, help="for all results")
    parser.add_argument("--noises", nargs="+", default=[], help="such as expert, crowd and llm")
    parser.add_argument(
        "--tagger", type=Path, help="an archive trained on CoNLL-2003's training file"
    )
    parser.add_argument("--retrain", action="store_true", help="train on the corrected corpora")
    args = parser.parse_args(arguments)
    args.folder.mkdir(parents=True, exist_ok=True)
    results, jobs = [], []
    for noise in args.noises:
        corpus = Corpus(Path(f"data/noisebench/{noise}.txt"), {})
        clean = _spans(Corpus(Path("data/noisebench/clean.txt"), {}))
        config = Params.from_file(CONFIG, json.dumps(OVERRIDES)).as_dict(quiet=True)
        folder = args.folder / noise
        parts = out_of_fold(corpus, folder, config, NUM_FOLDS, [1], 1)
        taggers = LabelProbabilities(parts)
        probabilities = error_probabilities(taggers, corpus.sentences)
        results.append(Result({"corpus": noise}, _measure(corpus, clean, taggers, probabilities)))
        if args.retrain:
            jobs += _retraining(corpus, clean, probabilities, config, args.folder)
    if args.tagger:
        corpus = Corpus(Path("data/conll2003/eng.testb"), {"source_encoding": "IOB1"})
        clean = _spans(Corpus(Path("data/crossweigh/conllpp_test.txt"), {}))
        archive = load_archive(args.tagger)
        found = score_file(archive.model, archive.validation_dataset_reader, str(corpus.path))
        taggers = LabelProbabilities([(range(len(clean)), found)])
        probabilities = error_probabilities(taggers, corpus.sentences, from_elsewhere=True)
        results.append(
            Result({"corpus": "crossweigh"}, _measure(corpus, clean, taggers, probabilities))
        )
    for result in results:
        say(f"{result.factors['corpus']}: {json.dumps(result.metrics)}")
    write_results(results, args.folder / "errors.csv")
    run_jobs(jobs, args.folder, 1)
    retrained = read_results(jobs, args.folder)
    for result in retrained:
        say(f"{dict(result.factors)}: F1 {result.metrics['test_f1-measure-overall']:.4f}")
    write_results(retrained, args.folder / "retrained.csv")


def _spans(corpus: Corpus) -> list[list[Span]]:
    return [sentence.spans for sentence in corpus.sentences]


def _measure(
    corpus: Corpus,
    clean: list[list[Span]],
    taggers: LabelProbabilities,
    probabilities: ErrorProbabilities,
) -> dict[str, float]:
    """Returns average precision, by sentence and by entity, and the precision of the top findings.

    By entity, errors are labelled entities that are wrong and true entities that overlap no labelled
    one. Errors without an item count as never found, for both methods.
    """
    from cleanlab.token_classification.rank import get_label_quality_scores

    spans = _spans(corpus)
    is_wrong = np.array([own != true for own, true in zip(spans, clean)])
    indices = taggers.tag_indices(spans)
    by_sentence, by_token = get_label_quality_scores(indices, taggers.marginals)
    is_error = are_errors(probabilities.items, spans, clean)
    num_errors = sum(
        sum(span not in true for span in own)
        + sum(not any(overlap(span, each) for each in own) for span in true)
        for own, true in zip(spans, clean)
    )
    theirs = np.array(
        [
            -by_token[item.sentence].iloc[item.place[0] : item.place[1] + 1].min()
            for item in probabilities.items
        ]
    )
    metrics = {
        "num_sentences": len(spans),
        "num_wrong_sentences": int(is_wrong.sum()),
        "num_errors": num_errors,
        "sentences_cleanlab": average_precision_score(is_wrong, -by_sentence),
        "sentences_log_likelihood": average_precision_score(
            is_wrong, -taggers.log_likelihoods(spans)
        ),
        "sentences": average_precision_score(is_wrong, probabilities.of_sentences),
    }
    share = is_error.sum() / num_errors
    for name, scores in (("_cleanlab", theirs), ("", probabilities.of_items)):
        metrics[f"entities{name}"] = average_precision_score(is_error, scores) * share
        order = np.argsort(-scores, kind="stable")
        for number in (100, NUM_JUDGED):
            metrics[f"first_{number}{name}"] = is_error[order[:number]].mean()
    return {name: round(float(value), 4) for name, value in metrics.items()}


def _retraining(
    corpus: Corpus,
    clean: list[list[Span]],
    probabilities: ErrorProbabilities,
    config: dict[str, Any],
    folder: Path,
) -> list[Job]:
    """Writes all variants of the corpus, and returns the jobs that train on them."""
    findings = list_issues(corpus, probabilities, 0.0)
    probable = [each for each in findings if each.probability >= 0.5]
    right = []
    for each in findings[:NUM_JUDGED]:
        true = clean[each.sentence - 1]
        if each.suggested in true if each.suggested else each.labelled not in true:
            right.append(each)
    lines = corpus.lines()
    ways = {
        "as it is": lines,
        f"first {NUM_JUDGED} judged": accept(lines, right),
        "suggestions above 0.5 accepted": accept(lines, probable),
        "labels above 0.5 left open": leave_open(corpus, probable),
        f"first {NUM_UNSEEN} accepted": accept(lines, findings[:NUM_UNSEEN]),
        f"first {NUM_UNSEEN} left open": leave_open(corpus, findings[:NUM_UNSEEN]),
    }
    jobs = []
    fold = make_folds(corpus, NUM_FOLDS)[0]
    dev = folder / corpus.path.stem / "dev.txt"
    corpus.write(dev, fold.dev)
    for way, text in ways.items():
        path = folder / corpus.path.stem / f"{way}.txt"
        # All sentences except those that choose the best epoch, which have noisy labels too.
        numbers = {row.number for n in fold.dev for row in corpus.sentences[n].rows}
        kept = [line for i, line in enumerate(text, start=1) if i not in numbers]
        path.write_text("".join(f"{line}\n" for line in kept), encoding="utf-8")
        settings = {
            **config,
            "dataset_reader": {**config["dataset_reader"], "unknown_tag": "?"},
            "train_data_path": str(path),
            "validation_data_path": str(dev),
            "test_data_path": "data/crossweigh/conllpp_test.txt",
        }
        jobs += seeded_jobs({"corpus": corpus.path.stem, "labels": way}, settings, [1])
    return jobs


if __name__ == "__main__":
    main()
