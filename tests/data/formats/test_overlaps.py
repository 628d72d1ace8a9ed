import time

import pytest

from tagger.data.formats import AnnotatedText, Annotation, check_overlaps

NESTED = [Annotation("ORG", 0, 18), Annotation("LOC", 14, 18)]
CROSSING = [Annotation("A", 0, 10), Annotation("B", 8, 18)]


def text(entities):
    return AnnotatedText("University of York", entities, None, None, "a.jsonl:1", {})


def test_overlapping_entities_are_refused_by_place():
    message = (
        r"a.jsonl:1: entities overlap, ORG 'University of York' at 0 to 18 and LOC 'York' at 14"
    )
    with pytest.raises(ValueError, match=message):
        check_overlaps(text(NESTED))
    assert check_overlaps(text(NESTED[:1])) == (text(NESTED[:1]), [])


@pytest.mark.parametrize("how", ["longest", "outermost"])
def test_the_inner_of_nested_entities_is_dropped(how):
    assert check_overlaps(text(NESTED), how) == (text(NESTED[:1]), NESTED[1:])


def test_entities_that_cross_are_only_dropped_by_length():
    assert check_overlaps(text(CROSSING), "longest") == (text(CROSSING[:1]), CROSSING[1:])
    with pytest.raises(ValueError, match="to 'longest'"):
        check_overlaps(text(CROSSING), "outermost")


def test_neighbours_do_not_overlap_and_the_time_grows_with_their_number():
    many = [Annotation("A", number, number + 1) for number in range(40_000)]
    start = time.process_time()
    assert check_overlaps(text(many))[0].entities == many
    # A comparison of all pairs takes a minute.
    assert time.process_time() - start < 5
