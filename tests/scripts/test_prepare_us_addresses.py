import hashlib
import io
import tarfile

import pytest

from scripts import prepare_us_addresses
from tagger.data import ColumnDatasetReader

CORPUS = """<AddressCollection>
  <AddressString><AddressNumber>12</AddressNumber> <StreetName>Oak</StreetName> <StreetName>Hill
</StreetName></AddressString>
  <AddressString><PlaceName>Chicago,</PlaceName> <StateName>IL</StateName></AddressString>
  <AddressString><PlaceName>CHICAGO</PlaceName> <StateName>IL.</StateName></AddressString>
</AddressCollection>"""


@pytest.fixture
def archive(tmp_path, monkeypatch):
    path = tmp_path / "corpus.tar.gz"
    with tarfile.open(path, "w:gz") as files:
        member = tarfile.TarInfo(prepare_us_addresses.CORPUS)
        member.size = len(CORPUS)
        files.addfile(member, io.BytesIO(CORPUS.encode()))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    monkeypatch.setattr(prepare_us_addresses, "ARCHIVE_SHA256", digest)
    return path


def prepare(archive, target):
    prepare_us_addresses.main(["--from", str(archive), "--target", str(target)])
    return {path.name: path.read_text() for path in target.iterdir()}


def test_every_address_is_written_once_as_the_reader_expects_it(archive, tmp_path, capsys):
    files = prepare(archive, tmp_path / "target")
    assert set(files) == {"train.txt", "dev.txt", "test.txt"}
    sentences = [
        list(zip(instance["metadata"]["words"], instance["tags"]))
        for name, text in files.items()
        if text
        for instance in ColumnDatasetReader().read(tmp_path / "target" / name)
    ]
    assert sorted(sentences) == [
        [("12", "B-AddressNumber"), ("Oak", "B-StreetName"), ("Hill", "I-StreetName")],
        [("CHICAGO", "B-PlaceName"), ("IL.", "B-StateName")],
        [("Chicago,", "B-PlaceName"), ("IL", "B-StateName")],
    ]
    assert [line.split()[-1] for line in capsys.readouterr().out.splitlines()[3:6]] == [
        "3",
        "7",
        "6",
    ]


def test_preparing_twice_gives_the_same_files(archive, tmp_path):
    assert prepare(archive, tmp_path / "target") == prepare(archive, tmp_path / "target")


def test_what_is_there_is_not_fetched_again(archive, tmp_path, monkeypatch, capsys):
    files = prepare(archive, tmp_path / "target")
    digests = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in files.items()}
    monkeypatch.setattr(prepare_us_addresses, "FILE_SHA256", digests)
    archive.unlink()
    assert prepare(archive, tmp_path / "target") == files
    assert "already" in capsys.readouterr().out
    (tmp_path / "target" / "train.txt").write_text("")
    with pytest.raises(SystemExit, match="got no file"):
        prepare(archive, tmp_path / "target")


def test_spellings_of_an_address_share_a_split_and_all_splits_are_used():
    addresses = [
        [(f"{number}{comma}", "AddressNumber"), (street, "StreetName")]
        for number in range(300)
        for comma, street in [("", "Oak St."), (",", "OAK ST")]
    ]
    splits = prepare_us_addresses.split_addresses(addresses)
    numbers = {
        name: {address[0][0].strip(",") for address in part} for name, part in splits.items()
    }
    assert {name: len(part) for name, part in splits.items()} == {
        name: 2 * len(part) for name, part in numbers.items()
    }
    assert [round(len(part) / 300, 1) for part in numbers.values()] == [0.7, 0.1, 0.2]


def test_another_archive_is_refused(archive, tmp_path):
    archive.write_bytes(b"something else")
    with pytest.raises(
        SystemExit, match="corpus.tar.gz: expected .* got another file .*; fetch it again"
    ):
        prepare(archive, tmp_path / "target")
    assert not (tmp_path / "target").exists()


def test_a_missing_archive_is_named(tmp_path):
    with pytest.raises(
        SystemExit, match="none.tar.gz: expected the source distribution of usaddress"
    ):
        prepare(tmp_path / "none.tar.gz", tmp_path / "target")


def test_without_network_the_way_out_is_named(monkeypatch, tmp_path, capfd):
    for name in ("PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    with pytest.raises(SystemExit, match="pip could not fetch .* pass the archive with `--from`"):
        prepare_us_addresses.main(["--target", str(tmp_path / "target")])
    assert "No matching distribution found for usaddress==0.5.16" in capfd.readouterr().err
    assert not (tmp_path / "target").exists()
