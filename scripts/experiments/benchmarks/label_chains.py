#!/usr/bin/env python
"""Times the head `label_chains` against `crf`, each above the BiLSTM of the template.

There are 4 labels, then 30. A training step has 16 sentences of 15 tokens, a prediction 128 of them. The
heads take turns, and the ratio is that of the medians.

Usage: python -m scripts.experiments.benchmarks.label_chains [--repeats 30]
"""

import argparse
import statistics
import time
from typing import Any, Callable, Dict, List, Tuple

import torch
from allennlp.common import Params
from allennlp.data import Vocabulary

from tagger.modules import BiLstmEncoder
from tagger.modules.heads import TaggingHead
from tagger.modules.linear import Linear
from tagger.spans import complete_tags

INPUT_SIZE, HIDDEN_SIZE, NUM_TOKENS = 226, 256, 15
HEADS = ("crf", "label_chains")


class Tagger(torch.nn.Module):
    """An encoder and a head for some number of labels, without an embedder."""

    def __init__(self, name: str, num_labels: int) -> None:
        super().__init__()
        tags = complete_tags([f"B-L{label}" for label in range(num_labels)], "BIOUL")
        vocab = Vocabulary(non_padded_namespaces=["labels"])
        for tag in tags:
            vocab.add_token_to_namespace(tag, "labels")
        self.name, self.num_tags, self.outside = name, len(tags), tags.index("O")
        self.encoder = BiLstmEncoder(INPUT_SIZE, HIDDEN_SIZE)
        self.projection = Linear(2 * HIDDEN_SIZE, len(tags))
        params = Params({"type": name})
        self.head = TaggingHead.from_params(params, vocab=vocab, tag_encoding="BIOUL")

    def inputs(self, num_sentences: int) -> Tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Returns embedded sentences without entities, a mask and gold tags."""
        shape = num_sentences, NUM_TOKENS
        gold = torch.full(shape, self.outside)
        if self.name == "label_chains":
            gold = torch.zeros(*shape, self.num_tags, dtype=torch.long)
        return torch.randn(*shape, INPUT_SIZE), torch.ones(shape, dtype=torch.bool), gold

    def train_step(self) -> None:
        """Computes the loss of a batch and its gradients."""
        embedded, mask, gold = self.inputs(16)
        emissions = self.projection(self.encoder(embedded, mask))
        self.head.sequence_loss(emissions, gold, mask).mean().backward()

    @torch.no_grad()
    def predict(self) -> None:
        """Predicts the tags and entities of a batch."""
        embedded, mask, _ = self.inputs(128)
        self.head.predict(self.projection(self.encoder(embedded, mask)), mask)


def medians(calls: List[Callable[[], None]], repeats: int) -> List[float]:
    """Returns the median time of each call in milliseconds; they take turns."""
    times: Dict[int, List[float]] = {index: [] for index in range(len(calls))}
    for repeat in range(repeats + 2):
        for index, call in enumerate(calls):
            start = time.perf_counter()
            call()
            if repeat >= 2:  # the first ones compile kernels
                times[index].append(time.perf_counter() - start)
    return [1000 * statistics.median(each) for each in times.values()]


def main() -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=30, help="of each measurement")
    options = parser.parse_args()
    for num_labels in (4, 30):
        taggers: List[Any] = [Tagger(name, num_labels) for name in HEADS]
        for what in ("train_step", "predict"):
            crf, chains = medians([getattr(each, what) for each in taggers], options.repeats)
            print(
                f"{num_labels} labels, {what}: crf {crf:.1f} ms, label_chains {chains:.1f} ms, "
                f"ratio {chains / crf:.2f}"
            )


if __name__ == "__main__":
    main()
