import pytest
import torch

from tagger.integrations.huggingface import WordPieceTagger
from tagger.linear_chain import tag_marginals, viterbi_decode
from tests.integrations.huggingface.backbones import TAGS, load_tokenizer, random_model

TEXT = "ada lovelace,  lived in london."


@pytest.fixture(scope="module")
def tagger(backbone):
    return WordPieceTagger(random_model(backbone), load_tokenizer(backbone))


def test_entities_have_offsets_and_probabilities(tagger):
    tagged = tagger.tag(TEXT, probabilities=True)
    assert tagged.tokens == ["ada", "lovelace", ",", "lived", "in", "london", "."]
    assert len(tagged.tags) == 7
    assert [sum(each.values()) for each in tagged.probabilities] == pytest.approx([1.0] * 7)
    assert tagged.entities
    for entity in tagged.entities:
        assert TEXT[entity.start : entity.end] == entity.text
        assert entity.text.startswith(tagged.tokens[entity.first])
        assert entity.text.endswith(tagged.tokens[entity.last])
        assert tagged.tags[entity.first] == f"B-{entity.label}"
        assert 0 < entity.probability <= 1
        assert entity.probability <= tagged.probabilities[entity.first][f"B-{entity.label}"] + 1e-6


@pytest.mark.parametrize(
    ("splitting", "text", "tokens"),
    [
        ("characters", "𠮷田、ที่", ["𠮷", "田", "、", "ที่"]),
        ("words", "𠮷 he\u0301llo, हिन्दी", ["𠮷", "he\u0301llo", ",", "हिन्दी"]),
    ],
)
def test_texts_in_other_scripts_can_be_split_without_rules(bert, splitting, text, tokens):
    model = WordPieceTagger(random_model(bert), load_tokenizer(bert), splitting)
    tagged = model.tag(text)
    assert tagged.tokens == tokens
    assert all(text[each.start : each.end] == each.text for each in tagged.entities)
    assert len(model.tag("北" * 600).tokens) == 600


def test_a_batch_gives_the_results_of_single_texts(tagger):
    inputs = [TEXT, "", ["london", "ada"], " ".join(["ada in london"] * 20), "\u200b"]
    together = tagger.tag(inputs)
    assert [each.text for each in together] == [TEXT, "", "london ada", inputs[3], "\u200b"]
    for tagged, each in zip(together, inputs):
        alone = tagger.tag(each) if isinstance(each, str) else tagger.tag(tokens=each)
        assert alone.tags == tagged.tags
        assert [e[:6] for e in alone.entities] == [e[:6] for e in tagged.entities]
        for one, other in zip(alone.entities, tagged.entities):
            assert one.probability == pytest.approx(other.probability, rel=1e-4)
    assert len(together[3].tags) == 60
    assert together[1].tags == []


def test_one_chain_spans_the_windows_of_a_long_text(tagger):
    words = ["ada", "in", "london"] * 15
    text = tagger._split(words)
    from tagger.integrations.huggingface import encode_words

    windows = encode_words(tagger._tokenizer, words, tagger._size)
    assert len(windows) > 2
    (emissions,) = tagger._emissions([text], [windows])
    scores = tagger._model.chain_scores(emissions.unsqueeze(0))
    tagged = tagger.tag(tokens=words, probabilities=True)
    assert tagged.tags == [TAGS[k] for k in viterbi_decode(scores)[0][0].tolist()]
    rows = torch.tensor([list(each.values()) for each in tagged.probabilities])
    torch.testing.assert_close(rows, tag_marginals(scores)[0].detach())


def test_a_word_without_pieces_is_tagged_o_and_ignored(bert):
    tagger = WordPieceTagger(random_model(bert), load_tokenizer(bert))
    words = ["ada", "\u200b", "lovelace", "london"]
    tagged = tagger.tag(tokens=words)
    without = tagger.tag(tokens=[words[0], *words[2:]])
    assert tagged.tags == [without.tags[0], "O", *without.tags[1:]]
    for entity, other in zip(tagged.entities, without.entities):
        assert tagged.text[entity.start : entity.end] == entity.text
        assert entity.probability == pytest.approx(other.probability)


def test_a_saved_model_predicts_the_same(backbone, tagger, tmp_path):
    tagger._model.save_pretrained(tmp_path)
    tagger._tokenizer.save_pretrained(tmp_path)
    assert WordPieceTagger.from_pretrained(tmp_path).tag(TEXT) == tagger.tag(TEXT)


def test_other_inputs_than_texts_are_refused(tagger):
    with pytest.raises(TypeError, match=r"`inputs\[0\]` must be a list of non-empty tokens; got"):
        tagger.tag([["ada", ""]])
    with pytest.raises(TypeError, match="must be a text or a list of non-empty tokens; got 3"):
        tagger.tag([3])
