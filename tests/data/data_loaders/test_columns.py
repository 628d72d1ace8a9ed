from string import ascii_lowercase

import numpy as np
import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Batch, Instance, Token, Vocabulary
from allennlp.data.fields import (
    AdjacencyField,
    ArrayField,
    FlagField,
    LabelField,
    ListField,
    MetadataField,
    MultiLabelField,
    SequenceLabelField,
    SpanField,
    TextField,
)
from allennlp.data.token_indexers import (
    PretrainedTransformerIndexer,
    PretrainedTransformerMismatchedIndexer,
    SingleIdTokenIndexer,
    TokenCharactersIndexer,
)
from allennlp.data.tokenizers import PretrainedTransformerTokenizer

from tagger.data import LabelSetsField, TagField, TagSetsField
from tagger.data.data_loaders.columns import FieldColumn, PaddedColumn, TextColumn, collect_columns
from tagger.data.data_loaders.ragged_array import RaggedArray
from tagger.data.token_indexers.cached_characters import CachedCharactersIndexer
from tagger.spans import possible_tags
from tests.configs import save_small_transformer

SENTENCES = ["Ada left", "a b c", "Charlemagne", "the unbelievably long sentence of Ada goes on"]
VOCABULARY = Vocabulary(
    {
        "tokens": {"Ada": 2, "left": 1, "the": 1},
        "token_characters": dict.fromkeys("Adaleftbcn", 1),
        "labels": {"O": 2, "B-PER": 1},
        "topic_labels": {"x": 1, "y": 1, "z": 1},
    }
)


def text_of(sentence, **indexers):
    tokens = [Token(word) for word in sentence.split()]
    return TextField(tokens, indexers or {"tokens": SingleIdTokenIndexer()})


def again(text, **indexers):
    return text_of(" ".join(map(str, text)), **indexers)


def tags_of(text):
    return ["B-PER" if token.text == "Ada" else "O" for token in text]


def partly(text):
    return ["?" if tag == "O" else tag for tag in tags_of(text)]


WITH_AN_END = CachedCharactersIndexer(
    end_tokens=["left"], token_min_padding_length=5, min_padding_length=1
)
FIELDS = {
    "words": lambda text: text,
    "words_with_an_end": lambda text: again(
        text, tokens=SingleIdTokenIndexer(end_tokens=["left"], token_min_padding_length=5)
    ),
    "characters": lambda text: again(
        text,
        tokens=SingleIdTokenIndexer(),
        token_characters=TokenCharactersIndexer(min_padding_length=4),
    ),
    "characters_with_an_end": lambda text: again(text, token_characters=WITH_AN_END),
    "tags": lambda text: TagField(partly(text), text, unknown_tag="?"),
    "tag_sets": lambda text: TagSetsField(possible_tags(partly(text), "BIO", "BIO", "?"), text),
    "sequence_labels": lambda text: SequenceLabelField(tags_of(text), text),
    "label_sets": lambda text: LabelSetsField([[tag] for tag in tags_of(text)], text),
    "label": lambda text: LabelField("xyz"[len(text) % 3], "topic_labels"),
    "labels": lambda text: MultiLabelField("xyz"[: len(text) % 3], "topic_labels"),
    "array": lambda text: ArrayField(np.ones((len(text), 3), np.float32), padding_value=-7),
    "adjacency": lambda text: AdjacencyField([(0, len(text) - 1)], text, padding_value=-3),
    "span": lambda text: SpanField(0, len(text) - 1, text),
    "metadata": lambda text: MetadataField({"words": [str(token) for token in text]}),
    "flag": lambda text: FlagField(True),
    "spans": lambda text: ListField([SpanField(i, i, text) for i in range(len(text))]),
    "sentences": lambda text: ListField([text] * (len(text) % 2 + 1)),
}
KINDS = dict.fromkeys(["metadata", "flag", "spans", "sentences"], FieldColumn)
KINDS |= dict.fromkeys([name for name in FIELDS if name.startswith(("words", "char"))], TextColumn)


def instances_of(make_field):
    instances = [Instance({"field": make_field(text_of(sentence))}) for sentence in SENTENCES]
    for instance in instances:
        instance.index_fields(VOCABULARY)
    return instances


def assert_same(ours, theirs):
    assert type(ours) is type(theirs)
    if isinstance(theirs, torch.Tensor):
        assert ours.dtype == theirs.dtype
        assert torch.equal(ours, theirs)
    elif isinstance(theirs, dict):
        assert list(ours) == list(theirs)
        for key in theirs:
            assert_same(ours[key], theirs[key])
    else:
        assert ours == theirs


def assert_batches_are_those_of_allennlp(instances):
    column = collect_columns(instances)["field"]
    for indices in ([0], [2, 1], [1, 0, 2], [3, 1, 1, 2, 0]):
        batch = Batch([instances[i] for i in indices])
        assert_same(column.batch(np.array(indices)), batch.as_tensor_dict()["field"])
    return column


@pytest.mark.parametrize("name", FIELDS)
def test_batches_equal_those_of_allennlp(name):
    column = assert_batches_are_those_of_allennlp(instances_of(FIELDS[name]))
    assert type(column) is KINDS.get(name, PaddedColumn)


@pytest.fixture(scope="session")
def transformer(tmp_path_factory):
    """The folder of a transformer with a tokenizer that does not pad with 0."""
    folder = tmp_path_factory.mktemp("transformer")
    words = ["[UNK]", "[CLS]", "[SEP]", "[MASK]", "[PAD]", "ada", "left", "the", *"abcdelmn"]
    save_small_transformer(folder, [*words, *(f"##{letter}" for letter in ascii_lowercase)])
    return str(folder)


@pytest.mark.parametrize("max_length", [None, 8])
def test_wordpieces_are_batched_as_by_allennlp(transformer, max_length):
    indexer = PretrainedTransformerMismatchedIndexer(transformer, max_length=max_length)
    instances = instances_of(lambda text: again(text, bert=indexer))
    column = assert_batches_are_those_of_allennlp(instances)
    assert isinstance(column, PaddedColumn)
    # Lengths count wordpieces, of which there are more than words.
    assert (column.lengths() > [len(sentence.split()) for sentence in SENTENCES]).all()
    tokenizer = PretrainedTransformerTokenizer(transformer)
    own = {"bert": PretrainedTransformerIndexer(transformer)}
    instances = instances_of(
        lambda text: TextField(tokenizer.tokenize(" ".join(map(str, text))), own)
    )
    assert isinstance(assert_batches_are_those_of_allennlp(instances), PaddedColumn)


@pytest.mark.parametrize(
    "indexer", [SingleIdTokenIndexer(), CachedCharactersIndexer(min_padding_length=3)]
)
def test_empty_texts_are_batched_as_by_allennlp(indexer):
    texts = iter([TextField([], {"own": indexer}), text_of("Ada left", own=indexer)] * 2)
    instances = instances_of(lambda _: next(texts))
    assert isinstance(assert_batches_are_those_of_allennlp(instances), TextColumn)


def test_indices_of_unknown_indexers_are_left_as_they_are():
    class Reversed(SingleIdTokenIndexer):
        def as_padded_tensor_dict(self, tokens, padding_lengths):
            reverse = {key: indices[::-1] for key, indices in tokens.items()}
            return super().as_padded_tensor_dict(reverse, padding_lengths)

    instances = instances_of(lambda text: TextField(text.tokens, {"tokens": Reversed()}))
    assert type(assert_batches_are_those_of_allennlp(instances)) is PaddedColumn


def test_metadata_are_kept_by_reference_and_arrays_are_compact():
    instances = instances_of(FIELDS["metadata"])
    (batched,) = collect_columns(instances)["field"].batch(np.array([1]))
    assert batched is instances[1]["field"].metadata
    (array,) = collect_columns(instances_of(FIELDS["sequence_labels"]))["field"]._arrays.values()
    # 14 tags of one byte each.
    assert array._values.nbytes == 14


class UnevenlyPadded(ArrayField):
    """Pads with varying numbers."""

    def as_tensor(self, padding_lengths):
        (length,) = padding_lengths.values()
        return torch.arange(length)


def test_padding_that_is_not_constant_is_left_to_the_field():
    instances = instances_of(lambda text: UnevenlyPadded(np.zeros(len(text))))
    assert isinstance(assert_batches_are_those_of_allennlp(instances), FieldColumn)


def test_lengths_are_sentence_lengths_and_none_for_tensors_of_fixed_size():
    expected = {name: [2, 3, 1, 8] for name in ("words", "characters", "tags", "label_sets")}
    expected |= {name: [0] * 4 for name in ("label", "labels", "metadata", "span")}
    for name, lengths in expected.items():
        column = collect_columns(instances_of(FIELDS[name]))["field"]
        assert column.lengths().tolist() == lengths


def test_instances_of_different_fields_are_refused():
    text = text_of("Ada left")
    instances = [Instance({"tokens": text}), Instance({"tokens": text, "flag": FlagField(True)})]
    message = r"first has tokens \(TextField\), number 2 has flag \(FlagField\), tokens \(TextF"
    with pytest.raises(ConfigurationError, match=message):
        collect_columns(instances[i] for i in range(2) if not instances[i].index_fields(VOCABULARY))


def test_64_bit_integers_stay_exact():
    numbers = [np.array([2**62 + 1, -(2**62) - 1]), np.array([3])]
    padded = RaggedArray.of(numbers, padding=0).padded(np.array([0, 1]))
    assert padded.tolist() == [[2**62 + 1, -(2**62) - 1], [3, 0]]
