from tagger.spans.finding import lay_end_to_end, tag_tables
from tagger.spans.matching import match_spans
from tests.spans.tagged import random_sentences, tag_set, to_batch, to_mask


def test_right_spans_have_label_start_and_end_of_a_gold_one():
    tags = tag_set("BIO")
    gold, predicted = random_sentences(tags, 200, seed=1)
    mask = to_mask(gold).numpy()
    tables = tag_tables(tags, "BIO")
    flat = [
        lay_end_to_end(to_batch(rows, tags).numpy(), mask, len(tags)) for rows in (predicted, gold)
    ]
    spans, is_right = match_spans(tables, *flat)
    of_gold = set(zip(*(each.tolist() for each in match_spans(tables, flat[1], flat[1]).spans)))
    expected = [span in of_gold for span in zip(*(each.tolist() for each in spans))]
    assert is_right.tolist() == expected
    assert 50 < sum(expected) < len(expected) - 50
