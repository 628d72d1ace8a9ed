#!/usr/bin/env python
"""Holds an exported tagger against the archive that it comes from, and times both.

    python scripts/try_export.py runs/mine/model.tar.gz data/mine/dev.txt [--batches 1000]
        [--sentences 2000] [--turns 5] [--threads 1]

It exports the archive and draws batches of random size, with sentences of random lengths, made of the
file's words and of unknown ones. Tags and entities must be equal; it reports the largest difference of
the probabilities of tags and of entities, and ends with status 1 if tags differ or a probability does
by more than `--tolerance`. Then both tag the file's sentences in turns, from lists of tokens to
entities, and it reports sentences per second and the median over turns of their ratio. Times mean
something only on a machine that does nothing else.
"""

import argparse
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, cast

import torch
from allennlp.data.fields import TextField
from allennlp.models import load_archive
from tqdm import tqdm

import tagger
import tagger_onnx
from tagger.commands.export import export

Sentence = List[str]


def main(arguments: Optional[Sequence[str]] = None) -> None:
    """Exports, compares, times."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("archive", type=Path)
    parser.add_argument("file", help="a file of sentences that the archive's dataset reader reads")
    parser.add_argument("--batches", type=int, default=1000)
    parser.add_argument("--tolerance", type=float, default=1e-4)
    parser.add_argument("--sentences", type=int, default=2000, help="how many to time")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1, help="for either tagger")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads)
    archive = load_archive(options.archive)
    sentences = [
        [token.ensure_text() for token in cast(TextField, instance["tokens"]).tokens]
        for instance in archive.validation_dataset_reader.read(options.file)
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "tagger.onnx")
        started = time.perf_counter()
        export(archive, path)
        print(f"export: {time.perf_counter() - started:.1f} s; {_sizes(options.archive, path)}")
        saved = tagger.load(options.archive)
        run = tagger_onnx.load(path, num_threads=options.threads)
        is_same = compare(saved, run, sentences, options)
        if options.turns:
            print(_speeds(saved, run, sentences[: options.sentences], options.turns))
    sys.exit(0 if is_same else 1)


def compare(
    saved: Any, run: Any, sentences: Sequence[Sentence], options: argparse.Namespace
) -> bool:
    """Tags random batches with both taggers; returns whether they agree."""
    draw = random.Random(options.seed)
    words = [word for sentence in sentences for word in sentence]
    num_sentences = num_tokens = num_entities = 0
    different: List[Tuple[Sentence, List[str], List[str]]] = []
    of_tags = of_entities = 0.0
    for _ in tqdm(range(options.batches), desc="batches"):
        batch = random_batch(draw, words)
        wanted, found = (each.tag(batch, probabilities=True) for each in (saved, run))
        for want, have in zip(wanted, found):
            num_sentences, num_tokens = num_sentences + 1, num_tokens + len(want.tokens)
            num_entities += len(want.entities)
            if have[:4] != want[:4] or _places(have) != _places(want):
                different.append((want.tokens, want.tags, have.tags))
                continue
            of_tags = max(of_tags, _largest_difference(want.probabilities, have.probabilities))
            for a, b in zip(want.entities, have.entities):
                of_entities = max(of_entities, abs((a.probability or 0) - (b.probability or 0)))
    print(
        f"{options.batches} batches, {num_sentences} sentences, {num_tokens} tokens, {num_entities} "
        f"entities: {len(different)} sentences differ; largest difference of a probability: "
        f"{of_tags:.1e} of a tag, {of_entities:.1e} of an entity"
    )
    for tokens, want_tags, have_tags in different[:5]:
        print(f"  {' '.join(tokens)}\n    saved    {want_tags}\n    exported {have_tags}")
    return not different and max(of_tags, of_entities) <= options.tolerance


def random_batch(draw: random.Random, words: Sequence[str]) -> List[Sentence]:
    """1 to 16 sentences of 1 to 80 words, short ones more often; some words are unknown."""
    batch = []
    for _ in range(draw.choice((1, 1, 1, 2, 3, 5, 8, 16))):
        length = round(80 ** draw.random())
        start = draw.randrange(len(words))
        sentence = [words[(start + place) % len(words)] for place in range(length)]
        for place in range(length):
            if draw.random() < 0.05:
                characters = [chr(draw.randrange(33, 1200)) for _ in range(draw.randint(1, 12))]
                sentence[place] = "".join(each for each in characters if not each.isspace()) or "?"
        batch.append(sentence)
    return batch


def _places(text: Any) -> List[Tuple[Any, ...]]:
    return [entity[:-1] for entity in text.entities]


def _largest_difference(
    wanted: Sequence[Dict[str, float]], found: Sequence[Dict[str, float]]
) -> float:
    return max(abs(want[name] - have[name]) for want, have in zip(wanted, found) for name in want)


def _speeds(saved: Any, run: Any, sentences: Sequence[Sentence], turns: int) -> str:
    taggers: Dict[str, Callable[[Any], Any]] = {"saved": saved.tag, "exported": run.tag}
    seconds: Dict[str, List[float]] = {name: [] for name in taggers}
    # The first turn warms up.
    for turn in tqdm(range(turns + 1), desc="turns"):
        for name in sorted(taggers, reverse=bool(turn % 2)):
            started = time.perf_counter()
            taggers[name](sentences)
            if turn:
                seconds[name].append(time.perf_counter() - started)
    ratios = [a / b for a, b in zip(seconds["saved"], seconds["exported"])]
    speeds = ", ".join(
        f"{name} {len(sentences) / statistics.median(each):.0f}" for name, each in seconds.items()
    )
    return (
        f"sentences/s: {speeds}; exported is {statistics.median(ratios):.2f} times as fast "
        f"({min(ratios):.2f} to {max(ratios):.2f})"
    )


def _sizes(archive: Path, path: Path) -> str:
    return f"archive {archive.stat().st_size / 1e6:.1f} MB, exported {path.stat().st_size / 1e6:.1f} MB"


if __name__ == "__main__":
    main()
