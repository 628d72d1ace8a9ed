"""Random tag sequences, as strings and as tensors."""

import random
from typing import List, Tuple

import torch
from allennlp.data import Vocabulary

PREFIXES = {"BIO": "BI", "IOB1": "BI", "BIOUL": "BIUL", "BMES": "BMES", "IOBES": "BIES"}
PREFIXES["IO"] = ""


def tag_set(encoding: str, labels=("PER", "LOC", "GPE-X")) -> List[str]:
    if encoding == "IO":
        return ["O", *labels]
    return ["O"] + [f"{prefix}-{label}" for label in labels for prefix in PREFIXES[encoding]]


def vocabulary_of(tags: List[str]) -> Vocabulary:
    vocabulary = Vocabulary()
    for tag in tags:
        vocabulary.add_token_to_namespace(tag, "labels")
    return vocabulary


def random_sentences(
    tags: List[str], num_sentences: int, seed: int
) -> Tuple[List[List[str]], List[List[str]]]:
    """Gold and predicted tags, legal or not, that agree in about two thirds of the tokens."""
    rng = random.Random(seed)
    gold = [
        rng.choices(tags, weights=[len(tags)] + [2] * (len(tags) - 1), k=rng.randrange(12))
        for _ in range(num_sentences)
    ]
    predicted = [
        [tag if rng.random() < 0.6 else rng.choice(tags) for tag in sentence] for sentence in gold
    ]
    return gold, predicted


def to_batch(sentences: List[List[str]], tags: List[str], padding: int = 0) -> torch.Tensor:
    """Returns indices, (B, T) int64. `?` becomes -1."""
    indices = {tag: index for index, tag in enumerate(tags)} | {"?": -1}
    num_tokens = max(map(len, sentences), default=0)
    return torch.tensor(
        [
            [indices[tag] for tag in sentence] + [padding] * (num_tokens - len(sentence))
            for sentence in sentences
        ],
        dtype=torch.long,
    ).reshape(len(sentences), num_tokens)


def to_mask(sentences: List[List[str]]) -> torch.Tensor:
    """Returns the mask, (B, T) bool, right-padded."""
    lengths = torch.tensor([len(sentence) for sentence in sentences], dtype=torch.long)
    return torch.arange(max(map(len, sentences), default=0)) < lengths[:, None]
