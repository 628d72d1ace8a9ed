"""Malformed inputs of the other commands."""

from typing import Iterator

from tests.system.malformed_inputs.case import BIO, Case, Setup, cut, file, nothing


def of_tune_decoding() -> Iterator[Case]:
    """Cases of `allennlp tune-decoding`."""

    def case(
        title: str,
        setup: Setup,
        says: str,
        options: str,
        files: str = "model.tar.gz dev.txt -o out.tar.gz",
    ) -> Case:
        return Case(title, f"tune-decoding {files} {options}".strip(), setup, says)

    # fmt: off
    yield case("no target", nothing, "--precision", "")
    yield case("recalibration and a target", nothing, "comes alone", "--recalibrate --macro-f1")
    yield case("recalibration with a confidence", nothing, "--confidence",
               "--recalibrate --confidence 0.9")
    yield case("recalibration by an empty file", file("test.txt", ""), "test.txt", "--recalibrate",
               "model.tar.gz test.txt -o out.tar.gz")
    yield case("recalibration in another encoding", file("test.txt", "Maria U-PER\n"), "test.txt:1:",
               "--recalibrate", "model.tar.gz test.txt -o out.tar.gz")
    yield case("promise of an unknown label", nothing, "did you mean `PER`?",
               "--recall PRE=0.9 --confidence 0.9")
    yield case("target without a number", nothing, "PER=0.97", "--precision PER")
    yield case("target of an unknown label", nothing, "did you mean `PER`?", "--precision PRE=0.9")
    yield case("precision above 1", nothing, "1.5", "--precision PER=1.5")
    yield case("negative F-beta", nothing, "-1", "--f-beta PER=-1")
    yield case("two targets for a label", nothing, "PER", "--precision PER=0.9 --recall PER=0.9")
    yield case("a leak without a confidence", nothing, "--confidence", "--leak PER=0.1")
    yield case("a promise by something else", nothing, "`--by`",
               "--precision PER=0.9 --confidence 0.9 --by bias")
    yield case("F without a number to promise", nothing, "PER=1:0.9",
               "--f-beta PER=1 --confidence 0.9")
    yield case("a promise of too much", nothing, "PER", "--recall PER=1 --confidence 0.9")
    yield case("a unit that the file does not mark", nothing, "document",
               "--recall PER=0.9 --confidence 0.9 --unit document")
    yield case("development data in another encoding", file("test.txt", "Maria U-PER\n"),
               "test.txt:1:", "--macro-f1", "model.tar.gz test.txt -o out.tar.gz")
    yield case("development data that do not exist", nothing, "test.txt", "--macro-f1",
               "model.tar.gz test.txt -o out.tar.gz")
    yield case("output that exists", file("out.tar.gz", "precious"), "--force", "--macro-f1")
    yield case("output that is the archive", nothing, "model.tar.gz", "--macro-f1 --force",
               "model.tar.gz dev.txt -o model.tar.gz")
    yield case("output in a folder that does not exist", nothing, "nowhere", "--macro-f1",
               "model.tar.gz dev.txt -o nowhere/out.tar.gz")
    yield case("archive cut off", cut, "cut.tar.gz", "--macro-f1",
               "cut.tar.gz dev.txt -o out.tar.gz")
    yield case("archive that is a text", nothing, "train.txt", "--macro-f1",
               "train.txt dev.txt -o out.tar.gz")


def of_tune_thresholds() -> Iterator[Case]:
    """Cases of `allennlp tune-decoding` on models of several labels."""

    def case(title: str, setup: Setup, says: str, options: str = "") -> Case:
        command = f"tune-decoding model.tar.gz dev.txt -o out.tar.gz {options}".strip()
        return Case(title, command, setup, says)

    # fmt: off
    yield case("a tagger with one label a token", nothing, "`crf`", "--common")
    yield case("precision without a number", nothing, "precision=0.9", "--target precision=high")
    yield case("unknown measure", nothing, "'f1'", "--target f1")
    yield case("one threshold for the recall of each label", nothing, "`common`",
               "--target recall=0.9 --common")
    yield case("labels of no item", nothing, "got 0", "--common --least-positives 0")
    # fmt: on


def of_start() -> Iterator[Case]:
    """Cases of `allennlp start`."""

    def case(
        title: str, setup: Setup, says: str, arguments: str = "train.txt", legal: bool = False
    ) -> Case:
        return Case(title, f"start {arguments} -o mine.jsonnet", setup, says, legal)

    # fmt: off
    yield case("file that does not exist", nothing, "nowhere.txt", "nowhere.txt")
    yield case("line without a tag", file("train.txt", BIO + "so\n"), "train.txt:8:")
    yield case("tokens alone", file("train.txt", "Maria\nleft\n"), "train.txt:")
    yield case("no label at all", file("train.txt", "Maria O\nleft O\n"), "--tag-column")
    yield case("illegal tag", file("train.txt", f"{BIO}\n" * 3 + "so L-PER\n"), "train.txt:25:")
    yield case("too few sentences to split", file("train.txt", "Maria B-PER\n"), "train.txt")
    yield case("development file with another number of columns",
               file("dev.txt", "Maria NNP B-PER\n"), "dev.txt:1:", "train.txt dev.txt")
    yield case("unknown encoding", nothing, "utf9", "train.txt --text-encoding utf9")
    yield case("file in UTF-16", file("train.txt", (BIO * 9).encode("utf-16")), "", legal=True)
    yield case("config that exists", file("mine.jsonnet", "precious"), "--force")


def of_the_others() -> Iterator[Case]:
    """Cases of `describe`, `ensemble`, `report`, `show-scores`, `split` and studies."""
    # fmt: off
    yield Case("archive that is a text", "ensemble model.tar.gz train.txt -o e.tar.gz", nothing,
               "train")
    yield Case("ensemble over its member", "ensemble model.tar.gz -o model.tar.gz", nothing,
               "model.tar.gz")
    yield Case("ensemble of one archive", "ensemble model.tar.gz model.tar.gz -o e.tar.gz", nothing,
               "at least two")
    yield Case("component that does not exist", "describe crff", nothing, "did you mean `crf`")
    yield Case("folder that is no run", "report my -o r.html", file("my/a.txt", ""),
               "my/model.tar.gz")
    yield Case("file without metrics", "show-scores scores.json", file("scores.json", "{}"),
               "scores.json")
    yield Case("file that is no JSON", "show-scores train.txt", nothing, "train.txt")
    yield Case("folder of an unfinished run", "show-scores my", file("my/config.json", "{}"),
               "metrics.json")
    yield Case("part that exists", "split train.txt .", nothing, "train.txt")
    yield Case("no such column", "split train.txt parts --tag-column 7", nothing, "train.txt:1:")
    yield Case("study without seeds", "study s.json -s run", file("s.json", "{}"), "`variants`")
    yield Case("study whose columns are names", "study s.json -s run",
               file("s.json", '{"variants": {"a": {}}, "seeds": [1], "columns": ["F1"]}'),
               "`metrics`")


def of_allennlp() -> Iterator[Case]:
    """Cases of `allennlp` itself."""
    # fmt: off
    yield Case("unknown command", "trian mine.jsonnet", nothing, "trian")
