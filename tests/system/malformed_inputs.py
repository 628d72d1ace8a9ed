"""Malformed inputs of every command, and what the last line of the error must say.

`pytest tests/system/test_malformed_inputs.py` tries them all. Each function yields a command's cases.
"""

import gzip
import json
import os

from tests.system.malformed_case import (
    BIO,
    Case,
    both,
    config,
    cut,
    file,
    given,
    hostile,
    nothing,
    of,
    trained_on,
)


def of_train():
    train = "train mine.jsonnet -s run"
    case = of("{command}", command=train)
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
               both(config(), file("run/mine.txt", "precious")), "mine.txt", f"{train} --force")
    yield case("`--recover` with another config",
               both(config(), file("run/config.json", '{"model": 1}')), "config",
               f"{train} --recover")
    yield case("`--recover` in a folder that is no run",
               both(config(), file("run/mine.txt", "precious")), "config.json",
               f"{train} --recover")
    yield case("folder that cannot be written", config(), "/proc/run",
               "train mine.jsonnet -s /proc/run")
    yield case("folder with the name of a file", config(), "train.txt",
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


def of_evaluate():
    case = of("evaluate {command}", command="model.tar.gz test.txt")
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


def of_predict():
    case = of("predict {command}", command="model.tar.gz -")
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


def of_predict_file():
    files = "model.tar.gz texts.txt -o out.jsonl"
    case = of("predict-file {command} {options}", options="", command=files)
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


def of_tune_decoding():
    files = "model.tar.gz dev.txt -o out.tar.gz"
    case = of("tune-decoding {files} {options}", options="", files=files)
    # fmt: off
    yield case("no target", nothing, "--precision", "")
    yield case("recalibration and a target", nothing, "cannot be combined",
               "--recalibrate --macro-f1")
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


def of_tune_thresholds():
    case = of("tune-decoding model.tar.gz dev.txt -o out.tar.gz {options}", options="")
    # fmt: off
    yield case("a tagger with one label a token", nothing, "`crf`", "--common")
    yield case("precision without a number", nothing, "precision=0.9", "--target precision=high")
    yield case("unknown measure", nothing, "'f1'", "--target f1")
    yield case("one threshold for the recall of each label", nothing, "`common`",
               "--target recall=0.9 --common")
    yield case("labels of no item", nothing, "got 0", "--common --least-positives 0")


def of_start():
    case = of("start {arguments} -o mine.jsonnet", arguments="train.txt")
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


def of_the_others():
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
    yield Case("study with names as columns", "study s.json -s run",
               file("s.json", '{"variants": {"a": {}}, "seeds": [1], "columns": ["F1"]}'),
               "`metrics`")


def of_allennlp():
    # fmt: off
    yield Case("unknown command", "trian mine.jsonnet", nothing, "trian")


def of_compare_data():
    files = "model.tar.gz dev.txt new.txt"
    case = of("compare-data {files} {options}", options="", files=files)
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


def of_find_label_errors():
    tagger = "--taggers model.tar.gz"
    case = of("find-label-errors {corpus} -o doubts {options}", options=tagger, corpus="corpus.txt")
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


def of_convert():
    case = of("convert {arguments}", arguments="in.jsonl out.conll")

    def doccano(*labels):
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


def of_rank_unlabelled():
    files = "model.tar.gz new.txt -o next.jsonl"
    case = of("rank-unlabelled {files} {options}", options="--budget 9", files=files)
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


def of_add_label():
    case = of("add-label {files} -s run {options}", files="model.tar.gz new.txt", options="")
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


_ALL = (
    of_train,
    of_evaluate,
    of_predict,
    of_predict_file,
    of_tune_decoding,
    of_tune_thresholds,
    of_compare_data,
    of_find_label_errors,
    of_convert,
    of_rank_unlabelled,
    of_add_label,
    of_start,
    of_the_others,
    of_allennlp,
)
CASES = [case for cases in _ALL for case in cases()]
