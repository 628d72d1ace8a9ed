"""Malformed inputs of the commands on labelled files: `compare-data`, `convert`, `find-label-errors`."""

import json
from typing import Any, Iterator, List

from tests.system.malformed_inputs.case import BIO, Case, Setup, both, cut, file, nothing


def of_compare_data() -> Iterator[Case]:
    """Cases of `allennlp compare-data`."""

    def case(
        title: str,
        setup: Setup,
        says: str,
        options: str = "",
        files: str = "model.tar.gz dev.txt new.txt",
    ) -> Case:
        return Case(title, f"compare-data {files} {options}".strip(), setup, says)

    texts = file("new.txt", "Maria left.\n")
    # fmt: off
    yield case("level above 1", nothing, "--level", "--level 5")
    yield case("run below 1", nothing, "--run", "--run 0")
    yield case("unknown format", texts, "columns", "--format json")
    yield case("output that is an input", file("new.txt", BIO), "new.txt", "-o new.txt --force")
    yield case("archive cut off", both(texts, cut), "cut.tar.gz", files="cut.tar.gz dev.txt new.txt")
    yield case("new texts that do not exist", nothing, "new.txt")
    yield case("new texts that are empty", file("new.txt", ""), "new.txt")
    yield case("new texts of blank lines", file("new.txt", "\n \n"), "new.txt", "--format text")
    yield case("new texts in Latin-1", file("new.txt", "José left.\n".encode("latin-1")), "UTF-8",
               "--format text")
    yield case("new texts with JSON cut off", file("new.txt", '{"sentence": \n'), "new.txt:1:",
               "--format text")
    yield case("labelled file without tags", both(texts, file("dev.txt", "Maria\nleft\n")), "dev.txt:",
               "--format text")
    yield case("labelled file with an unknown label",
               both(texts, file("labelled.txt", "Maria B-PERSON\nleft O\n")), "PERSON",
               "--format text", "model.tar.gz labelled.txt new.txt")
    yield case("labelled file that does not exist", texts, "labelled.txt", "--format text",
               "model.tar.gz labelled.txt new.txt")


def of_find_label_errors() -> Iterator[Case]:
    """Cases of `allennlp find-label-errors`."""

    def case(
        title: str,
        setup: Setup,
        says: str,
        options: str = "--taggers model.tar.gz",
        corpus: str = "corpus.txt",
    ) -> Case:
        return Case(title, f"find-label-errors {corpus} -o doubts {options}".strip(), setup, says)

    good = file("corpus.txt", f"{BIO}\n" * 20)
    # fmt: off
    yield case("corpus that does not exist", nothing, "corpus.txt")
    yield case("corpus that is empty", file("corpus.txt", ""), "corpus.txt")
    yield case("corpus without tags", file("corpus.txt", "Maria\nleft\n"), "corpus.txt:")
    yield case("corpus in another encoding", file("corpus.txt", "Maria U-PER\n"), "corpus.txt:1:")
    yield case("corpus with an unknown label", file("corpus.txt", "Maria B-PERSON\n"), "PERSON")
    yield case("corpus of doccano",
               file("corpus.jsonl", '{"text": "Maria", "label": [[0, 5, "PER"]]}\n'), "convert",
               corpus="corpus.jsonl")
    yield case("corpus without an entity", file("corpus.txt", "so O\n\n" * 20), "corpus.txt", "")
    yield case("corpus of one sentence", file("corpus.txt", "José B-PER\n".encode("latin-1")),
               "a larger corpus")
    yield case("one fold", good, "--folds", "--folds 1")
    yield case("more folds than sentences", file("corpus.txt", f"{BIO}\n" * 3), "--folds", "--folds 30")
    yield case("probability above 1", good, "--least", "--taggers model.tar.gz --least 5")
    yield case("leave open above 1", good, "--leave-open", "--taggers model.tar.gz --leave-open 5")
    yield case("negative number to accept", good, "--accept-first",
               "--taggers model.tar.gz --accept-first -3")
    yield case("decisions that do not exist", good, "decisions.json",
               "--taggers model.tar.gz --accept decisions.json")
    yield case("decisions that are no JSON", good, "--accept",
               "--taggers model.tar.gz --accept train.txt")
    yield case("decisions about another list",
               both(good, file("d.json", '{"list": "a", "accepted": []}')), "another list",
               "--taggers model.tar.gz --accept d.json")
    yield case("output that is a file", good, "is a file", "--taggers model.tar.gz -o corpus.txt")
    yield case("tagger that is a text", good, "train.txt", "--taggers train.txt")
    yield case("config that does not exist", good, "nowhere.jsonnet", "--config nowhere.jsonnet")
    yield case("config of another reader",
               both(good, file("c.jsonnet", "{ dataset_reader: { type: 'sequence_tagging' } }")),
               "column", "--config c.jsonnet")
    yield case("config without a reader", both(good, file("c.jsonnet", "{ a: 1 }")),
               "dataset_reader", "--config c.jsonnet")
    yield case("overrides that are no JSON", good, "overrides", "--overrides {a=1}")


def of_convert() -> Iterator[Case]:
    """Cases of `allennlp convert`."""

    def case(title: str, setup: Setup, says: str, arguments: str = "in.jsonl out.conll") -> Case:
        return Case(title, f"convert {arguments}", setup, says)

    def doccano(*labels: List[Any]) -> Setup:
        return file("in.jsonl", json.dumps({"text": "Maria Lee left.", "label": labels}) + "\n")

    good = doccano([0, 5, "PER"])
    # fmt: off
    yield case("input that does not exist", nothing, "in.jsonl")
    yield case("input that is empty", file("in.jsonl", ""), "in.jsonl")
    yield case("input that is no JSON", file("in.jsonl", "{Maria\n"), "in.jsonl:1:",
               "in.jsonl out.conll --from doccano")
    yield case("output that exists", both(good, file("out.conll", "precious")), "out.conll")
    yield case("name that does not tell the format", good, "--to", "in.jsonl out.xyz")
    yield case("unknown format", good, "did you mean", "in.jsonl out.conll --to conll")
    yield case("offset beyond the text", doccano([0, 50, "PER"]), "in.jsonl:1:")
    yield case("offset that is no number", doccano([0, "a", "PER"]), "in.jsonl:1:")
    yield case("entities that overlap", doccano([0, 9, "PER"], [6, 9, "LOC"]), "--overlapping")
    yield case("label with a blank", doccano([0, 9, "A B"]), "blanks")
    yield case("address of an unknown kind", nothing, "gopher", "gopher://a/in.jsonl out.conll")
    yield case("address that does not answer", nothing, "127.0.0.1",
               "http://127.0.0.1:9/in.jsonl out.conll")
