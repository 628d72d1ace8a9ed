#!/usr/bin/env python
"""Compares the speed of `TagMetrics` with seqeval's on synthetic tags, after checking that they agree.

Ours computes metrics of spans and tokens and all confusions; seqeval computes metrics of spans.

Usage: python scripts/benchmark_metrics.py [--num-tokens 1000000]
"""

import argparse
import time
from typing import Callable, List

import numpy as np
import torch
from allennlp.data import Vocabulary
from seqeval.metrics.sequence_labeling import precision_recall_fscore_support

from tagger.metrics import TagMetrics

LABELS = ("LOC", "MISC", "ORG", "PER")
TAGS = ["O"] + [f"{prefix}-{label}" for label in LABELS for prefix in "BI"]
BATCH_SIZE = 64
NUM_TOKENS_PER_SENTENCE = 20
NUM_RUNS = 5


def main() -> None:
    """Checks that both give the same metrics, then prints seconds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--num-tokens", type=int, default=1_000_000)
    num_sentences = parser.parse_args().num_tokens // NUM_TOKENS_PER_SENTENCE
    num_tokens = num_sentences * NUM_TOKENS_PER_SENTENCE
    gold, predicted = synthetic_tags(num_sentences)
    gold_tensor, predicted_tensor = torch.from_numpy(gold), torch.from_numpy(predicted)
    gold_strings, predicted_strings = to_strings(gold), to_strings(predicted)

    def ours(batch_size: int) -> List[float]:
        metric = TagMetrics(vocabulary)
        for start in range(0, num_sentences, batch_size):
            batch = slice(start, start + batch_size)
            metric(predicted_tensor[batch], gold_tensor[batch])
        scores = metric.get_metric()
        assert sum(metric.get_confusions().values()) > num_tokens
        return [scores[f"f1-measure-{label}"] for label in LABELS]

    def seqevals() -> List[float]:
        return precision_recall_fscore_support(gold_strings, predicted_strings)[2].tolist()

    vocabulary = Vocabulary()
    for tag in TAGS:
        vocabulary.add_token_to_namespace(tag, "labels")
    f1 = seqevals()
    np.testing.assert_allclose(ours(BATCH_SIZE), f1, rtol=1e-12)
    np.testing.assert_allclose(ours(num_sentences), f1, rtol=1e-12)
    print(f"{num_tokens:,} tokens, the same F1 of each label: {np.round(f1, 4).tolist()}")

    seqeval_seconds = best_seconds(seqevals)
    print(f"seqeval                      {seqeval_seconds:8.2f} s")
    for batch_size in (BATCH_SIZE, num_sentences):
        seconds = best_seconds(lambda size=batch_size: ours(size))  # type: ignore[misc]
        print(
            f"TagMetrics, batches of {batch_size:6d} {seconds:8.2f} s, "
            f"{seqeval_seconds / seconds:.0f} times as fast"
        )


def synthetic_tags(num_sentences: int) -> "tuple[np.ndarray, np.ndarray]":
    """Gold and predicted tag indices, (B, T) int64: 1 token in 4 in a span, 1 in 10 predicted anew."""
    rng = np.random.default_rng(0)
    shape = (num_sentences, NUM_TOKENS_PER_SENTENCE)
    weights = [0.75] + [0.25 / (len(TAGS) - 1)] * (len(TAGS) - 1)
    gold, other = rng.choice(len(TAGS), size=(2, *shape), p=weights)
    return gold, np.where(rng.random(shape) < 0.1, other, gold)


def to_strings(tags: np.ndarray) -> List[List[str]]:
    """The tags as lists of strings, which is what seqeval takes."""
    return [[TAGS[k] for k in sentence] for sentence in tags.tolist()]


def best_seconds(function: Callable[[], object]) -> float:
    """The shortest of a few runs: the one that other work on the machine disturbed least."""
    seconds = []
    for _ in range(NUM_RUNS):
        start = time.perf_counter()
        function()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


if __name__ == "__main__":
    main()
