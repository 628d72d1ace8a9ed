"""The output and the errors of the scripts that prepare corpora."""

import hashlib
import io
import json
import sys
import tarfile

import pytest

from scripts.experiments import (
    prepare_conll2003,
    prepare_lexicons,
    prepare_reuters,
    prepare_ud_english_ewt,
    prepare_us_addresses,
)
from tagger.data import ColumnDatasetReader

TEXT = "-DOCSTART- -X- O O\n\nEU NNP I-NP I-ORG\nmet VBD I-VP O\nBonn NNP I-NP I-LOC\n"
FILES = ["eng.train", "eng.testa", "eng.testb"]
ADDRESSES = """<AddressCollection>
  <AddressString><AddressNumber>12</AddressNumber> <StreetName>Oak</StreetName> <StreetName>Hill
</StreetName></AddressString>
  <AddressString><PlaceName>Chicago,</PlaceName> <StateName>IL</StateName></AddressString>
  <AddressString><PlaceName>CHICAGO</PlaceName> <StateName>IL.</StateName></AddressString>
</AddressCollection>"""


def texts_of(folder):
    return {path.name: path.read_text() for path in folder.iterdir()}


@pytest.fixture
def conll(tmp_path, monkeypatch):
    """A corpus with one sentence per file that takes the place of CoNLL-2003."""
    source, target = tmp_path / "source", tmp_path / "data/conll2003"
    source.mkdir()
    for name in FILES:
        (source / name).write_text(TEXT)
    expected = dict.fromkeys(prepare_conll2003.EXPECTED, prepare_conll2003.Counts(1, 3, 2))
    monkeypatch.setattr(prepare_conll2003, "EXPECTED", expected)

    def prepare(*options):
        prepare_conll2003.main([str(source), "--target", str(target), *options])
        return texts_of(target)

    return source, target, prepare


def test_a_valid_copy_of_conll2003_is_put_in_place_once(conll, capsys):
    source, target, prepare = conll
    (source / "eng.train").rename(source / "train.txt")  # another usual name
    assert prepare() == dict.fromkeys(FILES, TEXT)
    output = capsys.readouterr().out
    assert "(c) Reuters and for research use only" in output
    assert "eng.testb: 1 sentences, 3 tokens, 2 entities; as expected" in output
    (target / "eng.train").chmod(0o444)
    prepare()
    assert "all there already" in capsys.readouterr().out
    (target / "eng.testa").write_text("mine")
    with pytest.raises(SystemExit, match="eng.testa would change; pass `--force` to replace"):
        prepare()
    assert (target / "eng.testa").read_text() == "mine"
    assert prepare("--force")["eng.testa"] == TEXT


@pytest.mark.parametrize(
    ("corpus", "name", "change", "message"),
    [
        ("conll", "eng.testa", lambda text: f"{text}\nThe DT I-NP O\n", "not the corpus as distr"),
        ("conll", "eng.testa", lambda text: f"{text}loose\n", "eng.testa:6: expected 4 columns"),
        ("conll", "eng.testb", None, "source: expected a file eng.testb or test.txt, got none"),
        (
            "reuters",
            "small.test.jsonl",
            lambda text: text.partition("\n")[2],
            "test: 2 documents of 2 labels",
        ),
        (
            "reuters",
            "small.train.jsonl",
            lambda text: text + '{"id": "x"}\n',
            "train.jsonl:41: expected a JSON",
        ),
        ("reuters", "small.train.jsonl", None, r"expected one file \*train.jsonl, got 0"),
    ],
)
def test_another_copy_is_refused(corpus, name, change, message, request, capsys):
    source, target, prepare = request.getfixturevalue(corpus)
    text = (source / name).read_text()
    (source / name).unlink()
    if change:
        (source / name).write_text(change(text))
    with pytest.raises(SystemExit, match=message):
        prepare()
    if "distr" in message:
        assert "eng.testa: 2 sentences, 4 tokens, 2 entities; expected 1" in capsys.readouterr().out
    assert not target.exists()


def test_lexicons_hold_well_known_names(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["prepare_lexicons.py", "--target", str(tmp_path)])
    prepare_lexicons.main()
    lists = {name: text.splitlines() for name, text in texts_of(tmp_path).items()}
    lists = {name.removesuffix(".txt"): terms for name, terms in lists.items()}
    assert set(lists) == set(prepare_lexicons.LISTS)
    for name, terms in {
        "first_names": ["Maria", "Jürgen", "Jurgen"],
        "last_names": ["Lindqvist", "Smith"],
        "cities": ["Lisbon", "New York City", "São Paulo", "Sao Paulo"],
        "countries": ["Portugal", "Bolivia", "USSR"],
        "regions": ["Texas", "Europe", "Bayern"],
        "peoples": ["Portuguese", "Germans"],
        "companies": ["Siemens", "Volkswagen"],
    }.items():
        assert not set(terms) - set(lists[name]), name
    every = [term for terms in lists.values() for term in terms]
    assert all(len(term) > 1 and term == " ".join(term.split()) for term in every)
    assert lists["cities"] == sorted(set(lists["cities"]))


@pytest.fixture
def reuters(tmp_path, monkeypatch):
    """A small corpus that takes the place of Reuters-21578."""
    source, target = tmp_path / "source", tmp_path / "reuters"
    source.mkdir()
    for part, count in (("train", 40), ("test", 3)):
        row = {"title": "T", "text": "", "labels": ["a", "b"]}
        lines = [json.dumps({"id": f"{part}/{i}", **row}) + "\n" for i in range(count)]
        (source / f"small.{part}.jsonl").write_text("".join(lines))
    monkeypatch.setattr(prepare_reuters, "EXPECTED", {"train": 40, "test": 3})
    monkeypatch.setattr(prepare_reuters, "NUM_LABELS", 2)
    return source, target, lambda: prepare_reuters.main([str(source), "--target", str(target)])


def test_development_documents_are_taken_from_training(reuters):
    _, target, prepare = reuters
    prepare()
    ids = {
        name: [json.loads(line)["id"] for line in text.splitlines()]
        for name, text in texts_of(target).items()
    }
    assert sorted(ids["train.jsonl"] + ids["dev.jsonl"]) == sorted(f"train/{i}" for i in range(40))
    assert 0 < len(ids["dev.jsonl"]) < 10
    assert ids["test.jsonl"] == ["test/0", "test/1", "test/2"]


@pytest.fixture
def addresses(tmp_path, monkeypatch):
    archive, target = tmp_path / "corpus.tar.gz", tmp_path / "target"
    with tarfile.open(archive, "w:gz") as files:
        member = tarfile.TarInfo(prepare_us_addresses.CORPUS)
        member.size = len(ADDRESSES)
        files.addfile(member, io.BytesIO(ADDRESSES.encode()))
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    monkeypatch.setattr(prepare_us_addresses, "ARCHIVE_SHA256", digest)

    def prepare():
        prepare_us_addresses.main(["--from", str(archive), "--target", str(target)])
        return texts_of(target)

    return archive, target, prepare


def test_every_address_is_written_once_in_the_format_of_the_reader(addresses, capsys, monkeypatch):
    archive, target, prepare = addresses
    files = prepare()
    assert set(files) == {"train.txt", "dev.txt", "test.txt"}
    sentences = [
        list(zip(instance["metadata"]["words"], instance["tags"]))
        for name, text in files.items()
        if text
        for instance in ColumnDatasetReader().read(target / name)
    ]
    assert sorted(sentences) == [
        [("12", "B-AddressNumber"), ("Oak", "B-StreetName"), ("Hill", "I-StreetName")],
        [("CHICAGO", "B-PlaceName"), ("IL.", "B-StateName")],
        [("Chicago,", "B-PlaceName"), ("IL", "B-StateName")],
    ]
    counts = [line.split()[-1] for line in capsys.readouterr().out.splitlines()[3:6]]
    assert counts == ["3", "7", "6"]
    assert prepare() == files
    # Existing files are not fetched again.
    digests = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in files.items()}
    monkeypatch.setattr(prepare_us_addresses, "FILE_SHA256", digests)
    archive.unlink()
    assert prepare() == files
    (target / "train.txt").write_text("")
    with pytest.raises(SystemExit, match="got no file"):
        prepare()


def test_variants_of_an_address_share_a_split_and_all_splits_are_used():
    spellings = [("", "Oak St."), (",", "OAK ST")]
    splits = prepare_us_addresses.split_addresses(
        [
            [(f"{number}{comma}", "AddressNumber"), (street, "StreetName")]
            for number in range(300)
            for comma, street in spellings
        ]
    )
    numbers = [{address[0][0].strip(",") for address in part} for part in splits.values()]
    assert [len(part) for part in splits.values()] == [2 * len(part) for part in numbers]
    assert [round(len(part) / 300, 1) for part in numbers] == [0.7, 0.1, 0.2]


def test_without_the_right_archive_the_remedy_is_named(addresses, monkeypatch, capfd):
    archive, target, prepare = addresses
    for name in ("PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    with pytest.raises(SystemExit, match="pip could not fetch .* pass the archive with `--from`"):
        prepare_us_addresses.main(["--target", str(target)])
    assert "No matching distribution found for usaddress==0.5.16" in capfd.readouterr().err
    archive.write_bytes(b"something else")
    with pytest.raises(SystemExit, match=r"corpus.tar.gz: expected .* got another file .*; fetch"):
        prepare()
    archive.unlink()
    with pytest.raises(SystemExit, match="corpus.tar.gz: expected the source distribution"):
        prepare()
    assert not target.exists()


CONLLU = """# newdoc id = x
# text = Don't go.
1-2\tDon't\t_\t_\t_\t_\t_\t_\t_\t_
1\tDo\tdo\tAUX\tVBP\t_\t3\taux\t_\t_
2\tn't\tnot\tPART\tRB\t_\t3\tadvmod\t_\t_
3\tgo\tgo\tVERB\tVB\t_\t0\troot\t_\t_
3.1\tthere\tthere\tADV\tRB\t_\t_\t_\t_\t_

1\t10 000\t10000\tNUM\tCD\t_\t0\troot\t_\t_
"""


@pytest.fixture
def treebank(tmp_path):
    """A treebank with two sentences in each part."""
    source = tmp_path / "treebank"
    source.mkdir()
    for part in prepare_ud_english_ewt.PARTS:
        (source / f"en_ewt-ud-{part}.conllu").write_text(CONLLU, encoding="utf-8")

    def prepare(*options):
        target = tmp_path / "made"
        prepare_ud_english_ewt.main([str(source), "--target", str(target), *options])
        return target

    return source, prepare


def test_a_treebank_becomes_columns_of_its_words_and_parts_of_speech(treebank, capsys):
    _, prepare = treebank
    target = prepare()
    assert "2 sentences, 4 words" in capsys.readouterr().out
    assert sorted(texts_of(target)) == ["dev.txt", "test.txt", "train.txt"]
    reader = ColumnDatasetReader(source_encoding=None, tag_encoding=None, delimiter="\t")
    tags = [instance["tags"].labels for instance in reader.read(target / "dev.txt")]
    assert tags == [["AUX", "PART", "VERB"], ["NUM"]]
    prepare()
    assert "all there already" in capsys.readouterr().out
    (target / "dev.txt").write_text("mine")
    with pytest.raises(SystemExit, match="dev.txt would change; pass `--force`"):
        prepare()
    assert "AUX" in (prepare("--force") / "dev.txt").read_text()


def test_a_folder_without_a_treebank_and_a_bad_line_are_refused(treebank):
    source, prepare = treebank
    path = source / "en_ewt-ud-dev.conllu"
    path.write_text("1\tDo\tAUX\n")
    with pytest.raises(SystemExit, match="dev.conllu:1: expected 10 cells, .* got 3: "):
        prepare()
    path.unlink()
    with pytest.raises(SystemExit, match=r"expected one file \*-ud-dev.conllu, got 0"):
        prepare()
