"""Gives malformed inputs to every command, and shows the last line that each prints.

    python scripts/try_malformed_inputs.py                    prints the table of docs/errors.md
    python scripts/try_malformed_inputs.py --only predict     cases whose command or title has this word
    python scripts/try_malformed_inputs.py --write            writes the table into docs/errors.md

It trains the toy config first. The script fails if a case ends with a traceback, with another exit
status than expected, with a line that says too little, or if a file that was there is gone or changed.
"""

import argparse
import gzip
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from scripts.forked_command import Outcome, digests, run_command, without_settings
from tests.system.archives import CONFIGS, MEMBERS, write_archive

ROOT = Path(__file__).parent.parent
TOY = ROOT / "training_config/toy_bilstm_crf.jsonnet"
PAGE = ROOT / "docs/errors.md"
#: What stands around the table in the page.
MARKS = ("<!-- made by scripts/try_malformed_inputs.py -->", "<!-- end -->")

BIO = "Maria B-PER\nLindqvist I-PER\nvisited O\nLisbon B-LOC\n\nPaulo B-PER\nleft O\n"
TRAIN = "train mine.jsonnet -s run"

#: Writes what is malformed; may return a text for standard input.
Setup = Callable[[Path], Optional[bytes]]


class Case(NamedTuple):
    """One malformed input.

    Attributes:
        title: What is malformed.
        command: What follows `allennlp` on the command line.
        setup: Writes the input into the current folder of the command.
        is_legal: Whether the command takes it, and gives a sensible result.
        says: What the last line must hold, besides the file's name.
    """

    title: str
    command: str
    setup: Setup
    says: str
    is_legal: bool = False


def file(name: str, content: "bytes | str") -> Setup:
    """Writes a file."""

    def write(folder: Path) -> None:
        path = folder / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())

    return write


def given(text: "bytes | str") -> Setup:
    """Gives a text on standard input."""
    return lambda folder: text if isinstance(text, bytes) else text.encode()


def nothing(folder: Path) -> None:
    """Leaves the folder as it is."""


def both(*setups: Setup) -> Setup:
    """Does one thing after the other."""

    def write(folder: Path) -> None:
        for setup in setups:
            setup(folder)

    return write


def config(
    changes: str = "",
    source_encoding: Optional[str] = "BIO",
    template: str = "tagger/template.libsonnet",
) -> Setup:
    """Writes a config `mine.jsonnet` that trains on `train.txt` for one epoch.

    Args:
        changes: Further fields, which come last.
        source_encoding: The setting; None leaves it out.
        template: What is imported.
    """
    setting = "" if source_encoding is None else f"source_encoding:: '{source_encoding}',"
    fields = "train_data_path: 'train.txt', validation_data_path: 'dev.txt', num_epochs:: 1,"
    size = "word_dim:: 4, hidden_size:: 4,"
    return file(
        "mine.jsonnet",
        f"(import '{template}') + {{\n{setting}\n{fields}\n{size}\n}} + {{\n{changes}\n}}\n",
    )


def trained_on(
    content: "bytes | str", source_encoding: str = "BIO", name: str = "train.txt", changes: str = ""
) -> Setup:
    """Writes a training file, or another, and a config that reads it."""
    return both(config(changes, source_encoding), file(name, content))


def of_train() -> Iterator[Case]:
    """Cases of `allennlp train`."""

    def case(
        title: str, setup: Setup, says: str, command: str = TRAIN, legal: bool = False
    ) -> Case:
        return Case(title, command, setup, says, legal)

    yield case(
        "config that does not exist", nothing, "nowhere.jsonnet", "train nowhere.jsonnet -s run"
    )
    yield case(
        "config with a missing comma", file("mine.jsonnet", "{ a: 1 b: 2 }"), "mine.jsonnet:1:"
    )
    yield case("config that is a folder", lambda f: (f / "mine.jsonnet").mkdir(), "mine.jsonnet")
    yield case(
        "template that does not exist", config(template="tmplate.libsonnet"), "tmplate.libsonnet"
    )
    yield case("`source_encoding` left out", config(source_encoding=None), "set `source_encoding`")
    yield case("unknown encoding", config(source_encoding="BILOU"), "expected one of BIO")
    yield case("typo in a setting", config("hiden_size:: 300,"), "did you mean `hidden_size::`?")
    yield case("unknown key of the trainer", config("trainer+: { num_epoch: 3 },"), "`num_epochs`?")
    yield case(
        "unknown key of the reader",
        config("dataset_reader+: { coding_scheme: 'BIO' },"),
        "`source_encoding`",
    )
    yield case("unknown key of the model", config("model+: { encodr: {} },"), "encodr")
    yield case("unknown key of the config", config("random_sed: 1,"), "random_sed")
    yield case("unknown type", config("model+: { type: 'sequence_taggr' },"), "sequence_tagger")
    yield case("unknown type of a part", config("model+: { head: { type: 'crff' } },"), "crf")
    yield case(
        "unknown weighting",
        config("weighting:: { type: 'emissions', label_weights: { PER: 2 } },"),
        "emission",
    )
    yield case(
        "weight of an unknown label",
        config("weighting:: { type: 'chain', label_weights: { PRE: 2 } },"),
        "did you mean `PER`?",
    )
    yield case(
        "negative weight",
        config("weighting:: { type: 'chain', label_weights: { PER: -2 } },"),
        "-2",
    )
    yield case(
        "weight that is no number",
        config("weighting:: { type: 'chain', label_weights: { PER: 'two' } },"),
        "label_weights.PER",
    )
    yield case("unknown validation metric", config("trainer+: { validation_metric: '+f1' },"), "f1")
    yield case("`num_epochs` below 1", config("num_epochs:: 0,"), "num_epochs")
    yield case("`batch_size` below 1", config("batch_size:: 0,"), "batch_size")
    yield case("`dropout` above 1", config("dropout:: 1.5,"), "dropout")
    yield case("`hidden_size` below 1", config("hidden_size:: 0,"), "hidden_size")
    yield case("number given as text", config("trainer+: { num_epochs: 'ten' },"), "num_epochs")
    yield case("GPU that the machine lacks", config("trainer+: { cuda_device: 7 },"), "GPU")
    yield case("no validation file", config("validation_data_path: null,"), "", legal=True)
    yield case(
        "override that is no JSON",
        config(),
        "overrides",
        "train mine.jsonnet -s run -o {num_epochs=3}",
    )
    yield case(
        "override of a key that does not exist",
        config(),
        "num_epoch",
        'train mine.jsonnet -s run -o {"trainer.num_epoch":3}',
    )
    yield case("no folder for the run", config(), "-s", "train mine.jsonnet")
    yield case("folder of another run", both(config(), file("run/config.json", "{}")), "--recover")
    yield case(
        "`--force` on a folder that is no run",
        both(config(), file("run/mine.txt", "precious")),
        "mine.txt",
        f"{TRAIN} --force",
    )
    yield case(
        "`--recover` with another config",
        both(config(), file("run/config.json", '{"model": 1}')),
        "config",
        f"{TRAIN} --recover",
    )
    yield case(
        "`--recover` in a folder that is no run",
        both(config(), file("run/mine.txt", "precious")),
        "config.json",
        f"{TRAIN} --recover",
    )
    yield case(
        "folder that cannot be written", config(), "/proc/run", "train mine.jsonnet -s /proc/run"
    )
    yield case(
        "folder whose name a file has", config(), "train.txt", "train mine.jsonnet -s train.txt"
    )
    yield case(
        "training file that does not exist", config("train_data_path: 'tain.txt',"), "tain.txt"
    )
    yield case(
        "training file that is a folder",
        both(config("train_data_path: 'texts',"), file("texts/a.txt", BIO)),
        "texts",
    )
    yield case("training file that is empty", trained_on(""), "train.txt")
    yield case("training file of blank lines", trained_on(" \n\t\n\n"), "train.txt")
    yield case(
        "line with another number of columns", trained_on(BIO + "Salem MA B-LOC\n"), "train.txt:8:"
    )
    yield case("line without a tag", trained_on(BIO + "Salem\n"), "train.txt:8:")
    yield case("tag with a blank", trained_on(BIO + "Salem B-LOC X\n"), "train.txt:8:")
    yield case(
        "empty cell between tabs",
        trained_on(
            BIO.replace(" ", "\t") + "Salem\t\n", changes="dataset_reader+: { delimiter: '\\t' },"
        ),
        "train.txt:8:",
    )
    yield case(
        "column that does not exist", config("dataset_reader+: { tag_column: 7 },"), "train.txt:1:"
    )
    yield case("IOB1 given as BIOUL", trained_on("Maria I-PER\nleft O\n", "BIOUL"), "train.txt:1:")
    yield case("BIOUL given as BIO", trained_on("Maria U-PER\nleft O\n"), "train.txt:1:")
    yield case(
        "two encodings in one file", trained_on(BIO + "\nAnna B-PER\nLee L-PER\n"), "train.txt:10:"
    )
    yield case("tags given as plain labels", trained_on("Maria PER\nleft O\n"), "train.txt:1:")
    yield case("lower-case prefix of a tag", trained_on("Maria b-PER\nleft O\n"), "train.txt:1:")
    yield case(
        "Latin-1", trained_on(BIO.encode() + "José B-PER\n".encode("latin-1")), "train.txt:8:"
    )
    yield case("UTF-16", trained_on(BIO.encode("utf-16")), "train.txt:1:")
    yield case("bytes of a program", trained_on(bytes(range(256)) * 4), "train.txt:")
    yield case("compressed file", trained_on(gzip.compress(BIO.encode(), mtime=0)), "train.txt:1:")
    yield case(
        "compressed file by its name",
        both(
            config("train_data_path: 'train.txt.gz',"),
            file("train.txt.gz", gzip.compress(BIO.encode(), mtime=0)),
        ),
        "train.txt.gz:1:",
    )
    labelled = BIO + "\nExpo B-EVENT\nBank B-ORG\n"
    yield case("byte order mark", trained_on(b"\xef\xbb\xbf" + labelled.encode()), "", legal=True)
    yield case(
        "carriage returns alone end lines", trained_on(labelled.replace("\n", "\r")), "", legal=True
    )
    yield case(
        "one sentence",
        trained_on("Maria B-PER\nleft O\n\n", changes="validation_data_path: 'train.txt',"),
        "",
        legal=True,
    )
    yield case(
        "no entity at all",
        trained_on("left O\nright O\n", changes="validation_data_path: 'train.txt',"),
        "",
        legal=True,
    )
    yield case(
        "label that only the validation file has",
        trained_on(BIO + "Expo B-FAIR\n", name="dev.txt"),
        "train with this tag in the config's `vocabulary`",
    )
    glove = "glove_file:: 'vectors.txt',"
    yield case("vectors that do not exist", config(glove), "vectors.txt")
    yield case(
        "vectors of another dimension",
        both(config(glove), file("vectors.txt", "the 1 2 3\nof 1 2 3\n")),
        "vectors.txt:1:",
    )
    yield case(
        "vectors that are empty", both(config(glove), file("vectors.txt", "")), "vectors.txt"
    )
    yield case(
        "vectors in Latin-1",
        both(config(glove), file("vectors.txt", "José 1 2 3 4\n".encode("latin-1"))),
        "vectors.txt",
    )
    yield case(
        "vectors cut off",
        both(config(glove), file("vectors.txt", "Maria 1 2 3 4\nleft 1 2")),
        "vectors.txt:2:",
    )
    yield case(
        "vectors that are no numbers",
        both(config(glove), file("vectors.txt", "Maria 1 2 3 x\n")),
        "vectors.txt:1:",
    )
    yield case(
        "vectors of no word of the data",
        both(config(glove), file("vectors.txt", "zzz 1 2 3 4\n")),
        "",
        legal=True,
    )


def cut(folder: Path) -> None:
    """Writes the first half of an archive."""
    content = (folder / "model.tar.gz").read_bytes()
    (folder / "cut.tar.gz").write_bytes(content[: len(content) // 2])


def hostile(**change: str) -> Setup:
    """Writes an archive of `tests/system/archives.py`."""

    def write(folder: Path) -> None:
        member = MEMBERS.get(change.get("member", ""))
        changed = CONFIGS.get(change.get("config", ""))
        write_archive(folder / "model.tar.gz", folder / "hostile.tar.gz", member, changed)

    return write


def of_evaluate() -> Iterator[Case]:
    """Cases of `allennlp evaluate`."""

    def case(title: str, setup: Setup, says: str, command: str = "model.tar.gz test.txt") -> Case:
        return Case(title, f"evaluate {command}", setup, says)

    yield case("archive that does not exist", nothing, "nowhere.tar.gz", "nowhere.tar.gz dev.txt")
    yield case("archive cut off", cut, "cut.tar.gz", "cut.tar.gz dev.txt")
    yield case(
        "archive that is empty", file("empty.tar.gz", ""), "empty.tar.gz", "empty.tar.gz dev.txt"
    )
    yield case("archive that is a text", nothing, "train.txt", "train.txt dev.txt")
    yield case(
        "archive that is an empty folder", lambda f: (f / "run").mkdir(), "run", "run dev.txt"
    )
    yield case(
        "archive with `..` in a name",
        hostile(member="a name with .."),
        "TAGGER_TRUST_ARCHIVES",
        "hostile.tar.gz dev.txt",
    )
    yield case(
        "archive that calls a program",
        hostile(config="a function of a library"),
        "TAGGER_TRUST_ARCHIVES",
        "hostile.tar.gz dev.txt",
    )
    yield case("data that do not exist", nothing, "test.txt")
    yield case("data without tags", file("test.txt", "Maria\nleft\n"), "test.txt:1:")
    yield case("data in another encoding", file("test.txt", "Maria U-PER\nleft O\n"), "test.txt:1:")
    yield case("label unknown to the model", file("test.txt", "Maria B-PERSON\nleft O\n"), "PERSON")
    yield case("data that are empty", file("test.txt", ""), "test.txt")
    yield case(
        "output in a folder that does not exist",
        nothing,
        "nowhere",
        "model.tar.gz dev.txt --output-file nowhere/metrics.json",
    )
    yield case(
        "output that is the data", nothing, "dev.txt", "model.tar.gz dev.txt --output-file dev.txt"
    )
    yield case(
        "predictions over the archive",
        nothing,
        "model.tar.gz",
        "model.tar.gz dev.txt --predictions-output-file model.tar.gz",
    )
    yield case(
        "override of an unknown key",
        nothing,
        "decodng",
        'model.tar.gz dev.txt -o {"model.head.decodng":1}',
    )
    yield case(
        "disk full", nothing, "No space left", "model.tar.gz dev.txt --output-file /dev/full"
    )


def of_predict() -> Iterator[Case]:
    """Cases of `allennlp predict`."""

    def case(
        title: str, setup: Setup, says: str, command: str = "model.tar.gz -", legal: bool = False
    ) -> Case:
        return Case(title, f"predict {command}", setup, says, legal)

    yield case("archive that does not exist", nothing, "nowhere.tar.gz", "nowhere.tar.gz -")
    yield case("input that does not exist", nothing, "nowhere.txt", "model.tar.gz nowhere.txt")
    yield case("JSON that is no object", given('["a"]\n'), "plain")
    yield case("JSON cut off", given('{"sentence": "Maria\n'), "no JSON object")
    yield case("object without a sentence", given('{"text": "Maria left."}\n'), "`sentence`")
    yield case(
        "object with two inputs", given('{"sentence": "a b", "tokens": ["a"]}\n'), "`tokens`"
    )
    yield case("line of brackets", given(")" * 40_000 + "\n"), "40000 characters in a row")
    yield case(
        "bad line of a file",
        file("texts.txt", 'Maria left.\n{"tokens": [1]}\n'),
        "texts.txt:2",
        "model.tar.gz texts.txt --silent --output-file out.jsonl",
    )
    yield case(
        "input in Latin-1",
        file("texts.txt", "Maria left.\nJosé left.\n".encode("latin-1")),
        "texts.txt:2",
        "model.tar.gz texts.txt",
    )
    yield case("Latin-1 on standard input", given("José left.\n".encode("latin-1")), "UTF-8")
    yield case(
        "unknown `--predictor-args`",
        given("Maria\n"),
        "did you mean `plain`?",
        'model.tar.gz - --predictor-args {"plian":true}',
    )
    yield case(
        "`--predictor-args` that are no JSON",
        given("Maria\n"),
        "--predictor-args",
        "model.tar.gz - --predictor-args plain",
    )
    yield case(
        "unknown `--predictor`",
        given("Maria\n"),
        "taggr",
        "model.tar.gz - --predictor sequence_taggr",
    )
    yield case(
        "output in a folder that does not exist",
        given("Maria\n"),
        "nowhere",
        "model.tar.gz - --output-file nowhere/out.jsonl",
    )
    yield case(
        "output that is the input",
        file("texts.txt", "Maria left.\n"),
        "texts.txt",
        "model.tar.gz texts.txt --output-file texts.txt",
    )
    yield case(
        "disk full",
        file("texts.txt", "Maria left.\n"),
        "No space left",
        "model.tar.gz texts.txt --silent --output-file /dev/full",
    )
    yield case(
        "`--batch-size` below 1",
        file("texts.txt", "Maria left.\n"),
        "--batch-size",
        "model.tar.gz texts.txt --batch-size 0",
    )
    yield case(
        "column file as texts with the reader",
        file("texts.txt", "Maria\n"),
        "texts.txt:1:",
        "model.tar.gz texts.txt --use-dataset-reader",
    )
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
    yield case(
        "archive cut off",
        both(texts, cut),
        "cut.tar.gz",
        command="cut.tar.gz texts.txt -o out.jsonl",
    )
    yield case("input that does not exist", nothing, "texts.txt")
    yield case("input that is a folder", file("texts.txt/a.txt", "Maria"), "texts.txt")
    yield case("JSON that is no object", file("texts.txt", "Maria left.\n123\n"), "texts.txt:2:")
    yield case("JSON cut off", file("texts.txt", 'Maria left.\n{"sentence": \n'), "texts.txt:2:")
    yield case(
        "Latin-1", file("texts.txt", "Maria left.\nJosé left.\n".encode("latin-1")), "texts.txt:2:"
    )
    bad = file("texts.txt", b"Maria left.\n\xff\n123\n")
    yield case("bad lines, skipped", bad, "Skipped 2 lines", "--on-error skip", legal=True)
    yield case(
        "unknown `--predictor-args`",
        texts,
        "did you mean `plain`?",
        '--predictor-args {"plian":true}',
    )
    yield case("`--window` below 1", texts, "--window", "--window 0")
    yield case(
        "output in a folder that does not exist",
        texts,
        "nowhere",
        command="model.tar.gz texts.txt -o nowhere/out.jsonl",
    )
    yield case(
        "output that is the input",
        texts,
        "texts.txt",
        "--force",
        command="model.tar.gz texts.txt -o texts.txt",
    )
    yield case("output that exists", both(texts, file("out.jsonl", "precious")), "--force")
    yield case(
        "output that is a pipe",
        both(texts, lambda f: os.mkfifo(f / "pipe")),
        "pipe",
        "--force",
        command="model.tar.gz texts.txt -o pipe",
    )
    yield case(
        "record that is a file of yours",
        both(texts, file(".out.jsonl.predict-file", "precious")),
        "out.jsonl.predict-file",
    )
    yield case("no output", texts, "--output", command="model.tar.gz texts.txt")
    yield case("empty input", file("texts.txt", ""), "", legal=True)


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

    yield case("no target", nothing, "--precision", "")
    yield case("target without a number", nothing, "PER=0.97", "--precision PER")
    yield case("target of an unknown label", nothing, "did you mean `PER`?", "--precision PRE=0.9")
    yield case("precision above 1", nothing, "1.5", "--precision PER=1.5")
    yield case("negative F-beta", nothing, "-1", "--f-beta PER=-1")
    yield case("two targets for a label", nothing, "PER", "--precision PER=0.9 --recall PER=0.9")
    yield case(
        "development data in another encoding",
        file("test.txt", "Maria U-PER\n"),
        "test.txt:1:",
        "--macro-f1",
        "model.tar.gz test.txt -o out.tar.gz",
    )
    yield case(
        "development data that do not exist",
        nothing,
        "test.txt",
        "--macro-f1",
        "model.tar.gz test.txt -o out.tar.gz",
    )
    yield case("output that exists", file("out.tar.gz", "precious"), "--force", "--macro-f1")
    yield case(
        "output that is the archive",
        nothing,
        "model.tar.gz",
        "--macro-f1 --force",
        "model.tar.gz dev.txt -o model.tar.gz",
    )
    yield case(
        "output in a folder that does not exist",
        nothing,
        "nowhere",
        "--macro-f1",
        "model.tar.gz dev.txt -o nowhere/out.tar.gz",
    )
    yield case(
        "archive cut off", cut, "cut.tar.gz", "--macro-f1", "cut.tar.gz dev.txt -o out.tar.gz"
    )
    yield case(
        "archive that is a text",
        nothing,
        "train.txt",
        "--macro-f1",
        "train.txt dev.txt -o out.tar.gz",
    )


def of_start() -> Iterator[Case]:
    """Cases of `allennlp start`."""

    def case(
        title: str,
        setup: Setup,
        says: str,
        arguments: str = "train.txt",
        legal: bool = False,
    ) -> Case:
        return Case(title, f"start {arguments} -o mine.jsonnet", setup, says, legal)

    yield case("file that does not exist", nothing, "nowhere.txt", "nowhere.txt")
    yield case("line without a tag", file("train.txt", BIO + "so\n"), "train.txt:8:")
    yield case("tokens alone", file("train.txt", "Maria\nleft\n"), "train.txt:1:")
    yield case("no label at all", file("train.txt", "Maria O\nleft O\n"), "--tag-column")
    yield case("illegal tag", file("train.txt", f"{BIO}\n" * 3 + "so L-PER\n"), "train.txt:25:")
    yield case("too few sentences to split", file("train.txt", "Maria B-PER\n"), "train.txt")
    yield case(
        "development file with another number of columns",
        file("dev.txt", "Maria NNP B-PER\n"),
        "dev.txt:1:",
        "train.txt dev.txt",
    )
    yield case("unknown encoding", nothing, "utf9", "train.txt --text-encoding utf9")
    yield case("file in UTF-16", file("train.txt", (BIO * 9).encode("utf-16")), "", legal=True)
    yield case("config that exists", file("mine.jsonnet", "precious"), "--force")


def of_the_others() -> Iterator[Case]:
    """Cases of `ensemble`, `report`, `show-scores`, `split`, `study` and `weighting-study`."""
    yield Case(
        "archive that is a text", "ensemble model.tar.gz train.txt -o e.tar.gz", nothing, "train"
    )
    yield Case(
        "ensemble over its member", "ensemble model.tar.gz -o model.tar.gz", nothing, "model.tar.gz"
    )
    yield Case(
        "folder that is no run", "report my -o r.html", file("my/a.txt", ""), "my/model.tar.gz"
    )
    yield Case(
        "table of something else",
        "report results.csv -o r.html",
        file("results.csv", "a,b"),
        "a, b",
    )
    yield Case(
        "file without metrics", "show-scores scores.json", file("scores.json", "{}"), "scores.json"
    )
    yield Case("file that is no JSON", "show-scores train.txt", nothing, "train.txt")
    yield Case("part that exists", "split train.txt .", nothing, "train.txt")
    yield Case("no such column", "split train.txt parts --tag-column 7", nothing, "train.txt:1:")
    yield Case("study without seeds", "study s.json -s run", file("s.json", "{}"), "`variants`")
    yield Case(
        "unknown weighting",
        "weighting-study mine.jsonnet -s run --labels PER --strategies chian",
        config(),
        "chain",
    )


def of_allennlp() -> Iterator[Case]:
    """Cases of `allennlp` itself."""
    yield Case("unknown command", "trian mine.jsonnet", nothing, "trian")


CASES: List[Case] = [
    *of_train(),
    *of_evaluate(),
    *of_predict(),
    *of_predict_file(),
    *of_tune_decoding(),
    *of_start(),
    *of_the_others(),
    *of_allennlp(),
]


def prepare(folder: Path, archive: Optional[Path] = None) -> None:
    """Writes what all cases start from: toy data and a trained model.

    Args:
        folder: An empty folder.
        archive: The archive of the model; None trains one.
    """
    for name in ("train", "dev"):
        shutil.copy(ROOT / f"data/toy/{name}.txt", folder)
    if archive is None:
        run = folder / "run"
        outcome = run_command(["train", str(TOY), "-s", str(run)], ROOT)
        if outcome.status:
            raise RuntimeError(outcome.last_line)
        shutil.copy(run / "model.tar.gz", folder)
        shutil.rmtree(run)
    else:
        shutil.copy(archive, folder / "model.tar.gz")


def try_case(case: Case, prepared: Path, folder: Path) -> Tuple[Outcome, List[str]]:
    """Runs a case.

    Args:
        case: What to run.
        prepared: The folder that `prepare` has filled.
        folder: A folder that does not exist yet.

    Returns:
        How the command ended, and what is wrong with that.
    """
    shutil.copytree(prepared, folder)
    text = case.setup(folder) or b""
    before = digests(folder)
    outcome = run_command(case.command.split(), folder, text)
    after = digests(folder)
    problems = [f"{name} is gone or changed" for name in before if after.get(name) != before[name]]
    if outcome.has_traceback:
        problems.append("it ends with a traceback")
    if (outcome.status == 0) != case.is_legal:
        problems.append(f"the exit status is {outcome.status}")
    if case.says not in outcome.last_line:
        problems.append(f"the last line does not hold `{case.says}`")
    if not case.is_legal and not outcome.last_line.startswith(
        ("allennlp", case.command.split()[0])
    ):
        problems.append("the last line does not name the command")
    return outcome, problems


def table_row(case: Case, outcome: Outcome, folder: Path) -> str:
    """Returns the row of a case in the table."""
    line = outcome.last_line.replace(str(folder.resolve()), "/home/you").replace("|", "\\|")
    command = case.command.replace("|", "\\|")
    shown = f"`` {line} ``" if line and outcome.status else "works"
    return f"| {case.title} | `{command}` | {shown} |"


def main(arguments: Optional[Sequence[str]] = None) -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--only", default="", help="tries cases whose command or title has this word"
    )
    parser.add_argument("--write", action="store_true", help=f"writes the table into {PAGE.name}")
    args = parser.parse_args(arguments)
    rows: List[str] = []
    failures: Dict[str, List[str]] = {}
    with tempfile.TemporaryDirectory() as name, without_settings():
        prepared = Path(name, "prepared")
        prepared.mkdir()
        prepare(prepared)
        for number, case in enumerate(CASES):
            if args.only not in f"{case.command} {case.title}":
                continue
            folder = Path(name, str(number))
            outcome, problems = try_case(case, prepared, folder)
            rows.append(table_row(case, outcome, folder))
            print(rows[-1], flush=True)
            for problem in problems:
                print(f"    WRONG: {problem}", flush=True)
            if problems:
                failures[case.title] = problems
            shutil.rmtree(folder)
    if args.write and not failures and not args.only:
        before, after = (PAGE.read_text().split(mark)[i] for mark, i in zip(MARKS, (0, 1)))
        PAGE.write_text(f"{before}{MARKS[0]}\n" + "\n".join(rows) + f"\n{MARKS[1]}{after}")
    if failures:
        sys.exit(f"{len(failures)} of {len(rows)} cases went wrong")


if __name__ == "__main__":
    main()
