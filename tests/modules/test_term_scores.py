import math
from collections import Counter

import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary

from tagger.modules.term_scores import TermScores

WORDS = ["wheat", "corn", "the"]
TEXTS = ["wheat the wheat rye the the", "corn the", "the the corn corn", "rye"]


def vocabulary():
    counter = {"tokens": dict.fromkeys(WORDS, 1), "labels": {"grain": 1, "money": 1}}
    return Vocabulary(counter)


def indexed(texts):
    """The word ids of texts, with 0 in the padding and 1 for unknown words."""
    vocab = vocabulary()
    rows = [torch.tensor([vocab.get_token_index(word) for word in text.split()]) for text in texts]
    return {"words": {"tokens": torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)}}


def tf_idf(text, texts):
    """The features of a text's known words by word, in plain Python."""
    spread = Counter(word for each in texts for word in set(each.split()))
    features = {
        word: (1 + math.log(number)) * math.log((len(texts) + 1) / (spread[word] + 1))
        for word, number in Counter(text.split()).items()
        if word in WORDS
    }
    length = math.sqrt(sum(value**2 for value in features.values()))
    return {word: value / length for word, value in features.items()}


def test_features_are_tf_idf_of_known_words():
    terms = TermScores(vocabulary())
    features = terms.features(indexed(TEXTS)["words"]["tokens"])
    index = terms_index()
    expected = torch.zeros(len(TEXTS), len(terms.weights))
    for row, text in enumerate(TEXTS):
        for word, value in tf_idf(text, TEXTS).items():
            expected[row, index[word]] = value
    torch.testing.assert_close(features, expected)
    # A text without known words has no features, and no NaN.
    assert not features[3].any()


def terms_index():
    return vocabulary().get_token_to_index_vocabulary("tokens")


def test_scores_are_linear_in_the_features_and_start_at_zero():
    terms = TermScores(vocabulary())
    assert not terms(indexed(TEXTS)).any()
    with torch.no_grad():
        terms.weights.copy_(torch.randn(terms.weights.shape))
    terms.eval()
    features = terms.features(indexed(TEXTS)["words"]["tokens"])
    torch.testing.assert_close(terms(indexed(TEXTS)), features @ terms.weights)
    terms(indexed(TEXTS)).sum().backward()
    assert terms.weights.grad.isfinite().all()
    assert terms.weights.grad[terms_index()["wheat"]].all()


def test_texts_are_counted_only_in_training_and_the_counts_are_saved():
    terms, again = TermScores(vocabulary()), TermScores(vocabulary())
    for text in TEXTS:
        terms(indexed([text]))
    terms.eval()
    whole = terms.features(indexed(TEXTS)["words"]["tokens"])
    for row, text in enumerate(TEXTS):
        # Evaluation and padding do not count.
        alone = terms.features(indexed([text])["words"]["tokens"])
        torch.testing.assert_close(alone[0], whole[row])
    assert terms.num_texts == len(TEXTS)
    assert terms.text_counts.tolist() == [0, 0, 1, 2, 3]
    again.load_state_dict(terms.state_dict())
    again.eval()
    assert torch.equal(again.features(indexed(TEXTS)["words"]["tokens"]), whole)


def test_texts_need_the_indexer():
    with pytest.raises(
        ConfigurationError, match=r"indexer `word`, which .* \(it has words\); did you"
    ):
        TermScores(vocabulary(), indexer="word")(indexed(TEXTS))
