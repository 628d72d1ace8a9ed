"""Votes of planted sources on random true tags."""

import torch

from tagger.spans import spans_to_tags
from tagger.tools.sources.hidden_chain import Votes

LABELS = ["LOC", "PER"]
TAGS = ["O", "B-LOC", "I-LOC", "B-PER", "I-PER"]


def true_sentences(num=300, seed=0):
    """Tags of sentences of 1 to 12 tokens, as lists of indices."""
    generator = torch.Generator().manual_seed(seed)
    return [_sentence(generator) for _ in range(num)]


def _sentence(generator, num_tokens=None):
    num_tokens = num_tokens or int(torch.randint(1, 13, (), generator=generator))
    spans, position = [], 0
    while position < num_tokens:
        length = int(torch.randint(1, 4, (), generator=generator))
        if torch.rand((), generator=generator) < 0.35 and position + length <= num_tokens:
            label = LABELS[int(torch.rand((), generator=generator) < 0.6)]
            spans.append((label, (position, position + length - 1)))
        position += length
    return [TAGS.index(tag) for tag in spans_to_tags(spans, num_tokens, "BIO")]


def noisy(sentences, missed=0.0, confused=0.0, invented=0.0, seed=0):
    """What a source gives that misses, confuses and invents entities; legal tags."""
    generator = torch.Generator().manual_seed(seed)
    found = []
    for tags in sentences:
        own, kind = [], "kept"
        for tag in tags:
            draw = float(torch.rand((), generator=generator))
            if tag in (1, 3):
                kind = (
                    "missed"
                    if draw < missed
                    else "confused"
                    if draw < missed + confused
                    else "kept"
                )
            if tag == 0:
                own.append((1 if draw < invented / 2 else 3) if draw < invented else 0)
            else:
                other = (tag + 1) % 4 + 1
                own.append({"missed": 0, "confused": other, "kept": tag}[kind])
        found.append(own)
    return found


def random_tags(sentences, seed=0):
    """Entities that have nothing to do with the true ones."""
    generator = torch.Generator().manual_seed(1000 + seed)
    return [_sentence(generator, len(tags)) for tags in sentences]


def votes_of(*sources, gold=None):
    """Votes of sources, each of which gives tags for every sentence, or None for one it has not read."""
    lengths = [
        next(len(each[row]) for each in (*sources, gold or sources[0]) if each[row] is not None)
        for row in range(len(sources[0]))
    ]
    columns = []
    for source, sentences in enumerate(sources):
        first = 0
        for length, tags in zip(lengths, sentences):
            before = 0
            for position, tag in enumerate(tags or []):
                columns.append((first + position, source, tag, before))
                before = (tag + 1) // 2
            first += length
    known = [tag for tags, length in zip(gold or [], lengths) for tag in (tags or [-1] * length)]
    known = known or [-1] * sum(lengths)
    return Votes(torch.tensor(lengths), *torch.tensor(columns).T, torch.tensor(known))


def flat(sentences):
    """The tags of all sentences, (N,)."""
    return torch.tensor([tag for tags in sentences for tag in tags])
