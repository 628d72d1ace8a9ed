"""The embedder with a transformer that is neither trained nor saved."""

import copy
import logging

import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Batch, Instance, Token, Vocabulary
from allennlp.data.fields import TextField

from tagger.data.documents import DocumentTokens
from tagger.modules.token_embedders.frozen_transformer import FrozenTransformerEmbedder
from tagger.transformers import word_features
from tagger.transformers.frozen_transformer_indexer import FrozenTransformerIndexer
from tests.transformers.small import KINDS, save_word_pieces

WORDS = [["The", "London", "bank"], ["said"], ["a", "b"], ["the", "xylophone", ",", "12345"]]
DOCUMENT = [[Token(word) for word in sentence] for sentence in WORDS]


@pytest.fixture(autouse=True)
def _in_float32(monkeypatch):
    monkeypatch.setattr(word_features, "precision_of_frozen", lambda *_: "float32")


@pytest.fixture(params=list(KINDS))
def folder(request, tmp_path):
    return KINDS[request.param](tmp_path / "tiny")


@pytest.fixture
def embedder(folder, tmp_path):
    return random_embedder(folder, tmp_path)


def random_embedder(folder, tmp_path, **arguments):
    """An embedder with unequal mixing weights."""
    embedder = FrozenTransformerEmbedder(
        folder, max_pieces=60, overlap=10, cache_folder=str(tmp_path / "cache"), **arguments
    )
    if "combination" not in arguments:
        with torch.no_grad():
            embedder.layer_scores.copy_(torch.randn(len(embedder.layer_scores)))
            embedder.scale.fill_(1.7)
    return embedder


def batch_of(folder, texts, max_pieces=60):
    """The tensors of a batch and its passages."""
    indexer = FrozenTransformerIndexer(folder, max_pieces=max_pieces)
    batch = Batch([Instance({"tokens": TextField(text, {"t": indexer})}) for text in texts])
    batch.index_instances(Vocabulary())
    passages = [
        passage
        for text in texts
        for passage in indexer.passages(indexer.tokens_to_indices(text, Vocabulary()))
    ]
    return batch.as_tensor_dict()["tokens"]["t"], passages


def sentences():
    return [DocumentTokens(DOCUMENT, at, at + 1) for at in range(len(DOCUMENT))]


@torch.no_grad()
def predicted(embedder, folder, texts, **options):
    if embedder.training:
        # Forgets the features computed before.
        embedder.eval()
    return embedder(**batch_of(folder, texts, **options)[0])


def written(tmp_path):
    return [path for path in tmp_path.glob("cache/**/*") if path.is_file()]


def test_sentences_have_the_features_of_their_document(embedder, folder):
    embedder.eval()
    with torch.no_grad():
        whole, passages = batch_of(folder, [DocumentTokens(DOCUMENT, 0, 4)])
        (document,) = embedder(**whole)
        parts = embedder(**batch_of(folder, sentences())[0])
    weights = 1.7 * embedder.layer_scores.detach().softmax(0)
    ((_, states),) = embedder.word_features.compute(passages, torch.device("cpu"))
    torch.testing.assert_close(document, torch.einsum("whd,h->wd", states, weights))
    start = 0
    for words, part in zip(WORDS, parts):
        own = document[start : start + len(words)]
        torch.testing.assert_close(part[: len(words)], own, atol=1e-5, rtol=1e-5)
        start += len(words)


def test_sentences_may_extend_over_two_passages(embedder, folder):
    embedder.eval()
    # The passages end after the second and fourth sentences.
    _, passages = batch_of(folder, DOCUMENT)
    limit = max(len(a.pieces) + len(b.pieces) for a, b in (passages[:2], passages[2:]))
    texts = [DocumentTokens(DOCUMENT, 0, 4), DocumentTokens(DOCUMENT, 1, 4)]
    tensors, _ = batch_of(folder, texts, max_pieces=limit)
    assert (tensors["passage_lengths"][1, 0] > 0).sum() > 1
    with torch.no_grad():
        whole, part = embedder(**tensors)
    start = len(WORDS[0])
    torch.testing.assert_close(part[:-start], whole[start:], atol=1e-5, rtol=1e-5)


def test_single_sentences_have_other_features(embedder, folder):
    together = predicted(embedder, folder, sentences())
    alone = predicted(embedder, folder, DOCUMENT)
    assert (together[0, :3] - alone[0, :3]).abs().max() > 1e-3


def test_short_passages_equal_those_of_the_indexer(embedder, folder):
    (whole,) = predicted(embedder, folder, [DocumentTokens(DOCUMENT, 0, 4)], max_pieces=1)
    alone = predicted(embedder, folder, DOCUMENT)
    joined = torch.cat([part[: len(words)] for words, part in zip(WORDS, alone)])
    torch.testing.assert_close(whole, joined, atol=1e-5, rtol=1e-5)


# Features are stored in half precision.
@pytest.mark.parametrize(
    ("options", "close"), [({}, 5e-3), ({"combination": "concatenate", "projection_dim": 5}, 2e-2)]
)
def test_training_reads_the_prepared_features(options, close, folder, tmp_path, monkeypatch):
    embedder = random_embedder(folder, tmp_path, **options)
    tensors, passages = batch_of(folder, sentences())
    mask = tensors["mask"]
    with torch.no_grad():
        before = embedder.eval()(**tensors)[mask]
        torch.testing.assert_close(embedder(**tensors)[mask], before)
    embedder.prepare(passages)
    again = random_embedder(folder, tmp_path, **options)
    again.load_state_dict(embedder.state_dict())
    monkeypatch.setattr(again.word_features, "compute", lambda *_: pytest.fail("computed again"))
    again.prepare(passages)
    for each in (again.train(), again.eval()):
        with torch.set_grad_enabled(each.training):
            torch.testing.assert_close(each(**tensors)[mask], before, atol=close, rtol=close)


def test_unprepared_texts_are_embedded_together_with_prepared_ones(embedder, folder):
    tensors, _ = batch_of(folder, sentences())
    wanted = embedder.eval()(**tensors)[tensors["mask"]]
    other, passages = batch_of(folder, DOCUMENT[:2])
    embedder.prepare(passages)
    with torch.no_grad():
        for _ in range(2):
            got = embedder(**tensors)[tensors["mask"]]
            torch.testing.assert_close(got, wanted, atol=5e-3, rtol=5e-3)
            embedder(**other)


def test_prediction_writes_nothing(embedder, folder, tmp_path):
    predicted(embedder, folder, sentences())
    assert not written(tmp_path)
    embedder.prepare(batch_of(folder, sentences())[1])
    assert written(tmp_path)


def test_with_a_cache_size_of_0_nothing_is_stored(folder, tmp_path):
    embedder = random_embedder(folder, tmp_path, max_cache_gb=0)
    tensors, passages = batch_of(folder, sentences())
    embedder.prepare(passages)
    assert not written(tmp_path)
    assert embedder.train()(**tensors).isfinite().all()


def test_training_without_the_callback_warns_once(embedder, folder, caplog):
    tensors, _ = batch_of(folder, sentences())
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            embedder.train()(**tensors)
    assert caplog.text.count("add 'frozen_features'") == 1


def test_the_mixing_weights_are_trained_and_the_transformer_is_not(folder, tmp_path):
    embedder = random_embedder(folder, tmp_path, projection_dim=5)
    assert embedder.get_output_dim() == 5
    names = {"layer_scores", "scale", "projection.weight", "projection.bias"}
    assert {name for name, _ in embedder.named_parameters()} == names
    assert set(embedder.state_dict()) == {*names, "digest"}
    embedder(**batch_of(folder, sentences())[0]).square().sum().backward()
    assert all(each.grad.abs().sum() > 0 for each in embedder.parameters())


def test_concatenated_layers_are_normalised_separately(folder, tmp_path):
    embedder = random_embedder(folder, tmp_path, combination="concatenate", layers=[2, 0])
    tensors, passages = batch_of(folder, [DocumentTokens(DOCUMENT, 0, 4)])
    with torch.no_grad():
        (document,) = embedder.eval()(**tensors)
    ((_, states),) = embedder.word_features.compute(passages, torch.device("cpu"))
    # (W, H, D).
    variances, means = torch.var_mean(states, -1, unbiased=False, keepdim=True)
    expected = (states - means) / (variances + 1e-5).sqrt()
    torch.testing.assert_close(document, expected.flatten(1), atol=1e-5, rtol=1e-5)
    assert embedder.get_output_dim() == document.size(1) == 2 * states.size(2)
    assert not list(embedder.parameters())


def test_unknown_combinations_are_refused(folder):
    with pytest.raises(ConfigurationError, match="`combination` must be one of mix, concatenate"):
        FrozenTransformerEmbedder(folder, combination="sum")


def test_changed_mixing_weights_take_effect_on_cached_features(embedder, folder):
    tensors, _ = batch_of(folder, sentences())
    embedder.eval()
    with torch.no_grad():
        before = embedder(**tensors)
        embedder.scale.mul_(2)
        torch.testing.assert_close(embedder(**tensors), 2 * before)


def test_passages_of_earlier_batches_are_not_recomputed(embedder, folder, monkeypatch):
    computed = []
    compute = embedder.word_features.compute

    def count(passages, *rest):
        computed.append(len(passages))
        return compute(passages, *rest)

    monkeypatch.setattr(embedder.word_features, "compute", count)
    for sentence in sentences():
        predicted(embedder, folder, [sentence])
    assert computed == [1, 0, 0, 0]


def test_copies_share_the_transformer(embedder):
    assert copy.deepcopy(embedder).word_features is embedder.word_features


def test_another_transformer_is_refused(folder, tmp_path):
    embedder = random_embedder(folder, tmp_path)
    other = random_embedder(save_word_pieces(tmp_path / "other", seed=7), tmp_path)
    with pytest.raises(
        ConfigurationError, match=r"/other, but the model was trained over .*TAGGER"
    ):
        other.load_state_dict(embedder.state_dict())
