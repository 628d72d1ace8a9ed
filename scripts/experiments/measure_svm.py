#!/usr/bin/env python
"""Evaluates linear support vector machines on documents, as a control for the trained classifiers.

    python scripts/experiments/measure_svm.py [--config CONFIG] [--train FILE [FILE]] [--test FILE]
        [--quantiles LOW HIGH] [--only TF-IDF]

It needs scikit-learn, which the package does not require: `pip install scikit-learn`.

For each label, there is a machine with penalty 1 and balanced class weights, on the TF-IDF of words and
pairs, on the frozen features of a transformer, and on both. The config supplies the dataset reader, the
transformer and its layers. The features of each layer are centred on the mean of the training documents
and scaled to length 1. A label without a training document is never predicted. scikit-learn stops a few
machines before they converge, and warns about it.

In the rows `shifted`, each hyperplane is moved to the place with the highest F1 in a cross-validation on
the training documents, with three folds that have their share of each label (Yang 2001, "A study of
thresholding strategies for text categorization"). Labels with a single training document are not moved.
In the rows `shifted together`, all hyperplanes are moved by the same distance, to the highest micro F1
there; Huang et al. (2021) do this, on development documents.

Labels are rare or frequent by the number of their training documents, as Huang et al. (2021) group them,
or with `--quantiles 0.33 0.67` by quantiles of these numbers.
"""

import argparse
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence, Tuple

import numpy as np
import torch
from allennlp.common import Params
from allennlp.data import Batch, DatasetReader, Instance, Vocabulary
from allennlp.modules import TokenEmbedder

import tagger  # noqa: F401  (AllenNLP then knows our components)
from tagger.data.splitting.stratified_split import stratified_split
from tagger.metrics import MultiLabelMetrics
from tagger.training.thresholds import tune_common_threshold, tune_thresholds

ROOT = Path(__file__).resolve().parents[2]
CONFIG = ROOT / "training_config" / "reuters_frozen_minilm.jsonnet"
GROUPS = ("overall", "macro", "head", "medium", "tail")
BATCH_SIZE = 64
NUM_FOLDS = 3


def main(arguments: Optional[Sequence[str]] = None) -> None:
    """Runs the command line."""
    options = _options(arguments)
    try:
        import sklearn  # noqa: F401
    except ImportError:
        raise SystemExit("scikit-learn is missing; run: pip install scikit-learn") from None
    params = Params.from_file(str(options.config)).as_dict(quiet=True)
    reader = DatasetReader.from_params(Params(params["dataset_reader"]))
    train = [instance for path in options.train for instance in reader.read(str(path))]
    test = list(reader.read(str(options.test)))
    print(f"{len(train):,} training documents, {len(test):,} test documents")
    # The transformer has its own vocabulary of word pieces.
    vocab = Vocabulary.from_instances([*train, *test])
    words = _tf_idf(train, test)
    inputs: dict[str, list[Any]] = {"TF-IDF": [words]}
    if options.only != "TF-IDF":
        embedder = _embedder(params)
        dense = _dense([_features(reader, embedder, each, vocab) for each in (train, test)])
        inputs |= {"frozen features": [dense], "both": [words, dense]}
    labels = vocab.get_token_to_index_vocabulary("labels")
    gold = [_gold(each, labels) for each in (train, test)]
    print(f"{'':33}" + "".join(f"{group:>9}" for group in ("micro", *GROUPS[1:])))
    for name, parts in inputs.items():
        if options.only not in (None, name):
            continue
        train_rows, test_rows = _rows(parts)
        distances = _distances(train_rows, gold[0], test_rows)
        shifts, common = _shifts(train_rows, gold[0])
        for title, least in (("", 0), (", shifted", shifts), (", shifted together", common)):
            metrics = _metrics(distances > least, gold, vocab, options.quantiles)
            row = "".join(f"{100 * metrics[group]:9.1f}" for group in GROUPS)
            print(f"{name + title:33}{row}", flush=True)


def _embedder(params: Dict[str, Any]) -> Any:
    embedders = params["model"]["text_field_embedder"]["token_embedders"]
    names = [name for name, each in embedders.items() if each["type"] == "frozen_transformer"]
    if len(names) != 1:
        raise SystemExit("the config must have one token embedder of the type `frozen_transformer`")
    chosen = {**embedders[names[0]], "combination": "concatenate", "dropout": 0.0}
    return names[0], TokenEmbedder.from_params(Params(chosen)).eval()


def _features(
    reader: DatasetReader, embedder: Any, instances: Sequence[Instance], vocab: Vocabulary
) -> np.ndarray:
    """Returns the normalised layers of each document, (N, H D), computed once and cached on disk."""
    name, module = embedder
    for instance in instances:
        reader.apply_token_indexers(instance)
    indexer = instances[0]["tokens"].token_indexers[name]  # type: ignore[attr-defined]
    passages = []
    for instance in instances:
        tokens = instance["tokens"].tokens  # type: ignore[attr-defined]
        passages += indexer.passages(indexer.tokens_to_indices(tokens, vocab))
    module.prepare(passages)
    rows = []
    for start in range(0, len(instances), BATCH_SIZE):
        batch = Batch(instances[start : start + BATCH_SIZE])
        batch.index_instances(vocab)
        tensors: Any = batch.as_tensor_dict()["tokens"]
        with torch.no_grad():
            embedded = module(**tensors[name])
        # (B, 1, H D): each document is one unit.
        rows.append(embedded[:, 0].numpy())
    return np.concatenate(rows).reshape(len(instances), -1, module.word_features.size)


def _dense(parts: Sequence[np.ndarray]) -> Tuple[np.ndarray, np.ndarray]:
    """Centres and scales each layer of the features of training and test documents."""
    mean = parts[0].mean(0)
    centred = [part - mean for part in parts]
    train, test = (
        (part / np.linalg.norm(part, axis=-1, keepdims=True).clip(1e-9)).reshape(len(part), -1)
        for part in centred
    )
    return train, test


def _tf_idf(train: Sequence[Instance], test: Sequence[Instance]) -> Tuple[Any, Any]:
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts = [[each["metadata"].metadata["text"] for each in part] for part in (train, test)]  # type: ignore[attr-defined]
    vectorizer = TfidfVectorizer(sublinear_tf=True, ngram_range=(1, 2), min_df=2)
    return vectorizer.fit_transform(texts[0]), vectorizer.transform(texts[1])


def _gold(instances: Sequence[Instance], labels: Dict[str, int]) -> np.ndarray:
    gold = np.zeros((len(instances), len(labels)), dtype=np.int64)
    for row, instance in enumerate(instances):
        gold[row, [labels[label] for label in instance["labels"].labels]] = 1  # type: ignore[attr-defined]
    return gold


def _rows(parts: Sequence[Tuple[Any, Any]]) -> Tuple[Any, Any]:
    from scipy.sparse import csr_matrix, hstack

    train, test = (hstack([csr_matrix(part[k]) for part in parts]).tocsr() for k in (0, 1))
    return train, test


def _distances(train: Any, gold: np.ndarray, test: Any) -> np.ndarray:
    """Returns the signed distances of test documents, (N, C), -inf for a label without an example."""
    from sklearn.svm import LinearSVC

    distances = np.full((test.shape[0], gold.shape[1]), -np.inf)
    for k in np.flatnonzero(gold.any(0) & ~gold.all(0)):
        machine = LinearSVC(class_weight="balanced", random_state=0).fit(train, gold[:, k])
        distances[:, k] = machine.decision_function(test)
    distances[:, gold.all(0)] = np.inf
    return distances


def _shifts(train: Any, gold: np.ndarray) -> Tuple[np.ndarray, np.ndarray]:
    """Returns distances, (C,), above which predictions have the highest F1 in training.

    The first ones are for the F1 of each label. The second ones are all equal, for the micro F1.
    """
    label_sets = [[str(k) for k in np.flatnonzero(row)] for row in gold]
    folds = np.array(stratified_split(label_sets, [1.0] * NUM_FOLDS))
    distances = np.empty(gold.shape)
    for fold in range(NUM_FOLDS):
        inside = folds == fold
        distances[inside] = _distances(train[~inside], gold[~inside], train[inside])
    chances = torch.sigmoid(torch.from_numpy(distances))
    labels = torch.from_numpy(gold)
    of_labels = tune_thresholds(chances, labels, "macro", least_positives=2)
    common = tune_common_threshold(chances, labels, "micro")
    return torch.logit(of_labels).numpy(), torch.logit(common).numpy()


def _metrics(
    decisions: np.ndarray,
    gold: List[np.ndarray],
    vocab: Vocabulary,
    quantiles: Optional[Tuple[float, float]] = None,
) -> Dict[str, float]:
    metric = MultiLabelMetrics(
        vocab, label_counts=gold[0].sum(0).tolist(), group_quantiles=quantiles
    )
    metric(torch.from_numpy(decisions), torch.from_numpy(gold[1]))
    metrics = metric.get_metric(reset=True)
    return {group: metrics[f"f1-measure-{group}"] for group in GROUPS}


def _options(arguments: Optional[Sequence[str]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    folder = ROOT / "data" / "reuters"
    parser.add_argument("--config", type=Path, default=CONFIG, metavar="CONFIG")
    parser.add_argument(
        "--train", type=Path, nargs="+", default=[folder / "train.jsonl"], metavar="FILE"
    )
    parser.add_argument("--test", type=Path, default=folder / "test.jsonl", metavar="FILE")
    parser.add_argument("--only", choices=("TF-IDF", "frozen features", "both"), help="one input")
    parser.add_argument("--quantiles", type=float, nargs=2, metavar=("LOW", "HIGH"))
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
