"""Label errors are found where taggers are confident of the true labels, and corrected to them."""

import json

import numpy as np
import pytest
import torch
from allennlp.common.checks import ConfigurationError

from tagger.spans import spans_to_tags, tags_to_spans
from tagger.tools.labels.corpus import Corpus
from tagger.tools.labels.errors import (
    RATE,
    ErrorProbabilities,
    are_errors,
    error_probabilities,
    share_like_synthetic,
    shares_of_errors,
    shifted_to_mean,
    with_shares_of_errors,
    with_synthetic_errors,
)
from tagger.tools.labels.features import DIRECTIONS, features_of
from tagger.tools.labels.issues import (
    accept,
    digest_of,
    format_issues,
    leave_open,
    list_issues,
    read_decisions,
    write_issues,
)
from tagger.tools.labels.out_of_fold import SentenceScores, mean_scores
from tagger.tools.labels.probabilities import Item, LabelProbabilities
from tests.oracles.all_paths import AllPaths

TAGS = ["O", "B-LOC", "I-LOC", "B-PER", "I-PER"]


def scores_of(sentences, sureness=4.0):
    """Scores without transitions that predict these entities, (length, spans), with this confidence."""
    rows = [
        [[sureness * (tag == each) for each in TAGS] for tag in spans_to_tags(spans, length, "BIO")]
        for length, spans in sentences
    ]
    return SentenceScores(
        np.array(TAGS),
        np.array([length for length, _ in sentences]),
        np.concatenate([np.array(row) for row in rows]),
        np.zeros((5, 5)),
        *np.zeros((2, 5)),
    )


@pytest.mark.parametrize(
    ("labelled", "true", "kind", "suggested"),
    [
        (("PER", (1, 2)), ("LOC", (1, 2)), "wrong label", ("LOC", (1, 2))),
        (("PER", (1, 2)), ("PER", (1, 1)), "boundary", ("PER", (1, 1))),
        (("PER", (1, 2)), None, "spurious", None),
        (None, ("LOC", (2, 3)), "missed", ("LOC", (2, 3))),
    ],
)
def test_each_kind_of_error_has_its_exact_probabilities(labelled, true, kind, suggested):
    spans = [[span] if span else [] for span in (labelled, true)]
    scores = scores_of([(4, spans[1])])
    (item,) = [
        each for each in LabelProbabilities([([0], scores)]).items(spans[:1]) if each.rivalry > 0.5
    ]
    assert (item.labelled, item.kind, item.suggested) == (labelled, kind, suggested)
    of_chain = (scores.emissions[np.newaxis], scores.transitions, scores.start, scores.end)
    paths = AllPaths(map(torch.from_numpy, of_chain), 0, range(4))
    probability = {labelled: 0.0, suggested: 0.0}
    first, last = item.place
    for tags, share in zip(paths.paths, paths.probabilities().tolist()):
        found = tags_to_spans([TAGS[tag] for tag in tags], "BIO")
        for span in probability:
            is_there = span in found if span else not any(tags[first : last + 1])
            # An entity that starts with `I-` is illegal and does not count.
            is_legal = span is None or TAGS[tags[span[1][0]]].startswith("B-")
            probability[span] += share * (is_there and is_legal)
    assert item.agreement == pytest.approx(probability[labelled])
    assert item.rivalry == pytest.approx(probability[suggested])


@pytest.fixture(scope="module")
def corrupted(tmp_path_factory):
    """A corpus with seven errors, its true text, and the uncertain items."""
    folder = tmp_path_factory.mktemp("corrupted")
    names = ["Ada", "Bo", "Cy", "Di", "Ed"]
    lines, true = [], []
    for number in range(120):
        name, place = names[number % 5], ["Rome", "Oslo", "Lima"][number % 3]
        rows = [f"{name} B-PER", "Xu I-PER", "sees O", f"{place} B-LOC", "now O", ""]
        true.append((5, [("PER", (0, 1)), ("LOC", (3, 3))]))
        lines += rows
    wrong = list(lines)
    for at, line in {3: "Rome B-PER", 61: "Xu O", 123: "Rome O", 304: "now B-LOC"}.items():
        wrong[at] = f"{lines[at].split()[0]} {line.split()[1]}"
    for at, text in ((0, wrong), (1, lines)):
        (folder / f"{at}.txt").write_text("\n".join(text) + "\n")
    corpus = Corpus(folder / "0.txt", {})
    taggers = LabelProbabilities([(range(120), scores_of(true))])
    return corpus, lines, error_probabilities(taggers, corpus.sentences)


def test_the_errors_come_first_and_corrections_restore_the_text(corrupted, tmp_path):
    corpus, lines, probabilities = corrupted
    issues = list_issues(corpus, probabilities, 0.0)
    assert {each.line for each in issues[:4]} == {4, 61, 124, 305}
    assert {each.kind for each in issues[:4]} == {"wrong label", "boundary", "missed", "spurious"}
    assert issues[3].probability > 5 * issues[4].probability
    assert accept(corpus.lines(), issues[:4]) == lines
    worst = (-probabilities.of_sentences).argsort()[:4].tolist()
    assert {corpus.sentences[n].rows[0].number // 6 for n in worst} == {0, 10, 20, 50}
    assert sum("?" in line for line in leave_open(corpus, issues[:4])) == 5


def test_beliefs_about_the_same_words_count_only_for_taggers_from_elsewhere(corrupted):
    corpus, _, _ = corrupted
    spans = [sentence.spans for sentence in corpus.sentences]
    taggers = LabelProbabilities([(range(120), scores_of([(5, own) for own in spans]))])
    items = taggers.items(spans)
    features, more = (
        features_of(items, taggers, corpus.sentences, spans, with_beliefs)
        for with_beliefs in (False, True)
    )
    assert more.shape[1] == len(DIRECTIONS) == features.shape[1] + 1
    assert (more[:, :-1] == features).all()
    # At all other places the taggers believe that Rome is a place; here its label is a person.
    is_rome = [item.labelled == ("PER", (3, 3)) for item in items]
    assert sum(is_rome) == 1
    assert more[is_rome.index(True), -1] < 0
    assert np.median(more[:, -1]) > 0


def test_of_two_corrections_of_the_same_words_the_first_counts(corrupted):
    corpus, _, probabilities = corrupted
    first = list_issues(corpus, probabilities, 0.0)[0]
    other = first._replace(edits=dict.fromkeys(first.edits, "other O"))
    assert accept(corpus.lines(), [first, other]) == accept(corpus.lines(), [first])


def test_entities_are_joined_as_in_their_sentence_and_columns_are_aligned(tmp_path):
    rows = ["他 O", "在 O", "A B-ORG", "C I-ORG", "会 I-ORG"]
    (tmp_path / "corpus.txt").write_text("\n".join([*rows, "说 O"]) + "\n", encoding="utf-8")
    corpus = Corpus(tmp_path / "corpus.txt", {})
    items = [
        Item(0, ("ORG", (2, 4)), ("ORG", (2, 3)), 0.1, 0.9, 0.9),
        Item(0, None, ("ORG", (0, 0)), 0.2, 0.8, 0.9),
    ]
    probabilities = ErrorProbabilities(items, np.array([0.9, 0.8]), np.array([0.9]))
    issues = list_issues(corpus, probabilities, 0.0)
    # Chinese takes no blanks, so neither marks nor Latin letters inside it have any.
    assert [each.spell(each.suggested) for each in issues] == ["ORG AC", "ORG 他"]
    page = write_issues(corpus, probabilities, issues, tmp_path)[0].read_text(encoding="utf-8")
    assert '<p dir="auto"><bdi class="side">suggested</bdi> 他在<mark' in page
    # In a terminal, a Chinese character takes two columns.
    first, second = format_issues(issues).splitlines()[1:]
    assert first.endswith("ORG AC会  ORG AC")
    assert second.endswith("-         ORG 他")


def test_what_is_written_reads_back_and_decisions_belong_to_their_list(corrupted, tmp_path):
    corpus, _, probabilities = corrupted
    issues = list_issues(corpus, probabilities, 0.0)[:4]
    page, records, _, sentences = write_issues(corpus, probabilities, issues, tmp_path)
    assert [json.loads(line)["line"] for line in records.read_text().splitlines()] == [
        each.line for each in issues
    ]
    assert len(sentences.read_text().splitlines()) == 121
    assert page.read_text().count("<li data-id=") == 4
    decisions = tmp_path / "decisions.json"
    digest = digest_of(corpus, issues)
    decisions.write_text(json.dumps({"list": digest, "accepted": [2], "rejected": []}))
    assert read_decisions(decisions, corpus, issues) == [issues[1]]
    with pytest.raises(ConfigurationError, match="is about another list of errors"):
        read_decisions(decisions, corpus, issues[:2])
    decisions.write_text("[]")
    with pytest.raises(ConfigurationError, match="expected what the page saves"):
        read_decisions(decisions, corpus, issues)


def test_synthetic_errors_are_legal_errors_of_all_kinds(corrupted):
    corpus, _, _ = corrupted
    spans = [sentence.spans for sentence in corpus.sentences]
    changed = with_synthetic_errors(corpus.sentences, np.random.default_rng(0))
    pairs = list(zip(spans, changed, corpus.sentences))
    for _, own, sentence in pairs:
        spans_to_tags(own, len(sentence.tokens), "BIO")
    num_changed = sum(own != before for before, own, _ in pairs)
    assert num_changed > RATE * len(spans)
    sizes = {len(own) - len(before) for before, own, _ in pairs if own != before}
    assert sizes >= {-1, 0, 1}


def test_scores_of_taggers_with_other_orders_of_tags_are_averaged_tag_by_tag():
    scores = scores_of([(2, [("PER", (0, 1))])])
    turned = scores.ordered(TAGS[::-1])
    assert turned.emissions.tolist() == scores.emissions[:, ::-1].tolist()
    mean = mean_scores([turned, scores])
    for one, other in zip(mean.ordered(TAGS), scores):
        assert one.tolist() == other.tolist()
    with pytest.raises(ConfigurationError, match="must have the same tags"):
        scores.ordered(["O"])


def test_log_likelihoods_are_those_of_the_labels():
    spans = [[("PER", (0, 1))]]
    taggers = LabelProbabilities([([0], scores_of([(2, spans[0])]))])
    expected = torch.tensor(taggers.of_tags(spans)[0]).log().sum()
    assert taggers.log_likelihoods(spans)[0] == pytest.approx(float(expected))
    (item,) = taggers.items(spans)
    assert not are_errors([item], spans, spans)[0]


SPAN = ("PER", (0, 0))


def corpus_of(seed, missed, mislabelled):
    """Items of a corpus with clear and unclear entities, and taggers that know the truth.

    Returns the items and the true shares of errors.
    """
    random = np.random.default_rng(seed)
    items, errors = [], {True: [], False: []}
    for is_clear in random.random(20_000) < 0.5:
        # The probability of an entity here; unclear ones are improbable.
        of_entity = 1.0 if is_clear else random.uniform(0, 0.5)
        presence = of_entity * (1 - missed)
        is_entity = random.random() < of_entity
        is_labelled = is_entity and random.random() >= missed
        agreement = presence * (1 - mislabelled) if is_labelled else 1 - presence
        is_error = random.random() < mislabelled if is_labelled else is_entity
        errors[is_labelled].append(is_error)
        labelled = SPAN if is_labelled else None
        items.append(Item(0, labelled, SPAN, agreement, 1 - agreement, presence))
    return items, (np.mean(errors[True]), np.mean(errors[False]))


@pytest.mark.parametrize(("missed", "mislabelled"), [(0.1, 0.3), (0.4, 0.05), (0.0, 0.0)])
def test_shares_are_those_that_were_drawn(missed, mislabelled):
    items, true = corpus_of(0, missed, mislabelled)
    wrong, found = shares_of_errors(items)
    assert wrong == pytest.approx(true[0], abs=0.01)
    assert found == pytest.approx(true[1], rel=0.05, abs=0.001)


def test_corpora_without_items_of_a_kind_have_no_errors_of_it():
    assert shares_of_errors([]) == (0.0, 0.0)
    assert len(with_shares_of_errors(np.empty(0), [], [], np.empty(0, dtype=bool))) == 0
    items, _ = corpus_of(0, 0.1, 0.1)
    for kind in (0, 1):
        others = [item for item in items if (item.labelled is None) != kind]
        assert shares_of_errors(others)[kind] == 0.0


def test_probabilities_keep_their_order_and_get_the_mean():
    probabilities = np.random.default_rng(0).random(100) ** 3
    shifted = shifted_to_mean(probabilities, 0.4)
    assert shifted.mean() == pytest.approx(0.4)
    assert (shifted.argsort() == probabilities.argsort()).all()
    log_odds = np.log(shifted / (1 - shifted)) - np.log(probabilities / (1 - probabilities))
    assert np.ptp(log_odds[probabilities > 1e-6]) < 1e-6
    assert len(shifted_to_mean(np.empty(0), 0.4)) == 0
    # A mean that no shift can reach changes nothing.
    for share in (0.0, 1.0):
        assert (shifted_to_mean(probabilities, share) == probabilities).all()


@pytest.mark.parametrize(("own", "made"), [(0.3, 0.1), (0.01, 0.1), (0.0, 0.2)])
def test_errors_like_synthetic_ones_are_counted(own, made):
    # The classifier cannot tell real errors from synthetic ones.
    assert share_like_synthetic(own * made / (made + own), made) == pytest.approx(own)
    # A mean above the synthetic share counts all.
    assert share_like_synthetic(2 * made, made) == 1.0


def test_kinds_get_means_in_the_proportion_of_their_shares_and_keep_their_order():
    items, _ = corpus_of(0, 0.4, 0.1)
    random = np.random.default_rng(1)
    probabilities = 0.05 * random.random(len(items))
    is_synthetic = random.random(len(items)) < 0.1
    corrected = with_shares_of_errors(probabilities, items, items, is_synthetic)
    wrong, missed = shares_of_errors(items)
    of_kinds = [np.array([(item.labelled is None) == kind for item in items]) for kind in (0, 1)]
    means = [corrected[kind].mean() for kind in of_kinds]
    assert means[1] / means[0] == pytest.approx(missed / wrong)
    total = sum(
        kind.sum() * share_like_synthetic(probabilities[kind].mean(), is_synthetic[kind].mean())
        for kind in of_kinds
    )
    assert corrected.sum() == pytest.approx(total)
    for kind in of_kinds:
        assert (np.diff(corrected[kind][probabilities[kind].argsort()]) >= 0).all()
    # If everything is uncertain, no more errors are counted than the shares allow.
    doubted = np.full(len(items), 0.5)
    corrected = with_shares_of_errors(doubted, items, items, np.zeros(len(items), dtype=bool))
    expected = of_kinds[0].sum() * wrong + of_kinds[1].sum() * missed
    assert corrected.sum() == pytest.approx(expected)
