import numpy as np
import onnxruntime
import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import TokenIndexer
from allennlp.modules import Seq2SeqEncoder, TokenEmbedder

from tagger.integrations.onnx.export import exported
from tagger.integrations.onnx.graph import Graph
from tagger.integrations.onnx.transformer import _shares
from tagger.models.sequence_tagger_ensemble import SequenceTaggerEnsemble
from tagger.modules.encoders.bilstm import BiLstmEncoder
from tests.integrations.onnx.taggers import (
    BILSTM,
    CHARACTERS,
    FORMS,
    IDS,
    LABELS,
    SHAPES,
    STRANGE_WORDS,
    WORDS,
    assert_same,
    both,
    random_sentences,
    random_tagger,
    tags_of,
    transformer,
)

SENTENCES = random_sentences(60)
CONSTRAINED = {"type": "softmax", "constrain_decoding": True}
HEADS = {
    "crf": {"type": "crf"},
    "crf, unconstrained": {"type": "crf", "constrain_decoding": False},
    "crf without ends": {"type": "crf", "include_start_end_transitions": False},
    "crf, minimum risk": {"type": "crf", "decoding": "minimum_risk"},
    "softmax": {"type": "softmax"},
    "softmax, constrained": CONSTRAINED,
    "softmax, minimum risk": {**CONSTRAINED, "decoding": "minimum_risk"},
}
SETTINGS = {
    "decode_bias": {"PER": 1.5, "A-B": -2.0},
    "entity_thresholds": {"PER": 0.4, "LOC": 0.7},
    "recalibration": {"A-B": [0.4, 0.7, -1.5]},
}


@pytest.mark.parametrize("encoding", ["BIO", "IOB1", "BIOUL", "BMES", "IOBES"])
@pytest.mark.parametrize("head", HEADS)
def test_every_head_and_encoding_gives_the_same(head, encoding):
    model, reader = random_tagger({"tokens": IDS}, head=HEADS[head], encoding=encoding)
    found, _ = assert_same(*both(model, reader), SENTENCES)
    labels = {entity.label for text in found for entity in text.entities}
    assert labels == set(LABELS)


@pytest.mark.parametrize("encoding", ["BIO", "BMES"])
@pytest.mark.parametrize("head", ["crf", "crf, minimum risk", "softmax"])
def test_bias_thresholds_and_recalibration_are_in_the_file(head, encoding):
    plain, reader = random_tagger({"tokens": IDS}, head=HEADS[head], encoding=encoding)
    model, _ = random_tagger({"tokens": IDS}, head={**HEADS[head], **SETTINGS}, encoding=encoding)
    changed, _ = assert_same(*both(model, reader), SENTENCES)
    before = both(plain, reader)[1].tag(SENTENCES)
    assert any(a.entities != b.entities for a, b in zip(before, changed))
    least = SETTINGS["entity_thresholds"]
    entities = [entity for text in changed for entity in text.entities]
    assert all(each.probability >= least.get(each.label, 0) for each in entities)


ENCODERS = [
    {"type": "bilstm", "hidden_size": 5, "num_layers": 2, "variational": True, "dropout": 0.3},
    {"type": "lstm", "hidden_size": 5},
    {"type": "lstm", "hidden_size": 5, "num_layers": 2, "bidirectional": True},
    {"type": "gru", "hidden_size": 5},
    {"type": "gru", "hidden_size": 5, "num_layers": 2, "bidirectional": True},
    {"type": "pass_through"},
]
WEIGHTING = {"type": "emission", "label_weights": {"PER": 3.0}, "weighted_decoding": True}
TAGGERS = {
    **{str(each): {"encoder": each} for each in ENCODERS},
    "extensions": {"extensions": [BILSTM, {"type": "pass_through"}]},
    "plain labels": {"head": {"type": "crf", "decode_bias": {"NOUN": 2.0}}, "encoding": None},
    "softmax": {"head": {"type": "softmax", "decode_bias": {"NOUN": 2.0}}, "encoding": None},
    "no labels": {"encoding": "BIO", "tags": ["B", "O", "I"]},
    "scaled": {"head": {"type": "crf", "weighting": WEIGHTING, "decode_bias": {"LOC": 1.0}}},
    "embedders": {
        "parts": {"words": FORMS, "characters": CHARACTERS, "ids": IDS, "shapes": SHAPES}
    },
}


@pytest.mark.parametrize("name", TAGGERS)
def test_every_part_gives_the_same(name):
    settings = {"parts": {"tokens": IDS}, **TAGGERS[name]}
    found, _ = assert_same(*both(*random_tagger(**settings)), SENTENCES)
    tags = {tag for text in found for tag in text.tags}
    assert tags <= set(settings.get("tags") or tags_of(settings.get("encoding", "BIOUL")))
    assert len(tags) > 2


def test_multi_label_taggers_give_the_same():
    model, reader = random_tagger(
        {"tokens": IDS}, head={"type": "sigmoid"}, encoding=None, tags=["one", "two", "three"]
    )
    model.head.thresholds.thresholds.copy_(torch.tensor([0.2, 0.5, 0.6]))
    found, _ = assert_same(*both(model, reader), SENTENCES)
    assert {len(labels) for text in found for labels in text.labels} == {0, 1, 2, 3}


def test_large_scores_give_the_same():
    model, reader = random_tagger({"tokens": IDS}, encoding="BIOUL")
    with torch.no_grad():
        model.projection.weight *= 20
        model.head.crf.transitions *= 20
    # Emissions in the hundreds have fewer digits after the decimal point.
    assert_same(*both(model, reader), SENTENCES, tolerance=2e-3)


CNN = {"type": "masked_cnn", "embedding_dim": 5, "num_filters": 4, "ngram_filter_sizes": [2]}
CHARACTER_ENCODERS = [
    {**CNN, "type": "cnn", "ngram_filter_sizes": [2, 4]},
    {**CNN, "ngram_filter_sizes": [3], "output_dim": 6},
    {**CNN, "conv_layer_activation": "tanh"},
    {"type": "gru", "input_size": 5, "hidden_size": 4, "bidirectional": True},
    {"type": "lstm", "input_size": 5, "hidden_size": 4},
]


@pytest.mark.parametrize("encoder", CHARACTER_ENCODERS, ids=str)
@pytest.mark.parametrize("kind", ["distinct_character_encoding", "character_encoding"])
def test_every_encoder_of_characters_gives_the_same(encoder, kind):
    characters = {
        "indexer": {"type": "characters", "min_padding_length": 4},
        "embedder": {**CHARACTERS["embedder"], "type": kind, "encoder": encoder},
    }
    model, reader = random_tagger({"tokens": IDS, "characters": characters})
    assert_same(*both(model, reader), SENTENCES)


@pytest.mark.parametrize("lowercase", [False, True])
@pytest.mark.parametrize("num_vectors", [0, 1, 2, 7, 50])
def test_word_vectors_of_a_file_are_found(tmp_path, num_vectors, lowercase):
    words = [word.lower() for word in [*STRANGE_WORDS, *WORDS]][:num_vectors]
    numbers = np.random.default_rng(0).normal(size=(num_vectors, 6))
    lines = [" ".join([word, *map(str, row)]) for word, row in zip(words, numbers)]
    parts = {"words": {**FORMS, "indexer": {"type": "word_forms", "lowercase": lowercase}}}
    model, reader = random_tagger(parts)
    if num_vectors:
        (tmp_path / "vectors.txt").write_text("\n".join(lines))
        model.text_field_embedder.token_embedder_words.table.read(tmp_path / "vectors.txt")
    saved, run = both(model, reader)
    assert_same(saved, run, SENTENCES)
    if num_vectors == 50:
        without, _ = random_tagger(parts)
        assert both(without, reader)[1].tag(SENTENCES) != run.tag(SENTENCES)


def test_vectors_stay_in_half_precision(tmp_path):
    num_vectors = 5000
    lines = [f"w{number} {number} 1 2 3 4 5" for number in range(num_vectors)]
    (tmp_path / "vectors.txt").write_text("\n".join(lines))
    model, reader = random_tagger({"words": FORMS})
    before = exported(model, reader, "xx").ByteSize()
    model.text_field_embedder.token_embedder_words.table.read(tmp_path / "vectors.txt")
    growth = exported(model, reader, "xx").ByteSize() - before
    assert growth < num_vectors * (8 + 6 * 2) * 1.1


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["pretrained_transformer_mismatched", "transformer"])
def test_a_transformer_gives_the_same(kind, tmp_path):
    # Each layer takes the exporter a second.
    parts = transformer(tmp_path, num_layers=2 if kind == "transformer" else 1)
    if kind == "transformer":
        for part in parts["tokens"].values():
            part.pop("sub_token_mode", None)
            part["type"] = kind
        parts["tokens"]["indexer"]["max_pieces"] = 510
        parts["tokens"]["embedder"].update(gradient_checkpointing=True, num_frozen_layers=1)
    model, reader = random_tagger(parts, {"type": "pass_through"})
    saved, run = both(model, reader)
    sentences = random_sentences(20)
    # The tokenizer returns no pieces for these words.
    sentences[0][0] = sentences[1][0] = "\u200b"
    assert_same(saved, run, sentences)
    with pytest.raises(ValueError, match="a text has 602 word pieces, but .* takes at most 512"):
        run.tag(tokens=["a"] * 600)


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [
        {"layers": [0, 2], "max_pieces": 200},
        {"combination": "concatenate", "pooling": "first", "projection_dim": 6},
    ],
)
def test_a_frozen_transformer_gives_the_same(settings, tmp_path):
    parts = transformer(tmp_path, num_layers=max(settings.get("layers", [1])))
    for part in parts["tokens"].values():
        part.pop("sub_token_mode", None)
        part["type"] = "frozen_transformer"
    parts["tokens"]["embedder"].update(
        {"precision": "float32", "max_cache_gb": 0, "overlap": 4, **settings}
    )
    model, reader = random_tagger({**parts, "shapes": SHAPES})
    saved, run = both(model, reader)
    sentences = random_sentences(20)
    sentences[0][0] = "\u200b"
    assert_same(saved, run, sentences)
    most = settings.get("max_pieces", 250) + 2
    with pytest.raises(ValueError, match=f"302 word pieces, but .* takes at most {most}"):
        run.tag(tokens=["a"] * 300)


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("mean", [[0, 0.5, 0.5, 0], [0, 0, 0, 0], [1, 0, 0, 0]]),
        ("first", [[0, 1, 0, 0], [0] * 4, [1, 0, 0, 0]]),
        ("last", [[0, 0, 1, 0], [0] * 4, [1, 0, 0, 0]]),
    ],
)
def test_pieces_have_their_share_of_the_tokens(mode, expected):
    graph = Graph()
    offsets = graph.input("offsets", "int64", ["batch", "tokens", 2])
    shares = _shares(offsets, graph.value(np.arange(4)), mode)
    graph.output("shares", shares, "float32", ["batch", "tokens", 4])
    session = onnxruntime.InferenceSession(graph.model("", "", "").SerializeToString())
    (shares,) = session.run(None, {"offsets": np.array([[[1, 2], [-1, -1], [0, 0]]])})
    assert shares.tolist() == [expected]


def test_texts_are_split_and_located_as_by_the_saved_tagger():
    model, reader = random_tagger({"tokens": IDS}, encoding="BIO")
    saved, run = both(model, reader, "en")
    texts = ["Maria  Lindqvist's (U.S.) office:\n10km away...", "", " \t", "don't", "a" * 300]
    texts.append("🙂🙂 x")
    assert_same(saved, run, [*texts, ["a", "list"], [], *texts])
    assert run.tag(texts[0]) == run.tag([texts[0]])[0]
    assert run.tag(tokens=["a", "b"]) == run.tag([["a", "b"]])[0]
    assert list(run.stream(texts, window=2)) == run.tag(texts)


class Twice(BiLstmEncoder):
    """Computes something else than its base class."""

    def forward(self, inputs, mask):
        return 2 * super().forward(inputs, mask)


def with_encoder(config):
    encoder = Seq2SeqEncoder.from_params(Params({**config, "input_size": 7}))
    return lambda model, _: setattr(model, "encoder", encoder)


def with_indexer(**arguments):
    def change(model, reader):
        indexer = TokenIndexer.from_params(Params({"type": "single_id", **arguments}))
        reader._token_indexers = {"tokens": indexer}

    return change


def with_empty_embedder(model, reader):
    own = TokenEmbedder.from_params(Params({"type": "empty"}))
    model.text_field_embedder._token_embedders["tokens"] = own


def with_a_context(model, reader):
    model.document_contexts.append(torch.nn.Identity())


def in_an_ensemble(model, reader):
    return SequenceTaggerEnsemble(model.vocab, [model, model], "emissions")


STACKED = {"type": "stacked_bidirectional_lstm", "hidden_size": 3, "num_layers": 1}
#: The change to a tagger, the language, and a part of the message.
REFUSALS = [
    (with_encoder(STACKED), "xx", "the encoder `stacked_bidirectional_lstm` cannot be exported"),
    (lambda model, _: setattr(model, "encoder", Twice(7, 6)), "xx", "`Twice` cannot be exported"),
    (with_empty_embedder, "xx", "a `empty`, cannot be exported; use .*, word_vectors"),
    (with_indexer(start_tokens=["<s>"]), "xx", "`start_tokens` cannot be exported"),
    (with_indexer(feature_name="pos_"), "xx", "`feature_name` cannot be exported"),
    (with_a_context, "xx", "`document_contexts` cannot be exported"),
    (in_an_ensemble, "xx", "a `sequence_tagger_ensemble` cannot be exported"),
    *((lambda *_: None, each, f"`language` is '{each}'") for each in ("ru", "zh", "klingon")),
]


@pytest.mark.parametrize(("change", "language", "named"), REFUSALS)
def test_parts_that_cannot_be_exported_are_named(change, language, named):
    model, reader = random_tagger({"tokens": IDS})
    with pytest.raises(ConfigurationError, match=named):
        exported(change(model, reader) or model, reader, language)
