#!/usr/bin/env python
"""Measures F1 by the share of labelled tokens for different ways of choosing what to label.

    python scripts/experiments/measure_active_learning.py -s runs/active_learning --ways spans

A run begins with random sentences, which are the same for all ways of a seed. In each round, the tagger
of the previous round ranks everything that is not labelled yet, the gold labels answer its questions,
and a new tagger is trained from scratch. F1 is that of the last epoch on development data, which are
not used to choose an epoch. The ways are listed in WAYS. Finished runs are kept; results.csv has the
metrics of each.
"""

import argparse
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Optional

import numpy as np
from allennlp.common import Params
from allennlp.models import Archive, load_archive

from tagger.common.console import say
from tagger.spans import spans_to_tags
from tagger.tools.labels.corpus import Corpus
from tagger.tools.labels.selection import select
from tagger.tools.labels.uncertainty import UncertainSentence, uncertain_sentences
from tagger.tools.runs.jobs import Job, run_jobs, seeded_jobs
from tagger.tools.runs.results import read_results, write_results
from tagger.tools.runs.work import train
from tagger.training.frozen_features import keep_features

CONFIG = "training_config/conll2003_frozen_minilm_crf.jsonnet"
#: A tagger on frozen features of single sentences, which trains in a minute.
OVERRIDES = {
    "dataset_reader.source_encoding": "BIO",
    # In BIO, a tag says nothing about the next token.
    "dataset_reader.tag_encoding": "BIO",
    "dataset_reader.unknown_tag": "?",
    "model.encoder.hidden_size": 100,
    "model.text_field_embedder.token_embedders.transformer.max_carried_mb": 0,
    "trainer.optimizer.lr": 0.004,
    "data_loader.batch_size": 16,
}
CORPORA = {
    "conll2003": ("data/conll2003/eng.train", "data/conll2003/eng.testa", "IOB1"),
    "bc5cdr": ("data/bc5cdr/train.tsv", "data/bc5cdr/devel.tsv", "BIO"),
}
#: How to rank questions, and whether the tagger fills in tags it is certain of, by name: (unit, score,
#: most similar, least doubt, fills). `sentences` and `spans` do the same as the command.
WAYS: dict[str, Any] = {
    "random sentences": ("sentence", None, 2.0, 0.01, False),
    "sentences": ("sentence", "entropy", 0.8, 0.01, False),
    "spans": ("span", "entropy", 0.8, 0.01, True),
    "spans, least doubt 0.05": ("span", "entropy", 0.8, 0.05, True),
    "spans, least doubt 0.05, rest open": ("span", "entropy", 0.8, 0.05, False),
}
#: The share of tokens labelled by each round. It is a maximum, since questions about spans may run out.
SHARES = [0.02, 0.05, 0.1, 0.2, 0.25]
#: Each tagger trains on about this many sentences in total, with these limits on its epochs.
NUM_SENTENCES, LEAST_EPOCHS, MOST_EPOCHS = 48_000, 5, 25
SEEDS = (1, 2, 3)
UNKNOWN = "?"
LABELLED = "labelled.npy"


def main(arguments: Optional[Sequence[str]] = None) -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-s", dest="folder", type=Path, required=True, help="for all results")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    args = parser.parse_args(arguments)
    args.folder.mkdir(parents=True, exist_ok=True)
    jobs: list[Job] = []
    for of_round in _rounds(args.folder, args.ways):
        jobs += of_round
        failed = run_jobs(of_round, args.folder, 1, run_round)
        results = read_results(jobs, args.folder)
        write_results(results, args.folder / "results.csv")
        if failed:
            raise SystemExit(f"{len(failed)} runs failed; see {failed[0].log(args.folder)}")
    for result in results:
        f1 = result.metrics["test_f1-measure-overall"]
        say(f"{result.factors}: {result.metrics['num_labelled']:.0f} tokens, F1 {f1:.4f}")


def _rounds(folder: Path, ways: Sequence[str]) -> Iterator[list[Job]]:
    """Yields the jobs of each round, which depend on those of the previous round."""
    before: dict[tuple[str, str, int], str] = {}
    for number, share in enumerate([*SHARES, 1.0]):
        own = {0: ["start"], len(SHARES): ["all"]}.get(number, ways)
        of_round = []
        for corpus, way, seed in itertools.product(CORPORA, own, SEEDS):
            factors: dict[str, Any] = {"corpus": corpus, "way": way, "share": share}
            settings = dict(factors)
            if way not in ("start", "all"):
                settings["before"] = before[corpus, way if number > 1 else "start", seed]
            (job,) = seeded_jobs(factors, settings, [seed])
            before[corpus, way, seed] = str(job.folder(folder))
            of_round.append(job)
        yield of_round


def run_round(config: Mapping[str, Any], folder: Path) -> None:
    """Chooses questions, lets the gold labels answer, trains and evaluates; the work of a job."""
    folder.mkdir(parents=True)
    path, dev_path, encoding = CORPORA[config["corpus"]]
    pool = Pool(path, encoding)
    seed, way = config["random_seed"], config["way"]
    budget = round(config["share"] * pool.num_tokens)
    if way not in ("start", "all"):
        pool.load(Path(config["before"], LABELLED))
        budget -= pool.num_labelled
    unit, score, most_similar, least_doubt, fills = WAYS.get(way, WAYS["random sentences"])
    if way == "all":
        pool.label_all()
    elif score is None:
        pool.label_at_random(budget, seed)
    else:
        archive = load_archive(Path(config["before"], "model", "model.tar.gz"))
        how = unit, score, least_doubt
        asked = _ask(archive, pool, folder, how)
        sentences, places = zip(*[(n, q) for n, each in enumerate(asked) for q in each.questions])
        scores = np.concatenate([each.scores for each in asked])
        in_texts = [(pool.words[n], *place) for n, place in zip(sentences, places)]
        for index in select(scores, in_texts, budget, most_similar):
            pool.label(sentences[index], *places[index])
        if fills:
            pool.fill(_ask(archive, pool, folder, how))
    pool.save(folder / LABELLED)
    paths = [folder / "train.txt", folder / "dev.txt"]
    num_sentences = pool.write(paths[0])
    dev = Pool(dev_path, encoding)
    dev.label_all()
    dev.write(paths[1])
    train(_config(pool.labels, paths, num_sentences, seed), folder / "model")
    metrics = json.loads((folder / "model" / "metrics.json").read_text())
    metrics.update(num_labelled=pool.num_labelled, num_sentences=num_sentences)
    (folder / "metrics.json").write_text(json.dumps(metrics, indent=2))


class Pool:
    """The sentences of a corpus; a tag is known if it has been asked for."""

    def __init__(self, path: str, tag_encoding: str) -> None:
        corpus = Corpus(Path(path), {"source_encoding": tag_encoding})
        self.labels = corpus.labels
        self.words = [sentence.tokens for sentence in corpus.sentences]
        self._gold = [
            spans_to_tags(each.spans, len(each.tokens), "BIO") for each in corpus.sentences
        ]
        self._filled = [[UNKNOWN] * len(words) for words in self.words]
        self._is_labelled = [np.zeros(len(words), dtype=bool) for words in self.words]
        self.num_tokens = sum(map(len, self.words))

    @property
    def num_labelled(self) -> int:
        """The number of labelled tokens."""
        return int(sum(each.sum() for each in self._is_labelled))

    def label(self, sentence: int, first: int, last: int) -> None:
        """Labels the tokens of a question."""
        self._is_labelled[sentence][first : last + 1] = True

    def label_all(self) -> None:
        """Labels all tokens."""
        for number, words in enumerate(self.words):
            self.label(number, 0, len(words) - 1)

    def label_at_random(self, budget: int, seed: int) -> None:
        """Labels sentences, drawn in the same order for the same seed."""
        for number in np.random.default_rng(seed).permutation(len(self.words)).tolist():
            if not self._is_labelled[number].any() and len(self.words[number]) <= budget:
                self.label(number, 0, len(self.words[number]) - 1)
                budget -= len(self.words[number])

    def fill(self, sentences: Sequence[UncertainSentence]) -> None:
        """Fills in the tags of unlabelled tokens that the tagger is certain of."""
        for filled, sentence in zip(self._filled, sentences):
            spans = [span for span, _ in sentence.entities]
            filled[:] = spans_to_tags(spans, sentence.num_tokens, "BIO")
            for first, last in sentence.open:
                filled[first : last + 1] = [UNKNOWN] * (last + 1 - first)

    def write(self, path: Path, every: bool = False) -> int:
        """Writes the sentences with a labelled token, or all with `every`; returns their number."""
        lines, number = [], 0
        for words, gold, filled, known in zip(
            self.words, self._gold, self._filled, self._is_labelled
        ):
            if every or known.any():
                number += 1
                tags = np.where(known, gold, filled)
                lines += [f"{word}\t{tag}\n" for word, tag in zip(words, tags)] + ["\n"]
        path.write_text("".join(lines), encoding="utf-8")
        return number

    def save(self, path: Path) -> None:
        """Saves which tokens are labelled."""
        np.save(path, np.concatenate(self._is_labelled))

    def load(self, path: Path) -> None:
        """Restores what `save` saved."""
        ends = np.cumsum([len(words) for words in self.words])
        self._is_labelled = np.split(np.load(path), ends[:-1])


def _ask(
    archive: Archive, pool: Pool, folder: Path, how: tuple[str, str, float]
) -> list[UncertainSentence]:
    """Returns the tagger's view of all sentences, given the known labels."""
    path = folder / "pool.txt"
    pool.write(path, every=True)
    instances = list(archive.validation_dataset_reader.read(str(path)))
    keep_features(archive.model, instances)
    return list(uncertain_sentences(archive.model, instances, *how))


def _config(labels: list[str], paths: list[Path], num_sentences: int, seed: int) -> dict[str, Any]:
    config = Params.from_file(CONFIG, json.dumps(OVERRIDES)).as_dict(quiet=True)
    # Left out, because they take long and add little to a transformer's features.
    indexers = config["dataset_reader"]["token_indexers"]
    embedders = config["model"]["text_field_embedder"]["token_embedders"]
    for part in (indexers, embedders):
        del part["token_characters"]
    del embedders["tokens"]["pretrained_file"], config["validation_data_path"]
    del config["dataset_reader"]["documents"], config["dataset_reader"]["instances"]
    config["vocabulary"]["tokens_to_add"] = {"labels": [f"B-{label}" for label in labels]}
    num_epochs = min(max(NUM_SENTENCES // num_sentences, LEAST_EPOCHS), MOST_EPOCHS)
    config["trainer"]["num_epochs"] = num_epochs
    config.update(dict.fromkeys(("random_seed", "numpy_seed", "pytorch_seed"), seed))
    return {**config, "train_data_path": str(paths[0]), "test_data_path": str(paths[1])}


if __name__ == "__main__":
    main()
