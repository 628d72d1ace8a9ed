"""Masked texts show nothing of what was found, and the sidecar says where the masks are."""

import json

import pytest

import tagger
from tagger.data.formats import AnnotatedText, write_texts
from tagger.metrics.masking_metrics import REPEATS, masking_metrics
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
    (tmp_path / "in.txt").write_text(TEXTS[1] + "\n", encoding="utf-8")
    predict("in.txt", "-o", "c.txt", "--mask", "labels")
    assert (tmp_path / "c.txt").read_text("utf-8") == masked_by(trained, "labels")[1][0] + "\n"
    predict("in.txt", "-o", "e.txt", "--mask", "same-length", "--mask-above", "0")
    assert set((tmp_path / "e.txt").read_text("utf-8")) <= set("* \n")


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
