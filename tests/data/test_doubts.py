"""Each doubt about what was read is raised where it has a reason, and nowhere else."""

import pytest

from tagger.data.doubts import DOUBTS, check_contents, copies, lost_in_text
from tagger.data.formats import PLAIN_TAGS, AnnotatedText, Annotation
from tagger.data.joined_text import join_tokens
from tagger.data.splitting.overlap import Overlap
from tagger.data.text_encodings import decode
from tagger.data.tokenizers import BlanksTokenizer, PunctuationTokenizer

#: A first word, and then an entity of the label.
NAMES = ["Ada", "Bob Lee", "Carl", "Dora", "Emil", "Fay Ho", "Gus", "Hedy", "Ida", "Jo"]


def sentence(words, *entities, **properties):
    """Makes a sentence of tokens, with entities as a label and the first and the last token."""
    text, places = join_tokens(words.split())
    found = [Annotation(label, places[i][0], places[j][1]) for label, i, j in entities]
    return AnnotatedText(text, found, places, [len(places)], "all.conll:1", properties)


def text_of(text, *entities):
    found = [Annotation(label, start, end) for label, start, end in entities]
    return AnnotatedText(text, found, None, None, "all.jsonl:1", {})


def shifted(start, end, number=10):
    # One of the names has a comma after it.
    names = [(name, ", who" * (name == "Gus")) for name in NAMES[:number]]
    texts = [(f"Yes, {name}{more} left Rome.", 5, 5 + len(name)) for name, more in names]
    return [text_of(text, ("PER", a + start, b + end)) for text, a, b in texts]


def in_beijing(end, verbs="教学住读玩看写走来去唱跳"):
    return [text_of(f"我在北京大学{verb}了", ("ORG", 2, end)) for verb in verbs]


CLEAN = [
    shifted(0, 0),
    [sentence(f"{name} met us in 19{n}", ("PER", 0, 0)) for name, n in zip(NAMES, "5142637098")],
    [sentence(f"The {name} runs", ("DET", 0, 0), ("X", 1, 1), **{PLAIN_TAGS: True})
     for name in "cat dog cow hen pig ox".split()],
    # The order of names decides nothing, nor do dates, scores and lines of one word.
    [sentence(f"1996-08-{n} Rome", ("LOC", 1, 1)) for n in (22, 22, 23, 23, 24)],
    [sentence("- 1 2", ("PER", 0, 0))] * 2 + [sentence(name, ("PER", 0, 0)) for name in "abcdefghi"],
    [text_of(f"see https://a.org/{n} now", ("URL", 4, 19)) for n in range(9)],
    # Punctuation and clitics end where words do, and Chinese has no blanks.
    [text_of("I'll see Ann's Inc.", ("PER", 9, 12), ("ORG", 15, 19))] * 9,
    # Blanks are trimmed.
    [text_of("So Ann left", ("PER", 3, 7))] * 9,
    [text_of("我在北京大学读书", ("ORG", 2, 6))] * 9,
    # Entities are followed by different letters, or by the same ones as in a template.
    in_beijing(6),
    in_beijing(6, "读" * 12),
    [text_of(f"我在北京大学{verb}了。", ("ORG", 2, 6)) for verb in "教学住读玩看写走来去唱跳"],
]  # fmt: skip


@pytest.mark.parametrize("texts", CLEAN)
def test_what_may_be_right_is_not_doubted(texts):
    assert check_contents(texts, "all") == {}


DOUBTED = {
    "identifiers": [sentence(f"wiki_{n} Ada left", ("PER", 1, 1)) for n in range(6)],
    "single_tokens": [sentence(name.split()[0]) for name in NAMES],
    "same_words": [sentence("Ada left", ("PER", 0, 0))] * 20,
    "mark_up": [text_of(f"<START:person> {name} <END> left", ("PER", 0, 14)) for name in NAMES],
    "paths_in_entities": [text_of(f"see /data/up/{n}.txt", ("PER", 4, 12)) for n in range(9)],
    "labels_like_tags": [sentence("Ada left Rome", ("PER", 0, 0), ("[CLS]", 1, 1), ("7", 2, 2))],
    "outside_label": [sentence("Ada left Rome", ("PER", 0, 0), ("OTHER", 1, 2))] * 6,
    "inside_words": [text_of(f"Kunde{n}785 zahlt Geld an Ann", ("NUM", 4, 8), ("PER", 24, 27))
                     for n in range(6)],
    "cut_off": [sentence(f"{name} {verb} us .") for name in NAMES for verb in ("saw", "met", "hit")]
    + [sentence("Ada saw")],
    "inclusive_ends": in_beijing(5),
    "misread_bytes": [sentence(f"{name} JosÃ© left", ("PER", 0, 1)) for name in NAMES],
    "long_sentences": [sentence("Ada saw them . " * 300)] * 2 + [sentence("Ada left .")],
}  # fmt: skip


@pytest.mark.parametrize("name", DOUBTED)
def test_a_doubt_names_its_number_and_a_remedy(name):
    found = check_contents(DOUBTED[name], "all")
    number = [each.__name__ for each in DOUBTS].index(name) + 1
    assert [*found] == [number]
    assert any(map(str.isdigit, found[number]))
    assert "; " in found[number]
    assert found[number].isprintable()


def test_sentences_that_occur_again_with_other_entities_are_doubted():
    twice = [
        text_of(f"{name} left Rome", each)
        for name in NAMES
        for each in (("PER", 0, len(name)), ("LOC", len(name) + 6, len(name) + 10))
    ]
    assert "10 of 10 sentences occur again with other entities" in check_contents(twice, "all")[3]
    assert check_contents([*twice[:8], *twice[8::2] * 2], "all") == {}


@pytest.mark.parametrize(
    "encoding", ["cp1251", "gb18030", "shift_jis", "euc_jp", "koi8_r", "cp949"]
)
def test_another_script_in_an_unknown_encoding_is_doubted(encoding):
    try:
        stored = "東京 太郎 京都".encode(encoding)
    except UnicodeEncodeError:
        stored = "Мария Иванова живёт".encode(encoding)
    texts = [sentence(f"{decode(stored, 'all')[0]} a{n}", ("PER", 0, 0)) for n in range(6)]
    assert "words that are not ASCII have hardly another letter" in check_contents(texts, "all")[11]
    texts = [sentence(f"né {name} der Straße « à l’été » – {name}") for name in NAMES]
    assert check_contents(texts, "all") == {}


@pytest.mark.parametrize(
    "others", [["Loc"], ["LO C", "PER"], ["LOC\u200b"], ["LO-C", "lo_c"], ["ＬＯＣ"]]
)
def test_labels_that_are_nearly_equal_are_doubted(others):
    texts = [sentence("Ada left Rome", ("LOC", 2, 2), (each, 0, 0)) for each in others]
    number = 1 + sum(each != "PER" for each in others)
    assert f"{number} labels differ only in case or signs" in check_contents(texts, "all")[6]
    texts = [sentence("a b", ("NN", 0, 0), ("nn", 1, 1), **{PLAIN_TAGS: True})]
    assert check_contents(texts, "all") == {}


@pytest.mark.parametrize("sign", [",", ";", "|", "\u200b"])
def test_a_sign_at_the_end_of_all_tokens_is_doubted(sign):
    texts = [sentence(f"{name}{sign} left{sign}", ("PER", 0, 0)) for name in NAMES]
    assert f"20 of 22 tokens end with {sign!r}; remove it" in check_contents(texts, "all")[4]


def test_labels_that_end_with_a_score_are_doubted():
    texts = [sentence("Ada left Rome", ("PER/0.97", 0, 0), ("LOC/0.8", 2, 2), ("v2.0-X", 1, 1))]
    assert "2 of 3 labels look like" in check_contents(texts, "all")[6]


def test_labels_without_a_name_and_numbered_letters_are_doubted():
    assert (
        "2 entities have no label"
        in check_contents([sentence("Ada left Rome", ("", 0, 0), ("", 2, 2))], "all")[6]
    )
    texts = [sentence("我0 在0 北0 京1", ("LOC", 2, 3)), sentence("他0 走0")]
    assert (
        "6 of 6 tokens are a letter and a digit, such as '我0'" in check_contents(texts, "all")[4]
    )


def test_labels_that_are_words_or_identifiers_are_doubted():
    names = [name.split()[0] for name in NAMES]
    for labels in (names, [f"Q{n}" for n in range(10)]):
        texts = [sentence(f"{name} left", (label, 0, 0)) for name, label in zip(names, labels)]
        assert "10 labels for 10 entities" in check_contents(texts, "all")[6]
    assert check_contents(texts[:9], "all") == {}


def test_texts_whose_letters_are_lost_are_refused():
    texts = [sentence(f"_ _ {name}", ("PER", 0, 0)) for name in NAMES]
    with pytest.raises(ValueError, match="all: 20 of 32 words are `_`, as in corpora without"):
        check_contents(texts, "all")
    texts = [sentence(f"???? ??? {name}", ("PER", 0, 0)) for name in NAMES]
    with pytest.raises(ValueError, match="all: 20 of 32 words are question marks alone"):
        check_contents(texts, "all")
    assert check_contents([sentence(f"Why ?? {name}") for name in NAMES], "all") == {}


def test_every_doubt_is_tested():
    assert [each.__name__ for each in DOUBTS] == [*DOUBTED]


@pytest.mark.parametrize("last", [sentence(f"x{n}") for n in range(2)])
def test_the_last_token_may_be_an_identifier_too_and_numbers_may_count(last):
    ends = [sentence(f"Ada left doc_{n}.txt", ("PER", 0, 0)) for n in range(9)]
    assert "the last token of 9 of 9 sentences" in check_contents([*ends, last][:9], "all")[1]
    counted = [sentence(f"{n} Ada left", ("PER", 1, 1)) for n in range(9)]
    assert "the first token of 9 of 9 sentences" in check_contents(counted, "all")[1]
    entities = [sentence(f"wiki_{n} left", ("FILE", 0, 0)) for n in range(9)]
    assert check_contents(entities, "all") == {}


@pytest.mark.parametrize("start", ["en:", "w[0]=", "word=", "▁", '"', "tok_"])
def test_a_mark_at_the_start_of_all_tokens_is_doubted(start):
    texts = [sentence(f"{start}{name} {start}left", ("PER", 0, 0)) for name in NAMES]
    assert f"20 of 22 tokens begin with {start!r}; " in check_contents(texts, "all")[4]
    assert check_contents([*texts, *CLEAN[0]], "all") == {}


@pytest.mark.parametrize(
    "name", "Müller Škoda naïve “Ada” Привет 北京 עברית ελληνικά 🙂 हिन्दी".split()
)
@pytest.mark.parametrize("encoding", ["cp1252", "cp1251", "mac_roman", "cp850"])
def test_misread_bytes_are_named_with_what_they_should_be(name, encoding):
    texts = [sentence(f"{each} saw {name}") for each in NAMES]
    assert check_contents(texts, "all") == {}
    stored = [bytes([byte]) for byte in name.encode()]
    try:
        misread = "".join(byte.decode(encoding) for byte in stored)
    except UnicodeError:  # A byte without a letter is read as a control character.
        misread = name.encode().decode("latin-1")
    if any(map(str.isspace, misread)):
        return
    texts = [sentence(f"{each} saw {misread}") for each in NAMES]
    found = check_contents(texts, "all")[11]
    assert "10 of 10 words that are not ASCII look like UTF-8" in found
    assert f"for {name!r}; " in found
    assert check_contents([*texts, *[sentence("né déjà ü")] * 6], "all") == {}


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ([text_of(f"/data/upload/{n}.txt", ("PER", 0, 5)) for n in range(9)], "9 of 9 texts are paths"),
        ([sentence("Ada Lee left", ("B.PER", 0, 0), ("I.PER", 1, 1))], "'B.PER' and 'I.PER' are tags"),
        ([sentence("Ada Lee left", ("BPER", 0, 0), ("IPER", 1, 1))], "'BPER' and 'IPER' are tags"),
        ([sentence("Ada Lee left", ("B-PER", 0, 0), ("I-PER", 1, 1), ("[CLS]", 2, 2))],
         "are tags, but 1 labels are none: '.CLS.'; write `O` there"),
        ([sentence('"Ada" "left"', ('"B-PER"', 0, 0), ('"O"', 1, 1))],
         "2 of 2 labels are in quotation marks"),
        ([text_of("s 1", ("['B-PER', 'O']", 0, 3))], "1 of 1 labels are in quotation marks"),
        ([text_of("s 1", ("[point", 0, 1), (" point]", 2, 3))], "2 of 2 labels are in .* brackets"),
        (shifted(0, -1), "10 of 10 entities end one character early, .* add 1 to each end"),
        ([text_of(f"A {each} ran", ("PER", 2, 1 + len(each))) for each in "Cy 👍🏽 ❤️ 👩‍👧 🇳🇴".split()],
         "5 of 5 entities end one character early"),
        (shifted(0, 1), "10 of 10 entities end one character late, .* subtract 1 from each end"),
        (shifted(1, 0), "10 of 10 entities begin one character late, .* subtract 1 from each start"),
    ],
)  # fmt: skip
def test_what_cannot_be_right_is_refused(texts, message):
    with pytest.raises(ValueError, match=f"^all.jsonl: .*{message}"):
        check_contents(texts, "all.jsonl")


def test_a_text_that_goes_on_after_its_last_token_is_doubted():
    texts = [sentence(f"{name} {verb} us") for name in NAMES for verb in ("saw", "met", "hit")]
    assert check_contents(texts, "all") == {}
    cut = texts[-1]._replace(text=texts[-1].text + " in Rome")
    assert "the last one: 'Jo hit us'" in check_contents([*texts[:-1], cut], "all")[9]
    assert check_contents([cut, *texts], "all") == {}


def test_entities_that_a_tokenizer_cannot_give_are_measured():
    texts = [sentence("Ada , Bob , Rome", ("PER", 0, 0), ("LOC", 4, 4))] * 5
    assert lost_in_text(texts, PunctuationTokenizer(), "") is None
    found = lost_in_text(texts, BlanksTokenizer(), "split elsewhere")
    assert found.startswith("5 of 10 entities, such as 'Ada', begin or end inside tokens")
    assert found.endswith("on text 50.0% at most; split elsewhere")


def test_blanks_around_entities_are_not_measured():
    texts = [text_of("Ada met Bob .", ("PER", 0, 4), ("PER", 7, 12))] * 5
    assert lost_in_text(texts, BlanksTokenizer(), "") is None


def test_copies_on_both_sides_are_doubted_if_they_are_many():
    assert copies(Overlap(0, 0, 100, 9, 50, 5), "texts") is None
    assert copies(Overlap(0, 0, 100, 9, 6, 6), "texts").startswith(
        "6 of 100 texts are exact copies"
    )


def test_words_that_are_quoted_cannot_garble_the_terminal():
    texts = [sentence(f"\x1b[2Jw_{n} left") for n in range(9)]
    assert check_contents([text_of("x\x1b[2J", ("7\x1b[2J]{", 0, 1))], "all")[6].isprintable()
    with pytest.raises(ValueError, match=r"'/a/..x1b\[2J0'"):
        check_contents([text_of(f"/a/\x1b[2J{n}") for n in range(9)], "all")
    assert check_contents(texts, "all") == {}
