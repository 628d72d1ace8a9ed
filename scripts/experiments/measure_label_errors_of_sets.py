#!/usr/bin/env python
"""Measures how well errors in several labels are found, compared with cleanlab.

    python scripts/experiments/measure_label_errors_of_sets.py -s runs/errors_of_sets --documents 1500
    python scripts/experiments/measure_label_errors_of_sets.py -s runs/errors_of_sets \
        --noise crowd --head sigmoid --sentences 1000

The first command plants errors in the labels of the first documents of data/reuters/train.jsonl: of ten
labels in a hundred, a third are removed, a third become another label, and a third are added to another
document. The second takes the first sentences of a corpus of NoiseBench, in data/noisebench, as tokens
with a label each (`sigmoid`), or as entities that may overlap (`label_chains`); the errors are those of
people. Both methods get the same probabilities, of taggers trained on other parts of the noisy corpus,
and nothing is fitted to the corrections.

An item is a pair: a document and a label; or a token and a label, which has the probability of an error
of the entity or the run of tokens around it.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Optional

import numpy as np
from allennlp.common import Params
from sklearn.metrics import average_precision_score

from tagger.common.console import say
from tagger.tools.labels.corpus import Corpus
from tagger.tools.labels.document_corpus import AnyCorpus, DocumentCorpus
from tagger.tools.labels.errors import ErrorProbabilities, error_probabilities
from tagger.tools.labels.out_of_fold import out_of_fold
from tagger.tools.labels.probabilities import LabelProbabilities

TAGGER = "training_config/wnut17_frozen_minilm_crf.jsonnet"
#: Fits some thousand sentences.
OVERRIDES = {
    "model.encoder.hidden_size": 150,
    "data_loader.batch_size": 16,
    "trainer.num_epochs": 6,
}
NUM_FOLDS = 3
RATE = 0.1


def main(arguments: Optional[Sequence[str]] = None) -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-s", dest="folder", type=Path, required=True, help="for all results")
    parser.add_argument("--documents", type=int, help="how many documents of Reuters-21578")
    parser.add_argument("--noise", help="a corpus of NoiseBench, such as crowd")
    parser.add_argument("--head", choices=("sigmoid", "label_chains"), default="sigmoid")
    parser.add_argument("--sentences", type=int, default=1000, help="how many sentences of it")
    args = parser.parse_args(arguments)
    args.folder.mkdir(parents=True, exist_ok=True)
    if args.documents:
        name = "documents"
        noisy, clean, config = _documents(args.folder, args.documents)
    else:
        name = f"{args.noise}, {args.head}"
        noisy, clean, config = _sentences(args.folder, args.noise, args.head, args.sentences)
    taggers = LabelProbabilities(out_of_fold(noisy, args.folder / name, config, NUM_FOLDS, [1], 1))
    found = error_probabilities(taggers, noisy.rows)
    say(f"{name}: {json.dumps(_measure(noisy, clean, taggers, found))}")


def _documents(folder: Path, number: int) -> tuple[AnyCorpus, AnyCorpus, dict[str, Any]]:
    """Writes documents with planted errors; returns them, the same without errors, and a config."""
    lines = Path("data/reuters/train.jsonl").read_text().splitlines()[:number]
    documents = [json.loads(line) for line in lines]
    random = np.random.default_rng(0)
    places = [(n, label) for n, each in enumerate(documents) for label in each["labels"]]
    labels = [label for _, label in places]
    changed = [set(each["labels"]) for each in documents]
    for index in random.permutation(len(places))[: round(RATE * len(places))].tolist():
        at, label = places[index]
        way, other = int(random.integers(3)), labels[int(random.integers(len(labels)))]
        if way < 2:
            changed[at].discard(label)
        if way > 0:
            target = at if way == 1 else int(random.integers(len(documents)))
            changed[target].add(other)
    paths = folder / "noisy.jsonl", folder / "clean.jsonl"
    for path, own in zip(paths, (changed, [each["labels"] for each in documents])):
        made = ({**each, "labels": sorted(these)} for each, these in zip(documents, own))
        path.write_text("".join(f"{json.dumps(each)}\n" for each in made))
    cnn = Params.from_file("training_config/reuters_cnn.jsonnet").as_dict(quiet=True)
    config: dict[str, Any] = json.loads(json.dumps(cnn))
    config["vocabulary"].pop("tokens_to_add", None)
    # Linear scores of the words, beside a small vector of the document.
    config["dataset_reader"]["token_indexers"]["words"] = {
        "type": "single_id",
        "lowercase_tokens": True,
    }
    config["model"].update(
        text_field_embedder={
            "token_embedders": {"tokens": {"type": "embedding", "embedding_dim": 16}}
        },
        encoder={"type": "bag_of_embeddings", "embedding_dim": 16, "averaged": True},
        term_scores={"indexer": "words"},
    )
    config["dataset_reader"]["token_indexers"]["tokens"] = {"type": "single_id"}
    config["trainer"]["optimizer"] = {
        "type": "fused_adamw",
        "lr": 0.001,
        "parameter_groups": [[["^term_scores"], {"lr": 60, "eps": 1, "weight_decay": 1e-5}]],
    }
    config["trainer"]["num_epochs"] = 10
    reader = config["dataset_reader"]
    noisy, clean = (DocumentCorpus(path, reader) for path in paths)
    return noisy, clean, config


def _sentences(
    folder: Path, noise: str, head: str, number: int
) -> tuple[AnyCorpus, AnyCorpus, dict[str, Any]]:
    """Writes sentences in the form that a head reads; returns them with the clean ones, and a config."""
    settings: dict[str, Any] = {**OVERRIDES, "model.head": {"type": head}}
    if head == "sigmoid":
        settings |= {"dataset_reader.source_encoding": None, "dataset_reader.tag_encoding": None}
        settings["dataset_reader.label_separator"] = "|"
    else:
        settings["dataset_reader.label_chains"] = True
    config = Params.from_file(TAGGER, json.dumps(settings)).as_dict(quiet=True)
    embedders = config["model"]["text_field_embedder"]["token_embedders"]
    # Without word vectors and a copy of the transformer, runs start and end faster.
    embedders["tokens"].pop("pretrained_file")
    embedders["transformer"]["max_carried_mb"] = 0
    corpora = []
    for name in (noise, "clean"):
        path = folder / f"{name}-{head}.txt"
        sentences = Path(f"data/noisebench/{name}.txt").read_text().split("\n\n")[:number]
        text = "\n\n".join(sentences) + "\n"
        if head == "sigmoid":
            text = text.replace(" B-", " ").replace(" I-", " ")
            text = text.replace("\tB-", "\t").replace("\tI-", "\t")
        path.write_text(text)
        corpora.append(Corpus(path, config["dataset_reader"]))
    return corpora[0], corpora[1], config


def _measure(
    noisy: AnyCorpus, clean: AnyCorpus, taggers: LabelProbabilities, found: ErrorProbabilities
) -> dict[str, float]:
    """Returns average precision, and the share of errors among the first pairs, of both methods."""
    from cleanlab.internal.multilabel_scorer import MultilabelScorer
    from cleanlab.multilabel_classification.rank import get_label_quality_scores_per_class

    labels = noisy.labels_of_rows
    clean.set_rows(labels)
    width = len(labels)
    given, right, probabilities, ours = [], [], [], []
    scores = [np.zeros(len(row.tokens)) for row in noisy.rows]
    for item, probability in zip(found.items, found.of_items):
        first, last = item.place
        part = scores[item.sentence][first : last + 1]
        np.maximum(part, probability, out=part)
    outside = [1 - each for each in taggers.of_tags([[] for _ in taggers.marginals])]
    for start in range(0, len(noisy.rows), width):
        rows = range(start, start + width)
        given.append(np.stack([_has(noisy.rows[row]) for row in rows], axis=1))
        right.append(np.stack([_has(clean.rows[row]) for row in rows], axis=1))
        probabilities.append(np.stack([outside[row] for row in rows], axis=1))
        ours.append(np.stack([scores[row] for row in rows], axis=1))
    is_given, is_right, of_labels, own = map(np.concatenate, (given, right, probabilities, ours))
    is_wrong = (is_given != is_right).reshape(-1)
    sets = [np.flatnonzero(row).tolist() for row in is_given]
    theirs = -get_label_quality_scores_per_class(sets, of_labels)
    metrics: dict[str, float] = {"num_pairs": is_wrong.size, "num_wrong": int(is_wrong.sum())}
    plain = np.where(is_given, 1 - of_labels, of_labels)
    for name, each in (("", own), ("_cleanlab", theirs), ("_probability", plain)):
        flat = np.asarray(each).reshape(-1)
        metrics[f"average_precision{name}"] = average_precision_score(is_wrong, flat)
        order = np.argsort(-flat, kind="stable")
        for number in (100, 300):
            metrics[f"first_{number}{name}"] = is_wrong[order[:number]].mean()
    of_rows = is_wrong.reshape(is_given.shape).any(1)
    metrics["num_wrong_rows"] = int(of_rows.sum())
    scorer = MultilabelScorer()
    metrics["rows_cleanlab"] = average_precision_score(
        of_rows, -scorer(is_given.astype(int), of_labels)
    )
    metrics["rows"] = average_precision_score(of_rows, 1 - np.prod(1 - own, axis=1))
    return {name: round(float(value), 4) for name, value in metrics.items()}


def _has(row: Any) -> np.ndarray:
    """Returns which tokens of a row have its label, (T,) bool."""
    has = np.zeros(len(row.tokens), dtype=bool)
    for _, (first, last) in row.spans:
        has[first : last + 1] = True
    return has


if __name__ == "__main__":
    main()
