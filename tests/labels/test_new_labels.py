"""What a tagger of old labels teaches one of new labels, against the enumeration of all sequences."""

import itertools

import pytest
import torch
from allennlp.data import Vocabulary

from tagger.labels.new_labels import taught_marginals, with_new_rows, with_new_tags
from tagger.linear_chain import ChainMarginals, ChainScores
from tagger.modules.heads import CrfHead
from tagger.spans import allowed_transitions
from tests.linear_chain.chains import mask_of, random_chains
from tests.oracles.all_paths import AllPaths

OLD, NEW = ["O", "B-PER", "I-PER"], ["O", "B-PER", "I-PER", "B-ORG", "I-ORG"]
#: What annotators of ORG wrote: `.` for nothing, `?` where they did not look.
SENTENCES = [["B-ORG", ".", ".", "."], [".", "B-ORG", "I-ORG", "."], [".", "?", "B-PER", "."]]
#: An organisation that may end at either token, after which nothing is known of old labels.
OPEN = ["B-ORG", "B-ORG|I-ORG", "."]


def allowed_tags(sentence):
    """(T, K) bool"""
    sets = {".": OLD, "?": NEW}
    tags = [sets.get(cell, cell.split("|")) for cell in sentence]
    return torch.tensor([[tag in each for tag in NEW] for each in tags])


@pytest.fixture
def case():
    """The old tagger, in which illegal sequences are impossible; what is allowed; the mask."""
    chains = random_chains(len(SENTENCES) + 1, 4, len(OLD), seed=3)
    legal = set(allowed_transitions("BIO", dict(enumerate(OLD))))
    forbidden = [[(i, j) not in legal for j in range(5)] for i in range(5)]
    is_forbidden = torch.tensor(forbidden)
    teacher = chains._replace(
        transitions=chains.transitions.masked_fill(is_forbidden[:3, :3], -torch.inf),
        start=chains.start.masked_fill(is_forbidden[3, :3], -torch.inf),
    )
    rows = [allowed_tags(sentence) for sentence in [*SENTENCES, OPEN]]
    allowed = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
    return teacher, allowed, mask_of([4, 4, 4, 3])


def taught_sequences(teacher, row, sentence):
    """Each sequence of new tags with its probability: the old ones that fit, with the new entities."""
    paths = AllPaths(teacher, row, range(len(sentence)))
    found = {}
    for path, score in zip(paths.paths, paths.path_scores):
        tags = [OLD[k] for k in path]
        marked = [cell if cell in NEW else None for cell in sentence]
        as_old = [mark if mark in OLD else "O" if mark else tag for mark, tag in zip(marked, tags)]
        if as_old == tags:
            found[tuple(NEW.index(mark or tag) for mark, tag in zip(marked, tags))] = score.exp()
    total = sum(found.values())
    return {path: weight / total for path, weight in found.items()}


def test_the_teacher_is_the_old_chain_given_the_marked_entities(case):
    tags, transitions = taught_marginals(case[0], case[1], OLD.index("O"), case[2])
    for row, sentence in enumerate(SENTENCES):
        expected_tags, expected = torch.zeros(4, 5).double(), torch.zeros(5, 5).double()
        for path, weight in taught_sequences(case[0], row, sentence).items():
            expected_tags[range(4), list(path)] += weight
            for pair in itertools.pairwise(path):
                expected[pair] += weight
        torch.testing.assert_close(tags[row], expected_tags)
        torch.testing.assert_close(transitions[row], expected)
    assert not tags[-1].any()
    assert not transitions[-1].any()


def test_the_loss_is_that_of_all_sequences(case):
    teacher, allowed, mask = case
    head = CrfHead(
        Vocabulary({"labels": {tag: 9 - k for k, tag in enumerate(NEW)}}), tag_encoding="BIO"
    )
    assert head._tag_names == NEW
    head.untaught = torch.tensor([tag not in OLD for tag in NEW])
    emissions = torch.randn(4, 4, 5, dtype=torch.float64)
    taught = ChainMarginals.of_rows(
        *taught_marginals(teacher, allowed, OLD.index("O"), mask), mask.sum(1)
    )
    losses = head.distillation_loss(emissions, allowed, mask, taught)
    student = ChainScores(
        emissions,
        *(head.crf.state_dict()[f"{name}transitions"].double() for name in ("", "start_", "end_")),
    )
    for row, sentence in enumerate([*SENTENCES, OPEN]):
        paths = AllPaths(student, row, range(len(sentence)))
        own = allowed[row, : len(sentence)]
        expected = -paths.log_probability(own)
        if sentence != OPEN:
            # The teacher tells of no new entity but the marked ones.
            known = own & torch.tensor([tag in OLD for tag in NEW])
            without_new = torch.where(known.any(1, keepdim=True), known, own)
            total = paths.log_mass(without_new)
            scores = dict(zip(paths.paths, paths.path_scores))
            sequences = taught_sequences(teacher, row, sentence)
            expected = expected - sum(w * (scores[path] - total) for path, w in sequences.items())
        torch.testing.assert_close(losses[row], expected, rtol=1e-6, atol=1e-6)
        if "?" not in sentence and sentence != OPEN:
            # All is known, so the loss is the cross-entropy to the sequences themselves.
            whole = sum(w * (paths.log_mass() - scores[path]) for path, w in sequences.items())
            torch.testing.assert_close(expected, whole)


def test_new_tags_come_after_the_old_ones_and_start_as_their_mean():
    old = ["O", "B-PER", "I-PER", "I-LOC", "B-LOC"]
    vocab = Vocabulary({"labels": dict.fromkeys(old, 1), "tokens": {"Ada": 2}})
    old = [vocab.get_token_from_index(k, "labels") for k in range(5)]
    extended = with_new_tags(vocab, "labels", ["ORG"], "BIO")
    names = [extended.get_token_from_index(k, "labels") for k in range(7)]
    assert names[:5] == old
    assert sorted(names[5:]) == ["B-ORG", "I-ORG"]
    assert vocab.get_vocab_size("labels") == 5
    at = {tag: k for k, tag in enumerate(names)}
    weights = {"bias": torch.randn(5), "transitions": torch.randn(5, 5), "other": torch.randn(5)}
    grown = with_new_rows(weights, ["bias", "transitions"], old, names)
    assert grown["other"] is weights["other"]
    torch.testing.assert_close(grown["transitions"][:5, :5], weights["transitions"])

    def mean(name, *pairs):
        return torch.stack([weights[name][tuple(at[tag] for tag in pair)] for pair in pairs]).mean()

    torch.testing.assert_close(grown["bias"][at["B-ORG"]], mean("bias", ("B-PER",), ("B-LOC",)))
    pair = at["B-ORG"], at["I-ORG"]
    within = mean("transitions", ("B-PER", "I-PER"), ("B-LOC", "I-LOC"))
    torch.testing.assert_close(grown["transitions"][pair], within)
    pair = at["O"], at["B-ORG"]
    into = mean("transitions", ("O", "B-PER"), ("O", "B-LOC"))
    torch.testing.assert_close(grown["transitions"][pair], into)
