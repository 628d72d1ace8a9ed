"""An exported tagger gives the same results as its archive for a thousand random batches.

    pytest tests/system/test_export.py -s

It uses the toy tagger, or a tagger and a file for its dataset reader given by
`TAGGER_ARCHIVE=runs/mine/model.tar.gz TAGGER_FILE=data/mine/dev.txt`. `TAGGER_BATCHES` is the number of
batches. It prints the largest difference between two probabilities and times both taggers in turns. The
times are meaningful only on an idle machine.
"""

import os
import random
import statistics
import time

import pytest
from allennlp.models import load_archive

import tagger
import tagger_onnx
from tagger.integrations.onnx.commands.export import export
from tests.conftest import ROOT
from tests.integrations.onnx.taggers import assert_same, random_word

pytestmark = pytest.mark.system
NUM_BATCHES = int(os.environ.get("TAGGER_BATCHES", "1000"))
NUM_TIMED, NUM_TURNS = 2000, 5


@pytest.fixture(scope="module")
def path(trained):
    return os.environ.get("TAGGER_ARCHIVE", trained / "model.tar.gz")


@pytest.fixture(scope="module")
def sentences(path):
    file = os.environ.get("TAGGER_FILE", ROOT / "data/toy/dev.txt")
    instances = load_archive(path).validation_dataset_reader.read(file)
    return [[token.text for token in instance["tokens"].tokens] for instance in instances]


@pytest.fixture(scope="module")
def both(path, tmp_path_factory):
    exported = tmp_path_factory.mktemp("export") / "tagger.onnx"
    export(load_archive(path), exported)
    return tagger.load(path), tagger_onnx.load(exported, num_threads=1)


def random_batch(draw, words):
    """1 to 16 sentences of 1 to 80 words, short ones more often; some words are unknown."""
    batch = []
    for _ in range(draw.choice((1, 1, 1, 2, 3, 5, 8, 16))):
        start, length = draw.randrange(len(words)), round(80 ** draw.random())
        known = [words[(start + place) % len(words)] for place in range(length)]
        batch.append([random_word(draw) if draw.random() < 0.05 else word for word in known])
    return batch


def test_random_batches_are_tagged_like_by_the_archive(both, sentences):
    draw = random.Random(0)
    words = [word for sentence in sentences for word in sentence]
    num_tokens = num_entities = 0
    largest = 0.0
    for _ in range(NUM_BATCHES):
        batch = random_batch(draw, words)
        found, difference = assert_same(*both, batch, tolerance=1e-4)
        num_tokens += sum(map(len, batch))
        num_entities += sum(len(text.entities) for text in found)
        largest = max(largest, difference)
    print(
        f"\n{NUM_BATCHES} batches, {num_tokens} tokens, {num_entities} entities; largest difference "
        f"of a probability: {largest:.0e}"
    )


def test_the_exported_tagger_is_no_slower(both, sentences):
    seconds = [], []
    timed = list(zip(both, seconds))
    for turn in range(NUM_TURNS + 1):
        for each, own in timed[:: -1 if turn % 2 else 1]:
            started = time.perf_counter()
            each.tag(sentences[:NUM_TIMED])
            own.append(time.perf_counter() - started)
    # The first turn is a warm-up.
    ratios = [saved / exported for saved, exported in zip(*(own[1:] for own in seconds))]
    print(
        f"\nexported is {statistics.median(ratios):.1f} times as fast ({min(ratios):.1f} to "
        f"{max(ratios):.1f})"
    )
    assert statistics.median(ratios) > 1
