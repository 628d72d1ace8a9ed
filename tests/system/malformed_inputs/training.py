"""Malformed inputs of `allennlp train`."""

import gzip
from typing import Iterator

from tests.system.malformed_inputs.case import (
    BIO,
    Case,
    Setup,
    both,
    config,
    file,
    nothing,
    trained_on,
)

TRAIN = "train mine.jsonnet -s run"


def of_train() -> Iterator[Case]:
    """Cases of `allennlp train`."""

    def case(
        title: str, setup: Setup, says: str, command: str = TRAIN, legal: bool = False
    ) -> Case:
        return Case(title, command, setup, says, legal)

    # fmt: off
    yield case("config that does not exist", nothing, "nowhere.jsonnet",
               "train nowhere.jsonnet -s run")
    yield case("config with a missing comma", file("mine.jsonnet", "{ a: 1 b: 2 }"),
               "mine.jsonnet:1:")
    yield case("config that is a folder", lambda f: (f / "mine.jsonnet").mkdir(), "mine.jsonnet")
    yield case("template that does not exist", config(template="tmplate.libsonnet"),
               "tmplate.libsonnet")
    yield case("`source_encoding` left out", config(source_encoding=None), "set `source_encoding`")
    yield case("unknown encoding", config(source_encoding="BILOU"), 'must be one of "BIO"')
    yield case("typo in a setting", config("hiden_size:: 300,"), "did you mean `hidden_size::`?")
    yield case("unknown key of the trainer", config("trainer+: { num_epoch: 3 },"), "`num_epochs`?")
    yield case("unknown key of the reader", config("dataset_reader+: { coding_scheme: 'BIO' },"),
               "`source_encoding`")
    yield case("unknown key of the model", config("model+: { encodr: {} },"), "encodr")
    yield case("unknown key of the config", config("random_sed: 1,"), "random_sed")
    yield case("unknown type", config("model+: { type: 'sequence_taggr' },"), "sequence_tagger")
    yield case("unknown type of a part", config("model+: { head: { type: 'crff' } },"), "crf")
    yield case("unknown weighting",
               config("weighting:: { type: 'emissions', label_weights: { PER: 2 } },"), "emission")
    yield case("weight of an unknown label",
               config("weighting:: { type: 'chain', label_weights: { PRE: 2 } },"),
               "did you mean `PER`?")
    yield case("negative weight",
               config("weighting:: { type: 'chain', label_weights: { PER: -2 } },"), "-2")
    yield case("weight that is no number",
               config("weighting:: { type: 'chain', label_weights: { PER: 'two' } },"),
               "label_weights.PER")
    yield case("unknown validation metric", config("trainer+: { validation_metric: '+f1' },"), "f1")
    yield case("`num_epochs` below 1", config("num_epochs:: 0,"), "num_epochs")
    yield case("`batch_size` below 1", config("batch_size:: 0,"), "batch_size")
    yield case("`dropout` above 1", config("dropout:: 1.5,"), "dropout")
    yield case("`hidden_size` below 1", config("hidden_size:: 0,"), "hidden_size")
    yield case("number given as text", config("trainer+: { num_epochs: 'ten' },"), "num_epochs")
    yield case("seed given as text", config("random_seed: 'a',"), "random_seed")
    yield case("negative count", config("vocabulary+: { min_count: { tokens: -1 } },"),
               "vocabulary.min_count.tokens")
    yield case("batch size beyond any memory", config("data_loader+: { batch_size: 1e30 },"),
               "data_loader.batch_size")
    yield case("`unknown_tag` that is a tag", config("dataset_reader+: { unknown_tag: 'O' },"), "O")
    yield case("GPU that the machine lacks", config("trainer+: { cuda_device: 7 },"), "GPU")
    yield case("no validation file", config("validation_data_path: null,"), "", legal=True)
    yield case("override that is no JSON", config(), "overrides",
               "train mine.jsonnet -s run -o {num_epochs=3}")
    yield case("override of a key that does not exist", config(), "num_epoch",
               'train mine.jsonnet -s run -o {"trainer.num_epoch":3}')
    yield case("no folder for the run", config(), "-s", "train mine.jsonnet")
    yield case("folder of another run", both(config(), file("run/config.json", "{}")), "--recover")
    yield case("`--force` on a folder that is no run",
               both(config(), file("run/mine.txt", "precious")), "mine.txt", f"{TRAIN} --force")
    yield case("`--recover` with another config",
               both(config(), file("run/config.json", '{"model": 1}')), "config",
               f"{TRAIN} --recover")
    yield case("`--recover` in a folder that is no run",
               both(config(), file("run/mine.txt", "precious")), "config.json",
               f"{TRAIN} --recover")
    yield case("folder that cannot be written", config(), "/proc/run",
               "train mine.jsonnet -s /proc/run")
    yield case("folder whose name a file has", config(), "train.txt",
               "train mine.jsonnet -s train.txt")
    yield case("training file that does not exist", config("train_data_path: 'tain.txt',"),
               "tain.txt")
    yield case("training file that is a folder",
               both(config("train_data_path: 'texts',"), file("texts/a.txt", BIO)), "texts")
    yield case("training file that is empty", trained_on(""), "train.txt")
    yield case("training file of blank lines", trained_on(" \n\t\n\n"), "train.txt")
    yield case("line with another number of columns", trained_on(BIO + "Salem MA B-LOC\n"),
               "train.txt:8:")
    yield case("line without a tag", trained_on(BIO + "Salem\n"), "train.txt:8:")
    yield case("tag with a blank", trained_on(BIO + "Salem B-LOC X\n"), "train.txt:8:")
    yield case("empty cell between tabs",
               trained_on(BIO.replace(" ", "\t") + "\tO\n",
                          changes="dataset_reader+: { delimiter: '\\t' },"),
               "train.txt:8:")
    yield case("column that does not exist", config("dataset_reader+: { tag_column: 7 },"),
               "train.txt:1:")
    yield case("IOB1 given as BIOUL", trained_on("Maria I-PER\nleft O\n", "BIOUL"), "train.txt:1:")
    yield case("BIOUL given as BIO", trained_on("Maria U-PER\nleft O\n"), "train.txt:1:")
    yield case("two encodings in one file", trained_on(BIO + "\nAnna B-PER\nLee L-PER\n"),
               "train.txt:10:")
    yield case("tags given as plain labels", trained_on("Maria PER\nleft O\n"), "train.txt:1:")
    labelled = BIO + "\nExpo B-EVENT\nBank B-ORG\n"
    yield case("lower-case prefixes of tags",
               trained_on(labelled.replace("B-", "b-").replace("I-", "i-")), "", legal=True)
    yield case("Latin-1", trained_on(f"{labelled}\nJosé B-PER\n".encode("latin-1")), "", legal=True)
    yield case("UTF-16", trained_on(labelled.encode("utf-16")), "", legal=True)
    yield case("bytes of a program", trained_on(bytes(range(256)) * 4), "train.txt:")
    compressed = gzip.compress(BIO.encode(), mtime=0)
    yield case("compressed file", trained_on(compressed), "train.txt:1:")
    yield case("compressed file by its name",
               both(config("train_data_path: 'train.txt.gz',"),
                    file("train.txt.gz", compressed[:40])),
               "train.txt.gz:")
    yield case("byte order mark", trained_on(b"\xef\xbb\xbf" + labelled.encode()), "", legal=True)
    yield case("carriage returns alone end lines", trained_on(labelled.replace("\n", "\r")), "",
               legal=True)
    yield case("one sentence",
               trained_on("Maria B-PER\nleft O\n\n", changes="validation_data_path: 'train.txt',"),
               "", legal=True)
    yield case("no entity at all",
               trained_on("left O\nright O\n", changes="validation_data_path: 'train.txt',"), "",
               legal=True)
    yield case("label that only the validation file has",
               trained_on(BIO + "Expo B-FAIR\n", name="dev.txt"),
               "train with this tag in the config's `vocabulary`")
    glove = "glove_file:: 'vectors.txt',"
    yield case("vectors that do not exist", config(glove), "vectors.txt")
    yield case("vectors of another dimension",
               both(config(glove), file("vectors.txt", "the 1 2 3\nof 1 2 3\n")), "vectors.txt:1:")
    yield case("vectors that are empty", both(config(glove), file("vectors.txt", "")),
               "vectors.txt")
    yield case("vectors in Latin-1",
               both(config(glove), file("vectors.txt", "José 1 2 3 4\n".encode("latin-1"))),
               "vectors.txt")
    yield case("vectors cut off",
               both(config(glove), file("vectors.txt", "Maria 1 2 3 4\nleft 1 2")),
               "vectors.txt:2:")
    yield case("vectors that are no numbers",
               both(config(glove), file("vectors.txt", "Maria 1 2 3 x\n")), "vectors.txt:1:")
    yield case("vectors of no word of the data",
               both(config(glove), file("vectors.txt", "zzz 1 2 3 4\n")), "", legal=True)
