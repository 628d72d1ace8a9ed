import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Batch, Instance, Token, Vocabulary
from allennlp.data.fields import TextField
from allennlp.data.token_indexers import PretrainedTransformerMismatchedIndexer
from allennlp.modules.token_embedders import PretrainedTransformerMismatchedEmbedder
from transformers import AlbertConfig, AlbertModel

from tagger.modules.token_embedders.transformer import TransformerEmbedder
from tagger.transformers.transformer_indexer import TransformerIndexer
from tests.transformers.small import save_bert, save_roberta
from tests.transformers.test_transformer_indexer import random_words

SAVES = [save_bert, save_roberta]
TEXTS = [["the", "cat"], random_words(30), ["a"], random_words(7, seed=1)]
SMALL = {"max_pieces": 20, "overlap": 6}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    folder = tmp_path_factory.mktemp("transformers")
    return {save: save(folder / save.__name__) for save in SAVES}


@pytest.fixture
def indexer(folders):
    return TransformerIndexer(folders[save_bert], **SMALL)


def batch_of(texts, indexer):
    fields = [TextField([Token(word) for word in text], {"own": indexer}) for text in texts]
    batch = Batch(Instance({"text": field}) for field in fields)
    batch.index_instances(Vocabulary())
    return batch.as_tensor_dict()["text"]["own"]


@pytest.mark.parametrize("save", SAVES)
@pytest.mark.parametrize("pooling", ["mean", "first", "last"])
def test_a_words_vector_is_pooled_from_its_pieces(save, pooling, folders):
    indexer = TransformerIndexer(folders[save])
    embedder = TransformerEmbedder(folders[save], pooling=pooling).eval()
    words = ["the", "cat", "hat", "q", "mat"]
    encoded = indexer.tokenizer(words, is_split_into_words=True, return_tensors="pt")
    states = embedder.transformer_model(**encoded).last_hidden_state[0]
    places = encoded.word_ids()
    for number, vector in enumerate(embedder(**batch_of([words], indexer))[0]):
        own = states[[place == number for place in places]]
        expected = {"mean": own.mean(0), "first": own[0], "last": own[-1]}[pooling]
        torch.testing.assert_close(vector, expected)


def test_short_texts_are_embedded_like_in_allennlp(folders):
    name = folders[save_bert]
    theirs = PretrainedTransformerMismatchedEmbedder(name).eval()
    texts = [TEXTS[0], TEXTS[2], TEXTS[3]]
    batch = batch_of(texts, PretrainedTransformerMismatchedIndexer(name))
    ours = TransformerEmbedder(name).eval()(**batch_of(texts, TransformerIndexer(name)))
    mask = batch["mask"]
    torch.testing.assert_close(ours[mask], theirs(**batch)[mask])


@pytest.mark.parametrize("save", SAVES)
@torch.inference_mode()
def test_other_texts_of_the_batch_do_not_change_a_single_bit(save, folders):
    indexer = TransformerIndexer(folders[save], **SMALL)
    embedder = TransformerEmbedder(folders[save]).eval()
    texts = [random_words(length % 40 + 1, seed=length) for length in range(80)]
    for start in range(0, len(texts), 16):
        together = embedder(**batch_of(texts[start : start + 16], indexer))
        for row, text in zip(together, texts[start:]):
            assert torch.equal(row[: len(text)], embedder(**batch_of([text], indexer))[0])
            assert (row[len(text) :] == 0).all()


@torch.no_grad()
def test_a_text_of_10000_words_is_embedded_to_its_end(folders):
    indexer = TransformerIndexer(folders[save_bert], max_pieces=60, overlap=20)
    embedder = TransformerEmbedder(folders[save_bert]).eval()
    words = random_words(10_000)
    vectors = embedder(**batch_of([words], indexer))[0]
    assert vectors.shape == (10_000, 8)
    assert (vectors != 0).any(1).all()
    # The end of the text is embedded as if its last window stood alone.
    last = [*range(10_000 - 10, 10_000)]
    pieces = [piece for word in indexer.word_pieces(words) for piece in word][-60:]
    states = embedder.transformer_model(input_ids=torch.tensor([[2, *pieces, 3]]))
    lengths = [len(word) for word in indexer.word_pieces([words[i] for i in last[-3:]])]
    own = states.last_hidden_state[0, 1:-1][-lengths[-1] :].mean(0)
    torch.testing.assert_close(vectors[-1], own)


def without_dropout(embedder):
    for module in embedder.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    return embedder


def gradients(embedder, texts, indexer):
    """Embeds texts in training. Returns the vectors and the gradients of the trained parameters."""
    embedder.zero_grad()
    vectors = embedder(**batch_of(texts, indexer))
    weights = torch.arange(vectors.numel(), dtype=torch.float).view_as(vectors).sin()
    (vectors * weights).sum().backward()
    named = embedder.named_parameters()
    return vectors, {name: each.grad.clone() for name, each in named if each.grad is not None}


@pytest.mark.parametrize("save", SAVES)
def test_upper_layers_are_trained_on_stored_states_of_lower_ones(save, folders):
    indexer = TransformerIndexer(folders[save], **SMALL)
    whole = without_dropout(TransformerEmbedder(folders[save])).train()
    upper = without_dropout(TransformerEmbedder(folders[save], num_frozen_layers=2)).train()
    expected, all_gradients = gradients(whole, TEXTS, indexer)
    own = {name for name in all_gradients if "layer.2." in name}
    assert own == {name for name, each in upper.named_parameters() if each.requires_grad}
    # States are computed the first time and found the second time.
    for _ in range(2):
        vectors, upper_gradients = gradients(upper, TEXTS, indexer)
        assert upper_gradients.keys() == own
        # States are stored in half precision.
        torch.testing.assert_close(vectors, expected, atol=0.02, rtol=0.02)
        for name in own:
            # The gradient of the keys' biases is 0.
            tolerance = 1e-5 + 0.03 * all_gradients[name].abs().max().item()
            torch.testing.assert_close(
                upper_gradients[name], all_gradients[name], atol=tolerance, rtol=0
            )


def test_lower_layers_run_once_per_text(folders, indexer):
    embedder = TransformerEmbedder(folders[save_bert], num_frozen_layers=2).train()
    rows = []
    layers = embedder.transformer_model.encoder.layer
    layers[1].register_forward_hook(lambda module, inputs, output: rows.append(len(output)))
    upper = []
    layers[2].register_forward_hook(lambda module, inputs, output: upper.append(len(output)))
    embedder(**batch_of(TEXTS[:2], indexer))
    embedder(**batch_of(TEXTS[1:], indexer))
    embedder(**batch_of(TEXTS, indexer))
    lengths = batch_of(TEXTS, indexer)["window_lengths"]
    assert sum(rows) == (lengths > 0).sum() < sum(upper)
    # Development data is kept too, but not the inputs of a saved tagger.
    embedder.eval()
    with torch.no_grad():
        embedder(**batch_of(TEXTS, indexer))
    assert sum(rows) == (lengths > 0).sum()


def test_a_saved_tagger_stores_nothing_and_gives_the_same_as_in_training(folders, indexer):
    trained, saved = (
        TransformerEmbedder(folders[save_bert], num_frozen_layers=2) for _ in range(2)
    )
    trained.train()
    trained(**batch_of(TEXTS, indexer))
    for each in (trained, saved):
        each.eval()
    batch = batch_of(TEXTS, indexer)
    torch.testing.assert_close(trained(**batch), saved(**batch), atol=0.02, rtol=0.02)
    assert len(trained._cache) > 0
    assert len(saved._cache) == 0


def test_frozen_layers_have_no_dropout(folders, indexer):
    kept = []
    for _ in range(2):
        embedder = TransformerEmbedder(folders[save_bert], num_frozen_layers=2).train()
        embedder(**batch_of(TEXTS, indexer))
        kept.append(embedder._cache._tensors)
    assert kept[0].keys() == kept[1].keys()
    assert all(torch.equal(kept[0][key], kept[1][key]) for key in kept[0])


def test_a_full_memory_changes_nothing_but_time(folders, indexer, caplog):
    batch = batch_of(TEXTS, indexer)
    results = []
    for size in (1.0, 2e-6):
        embedder = TransformerEmbedder(
            folders[save_bert], num_frozen_layers=2, max_cache_gb=size
        ).train()
        embedder = without_dropout(embedder)
        results += [embedder(**batch), embedder(**batch)]
        assert embedder._cache.num_bytes <= size * 1e9
    assert all(torch.equal(results[0], each) for each in results)
    assert caplog.text.count("of `max_cache_gb`") == 1


@pytest.mark.parametrize("num_frozen_layers", [0, 2])
def test_gradient_checkpointing_changes_no_gradient(num_frozen_layers, folders, indexer):
    results = []
    for checkpointing in (False, True):
        embedder = without_dropout(
            TransformerEmbedder(
                folders[save_bert],
                num_frozen_layers=num_frozen_layers,
                gradient_checkpointing=checkpointing,
            )
        ).train()
        calls = []
        last = embedder.transformer_model.encoder.layer[2].attention
        last.register_forward_hook(lambda *_, own=calls: own.append(1))
        results.append(gradients(embedder, TEXTS, indexer))
        # Checkpointing adds one call in the backward pass.
        assert len(calls) == 1 + checkpointing
    torch.testing.assert_close(results[0], results[1])


def test_training_may_be_in_bfloat16_and_prediction_is_in_float32(folders, indexer):
    full, half = (
        without_dropout(TransformerEmbedder(folders[save_bert], precision=precision))
        for precision in ("float32", "bfloat16")
    )
    batch = batch_of(TEXTS, indexer)
    in_training = [each.train()(**batch) for each in (full, half)]
    assert in_training[1].dtype == torch.float32
    assert not torch.equal(*in_training)
    torch.testing.assert_close(*in_training, atol=0.3, rtol=0.1)
    assert torch.equal(full.eval()(**batch), half.eval()(**batch))


def test_features_of_vectors_are_dropped_only_in_training(folders, indexer):
    embedder = TransformerEmbedder(folders[save_bert], dropout=0.5)
    batch = batch_of([random_words(10)], indexer)
    assert 0.2 < (embedder.train()(**batch) == 0).float().mean() < 0.8
    assert (embedder.eval()(**batch) != 0).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pooling": "max"}, "`pooling` must be one of mean, first, last; got 'max'"),
        ({"precision": "int8"}, "`precision` must be one of float32, bfloat16, auto; got 'int8'"),
        ({"num_frozen_layers": 3}, "must be below the 3 layers of the transformer; got 3"),
        ({"num_frozen_layers": -1}, "got -1"),
    ],
)
def test_invalid_settings_are_refused(options, message, folders):
    with pytest.raises(ConfigurationError, match=message):
        TransformerEmbedder(folders[save_bert], **options)


def test_layers_with_shared_weights_cannot_be_frozen(folders, tmp_path):
    save_bert(tmp_path)
    sizes = {"hidden_size": 8, "intermediate_size": 8, "num_attention_heads": 2}
    AlbertModel(AlbertConfig(embedding_size=8, vocab_size=90, **sizes)).save_pretrained(tmp_path)
    with pytest.raises(ConfigurationError, match="`AlbertModel` has none; set it to 0"):
        TransformerEmbedder(str(tmp_path), num_frozen_layers=1)


@pytest.mark.parametrize(("save", "longest"), [(save_bert, 64), (save_roberta, 62)])
def test_windows_too_long_for_the_transformer_are_refused(save, longest, folders):
    embedder = TransformerEmbedder(folders[save]).eval()
    for max_pieces in (longest - 2, longest - 1):
        indexer = TransformerIndexer(folders[save], max_pieces=max_pieces, overlap=6)
        batch = batch_of([["q"] * 200], indexer)
        if max_pieces == longest - 2:
            assert embedder(**batch).shape == (1, 200, 8)
        else:
            message = f"takes at most {longest}; lower `max_pieces`"
            with pytest.raises(ValueError, match=message):
                embedder(**batch)
