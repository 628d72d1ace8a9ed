"""Changed versions of training sentences keep their tags, offsets and documents right."""

import itertools
import random
from collections import Counter

import numpy as np
import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary

from tagger.data import BucketedDataLoader, ColumnDatasetReader, OversamplingBatchSampler
from tagger.data.augmentation import Augmenter
from tagger.data.dataset_readers.instance_weights import weights_field
from tagger.data.dataset_readers.soft_labelled import SoftLabelledDatasetReader
from tagger.spans import spans_to_tags, tags_to_spans
from tests.conftest import ROOT
from tests.data.dataset_readers.test_soft_labelled import save

#: 16 entities, one of them an EVENT, and `Ann Lee` right before `Bob`.
TEXT = [
    "Ann/B-PER Lee/I-PER Bob/B-PER saw/O Rome/B-LOC in/O May/O ./O",
    *["New/B-LOC York/I-LOC beat/O Bob/B-PER ./O"] * 6,
    "nothing/O here/O",
    "the/O Big/B-EVENT Bang/I-EVENT ended/O",
]
MENTIONS = {"PER": {"Ann Lee", "Bob"}, "LOC": {"Rome", "New York"}, "EVENT": {"Big Bang"}}
ALL = {"mention_replacement": 1, "token_replacement": 0.5, "segment_shuffling": 1}
ENCODINGS = ["BIO", "IOB1", "BIOUL", "BMES", "IOBES"]


@pytest.fixture
def read(tmp_path):
    """Reads sentences of WORD/TAG."""

    def of(sentences=TEXT, between="\n\n", **arguments):
        path = tmp_path / "train.txt"
        words = ("\n".join(sentence.split()).replace("/", " ") for sentence in sentences)
        path.write_text(between.join(words) + "\n")
        return list(ColumnDatasetReader(source_encoding="BIO", **arguments).read(path))

    return of


def draws(instances, number=50, threshold=1, terms=None, **probabilities):
    """Several versions of all instances."""
    augmenter = Augmenter(instances, probabilities, threshold, terms)
    generator = np.random.default_rng(0)
    return [[augmenter.draw(each, generator) for each in instances] for _ in range(number)]


def words_of(instance):
    return [token.text for token in instance["tokens"].tokens]


def entities_of(instance, encoding="BIO"):
    words = words_of(instance)
    for label, (start, end) in tags_to_spans(instance["tags"].labels, encoding):
        yield label, " ".join(words[start : end + 1])


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("methods", [{"mention_replacement": 1}, ALL], ids=["one", "all"])
def test_entities_keep_their_labels_and_tags_are_legal(read, encoding, methods):
    originals = read(tag_encoding=encoding)
    for epoch in draws(originals, **methods):
        for old, new in zip(originals, epoch):
            labels = [label for label, _ in entities_of(old, encoding)]
            assert [label for label, _ in entities_of(new, encoding)] == labels
            tags = new["tags"].labels
            spans = tags_to_spans(tags, encoding)
            assert spans_to_tags(spans, len(tags), encoding) == tags
            assert len(tags) == len(words_of(new))
            assert words_of(new) == new["metadata"]["words"]


def test_mentions_come_from_training_and_their_context_stays(read):
    originals = read()
    found = Counter()
    for epoch in draws(originals, mention_replacement=1):
        for old, new in zip(originals, epoch):
            found.update(entities_of(new))
            rest = [
                [w for w, tag in zip(words_of(each), each["tags"].labels) if tag == "O"]
                for each in (old, new)
            ]
            assert rest[0] == rest[1]
        assert epoch[7] is originals[7]
        # There is no other EVENT.
        assert epoch[8] is originals[8]
    assert {label: {m for of, m in found if of == label} for label in MENTIONS} == MENTIONS
    # Distinct mentions are equally likely: five standard errors of 400 fair coins are 50.
    assert found["PER", "Bob"] == pytest.approx(200, abs=50)


def test_rare_labels_change_more_often(read):
    # Shares of 8, 7 and 1 of 16 entities.
    factors = Augmenter(read(), {}, threshold=0.25)._factors
    assert factors == {"EVENT": 1, "LOC": pytest.approx(4 / 7), "PER": pytest.approx(4 / 8)}
    # Half of the draws have the other place; five standard errors of 350 draws.
    epochs = draws(read(), threshold=0.25, mention_replacement=0.5)
    others = Counter(m for epoch in epochs for new in epoch[1:7] for _, m in entities_of(new))
    assert others["Rome"] / 300 == pytest.approx(0.5 * 4 / 7 / 2, abs=0.1)


def test_a_sentence_of_weight_2_counts_twice_and_one_of_weight_0_not(read):
    sentences = read(["Ann/B-PER", "Bob/B-PER Oslo/B-LOC", "Rome/B-LOC"])
    for each, weight in zip(sentences, (0, 2, 1)):
        each.add_field("weights", weights_field([weight]))
    assert Augmenter(sentences, {}, threshold=0.5)._factors == {"PER": 1, "LOC": 2.5 / 3}
    found = {
        new for epoch in draws(sentences, **ALL) for each in epoch for _, new in entities_of(each)
    }
    assert found == {"Bob", "Oslo", "Rome"}


def test_tokens_are_replaced_by_others_with_their_tag_also_between_entities(read):
    originals = read()
    seen = Counter()
    known = {pair for each in originals for pair in zip(each["tags"].labels, words_of(each))}
    for epoch in draws(originals, token_replacement=0.5):
        for old, new in zip(originals, epoch):
            assert new["tags"].labels == old["tags"].labels
            seen.update(zip(new["tags"].labels, words_of(new)))
        assert epoch[7] is originals[7]
    assert seen.keys() == known
    # One of the seven words with B-LOC.
    assert seen["B-LOC", "Rome"] / 350 == pytest.approx(1 / 7, abs=0.1)


def test_words_are_shuffled_within_their_segments(read):
    (old,) = read(["Ann/B-PER Lee/I-PER Ray/I-PER saw/O all/O of/O it/O Bob/B-PER"])
    orders = {tuple(words_of(new)) for (new,) in draws([old], segment_shuffling=1)}
    # Up to 3! times 4!.
    assert 24 < len(orders) <= 144
    for words in orders:
        assert sorted(words[:3]) == ["Ann", "Lee", "Ray"]
        assert sorted(words[3:]) == ["Bob", "all", "it", "of", "saw"]
        assert words[-1] == "Bob"


def test_uncertain_tags_and_entities_beside_them_stay(read):
    sentences = ["Ann/B-PER Lee/? saw/O Bob/B-PER ./O Rome/?", *TEXT]
    for encoding in ("BIO", "BIOUL"):
        originals = read(sentences, unknown_tag="?", tag_encoding=encoding)
        vocab = Vocabulary.from_instances(originals)
        rows = set()
        for new, *_ in draws(originals, mention_replacement=1, segment_shuffling=1):
            words, sets = words_of(new), new["tags"].tag_sets
            assert [*words[:2], words[-1]] == ["Ann", "Lee", "Rome"]
            assert sets[:2] == originals[0]["tags"].tag_sets[:2]
            assert sets[-1] == originals[0]["tags"].tag_sets[-1]
            new.index_fields(vocab)
            rows.add(tuple(new["tags"].as_tensor({"num_tokens": len(words)}).sum(1).tolist()))
        # `Bob` or `Ann Lee`, with one possible tag each.
        assert sorted(map(len, rows)) == [6, 7]
        assert all(set(row[3:-2]) == {1} for row in rows)


def test_documents_keep_their_borders_and_sentences(read):
    between = "\n\n-DOCSTART- O\n\n"
    for originals in (
        read(TEXT, between, documents="docstart"),
        read(["\n\n".join(TEXT[:3]), *TEXT[3:]], between, documents="docstart"),
    ):
        for epoch in draws(originals, number=5, **ALL):
            for old, new in zip(originals, epoch):
                tokens, lengths = new["tokens"].tokens, new["sentence_lengths"].tensor.tolist()
                assert list(map(len, tokens.document)) == lengths
                assert len(lengths) == len(old["sentence_lengths"].tensor)
                distinct = len({word.lower() for word in words_of(new)})
                assert len(set(new["word_ids"].tensor.tolist())) == distinct


def test_a_sentence_changes_within_its_document(read):
    originals = read(TEXT, "\n\n", documents="docstart", instances="sentences")
    for epoch in draws(originals, number=5, mention_replacement=1):
        tokens, old = epoch[1]["tokens"].tokens, originals[1]["tokens"].tokens
        assert (tokens.first, tokens.last) == (1, 2)
        assert tokens.document[1] == list(tokens)
        assert tokens.document[:1] + tokens.document[2:] == old.document[:1] + old.document[2:]


def test_offsets_are_those_of_the_new_text(tmp_path):
    (tmp_path / "a.txt").write_text(" Ann  Lee saw (Bob). He left.\n\nBob saw Rome!")
    (tmp_path / "a.ann").write_text(
        "T1\tPER 1 9\tAnn  Lee\nT2\tPER 15 18\tBob\nT3\tPER 31 34\tBob\nT4\tLOC 39 43\tRome\n"
    )
    originals = list(ColumnDatasetReader().read(tmp_path))
    texts = set()
    for epoch in draws(originals, mention_replacement=1):
        for new in epoch:
            tokens = new["tokens"].tokens
            (text,) = tokens.texts[tokens.first : tokens.last]
            assert [text[token.idx : token.idx_end] for token in tokens] == words_of(new)
            texts.add(text)
    assert " Bob saw (Ann  Lee). He left.\n\nAnn  Lee saw Rome!" in texts


def test_soft_labels_of_changed_sentences_are_their_gold_tags(tmp_path):
    (tmp_path / "train.txt").write_text("Ada B-PER\nLee I-PER\nleft O\n\nBob B-PER\ncame O\n\n")
    save(tmp_path / "soft.npz", [["Ada", "Lee", "left"], ["Bob", "came"]])
    save(tmp_path / "more.npz", [["Why"]])
    reader = SoftLabelledDatasetReader(
        ColumnDatasetReader(), str(tmp_path / "soft.npz"), [str(tmp_path / "more.npz")]
    )
    originals = list(reader.read(tmp_path / "train.txt"))
    names = originals[0]["soft_tags"]._tags
    changed = 0
    for epoch in draws(originals, number=9, mention_replacement=0.7):
        assert epoch[2] is originals[2]
        for old, new in zip(originals, epoch):
            if new is old:
                continue
            changed += 1
            tags = new["tags"].labels
            soft = new["soft_tags"].tensor
            assert [names[i] for i in soft.argmax(1)] == tags
            assert soft.sum() == len(tags)
            transitions = torch.zeros(3, 3)
            for before, after in itertools.pairwise(tags):
                transitions[names.index(before), names.index(after)] += 1
            assert torch.equal(new["soft_transitions"].tensor, transitions.unsqueeze(0))
    assert changed > 0


def test_terms_are_drawn_if_training_has_their_tags(read, tmp_path):
    path = tmp_path / "names.txt"
    path.write_text("Zoë\nAnn Lee\n\nSpring Fair Day\n")
    found = {
        entity
        for epoch in draws(read(), terms={"PER": str(path)}, mention_replacement=1)
        for new in epoch
        for entity in entities_of(new)
        if entity[0] == "PER"
    }
    assert found == {("PER", m) for m in ("Zoë", "Ann Lee", "Bob", "Spring Fair Day")}
    # In BIOUL, training has no `I-PER`.
    augmenter = Augmenter(read(tag_encoding="BIOUL"), {}, terms={"PER": str(path)})
    mentions = [" ".join(word.text for word in words) for words in augmenter._mentions["PER"]]
    assert sorted(mentions) == ["Ann Lee", "Bob", "Zoë"]
    with pytest.raises(ConfigurationError, match="`PRE`.*EVENT, LOC, PER.*; did you mean `PER`"):
        Augmenter(read(), {}, terms={"PRE": str(path)})


def test_what_cannot_be_augmented_is_refused(read):
    with pytest.raises(ConfigurationError, match="the training data have none"):
        Augmenter(read(["a/O b/O"]), ALL)
    reader = ColumnDatasetReader(label_separator="|")
    with pytest.raises(
        ConfigurationError, match="one tag for each token.*got instances with tokens"
    ):
        Augmenter([reader.text_to_instance(["a"], ["A|B"])], ALL)


@pytest.mark.parametrize("sampler", [None, OversamplingBatchSampler(8, 0.5)], ids=["plain", "more"])
def test_each_epoch_is_drawn_again_from_the_loaders_seed(sampler):
    reader = ColumnDatasetReader()

    def epochs(seed):
        np.random.seed(0)
        random.seed(0)
        plain = {"batch_size": 8, "shuffle": False}
        options = plain if sampler is None else {"batch_sampler": sampler}
        loader = BucketedDataLoader(reader, ROOT / "data/toy/train.txt", seed=seed, **options)
        loader.index_with(Vocabulary.from_instances(loader.iter_instances()))
        instances = list(loader.iter_instances())
        loader.augment_with(Augmenter(instances, ALL, threshold=1).draw)
        assert [words_of(each) for each in loader.iter_instances()] == list(
            map(words_of, instances)
        )
        batches = [list(loader) for _ in range(2)]
        for batch in batches[0] + batches[1]:
            assert batch["tags"].shape == batch["tokens"]["tokens"]["tokens"].shape
        return [
            [each["words"] for batch in epoch for each in batch["metadata"]] for epoch in batches
        ]

    first, other = epochs(1), epochs(2)
    assert epochs(1) == first
    assert sorted(first[0]) != sorted(first[1])
    assert sorted(first[0]) != sorted(other[0])
    if sampler is not None:
        # The copies of a sentence differ.
        assert max(Counter(map(tuple, first[0])).values()) < 3
