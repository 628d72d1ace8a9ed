import time

import pytest
from allennlp.modules import conditional_random_field

from tagger.spans import (
    ENCODINGS,
    PREFIXED,
    IllegalTagError,
    allowed_transitions,
    check_tags,
    tags_to_spans,
    transition_table,
)
from tagger.spans.finding import tag_tables
from tagger.spans.transitions import may_follow
from tests.spans.sequences import all_sequences, is_legal, tag_set


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_check_accepts_the_sequences_of_allowed_transitions(encoding):
    for tags in all_sequences(encoding, max_length=3):
        if is_legal(tags, encoding) or encoding == "IOB1":
            check_tags(tags, encoding)
        else:
            with pytest.raises(IllegalTagError):
                check_tags(tags, encoding)


@pytest.mark.parametrize(
    ("tags", "encoding", "position", "message"),
    [
        ("O I-PER", "BIO", 1, "`I-PER` at position 1 is no legal BIO tag after `O`; these tags are "
         "legal IOB1; set `source_encoding` to 'IOB1'"),
        ("I-PER O", "BIO", 0, "`I-PER` at position 0 is no legal BIO tag at the start; .* IOB1"),
        ("B-PER I-LOC", "BIO", 1, "position 1 is no legal BIO tag after `B-PER`; .* IOB1"),
        ("O U-PER B-LOC L-LOC", "BIO", 1, "legal BIOUL; set `source_encoding` to 'BIOUL'"),
        ("S-PER O", "IOB1", 0, "legal BMES; set `source_encoding` to 'BMES'"),
        ("O B-PER", "BIOUL", 1, "position 1 is no legal BIOUL tag at the end; .* legal BIO;"),
        ("B-PER O", "BMES", 1, "`O` at position 1 is no legal BMES tag after `B-PER`; .* BIO;"),
        ("DT NN", "BIO", 0, "fit none of BIO, .*`source_encoding` to null if they are plain"),
        ("B-PER I-PER E-PER", "BIO", 2, "legal IOBES; set `source_encoding` to 'IOBES'"),
        ("B-PER I-PER E-PER O", "BMES", 1, "legal IOBES; set `source_encoding` to 'IOBES'"),
        ("B-PER M-PER L-PER", "BIO", 1, "these tags fit none of"),
        ("O ? B-PER", "BIO", 1, r"after `O`; if it marks .* set `unknown_tag` of the reader to '\?'"),
    ],
)  # fmt: skip
def test_check_names_the_tag_and_the_encoding_that_fits(tags, encoding, position, message):
    with pytest.raises(IllegalTagError, match=message) as error:
        check_tags(tags.split(), encoding)
    assert error.value.position == position


def test_an_unknown_tag_is_legal_anywhere():
    check_tags(["?", "I-PER", "?", "?", "L-LOC", "O", "?"], "BIOUL", unknown_tag="?")
    message = r"`NN` at position 1 is no legal BIOUL tag after `\?`"
    with pytest.raises(IllegalTagError, match=message):
        check_tags(["?", "NN", "?"], "BIOUL", unknown_tag="?")


@pytest.mark.parametrize("encoding", PREFIXED)
def test_allowed_transitions_equal_allennlps(encoding):
    tags = tag_set(encoding, labels=("PER", "LOC", "GPE-X"))
    if encoding == "BMES":  # AllenNLP's BMES has no `O`.
        tags.remove("O")
    allowed = allowed_transitions(encoding, dict(enumerate(tags)))
    if encoding == "IOBES":  # AllenNLP has it as BIOUL, with other letters.
        encoding, letters = "BIOUL", {"E": "L", "S": "U"}
        tags = [letters.get(tag[0], tag[0]) + tag[1:] for tag in tags]
    assert allowed == conditional_random_field.allowed_transitions(encoding, dict(enumerate(tags)))


def test_bmes_allows_o_between_spans():
    tags = dict(enumerate(tag_set("BMES", labels=("PER",))))
    allowed = allowed_transitions("BMES", tags)
    names = {**tags, len(tags): "start", len(tags) + 1: "end"}
    pairs = {(names[i], names[j]) for i, j in allowed}
    assert {before for before, after in pairs if after == "O"} == {"O", "E-PER", "S-PER", "start"}
    assert {after for before, after in pairs if before == "O"} == {"O", "B-PER", "S-PER", "end"}


def test_io_allows_all_transitions_and_others_refuse_tags_of_another_encoding():
    assert len(allowed_transitions("IO", {0: "O", 1: "PER"})) == 8
    message = "`tags` holds 'U-PER', which is no BIO tag; name the encoding"
    with pytest.raises(ValueError, match=message):
        allowed_transitions("BIO", {0: "O", 1: "U-PER"})


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("labels", [("PER", "LOC", "A-B"), ("_",)])
def test_tables_say_what_each_pair_of_tags_says(encoding, labels):
    # Spans without a label have bare prefixes as tags.
    tags = [tag.removesuffix("-_") for tag in tag_set(encoding, labels)]
    allowed, tables = transition_table(encoding, tags), tag_tables(tags, encoding)
    for i, before in enumerate([*tags, "O"]):
        for j, after in enumerate([*tags, "O"]):
            # After all tags stand the start in rows, the end in columns, and what is outside.
            is_end = j == len(tags)
            if not (i == len(tags) and is_end):
                is_allowed = may_follow(encoding, before, after)
                assert allowed[i, j + is_end] == is_allowed, (before, after)
            goes_on = (
                "O" not in (before, after) and len(tags_to_spans([before, after], encoding)) == 1
            )
            assert tables.continues[i, j] == goes_on, (before, after)
    assert not allowed[-1].any()
    assert not allowed[:, -2].any()
    assert not allowed[-2, -1]


def test_a_thousand_labels_are_tabulated_without_a_loop_over_pairs():
    tags = tag_set("BIOUL", [f"L{number}" for number in range(1000)])
    start = time.process_time()
    transition_table("BIOUL", tags)
    tag_tables(tags, "BIOUL", strict=True)
    # A loop over pairs takes half a minute.
    assert time.process_time() - start < 5
