import json

import pytest

from scripts.experiments import change_corpus
from tests.conftest import ROOT

TOY = ROOT / "data/toy/train.txt"
DOCUMENTS = [
    {"id": str(number), "text": "é", "labels": ["A", "B"] if number % 2 else ["A"]}
    for number in range(400)
] + [{"text": "rare", "labels": ["C", "A"]}, {"text": "none", "labels": []}]


@pytest.fixture
def changed(tmp_path):
    """Returns the output of a change as blocks of lines."""
    (tmp_path / "documents.jsonl").write_text("\n".join(map(json.dumps, DOCUMENTS)))

    def run(change, share, *options):
        file = tmp_path / "documents.jsonl" if change == "hide-labels" else TOY
        target = tmp_path / "out/changed"
        target.unlink(missing_ok=True)
        change_corpus.main([change, str(file), str(target), "--share", str(share), *options])
        return [block.splitlines() for block in target.read_text().strip().split("\n\n")]

    return run


BEFORE = [block.splitlines() for block in TOY.read_text().strip().split("\n\n")]


def tags(blocks):
    return [line.split()[-1] for block in blocks for line in block]


def test_tokens_inside_and_outside_of_entities_are_hidden_independently_of_the_mark(changed):
    full = tags(changed("hide-tokens", 0))
    assert full == ["O" if tag == "O" else "ENTITY" for tag in tags(BEFORE)]
    unknown = tags(changed("hide-tokens", 0.3))
    for tag in ("O", "ENTITY"):
        of_tag = [new for old, new in zip(full, unknown) if old == tag]
        assert of_tag.count("?") / len(of_tag) == pytest.approx(0.3, abs=0.1)
    as_negative = tags(changed("hide-tokens", 0.3, "--hide-as", "O"))
    assert as_negative == ["O" if tag == "?" else tag for tag in unknown]


def test_whole_entities_are_removed_and_words_stay(changed):
    assert {*tags(changed("miss-entities", 1))} == {"O"}
    after = changed("miss-entities", 0.5)
    pairs = [(old.split(), new.split()) for old, new in zip(sum(BEFORE, []), sum(after, []))]
    assert all(old[0] == new[0] and new[1] in (old[1], "O") for old, new in pairs)
    begins = [[tag for tag in tags(each) if tag[0] == "B"] for each in (after, BEFORE)]
    assert len(begins[0]) / len(begins[1]) == pytest.approx(0.5, abs=0.15)
    # No entity is removed in part.
    assert not any(new[1] == "O" != old[1] for old, new in pairs if old[1][0] == "I" == new[1][0])


def test_a_share_of_a_labels_sentences_and_all_others_are_kept(changed):
    holding = [each for each in BEFORE if any("-PER" in line for line in each)]
    after = changed("thin-label", 0.2, "--label", "PER")
    kept = [each for each in after if each in holding]
    assert len(kept) == -(-len(holding) // 5)
    assert after == [each for each in BEFORE if each not in holding or each in kept]


def test_labels_of_documents_are_hidden_but_never_all_of_a_document(changed):
    def pairs(blocks):
        documents = [json.loads(line) for line in sum(blocks, [])]
        assert [{**a, "labels": 0} for a in documents] == [{**a, "labels": 0} for a in DOCUMENTS]
        return {
            (number, label) for number, each in enumerate(documents) for label in each["labels"]
        }

    some, more = pairs(changed("hide-labels", 0.1)), pairs(changed("hide-labels", 0.5))
    assert more < some < pairs(changed("hide-labels", 0))
    assert pairs(changed("hide-labels", 1)) == {(0, "A"), (1, "B"), (400, "C")}


def test_two_halves_have_the_entities_of_other_labels(tmp_path):
    target = tmp_path / "halves.files.json"
    options = ["--share", "1", "--label", "PER,LOC"]
    change_corpus.main(["split-labels", str(TOY), str(target), *options])
    one, two = json.loads(target.read_text())["files"]
    assert one == {"path": "a.txt", "labels": ["LOC", "PER"]}
    assert two == {"path": "b.txt", "labels": ["EVENT", "ORG"]}
    texts = {path.stem: path.read_text() for path in tmp_path.glob("*.txt")}
    assert texts["absent"] == texts["a"] + texts["b"]
    words = [
        [line.split("\t")[0] for line in texts[name].splitlines()] for name in ("absent", "full")
    ]
    assert words[0] == words[1]
    assert "-ORG" in texts["b"]
    assert "-PER" not in texts["b"]
    assert "-ORG" not in texts["a"]


@pytest.mark.parametrize("change", sorted(change_corpus.CHANGES.keys() - {"split-labels"}))
def test_the_same_seed_changes_the_same(change, changed):
    options = ("--label", "PER") if change == "thin-label" else ()
    first, again, other = (changed(change, 0.3, "--seed", seed, *options) for seed in "112")
    assert first == again != other


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (f"miss-entities {TOY} new --share 2", r"--share must lie in \[0, 1\]; got 2"),
        (f"thin-label {TOY} new --share 0 --label PERS", "no sentence with the label PERS"),
        ("hide-labels bad.jsonl new --share 1", "bad.jsonl:1: expected a JSON object with a list"),
        (f"hide-tokens {TOY} bad.jsonl --share 1", "is there already"),
    ],
)
def test_impossible_changes_are_refused(arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.jsonl").write_text('{"labels": "A"}')
    with pytest.raises(SystemExit, match=message):
        change_corpus.main(arguments.split())
