"""The starter, from a user's own file to a trained tagger."""

import bz2
import gzip
import json
import lzma
import shlex

import pytest
from allennlp.common import Params

from tagger.data import ColumnDatasetReader
from tagger.data.formats import FORMATS, read_texts, write_texts
from tagger.data.reading import Reading
from tagger.tools.start.config import sizes_for
from tagger.tools.start.start import start
from tests.conftest import ROOT

TOY = (ROOT / "data/toy/train.txt").read_text()
MINE = "Zoë B-PER\nlives O\n\nin O\nKöln B-LOC\n\n" * 10


@pytest.fixture(autouse=True)
def _in_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def begin(allennlp, tmp_path, capsys):
    """Writes files and runs the command. Returns the config and the output."""

    def begin(*contents, options=()):
        names = ["train.txt", "dev.txt"][: len(contents)]
        for name, content in zip(names, contents):
            data = content if isinstance(content, bytes) else content.encode()
            (tmp_path / name).write_bytes(data)
        allennlp("start", *names, "-o", "mine.jsonnet", *options)
        return Params.from_file("mine.jsonnet").as_dict(), capsys.readouterr().out

    return begin


def words(path):
    return [tuple(instance["metadata"]["words"]) for instance in ColumnDatasetReader().read(path)]


def train_for_an_epoch(allennlp, tmp_path):
    """Trains a small tagger with the written config and returns its metrics."""
    sizes = {"model.encoder.hidden_size": 4, "trainer.num_epochs": 1}
    allennlp("train", "mine.jsonnet", "-s", "run", "-o", json.dumps(sizes))
    return json.loads((tmp_path / "run/metrics.json").read_text())


@pytest.mark.slow
def test_a_file_of_unknown_form_becomes_a_tagger_with_three_commands(
    begin, allennlp, capsys, tmp_path
):
    tagged = "".join(
        "\t".join(reversed(line.split())) + "\n" if line.strip() else "\n"
        for line in TOY.replace("Maria", "Zoë").splitlines()
    )
    _config, said = begin(f"# found somewhere\n{tagged}".encode("utf-16"))
    lines = [line.strip() for line in said.splitlines()]
    train, predict, evaluate = (shlex.split(line, comments=True) for line in lines[-3:])
    assert train == ["allennlp", "train", "mine.jsonnet", "-s", "runs/mine"]
    # So that a few epochs are enough.
    small = {"hidden_size": 20, "dropout": 0, "input_dropout": 0, "output_dropout": 0.1}
    overrides = {"model.encoder": {"type": "bilstm", **small}, "trainer.optimizer.lr": 0.01}
    overrides = {**overrides, "trainer.num_epochs": 12}
    allennlp(*train[1:], "-o", json.dumps(overrides))
    assert evaluate == ["allennlp", "evaluate", "runs/mine/model.tar.gz", "test.txt"]
    allennlp(*evaluate[1:-1], "mine.dev.txt", "--output-file", "metrics.json")
    metrics = json.loads((tmp_path / "metrics.json").read_text())
    assert metrics["f1-measure-overall"] > 0.3
    text = predict[1]
    assert predict[2:] == ["|", "allennlp", "predict", "runs/mine/model.tar.gz", "-"]
    (tmp_path / "text.txt").write_text(text)
    capsys.readouterr()
    allennlp("predict", "runs/mine/model.tar.gz", "text.txt")
    assert json.dumps(text, ensure_ascii=False) in capsys.readouterr().out


def test_it_reports_its_findings_and_splits_a_file_by_its_labels(begin):
    config, said = begin(TOY)
    assert said.splitlines()[:7] == [
        "train.txt",
        "  text       UTF-8",
        "  columns    2, separated by blanks: tokens in column 0, tags in column 1 (counted from 0)",
        "  sentences  60, of 9.3 tokens on average, 14 at most",
        "  tags       spans in BIO",
        "  labels     4, by spans: LOC 34, PER 27, ORG 24, EVENT 3",
        "  rare       EVENT: less than a tenth as often as LOC",
    ]
    assert "Wrote mine.train.txt, mine.dev.txt, mine.jsonnet. Go on with" in said
    assert config["train_data_path"] == "mine.train.txt"
    assert config["validation_data_path"] == "mine.dev.txt"
    parts = [words(f"mine.{name}.txt") for name in ("train", "dev")]
    assert sorted(sum(parts, [])) == sorted(words("train.txt"))
    assert len(parts[1]) == pytest.approx(len(words("train.txt")) / 5, abs=2)
    assert f"{len(parts[0])} and {len(parts[1])} of these sentences" in said


@pytest.mark.parametrize(
    ("border", "told_by"),
    [
        ("-DOCSTART- -X-\n\n", "`-DOCSTART-` lines"),
        ("# newdoc id = {n}\n", "comments"),
        ("\n", "double blank lines"),
    ],
)
def test_no_document_is_on_both_sides(border, told_by, begin, tmp_path):
    documents = [
        f"{border.format(n=n)}Zoë{n} B-PER\nlives O\n\nin O\nKöln{n} B-LOC\n\n" for n in range(10)
    ]
    _, said = begin("".join(documents))
    assert f"  kept together: 10 documents, told by {told_by}, none divided" in said
    assert "development part, 0.0% of 4 entities have the words of a training entity" in said
    parts = [words(f"mine.{name}.txt") for name in ("train", "dev")]
    assert [len(part) for part in parts] == [16, 4]
    for first, second in zip(parts[1][::2], parts[1][1::2]):
        assert first[0].removeprefix("Zoë") == second[1].removeprefix("Köln")
    # The parts tell the documents to the dataset reader.
    found = ColumnDatasetReader().documents_in("mine.train.txt")
    assert found.of_item == [n // 2 for n in range(16)]


@pytest.mark.parametrize("module", [gzip, bz2, lzma])
def test_parts_of_a_compressed_file_can_be_trained_on(module, allennlp, tmp_path, capsys):
    suffix = {gzip: ".gz", bz2: ".bz2", lzma: ".xz"}[module]
    (tmp_path / f"all.conll{suffix}").write_bytes(module.compress(MINE.encode()))
    allennlp("start", f"all.conll{suffix}", "-o", "mine.jsonnet")
    assert "mine.train.conll and mine.dev.conll: " in capsys.readouterr().out
    assert len(words("mine.train.conll")) == 16


def test_what_was_read_is_shown_and_doubted_and_what_was_not_used_is_named(begin):
    rows = "".join(f"id-{n} Q O\nZoë{n} NN B-PER\nleft VB O\n\n" for n in range(20))
    said = begin(rows)[1].splitlines()
    assert "  not used   column 1, 60 cells such as 'Q'" in said
    assert "  read       id-0 [Zoë0 PER] left" in said
    assert "  examples   PER: longest 'Zoë10', most frequent 'Zoë0' (1 of 20)" in said
    (doubt,) = (
        line for line in said if line.startswith("  doubt 1    the first token of 20 of 20")
    )
    quiet = begin(rows, options=["--force", "--quiet"])[1].splitlines()
    assert [*quiet] == [line for line in said if not line.startswith(("  read  ", "  examples"))]
    assert doubt in quiet


def test_entities_under_an_unknown_key_are_named(allennlp, tmp_path):
    record = {"text": "Ada left", "entities": [], "gold": [{"b": 0, "e": 3, "t": "PER"}]}
    (tmp_path / "in.jsonl").write_text(f"{json.dumps(record)}\n" * 9)
    with pytest.raises(
        SystemExit, match="^start: in.jsonl: no text has an entity, but `gold` looks"
    ):
        allennlp("start", "in.jsonl", "-o", "mine.jsonnet")
    assert not (tmp_path / "mine.jsonnet").exists()


def test_an_overlap_of_two_files_is_said(begin):
    assert "of the development part" not in begin(MINE)[1].partition("Chose")[0]
    said = begin(MINE, MINE, options=["--force"])[1]
    assert "of the development part, 100.0% of 20 entities have the words of" in said
    assert "100.0% of 20 sentences nearly equal a training one, 20 exactly" in said
    assert "  warning: most entities are known by their words and many sentences nearly" in said


def test_files_that_can_be_read_stay_where_they_are(begin, tmp_path):
    config, _said = begin("\ufeff" + MINE, MINE)
    assert (config["train_data_path"], config["validation_data_path"]) == ("train.txt", "dev.txt")
    assert {path.name for path in tmp_path.iterdir()} == {"train.txt", "dev.txt", "mine.jsonnet"}
    assert config["dataset_reader"]["source_encoding"] == "BIO"
    assert config["model"]["head"] == {"type": "crf"}


@pytest.mark.parametrize("name", ["latin-1", "utf-16"])
def test_files_in_other_encodings_and_with_comments_are_read_as_they_are(name, begin, tmp_path):
    comment = "# ein Satz"
    config, said = begin(MINE.encode(name), f"{comment}\n{MINE}")
    assert config["train_data_path"] == "train.txt"
    assert words("train.txt") == words("dev.txt")
    assert words("train.txt")[:2] == [("Zoë", "lives"), ("in", "Köln")]
    assert f"comments   1, the first on line 1: '{comment}'" in said
    assert ("'Zoë B-PER' look right? If not" in said) == (name == "latin-1")
    assert (tmp_path / "train.txt").read_bytes() == MINE.encode(name)


@pytest.mark.parametrize(
    ("text", "reader"),
    [
        ("B-PER\tAda\nO\tleft\n\n", {"token_column": 1, "tag_column": 0}),
        ("New York\tB-LOC\nis\tO\n\n", {"delimiter": "\t"}),
        ("Ada I-PER\nleft ?\n\n", {"source_encoding": "IOB1", "unknown_tag": "?"}),
        ("1 Ada U-PER\n2 left O\n\n", {"source_encoding": "BIOUL", "token_column": 1}),
    ],
)
def test_the_config_says_what_differs_from_the_readers_own(text, reader, begin):
    config, _ = begin(text * 5)
    expected = {"source_encoding": "BIO", "tag_encoding": "BIOUL", "type": "column"}
    config["dataset_reader"].pop("token_indexers")
    assert config["dataset_reader"] == {**expected, **reader}


@pytest.mark.parametrize(
    ("text", "metric"),
    [
        ("a NOUN\nb VERB\n\n", "+accuracy"),
        ("a N\nb N\nc O\n\n", "+token-f1-measure-overall"),
        ("a A|B\nb A\nc B\nd O\n\n", None),
    ],
)
def test_plain_labels_choose_the_best_epoch_by_tokens_and_sets_get_a_head(text, metric, begin):
    config, said = begin(text * 5)
    if metric:
        assert config["dataset_reader"]["source_encoding"] is None
        assert config["dataset_reader"]["tag_encoding"] is None
        assert config["trainer"]["validation_metric"] == metric
    else:
        assert config["dataset_reader"]["label_separator"] == "|"
        assert config["model"]["head"] == {"type": "sigmoid"}
        assert config["trainer"]["callbacks"][-1] == "tune_thresholds"
        assert "head sigmoid" in said


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    ["a NOUN\nb VERB\n\n", "a PER\nb O\n\n", "a A|B\nb A\nc B\nd O\n\n", "Ada B-PER\nx ?\n\n"],
)
def test_the_written_config_trains(text, begin, allennlp, tmp_path):
    config, _ = begin(text * 10)
    chosen = config["trainer"]["validation_metric"]
    assert f"best_validation_{chosen[1:]}" in train_for_an_epoch(allennlp, tmp_path)


def test_the_archived_config_needs_no_template(trained):
    assert json.loads((trained / "config.json").read_text())["data_loader"]["batch_size"] == 8


def test_a_rare_label_has_a_line_that_weights_it(begin, tmp_path):
    begin(MINE + "May B-EVENT\n\n")
    text = (tmp_path / "mine.jsonnet").read_text()
    assert "Rare: EVENT." not in text  # one of 21 spans is a tenth of the most frequent label
    begin(MINE * 3 + "May B-EVENT\n\n", options=["--force"])
    text = (tmp_path / "mine.jsonnet").read_text()
    assert "// Rare: EVENT." in text
    weighted = text.replace("// weighting::", "weighting::")
    (tmp_path / "weighted.jsonnet").write_text(weighted)
    weighting = Params.from_file("weighted.jsonnet")["model"]["head"]["weighting"].as_dict()
    assert weighting == {"type": "chain", "weight_rule": "inverse_sqrt"}
    begin(MINE * 400 + "May B-EVENT\n\n", options=["--force"])
    assert "weight_rule: 'effective_number'" in (tmp_path / "mine.jsonnet").read_text()


def test_mistakes_of_bio_and_missing_blank_lines_are_shown(begin):
    config, said = begin(f"{MINE}off O\nBonn I-LOC\n")
    assert config["dataset_reader"]["source_encoding"] == "IOB1"
    assert "in BIO, 1 of 21 spans would not begin with B-, as on line 62: 'Bonn I-LOC'" in said
    _, said = begin(MINE + "so O\n" * 301 + "\n", options=["--force"])
    assert "the sentence on line 61 has 301 tokens: is a blank line missing?" in said


@pytest.mark.slow
@pytest.mark.parametrize(
    ("train", "dev", "tag"),
    [(MINE, "Ada B-PRE\n", "U-PRE"), ("a NOUN\nb VERB\n\n" * 9, "a PRE\n", "PRE")],
)
def test_labels_of_the_development_file_alone_are_named_and_evaluated(
    train, dev, tag, begin, allennlp, tmp_path
):
    config, said = begin(train, dev)
    assert "warning    labels that train.txt lacks cannot be learnt: PRE" in said
    assert config["vocabulary"]["tokens_to_add"] == {"labels": [tag]}
    metrics = train_for_an_epoch(allennlp, tmp_path)
    names = ("best_validation_num-gold-PRE", "best_validation_token-num-gold-PRE")
    assert {metrics[name] for name in names if name in metrics} == {1}


def test_long_texts_are_counted_in_tokens_and_named_by_their_files(allennlp, tmp_path, capsys):
    cases = tmp_path / "cases"
    cases.mkdir()
    lines = [f"Patient {number} was seen by Dr. Hill in Lima." for number in range(60)]
    for number in range(10):
        text = "\n".join([f"Case {number}", *lines, "Word " * 301])
        (cases / f"case_{number}.txt").write_text(text)
        start = text.index("Hill")
        (cases / f"case_{number}.ann").write_text(f"T1\tDOCTOR {start} {start + 4}\tHill\n")
    allennlp("start", cases, cases, "-o", "mine.jsonnet")
    said = capsys.readouterr().out
    place = len("\n".join(["Case 0", *lines])) + 1
    assert f"case_0.txt: from character {place:,} on, no line and no sentence ends for 301" in said
    assert "texts      10, of 903.0 tokens on average, 903 at most" in said
    assert "sentences  620, of 14.6 tokens on average: texts of more than 100 tokens" in said
    assert "blank line" not in said
    assert "on line" not in said
    config = (tmp_path / "mine.jsonnet").read_text()
    assert "// 9,030 tokens to train on, with 10 entities: small batches" in config


@pytest.mark.parametrize(
    ("num_tokens", "num_entities", "sizes"),
    [
        (9_999, 5_000, {"batch_size": 8, "hidden_size": 100, "num_epochs": 60, "patience": 15}),
        (10_000, 5_000, {"batch_size": 8, "hidden_size": 100, "num_epochs": 40, "patience": 10}),
        (40_000, 800, {"patience": 6}),
        (40_000, 799, {"hidden_size": 100, "patience": 6}),
        (1_000_000, 9_000, {"batch_size": 64, "num_epochs": 10}),
    ],
)
def test_sizes_depend_on_tokens_and_entities(num_tokens, num_entities, sizes):
    assert sizes_for(num_tokens, num_entities).settings == sizes


def test_nothing_is_overwritten_without_force(begin, tmp_path):
    (tmp_path / "mine.dev.txt").write_text("precious")
    with pytest.raises(SystemExit, match="^start: .*mine.dev.txt already exists.*--force"):
        begin(MINE)
    assert (tmp_path / "mine.dev.txt").read_text() == "precious"
    assert not (tmp_path / "mine.jsonnet").exists()
    begin(MINE, options=["--force"])
    assert words("mine.dev.txt")


def test_paths_may_hold_any_character(tmp_path):
    folder = tmp_path / "it's \\ mine"
    folder.mkdir()
    (folder / "a b.txt").write_text(MINE)
    started = start([folder / "a b.txt"], folder / "c d.jsonnet")
    for path, text in started.files.items():
        path.write_text(text, encoding="utf-8")
    params = Params.from_file(folder / "c d.jsonnet")
    assert words(params["train_data_path"])
    assert shlex.split(started.said[-3])[2] == str(folder / "c d.jsonnet")


@pytest.mark.parametrize(
    ("contents", "options", "message"),
    [
        (["a O\nb\n"], "", "train.txt:2: expected 2 columns as on line 1"),
        (["\n"], "", "train.txt: expected a token and its tag on each line, got no sentence"),
        (["Ada\nleft\n"], "", "train.txt: expected a column file, got one column: there are no"),
        (["Ada O\nleft O\n"], "", "train.txt: expected labels in column 1, got no tag but 'O'"),
        ([MINE + "x O\ny L-PER\n"], "", "train.txt:62: in 'y L-PER', `L-PER` at position 1"),
        (["Ada B-PER\n"], "", "train.txt: expected sentences to train on .* got 1; put a blank"),
        ([MINE, "a b O\n"], "", "dev.txt:1: expected 2 columns as in train.txt, got 3"),
        ([MINE, ""], "", "dev.txt: expected a token and its tag on each line, got no sentence"),
        ([MINE], "--tag-column 7", "train.txt:1: `tag_column` .`--tag-column`. is 7, but there are the"),
        ([MINE], "--text-encoding utf9", "`--text-encoding` is 'utf9'"),
        ([], "no.txt", ".*expected a file, got none"),
        ([], ".", ".*expected a file, got a folder"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_read_is_named_in_one_line(
    contents, options, message, begin, tmp_path
):
    with pytest.raises(SystemExit, match=f"^start: {message}"):
        begin(*contents, options=options.split())
    assert not (tmp_path / "mine.jsonnet").exists()


@pytest.mark.parametrize("name", ["label_studio", "spacy", "huggingface", "conllu", "brat", "csv"])
def test_exports_of_tools_train_as_they_are(name, allennlp, tmp_path, capsys):
    given = tmp_path / f"given{FORMATS[name].suffixes[0]}"
    write_texts(read_texts(ROOT / "data/toy/dev.txt", Reading("columns")), given, name)
    allennlp("start", given, "-o", "mine.jsonnet")
    out = capsys.readouterr().out
    assert f"format     {name}: texts 15; entities 23" in out
    assert "spans in BIO" in out
    reader, wanted = ColumnDatasetReader(), ROOT / "data/toy/dev.txt"
    found, wanted = (
        sorted(f"{each['metadata']['words']} {each['tags'].labels}" for each in instances)
        for instances in (
            [each for part in ("train", "dev") for each in reader.read(f"mine.{part}.jsonl")],
            reader.read(str(wanted)),
        )
    )
    assert found == wanted


def test_texts_are_split_where_entities_begin_and_end(allennlp, tmp_path, capsys):
    texts = [
        f"Lei vive all'Adda-{n}, in una città della regione e con gli amici." for n in range(9)
    ]
    records = [{"text": text, "label": [[13, 19, "LUOGO"], [13, 17, "LUOGO"]]} for text in texts]
    (tmp_path / "in.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in records))
    with pytest.raises(SystemExit, match="entities overlap.*--overlapping"):
        allennlp("start", "in.jsonl", "-o", "mine.jsonnet")
    allennlp("start", "in.jsonl", "in.jsonl", "-o", "mine.jsonnet", "--overlapping", "longest")
    assert "entities   splitting by the rules of `it` fits 9 of 9;" in capsys.readouterr().out
    config = (tmp_path / "mine.jsonnet").read_text()
    assert "language:: 'it'" in config
    assert "dataset_reader+: { overlapping: 'longest' }" in config


def test_a_choice_among_entities_of_one_label_keeps_those_of_other_labels(
    allennlp, tmp_path, capsys
):
    text = "Die Stadt Basel am Rhein liegt weit im Norden ."
    label = [[4, 15, "ORT"], [10, 15, "ORT"], [19, 24, "FLUSS"], [10, 24, "LAGE"]]
    (tmp_path / "in.jsonl").write_text(f"{json.dumps({'text': text, 'label': label})}\n" * 9)
    allennlp("start", "in.jsonl", "in.jsonl", "-o", "mine.jsonnet", "--overlapping", "longest")
    assert (
        "label_chains, since entities overlap: one CRF would lose 18 of 27"
        in capsys.readouterr().out
    )
    config = (tmp_path / "mine.jsonnet").read_text()
    assert "label_chains:: true" in config
    assert "overlapping: 'longest'" in config


def test_one_text_is_not_told_to_put_blank_lines(allennlp, tmp_path):
    (tmp_path / "one.jsonl").write_text('{"text": "Ada left", "label": [[0, 3, "PER"]]}\n')
    with pytest.raises(SystemExit, match="got 1; add more texts, or name a development file"):
        allennlp("start", tmp_path / "one.jsonl", "-o", tmp_path / "mine.jsonnet")
