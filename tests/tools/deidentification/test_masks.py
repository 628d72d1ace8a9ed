"""Masked texts show nothing of what was found, and the sidecar says where the masks are."""

import json
import time

import pytest

import tagger
from tagger.commands import publication
from tagger.data.formats import AnnotatedText, write_texts
from tagger.metrics.masking_metrics import REPEATS, masking_metrics
from tagger.spans.places import merged
from tagger.spans.repeats import with_repeats
from tagger.tools.deidentification.masks import STYLES, mask_text, with_probable

TEXTS = [
    "Maria Lindqvist met Paulo Ferraz in Lisbon.\nLater MARIA\nLINDQVIST called; Ferraz, too.",
    "Élodie left 🙂 Oslo for Lisbon.",
]
PLACES = [("PER", 50, 65), ("PER", 0, 15), ("LOC", 36, 42)]


@pytest.mark.parametrize("style", STYLES)
def test_masks_are_where_the_sidecar_says_and_the_rest_stays(style):
    text = TEXTS[0]
    masked, masks = mask_text(text, PLACES, style)
    assert [mask[:3] for mask in masks] == sorted(PLACES, key=lambda place: place[1:])
    restored, end = "", 0
    for mask in masks:
        restored += masked[end : mask.masked_start] + text[mask.start : mask.end]
        end = mask.masked_end
    assert restored + masked[end:] == text
    assert "Lisbon" not in masked
    assert (len(masked) == len(text)) == (style == "same-length")
    assert masked.count("\n") == (2 if style == "same-length" else 1)


def test_surrogates_number_the_strings_of_a_label_whatever_their_case_and_white_space():
    masked, _ = mask_text(TEXTS[0], [*PLACES, ("PER", 74, 80), ("LOC", 20, 32)], "surrogates")
    assert masked == "[PER_1] met [LOC_1] in [LOC_2].\nLater [PER_1] called; [PER_2], too."


@pytest.mark.parametrize(
    ("text", "places", "wanted"),
    [
        ("Ada. Adam, Ada-Lu, _Ada", [("N", 0, 3)], [(0, 3), (11, 14)]),
        ("Ada  Lu saw Ada\nLu", [("N", 0, 7)], [(0, 7), (12, 18)]),
        ("F. He saw F.", [("S", 0, 1)], [(0, 1)]),
        ("C++ (1). Of C++ (1)", [("N", 0, 7)], [(0, 7), (12, 19)]),
        # The longer string wins, and swallows what lies in it.
        ("Ada Lu; Ada Lu; Ada", [("A", 0, 6), ("B", 12, 14), ("C", 16, 19)], None),
        # Partly masked: one mask covers both.
        ("Ada Lu Ray. Lu Ray Bo. Bo", [("A", 4, 10), ("B", 16, 22)], [(4, 10), (12, 22)]),
    ],
)
def test_repeats_are_whole_words_outside_of_other_places(text, places, wanted):
    found = with_repeats(text, places)
    if wanted is None:
        wanted = [(0, 6), (8, 14), (16, 19)]
    assert [place[1:] for place in found] == wanted
    assert with_repeats(text, found) == found


@pytest.mark.parametrize(
    ("text", "name", "wanted"),
    [
        ("田中太郎が来た。田中太郎は帰った。田中 太郎", "田中太郎", ["田中太郎", "田中 太郎"]),
        ("田中が来た。田中は帰った。田", "田中", ["田中"]),
        ("นายสมชายมาแล้วสมชายกลับไป", "สมชาย", ["สมชาย"]),
        ("김철수가 왔다. 김철수는 갔다.", "김철수", ["김철수"]),
        ("Élodie left. E\u0301LODIE, Elodie, élodiette", "Élodie", ["E\u0301LODIE"]),
        ("Weiß-Groß; WEISS-GROSS; Weißes", "Weiß", ["WEISS"]),
        ("Mül\xadler met müller, not Müllers.", "Mül\xadler", ["müller"]),
        # A vowel sign is a part of the word, though it is no letter.
        ("राम गया, रामा नहीं; राम", "राम", ["राम"]),
        ("中国人 CHINA", "中", []),
    ],
)
def test_repeats_are_found_in_every_script_case_and_normal_form(text, name, wanted):
    start = text.index(name)
    first, *others = with_repeats(text, [("N", start, start + len(name))])
    assert first == ("N", start, start + len(name))
    assert [text[start:end] for _, start, end in others] == wanted


@pytest.mark.parametrize(
    "text", ["田" * 60_000, "ada " * 20_000, "".join(map("Ada{} ".format, range(9_000)))]
)
def test_repeats_of_many_or_long_strings_take_linear_time(text):
    ends = [at for at, character in enumerate(text) if character == " "] or range(200, 30_000, 200)
    places = [("N", 0, len(text) // 2), *(("N", max(end - 8, 0), end) for end in ends)]
    started = time.perf_counter()
    with_repeats(text, places)
    # It takes less than a second; quadratic time would be minutes.
    assert time.perf_counter() - started < 20


def test_inner_places_are_masked_with_the_longest_whose_label_they_take():
    text = "the Bank of York Secret Trust closed; York wept."
    places = [("LOC", 12, 16), ("ORG", 4, 29)]
    assert mask_text(text, places, "labels")[0] == "the [ORG] closed; York wept."
    repeated = with_repeats(text, places)
    assert mask_text(text, repeated, "surrogates")[0] == "the [ORG_1] closed; [LOC_1] wept."
    assert len(mask_text(text, repeated, "same-length")[0]) == len(text)
    # Of equally long places, the first; of equal ones, the alphabetically first.
    assert merged([("B", 2, 5), ("A", 4, 7)]) == [("B", 2, 7)]
    assert merged([("B", 2, 5), ("A", 2, 5)]) == [("A", 2, 5)]
    with pytest.raises(ValueError, match="must lie in the text, from 0 to 3; got 'A' from 2 to 4"):
        mask_text("Ada", [("A", 2, 4)], "labels")


def test_each_chain_of_a_label_has_its_own_probability():
    """As for the promises of `tune-decoding --masked`."""
    chances = [{"B-PER": 0.3, "I-PER": 0.1, "B-LOC": 0.3}, {"B-PER": 0.2, "I-PER": 0.4, "B-LOC": 0}]
    assert with_probable([], [(0, 3), (4, 7)], chances, 0.5) == [("PER", 4, 7)]


def test_probable_tokens_outside_places_are_masked_with_their_likeliest_label():
    tokens = [(0, 3), (4, 6), (7, 10), (11, 13), (14, 17)]
    chances = [
        {"O": 0.98, "B-PER": 0.015, "B-LOC": 0.005},
        {"O": 0.9, "I-PER": 0.02, "B-LOC": 0.08},
        {"O": 0.1, "B-PER": 0.9},
        {"O": 0.97, "B-PER": 0.03},
        {"O": 0.99, "B-PER": 0.01},
    ]
    place = ("PER", 7, 10)
    assert with_probable([place], tokens, chances, 0.015) == [
        ("LOC", 0, 6),
        place,
        ("PER", 11, 13),
    ]
    assert with_probable([place], tokens, chances, 0.1) == [place]


def test_masks_are_measured_by_characters_whatever_their_labels():
    text = "Ada Lu met Bo. Ada Lu left."
    gold = {("PER", 0, 6), ("PER", 11, 13), ("PER", 15, 21)}
    found = {("LOC", 0, 6), ("PER", 7, 10)}
    metrics = masking_metrics([(text, gold, found), ("Nobody.", set(), set())])
    # 5, 2 and 5 characters are sensitive without the blanks, and `met` is not.
    assert metrics == pytest.approx(
        {
            "masked-sensitive-characters": 5 / 12,
            "masked-entities": 1 / 3,
            "masked-in-vain": 3 / 8,
            "texts-without-leak": 0.5,
            "texts-masked-unevenly": 0.5,
            f"{REPEATS}masked-sensitive-characters": 10 / 12,
            f"{REPEATS}masked-entities": 2 / 3,
            f"{REPEATS}masked-in-vain": 3 / 13,
            f"{REPEATS}texts-without-leak": 0.5,
            f"{REPEATS}texts-masked-unevenly": 0,
        }
    )
    assert masking_metrics([(text, gold, gold)])["texts-without-leak"] == 1
    assert not any(masking_metrics([]).values())


@pytest.fixture
def predict(allennlp, trained, tmp_path, monkeypatch):
    """Runs the subcommand in a separate folder."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        allennlp("predict-file", trained / "model.tar.gz", *arguments)

    return run


def masked_by(trained, style):
    tagged = tagger.load(trained / "model.tar.gz").tag(TEXTS)
    places = [[(each.label, each.start, each.end) for each in text.entities] for text in tagged]
    assert any(places)
    return [mask_text(text, of_text, style) for text, of_text in zip(TEXTS, places)]


@pytest.mark.slow
def test_a_brat_folder_becomes_a_folder_of_masked_texts(predict, trained, tmp_path, capsys):
    folder = tmp_path / "in"
    write_texts([AnnotatedText(text, [], None, None, "", {}) for text in TEXTS], folder, "brat")
    (folder / "ward").mkdir()
    for path in folder.glob("000002.*"):
        path.rename(folder / "ward" / path.name)
    predict(folder, "-o", "out/", "--mask", "labels")
    names = ["000001.txt", "ward/000002.txt"]
    wanted = masked_by(trained, "labels")
    assert [(tmp_path / "out" / name).read_text("utf-8") for name in names] == [
        masked for masked, _ in wanted
    ]
    sidecar = [*map(json.loads, (tmp_path / "out.offsets.jsonl").read_text("utf-8").splitlines())]
    assert sidecar == [
        {"text": name, "masks": [mask._asdict() for mask in masks]}
        for name, (_, masks) in zip(names, wanted)
    ]
    assert {path.name for path in tmp_path.iterdir()} == {"in", "out", "out.offsets.jsonl"}
    with pytest.raises(SystemExit, match="already exists; name a new folder"):
        predict(folder, "-o", "out/", "--mask", "labels", "--force")


@pytest.mark.slow
def test_lines_become_lines_and_texts_with_line_ends_need_json(predict, trained, tmp_path):
    lines = [json.dumps({"sentence": text}) for text in TEXTS]
    (tmp_path / "in.jsonl").write_text("\n".join(lines) + "\n")
    predict("in.jsonl", "-o", "a.jsonl.gz", "--mask", "surrogates", "--mask-repeats")
    assert (tmp_path / "a.offsets.jsonl").exists()
    predict("in.jsonl", "-o", "b.jsonl", "--mask", "same-length")
    masked = [json.loads(line)["text"] for line in (tmp_path / "b.jsonl").read_bytes().splitlines()]
    assert masked == [text for text, _ in masked_by(trained, "same-length")]
    with pytest.raises(SystemExit, match=r"the text has line ends; name an `--output`"):
        predict("in.jsonl", "-o", "d.txt", "--mask", "same-length")
    assert not {"d.txt", "d.offsets.jsonl"} & {path.name for path in tmp_path.iterdir()}
    # A line end at the end would add a line, too.
    (tmp_path / "in.jsonl").write_text(json.dumps({"sentence": "Ada left.\n"}))
    with pytest.raises(SystemExit, match=r"the text has line ends; name an `--output`"):
        predict("in.jsonl", "-o", "f.txt", "--mask", "labels")
    (tmp_path / "in.txt").write_text(TEXTS[1] + "\n", encoding="utf-8")
    predict("in.txt", "-o", "c.txt", "--mask", "labels")
    assert (tmp_path / "c.txt").read_text("utf-8") == masked_by(trained, "labels")[1][0] + "\n"
    predict("in.txt", "-o", "e.txt", "--mask", "same-length", "--mask-above", "0")
    assert set((tmp_path / "e.txt").read_text("utf-8")) <= set("* \n")


@pytest.mark.slow
@pytest.mark.parametrize("num_published", [1, 2])
@pytest.mark.parametrize("output", ["out.txt", "out/"])
def test_the_repeat_completes_outputs_and_removes_texts(
    output, num_published, predict, tmp_path, monkeypatch
):
    (tmp_path / "in.txt").write_text("".join(text.replace("\n", " ") + "\n" for text in TEXTS))
    arguments = ["in.txt", "-o", output, "--mask", "labels"]
    publish, published = publication._publish, []

    def dies(*of_output):
        publish(*of_output)
        published.append(of_output)
        if len(published) == num_published:
            raise KeyboardInterrupt

    with monkeypatch.context() as dying:
        dying.setattr(publication, "_publish", dies)
        with pytest.raises((KeyboardInterrupt, SystemExit)):
            predict(*arguments)
    name = output.rstrip("/")
    hidden = tmp_path / f".{name}.predict-file"
    assert any("Lindqvist" in path.read_text("utf-8") for path in hidden.glob("0*"))
    predict(*arguments)
    assert {path.name for path in tmp_path.iterdir()} == {"in.txt", name, "out.offsets.jsonl"}
    with pytest.raises(SystemExit, match="already exists"):
        predict(*arguments)
    assert not hidden.exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-o", "out", "--on-error", "skip"], "`--mask` labels cannot represent"),
        (["-o", "out", "--format", "csv"], "`--format` and `--mask` exclude each other"),
        (["-o", "out", "--ray"], "`--mask` and `--ray` exclude each other"),
        (["-o", "out", "--mask-above", "1"], "must be at least 0 and below 1; got 1.0"),
        (["-o", "out.parquet"], "`--mask` writes .txt, .jsonl, or a folder"),
        (["-o", "s3://bucket/out/"], "`--mask` writes folders of this machine alone"),
        (["-o", "taken.jsonl"], "taken.offsets.jsonl already exists"),
    ],
)
def test_what_masks_cannot_be_written_to_is_refused(arguments, message, predict, tmp_path):
    (tmp_path / "in.txt").write_text("Ada\n")
    (tmp_path / "taken.offsets.jsonl").write_text("")
    with pytest.raises(SystemExit, match=message):
        predict("in.txt", *arguments, "--mask", "labels")
    assert {path.name for path in tmp_path.iterdir()} == {"in.txt", "taken.offsets.jsonl"}


def test_a_line_that_cannot_be_masked_is_to_be_corrected_not_skipped(predict, tmp_path):
    (tmp_path / "in.txt").write_text("Ada\n{Ada\n")
    with pytest.raises(
        SystemExit, match="in.txt:2: .*; correct the line, and repeat the command to go on"
    ):
        predict("in.txt", "-o", "out.txt", "--mask", "labels")


@pytest.mark.parametrize(
    "arguments",
    [["--mask-repeats"], ["--mask-above", "0"], ["--ray", "--mask-above", "0.1"]],
)
def test_options_of_masks_are_refused_without_masks(arguments, predict, tmp_path):
    (tmp_path / "in.txt").write_text("Ada\n")
    (name,) = (each for each in arguments if each.startswith("--mask"))
    with pytest.raises(
        SystemExit, match=f"`{name}` has an effect only with `--mask`; add `--mask`"
    ):
        predict("in.txt", "-o", "out.jsonl", *arguments)
    assert {path.name for path in tmp_path.iterdir()} == {"in.txt"}
