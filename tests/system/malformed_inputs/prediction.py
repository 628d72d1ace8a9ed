"""Malformed inputs of `evaluate`, `predict` and `predict-file`."""

import os
from typing import Iterator

from tests.system.malformed_inputs.case import Case, Setup, both, cut, file, given, hostile, nothing


def of_evaluate() -> Iterator[Case]:
    """Cases of `allennlp evaluate`."""

    def case(title: str, setup: Setup, says: str, command: str = "model.tar.gz test.txt") -> Case:
        return Case(title, f"evaluate {command}", setup, says)

    # fmt: off
    yield case("archive that does not exist", nothing, "nowhere.tar.gz", "nowhere.tar.gz dev.txt")
    yield case("archive cut off", cut, "cut.tar.gz", "cut.tar.gz dev.txt")
    yield case("archive that is empty", file("empty.tar.gz", ""), "empty.tar.gz",
               "empty.tar.gz dev.txt")
    yield case("archive that is a text", nothing, "train.txt", "train.txt dev.txt")
    yield case("archive that is an empty folder", lambda f: (f / "run").mkdir(), "run",
               "run dev.txt")
    yield case("archive with `..` in a name", hostile(member="a name with .."),
               "TAGGER_TRUST_ARCHIVES", "hostile.tar.gz dev.txt")
    yield case("archive that calls a program", hostile(config="a function of a library"),
               "TAGGER_TRUST_ARCHIVES", "hostile.tar.gz dev.txt")
    yield case("data that do not exist", nothing, "test.txt")
    yield case("data without tags", file("test.txt", "Maria\nleft\n"), "test.txt:")
    yield case("data in another encoding", file("test.txt", "Maria U-PER\nleft O\n"), "test.txt:1:")
    yield case("label unknown to the model", file("test.txt", "Maria B-PERSON\nleft O\n"), "PERSON")
    yield case("data that are empty", file("test.txt", ""), "test.txt")
    yield case("output in a folder that does not exist", nothing, "nowhere",
               "model.tar.gz dev.txt --output-file nowhere/metrics.json")
    yield case("output that is the data", nothing, "dev.txt",
               "model.tar.gz dev.txt --output-file dev.txt")
    yield case("predictions over the archive", nothing, "model.tar.gz",
               "model.tar.gz dev.txt --predictions-output-file model.tar.gz")
    yield case("override of an unknown key", nothing, "decodng",
               'model.tar.gz dev.txt -o {"model.head.decodng":1}')
    yield case("disk full", nothing, "No space left",
               "model.tar.gz dev.txt --output-file /dev/full")


def of_predict() -> Iterator[Case]:
    """Cases of `allennlp predict`."""

    def case(
        title: str, setup: Setup, says: str, command: str = "model.tar.gz -", legal: bool = False
    ) -> Case:
        return Case(title, f"predict {command}", setup, says, legal)

    # fmt: off
    yield case("archive that does not exist", nothing, "nowhere.tar.gz", "nowhere.tar.gz -")
    yield case("input that does not exist", nothing, "nowhere.txt", "model.tar.gz nowhere.txt")
    yield case("JSON list", given('["a"]\n'), "plain")
    yield case("JSON cut off", given('{"sentence": "Maria\n'), "no JSON object")
    yield case("object without a sentence", given('{"text": "Maria left."}\n'), "`sentence`")
    yield case("object with two inputs", given('{"sentence": "a b", "tokens": ["a"]}\n'),
               "`tokens`")
    yield case("line of brackets", given(")" * 40_000 + "\n"), "40000 characters in a row")
    yield case("bad line of a file", file("texts.txt", 'Maria left.\n{"tokens": [1]}\n'),
               "texts.txt:2", "model.tar.gz texts.txt --silent --output-file out.jsonl")
    yield case("input in Latin-1",
               file("texts.txt", "Maria left.\nJosé left.\n".encode("latin-1")), "texts.txt:2",
               "model.tar.gz texts.txt")
    yield case("Latin-1 on standard input", given("José left.\n".encode("latin-1")), "UTF-8")
    yield case("unknown `--predictor-args`", given("Maria\n"), "did you mean `plain`?",
               'model.tar.gz - --predictor-args {"plian":true}')
    yield case("`--predictor-args` that are no JSON", given("Maria\n"), "--predictor-args",
               "model.tar.gz - --predictor-args plain")
    yield case("unknown `--predictor`", given("Maria\n"), "taggr",
               "model.tar.gz - --predictor sequence_taggr")
    yield case("output in a folder that does not exist", given("Maria\n"), "nowhere",
               "model.tar.gz - --output-file nowhere/out.jsonl")
    yield case("output that is the input", file("texts.txt", "Maria left.\n"), "texts.txt",
               "model.tar.gz texts.txt --output-file texts.txt")
    yield case("disk full", file("texts.txt", "Maria left.\n"), "No space left",
               "model.tar.gz texts.txt --silent --output-file /dev/full")
    yield case("`--batch-size` below 1", file("texts.txt", "Maria left.\n"), "--batch-size",
               "model.tar.gz texts.txt --batch-size 0")
    yield case("column file as texts with the reader", file("texts.txt", "Maria\n"),
               "texts.txt:", "model.tar.gz texts.txt --use-dataset-reader")
    yield case("empty input", file("texts.txt", ""), "", "model.tar.gz texts.txt", legal=True)


def of_predict_file() -> Iterator[Case]:
    """Cases of `allennlp predict-file`."""

    def case(
        title: str,
        setup: Setup,
        says: str,
        options: str = "",
        command: str = "model.tar.gz texts.txt -o out.jsonl",
        legal: bool = False,
    ) -> Case:
        return Case(title, f"predict-file {command} {options}".strip(), setup, says, legal)

    texts = file("texts.txt", "Maria left.\n")
    # fmt: off
    yield case("archive cut off", both(texts, cut), "cut.tar.gz",
               command="cut.tar.gz texts.txt -o out.jsonl")
    yield case("input that does not exist", nothing, "texts.txt")
    yield case("input that is a folder", file("texts.txt/a.txt", "Maria"), "texts.txt")
    yield case("JSON list", file("texts.txt", "Maria left.\n[123]\n"), "texts.txt:2:")
    yield case("JSON cut off", file("texts.txt", 'Maria left.\n{"sentence": \n'), "texts.txt:2:")
    yield case("Latin-1", file("texts.txt", "Maria left.\nJosé left.\n".encode("latin-1")),
               "texts.txt:2:")
    bad = file("texts.txt", b"Maria left.\n\xff\n[123]\n")
    yield case("bad lines, skipped", bad, "Skipped 2 lines", "--on-error skip", legal=True)
    yield case("unknown `--predictor-args`", texts, "did you mean `plain`?",
               '--predictor-args {"plian":true}')
    yield case("`batch_tokens` given as text", texts, "batch_tokens",
               '--predictor-args {"batch_tokens":"a"}')
    yield case("`--window` below 1", texts, "--window", "--window 0")
    yield case("output in a folder that does not exist", texts, "nowhere",
               command="model.tar.gz texts.txt -o nowhere/out.jsonl")
    yield case("output that is the input", texts, "texts.txt", "--force",
               command="model.tar.gz texts.txt -o texts.txt")
    yield case("output that exists", both(texts, file("out.jsonl", "precious")), "--force")
    yield case("output that is a pipe", both(texts, lambda f: os.mkfifo(f / "pipe")), "pipe",
               "--force", command="model.tar.gz texts.txt -o pipe")
    yield case("record that is a file of yours",
               both(texts, file(".out.jsonl.predict-file", "precious")), "out.jsonl.predict-file")
    yield case("no output", texts, "--output", command="model.tar.gz texts.txt")
    yield case("empty input", file("texts.txt", ""), "", legal=True)
