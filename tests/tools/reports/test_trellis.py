"""The trellis of a sentence, in numbers, in the terminal and on a page."""

import shutil

import pytest
import torch
from allennlp.common.checks import ConfigurationError

import tagger
from tagger.linear_chain import ChainScores, tag_marginals, transition_marginals
from tagger.tools.reports.trellis import (
    Trellis,
    instance_of,
    sentence_in,
    table_of,
    trellis_of,
    words_of,
)
from tagger.tools.reports.trellis_page import MOST_TAGS, shown_tags, write_trellis_page
from tagger_texts.text import Text
from tests.heads import EMISSIONS, END, START, TAGS, TEXT, TRANSITIONS, WORDS, write_tagger
from tests.oracles.all_paths import AllPaths
from tests.tools.reports.pages import read_page

GOLD = ["O", "B-ORG", "I-ORG", "B-LOC", "O", "O", "O"]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    return tagger.load(write_tagger("crf", tmp_path_factory.mktemp("crf")))


@pytest.fixture(scope="module")
def trellis(saved):
    return trellis_of(saved, "mine", instance_of(saved, WORDS, GOLD))


def made_up(num_tags):
    """A trellis of three tokens with random scores."""
    scores = [torch.randn(shape) for shape in ((1, 3, num_tags), (num_tags,) * 2)]
    scores = ChainScores(*scores, *torch.randn(2, num_tags))
    marginals = tag_marginals(scores)[0], transition_marginals(scores)[0]
    tags = [f"T{k}" for k in range(num_tags)]
    return Trellis("made up", ["a", "b", "c"], tags, scores, *marginals, [0, 1, 2], None, {})


def test_the_numbers_are_those_of_all_paths(trellis):
    oracle = AllPaths(trellis.scores, 0, range(len(WORDS)))
    torch.testing.assert_close(trellis.marginals.double(), oracle.tag_marginals())
    torch.testing.assert_close(trellis.transitions.double(), oracle.transition_marginals())
    assert trellis.gold == [TAGS.index(tag) for tag in GOLD]
    for line, path in zip(trellis.summary(), (trellis.predicted, trellis.gold)):
        position = oracle.paths.index(tuple(path))
        assert f"score {oracle.path_scores[position]:.2f}, " in line
        probability = 100 * float((oracle.path_scores[position] - oracle.log_mass()).exp())
        assert f"probability {probability:.0f} %" in line


def test_the_scores_are_those_of_the_model_and_add_up(trellis):
    rows = trellis.rows()
    token, total = "", {"predicted": 0.0, "gold": 0.0}
    for name, tag, paths, _, emission, transition in rows:
        token = name or token
        for path in filter(None, paths.split(", ")):
            total[path] += float(emission or 0) + float(transition.split()[0])
        score, _, origin = transition.rpartition(" ")
        if origin in TAGS and token != "(end)":
            expected = TRANSITIONS[TAGS.index(origin)][TAGS.index(tag)]
            assert score == f"{expected:.2f} from"
        elif token == "(end)":
            assert score == f"{END[TAGS.index(origin)]:.2f} from"
        else:
            assert score == f"{START[TAGS.index(tag)]:.2f} at the"
        if emission:
            assert emission == f"{EMISSIONS[token][TAGS.index(tag)]:.2f}"
    spelled = [float(line.split("score ")[1].split(",")[0]) for line in trellis.summary()]
    assert [*total.values()] == pytest.approx(spelled, abs=0.1)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"decode_bias": {"LOC": 6.0}},
        {"decode_bias": {"ORG": -9.0}},
        {"thresholds": {"ORG": 1.0}},
    ],
    ids=str,
)
def test_the_marked_path_is_what_the_tagger_predicts(saved, settings, trellis):
    changed = saved.with_bias(settings.get("decode_bias"))
    changed = changed.with_thresholds(settings.get("thresholds"))
    found = trellis_of(changed, "changed", instance_of(changed, WORDS))
    assert [TAGS[k] for k in found.predicted] == changed.tag(TEXT).tags
    assert (found.predicted != trellis.predicted) == bool(settings)
    # The probabilities stay, and a line tells what was set.
    torch.testing.assert_close(found.marginals, trellis.marginals)
    assert [line.split()[0] for line in found.summary()[1:]] == [
        f"`{name.replace('thresholds', 'entity_thresholds')}`" for name in settings
    ]


def test_both_paths_to_one_tag_are_listed_if_they_come_from_different_tags(trellis):
    at = next(
        t
        for t in range(1, len(WORDS))
        if trellis.predicted[t] == trellis.gold[t]
        and trellis.predicted[t - 1] != trellis.gold[t - 1]
    )
    rows, starts = trellis.rows(), [i for i, row in enumerate(trellis.rows()) if row[0]]
    (one, other) = rows[starts[at]][1:3], rows[starts[at] + 1][1:3]
    assert (one[1], other[1]) == ("predicted", "gold")
    assert one[0] == other[0]


def test_unknown_gold_tags_are_on_no_path(trellis):
    partly = trellis._replace(gold=[-1, *trellis.gold[1:]])
    assert "some of its tags are unknown" in partly.summary()[1]
    assert partly.rows()[0][2] == "predicted"
    assert len(table_of(partly)) > len(WORDS)


def test_at_most_twelve_tags_are_drawn_and_those_of_the_paths_always(tmp_path):
    many = made_up(30)
    tags, num_others = shown_tags([many])
    assert len(tags) == MOST_TAGS == 12
    assert {"T0", "T1", "T2"} <= {*tags}
    assert num_others == int((many.marginals.max(0)[0][3:] >= 0.01).sum()) + 3 - 12
    write_trellis_page(tmp_path / "page.html", [many])
    assert (
        f"{num_others} less probable tags are left out." in read_page(tmp_path / "page.html").text
    )
    few, none = shown_tags([made_up(4)])
    assert (few, none) == (["T0", "T1", "T2", "T3"], 0)


def test_taggers_with_other_tags_stand_beside_each_other(tmp_path):
    other = made_up(3)._replace(tokens=WORDS[:3])
    first = made_up(5)._replace(tokens=WORDS[:3], tags=TAGS)
    tags, _ = shown_tags([first, other])
    assert {"T0", "B-ORG"} <= {*tags}
    write_trellis_page(tmp_path / "page.html", [first, other])
    assert [tag for tag, _ in read_page(tmp_path / "page.html").tags].count("table") == 2


def test_the_page_escapes_tokens_tags_and_names(tmp_path):
    hostile = "<script>alert(1)</script>"
    page = tmp_path / "page.html"
    changed = made_up(3)._replace(
        tokens=[hostile, "b", '"'], name=hostile, tags=[hostile, "U", "V"]
    )
    write_trellis_page(page, [changed])
    assert hostile not in page.read_text()
    assert hostile in read_page(page).text


def test_a_token_longer_than_a_column_is_shortened(tmp_path):
    write_trellis_page(
        tmp_path / "page.html",
        [made_up(2)._replace(tokens=["a", "b" * 30, "c"], predicted=[0, 1, 0])],
    )
    assert f">{'b' * 12}…<" in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize(
    ("gold", "message"),
    [
        (
            ["O"],
            "must have a tag for each of the 7 tokens the Bank of York Trust closed today; got 1",
        ),
        (["B-PRE", *"OOOOOO"], "`tags` holds 'B-PRE', which the vocabulary"),
        (["X-ORG", *"OOOOOO"], "X-ORG"),
    ],
)
def test_gold_tags_that_do_not_fit_are_refused(saved, gold, message):
    with pytest.raises(ConfigurationError, match="^`--tags`") as raised:
        instance_of(saved, WORDS, gold)
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("sentences", "got"), [([], "no tokens"), ([["Ada", "left"], ["Bo"]], "2 sentences")]
)
def test_a_text_that_is_not_one_sentence_is_refused(saved, sentences, got, monkeypatch):
    split = Text.of_sentences([Text.of_words(words) for words in sentences])
    monkeypatch.setattr(saved, "split", lambda _: split)
    with pytest.raises(ConfigurationError, match=f"^`text` must be one sentence; got {got}$"):
        words_of(saved, "any")


def test_the_command_shows_two_archives_and_writes_a_page(allennlp, good, tmp_path, capsys):
    other = tmp_path / "other.tar.gz"
    shutil.copy(good, other)
    page = tmp_path / "page.html"
    text, tags = "Maria Lindqvist met Anna.", ["B-PER", "I-PER", "O", "B-ORG", "O"]
    allennlp("show-chain", good, text, "--beside", other, "-o", page, "--tags", *tags)
    printed = capsys.readouterr().out
    first, second = printed.replace(f"{other}", f"{good}").rsplit(f"{good}\n")[1:]
    assert first.strip() == second.partition("\nWrote")[0].strip()
    # The tags are given as in the training data, and shown as the model has them.
    tagged = tagger.load(good).tag(text)
    lines = [line.split() for line in first.splitlines()]
    for token, tag in zip(tagged.tokens, tagged.tags):
        assert any(line[:2] == [token, tag] for line in lines)
    assert "U-ORG  gold" in first
    found = [each.get("class") for tag, each in read_page(page).tags if tag in ("rect", "line")]
    assert found.count("frame") == 2 * len(tags)
    # Two archives, and one line in the legend.
    assert found.count("predicted") == found.count("gold") == 2 * (len(tags) - 1) + 1
    with pytest.raises(SystemExit, match="page.html"):
        allennlp("show-chain", good, text, "-o", page)
    allennlp("show-chain", good, text, "-o", page, "--force")
    assert "gold" not in read_page(page).text


def test_a_sentence_of_a_file_comes_with_its_gold_tags(saved, trellis, tmp_path):
    path = tmp_path / "gold.txt"
    sentences = [(["Ada"], ["O"]), (WORDS, GOLD)]
    path.write_text("\n".join("".join(map("{} {}\n".format, *sentence)) for sentence in sentences))
    found = trellis_of(saved, "mine", *sentence_in(saved, path, 2))
    assert (found.tokens, found.gold) == (trellis.tokens, trellis.gold)
    torch.testing.assert_close(found.marginals, trellis.marginals)
    for number in (0, -1, 3):
        with pytest.raises(ConfigurationError, match="from 1 to 2, the number of .*gold.txt; got"):
            sentence_in(saved, path, number)


def test_a_sentence_of_a_document_is_seen_in_its_document(trained_on_documents):
    documents = tagger.load(trained_on_documents / "model.tar.gz")
    path = trained_on_documents.parent / "documents.txt"
    paths, gold = [], []
    for instance in documents.predictor.dataset_reader.read(str(path)):
        lengths = instance["sentence_lengths"].tensor.tolist()
        tags = documents.model.forward_on_instance(instance)["tags"]
        for length in lengths:
            paths.append(tags[:length])
            tags = tags[length:]
    for number, expected in enumerate(paths, 1):
        found = trellis_of(documents, "it", *sentence_in(documents, path, number))
        assert [found.tags[k] for k in found.predicted] == expected
        gold.append(found.gold)
    assert number > 20
    # Only the other sentence of its document shows the label of a name.
    assert gold[0] != gold[2]


def test_the_command_refuses_a_sentence_of_a_file_with_tags(allennlp, good, tmp_path, capsys):
    with pytest.raises(SystemExit, match="`--sentence` takes the gold tags of the file; leave out"):
        allennlp("show-chain", good, tmp_path / "gold.txt", "--sentence", 1, "--tags", "O")
