"""Malformed inputs of the commands that ask for labels and add them: `rank-unlabelled`, `add-label`."""

from typing import Iterator

from tests.system.malformed_inputs.case import BIO, Case, Setup, both, cut, file, nothing


def of_rank_unlabelled() -> Iterator[Case]:
    """Cases of `allennlp rank-unlabelled`."""

    def case(
        title: str,
        setup: Setup,
        says: str,
        options: str = "--budget 9",
        files: str = "model.tar.gz new.txt -o next.jsonl",
    ) -> Case:
        return Case(title, f"rank-unlabelled {files} {options}".strip(), setup, says)

    texts = file("new.txt", "Maria left.\n")
    # fmt: off
    yield case("texts that do not exist", nothing, "new.txt")
    yield case("texts that are empty", file("new.txt", ""), "no word")
    yield case("texts in Latin-1", file("new.txt", "José left.\n".encode("latin-1")), "UTF-8")
    yield case("text with JSON cut off", file("new.txt", '{"sentence": \n'), "new.txt:1:")
    yield case("budget of nothing", texts, "budget", "--budget 0")
    yield case("budget below the shortest question", texts, "--budget", "--budget 1")
    yield case("doubt above one half", texts, "doubt", "--budget 9 --by span --least-doubt 0.7")
    yield case("output that exists", both(texts, file("next.jsonl", "precious")), "next.jsonl")
    yield case("format without room for questions", texts, "--by span",
               "--budget 9 --by span --format columns")
    yield case("archive cut off", both(texts, cut), "cut.tar.gz",
               files="cut.tar.gz new.txt -o next.jsonl")


def of_add_label() -> Iterator[Case]:
    """Cases of `allennlp add-label`."""

    def case(
        title: str, setup: Setup, says: str, files: str = "model.tar.gz new.txt", options: str = ""
    ) -> Case:
        return Case(title, f"add-label {files} -s run {options}".strip(), setup, says)

    good = file("new.txt", "Lisbon B-CITY\nwaited O\n")
    # fmt: off
    yield case("new file that does not exist", nothing, "new.txt")
    yield case("new file that is empty", file("new.txt", ""), "new.txt")
    yield case("new file without a new label", file("new.txt", BIO), "does not know")
    yield case("new file without tags", file("new.txt", "Lisbon\nwaited\n"), "new.txt:")
    yield case("new file in another encoding", file("new.txt", "Lisbon U-CITY\n"), "new.txt:1:")
    yield case("folder of something else", both(good, file("run/mine", "precious")), "another run")
    yield case("folder of something else, to be replaced",
               both(good, file("run/mine", "precious")), "not the folder", options="--force")
    yield case("archive that is a text", good, "train.txt", "train.txt new.txt")
    yield case("archive cut off", both(good, cut), "cut.tar.gz", "cut.tar.gz new.txt")
    yield case("overrides that are no JSON", good, "overrides", options="-o {a=1}")
    yield case("loss above one", good, "most_lost", options="--most-lost 2")
    yield case("unknown key of the trainer", good, "num_epochs",
               options='-o {"trainer.num_epoch":3}')
