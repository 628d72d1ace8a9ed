"""A tagger of new labels beside a teacher of old ones, against the enumeration of all sequences."""

import torch
from allennlp.data import Token, Vocabulary
from allennlp.data.fields import TextField

from tagger.data.fields import TagSetsField
from tagger.labels.new_labels import open_outside, with_new_rows, with_new_tags
from tagger.linear_chain import ChainMarginals, ChainScores, chain_marginals
from tagger.modules.heads import CrfHead
from tagger.spans import possible_tags
from tests.linear_chain.chains import mask_of, random_chains
from tests.oracles.all_paths import AllPaths

OLD, NEW = ["O", "B-PER", "I-PER"], ["O", "B-PER", "I-PER", "B-ORG", "I-ORG"]
VOCAB = Vocabulary({"labels": {tag: 9 - k for k, tag in enumerate(NEW)}})
#: What annotators of ORG wrote, `?` where they did not look; and what each token may then be.
SENTENCES = {
    ("B-ORG", "O", "O"): [["B-ORG"], OLD, OLD],
    ("O", "B-ORG", "I-ORG", "O"): [OLD, ["B-ORG"], ["I-ORG"], OLD],
    ("O", "?", "B-PER", "?"): [OLD, NEW, ["B-PER"], NEW],
    ("I-ORG", "?"): [["B-ORG"], NEW],
}


def opened(tags):
    field = TagSetsField(
        possible_tags(tags, "IOB1", "BIO", "?"), TextField([Token("a") for _ in tags])
    )
    field = open_outside(field, ["ORG"], "BIO")
    field.index(VOCAB)
    return field.as_tensor({"num_tokens": 4})


def test_what_is_not_labelled_may_have_any_old_tag():
    for tags, expected in SENTENCES.items():
        allowed = [
            [name for name, is_in in zip(NEW, row) if is_in] for row in opened(tags).tolist()
        ]
        assert allowed[: len(tags)] == expected


def test_the_loss_is_that_of_all_sequences():
    head = CrfHead(VOCAB, tag_encoding="BIO")
    assert head._tag_names == NEW
    head.untaught = torch.tensor([tag not in OLD for tag in NEW])
    teacher = random_chains(len(SENTENCES), 4, len(OLD), seed=3)
    teacher.transitions[0, 2] = -torch.inf
    allowed, mask = torch.stack(list(map(opened, SENTENCES))), mask_of([*map(len, SENTENCES)])
    kept = chain_marginals(teacher, mask)
    # The new tags have probability 0.
    shapes = (*mask.shape, 5), (len(mask), 5, 5), (len(mask), 5), (len(mask), 5)
    taught = [torch.zeros(shape, dtype=torch.float64) for shape in shapes]
    for wide, narrow in zip(taught, kept):
        wide[tuple(map(slice, narrow.shape))] = narrow
    emissions = torch.randn(*mask.shape, 5, dtype=torch.float64)
    losses = head.distillation_loss(emissions, allowed, mask, ChainMarginals(*taught))
    weights = head.crf.state_dict()
    student = ChainScores(
        emissions, *(weights[f"{name}transitions"].double() for name in ("", "start_", "end_"))
    )
    for row, sentence in enumerate(SENTENCES):
        tokens = range(len(sentence))
        paths, old = AllPaths(student, row, tokens), AllPaths(teacher, row, tokens)
        scores = dict(zip(paths.paths, paths.path_scores))
        # Of those without ORG the student gives each this log-probability.
        total = torch.stack([scores[path] for path in old.paths]).logsumexp(0)
        taught_loss = sum(p * (total - scores[y]) for y, p in zip(old.paths, old.probabilities()))
        expected = taught_loss - paths.log_probability(allowed[row, : len(sentence)])
        torch.testing.assert_close(losses[row], expected, rtol=1e-6, atol=1e-6)


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
