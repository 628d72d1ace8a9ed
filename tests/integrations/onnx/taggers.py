"""Random taggers of every exportable kind, loaded in both runtimes."""

import copy
import random

import onnxruntime
import torch
from allennlp.common import Params
from allennlp.data import DatasetReader, Vocabulary
from allennlp.models import Model

import tagger_onnx
from tagger import SavedTagger
from tagger.integrations.onnx.export import exported
from tests.configs import save_small_transformer
from tests.conftest import ROOT

_LINES = (ROOT / "data/toy/train.txt").read_text().splitlines()
WORDS = sorted({line.split()[0] for line in _LINES if line})
# Some of these words are in no vocabulary.
STRANGE_WORDS = ["Zürich-", "x", "1999", "A1", "İstanbul", "日本", "🙂", "ΑΣ", "well-known", "٣"]
LABELS = {"PER": 3, "LOC": 2, "A-B": 2}

IDS = {"indexer": {"type": "single_id"}, "embedder": {"type": "embedding", "embedding_dim": 7}}
CHARACTERS = {
    "indexer": {"type": "cached_characters", "min_padding_length": 3},
    "embedder": {
        "type": "distinct_character_encoding",
        "embedding": {"embedding_dim": 5, "vocab_namespace": "token_characters"},
        "encoder": {
            "type": "masked_cnn",
            "embedding_dim": 5,
            "num_filters": 4,
            "ngram_filter_sizes": [1, 3],
        },
    },
}
FORMS = {
    "indexer": {"type": "word_forms"},
    "embedder": {"type": "word_vectors", "embedding_dim": 6},
}
SHAPES = {
    "indexer": {"type": "word_shapes"},
    "embedder": {"type": "embedding", "embedding_dim": 4, "vocab_namespace": "word_shapes"},
}
BILSTM = {"type": "bilstm", "hidden_size": 6}


def tags_of(encoding):
    """The tags of an encoding, in an order that no code should rely on."""
    if encoding is None:
        return ["NOUN", "O", "VERB"]
    prefixes = {"BIO": "BI", "IOB1": "IB", "BIOUL": "LUBI", "BMES": "SEMB", "IOBES": "SEIB"}[
        encoding
    ]
    tags = [f"{prefix}-{label}" for prefix in prefixes for label in LABELS]
    return [*tags[:2], "O", *tags[2:]]


def random_tagger(
    parts, encoder=BILSTM, head=None, encoding="BIOUL", tags=None, seed=0, extensions=()
):
    """A random tagger, with scores large enough for some confident predictions.

    `parts` holds the configs of indexers and their embedders by name. The other arguments are configs
    and the tags, which default to those of the encoding.
    """
    torch.manual_seed(seed)
    indexers = {name: dict(part["indexer"]) for name, part in parts.items()}
    config = {"type": "column", "source_encoding": None, "token_indexers": indexers}
    reader = DatasetReader.from_params(Params(config))
    instances = [reader.text_to_instance(WORDS)]
    for instance in instances:
        reader.apply_token_indexers(instance)
    vocab = Vocabulary.from_instances(instances)
    for tag in tags or tags_of(encoding):
        vocab.add_token_to_namespace(tag, "labels")
    config = {
        "type": "sequence_tagger",
        "text_field_embedder": {
            "token_embedders": {name: part["embedder"] for name, part in parts.items()}
        },
        "encoder": encoder,
        "extensions": list(extensions),
        "head": head or {"type": "crf"},
        "tag_encoding": encoding,
    }
    model = Model.from_params(Params(copy.deepcopy(config)), vocab=vocab).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.startswith(("text_field_embedder", "encoder")):
                parameter.copy_(torch.randn_like(parameter))
            elif name.startswith("projection") or "transitions" in name:
                parameter.copy_(2 * torch.randn_like(parameter))
    return model, reader


def both(model, reader, language="xx"):
    """Returns the tagger as loaded by `tagger.load` and by `tagger_onnx.load`."""
    content = exported(model, reader, language).SerializeToString()
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    return (
        SavedTagger(model, reader, "saved", language),
        tagger_onnx.OnnxTagger(session, "exported"),
    )


def random_sentences(number, seed=0, longest=12):
    """Sentences with known and unknown words."""
    draw = random.Random(seed)
    words = [*WORDS, *STRANGE_WORDS]
    return [draw.choices(words, k=draw.randint(1, longest)) for _ in range(number)]


def random_word(draw):
    """A word of up to 12 characters of several scripts."""
    characters = [chr(draw.randrange(33, 1200)) for _ in range(draw.randint(1, 12))]
    return "".join(each for each in characters if not each.isspace()) or "?"


def assert_same(saved, run, sentences, tolerance=1e-5):
    """Asserts that both taggers agree up to rounding.

    Returns:
        The results of the saved tagger, and the largest difference between two probabilities.
    """
    differences = [0.0]
    # For two of the labels, if the tags encode entities.
    leaks = ["_" if label == "" else label for label in saved.labels][:2] * saved.finds_entities
    wanted = saved.tag(sentences, probabilities=True, leak_labels=leaks)
    got = run.tag(sentences, probabilities=True, leak_labels=leaks)
    assert run.labels == saved.labels
    for want, have in zip(wanted, got, strict=True):
        assert have[:4] == want[:4]
        assert [each[:-1] for each in have.entities] == [each[:-1] for each in want.entities]
        for theirs, ours in zip(want.entities, have.entities):
            assert (theirs.probability is None) == (ours.probability is None)
            if theirs.probability is not None:
                differences.append(abs(theirs.probability - ours.probability))
        for theirs, ours in zip(want.probabilities, have.probabilities, strict=True):
            assert theirs.keys() == ours.keys()
            differences += [abs(theirs[tag] - ours[tag]) for tag in theirs]
        if leaks:
            # These are sums and products over all tokens.
            num_tokens = max(len(want.tokens), 1)
            for name in ("leak_probability", "expected_missed"):
                differences.append(abs(getattr(want, name) - getattr(have, name)) / num_tokens)
    assert all(difference < tolerance for difference in differences)
    return wanted, max(differences)


def transformer(folder, mode="avg", num_layers=2):
    """Writes a small random transformer and returns the `parts` of a tagger that uses it."""
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnopqrstuvwxyz"]
    words += [f"##{letter}" for letter in "abcdefghijklmnopqrstuvwxyz0123456789"]
    save_small_transformer(folder, words, size=8, num_layers=num_layers)
    kind = {"type": "pretrained_transformer_mismatched", "model_name": str(folder)}
    return {"tokens": {"indexer": kind, "embedder": {**kind, "sub_token_mode": mode}}}
