import subprocess
import sys

import pytest

from tagger.spans import infer_encoding, split_tag
from tests.conftest import ROOT


@pytest.mark.parametrize("tag", ["", "-", "B-", "-PER", "PER", "NN", "X-PER", "o"])
def test_split_tag_refuses_invalid_tags(tag):
    with pytest.raises(ValueError, match="expected `O`, or a prefix of BIO, IOB1, BIOUL, BMES"):
        split_tag(tag)


@pytest.mark.parametrize(
    ("prefixes", "encoding"),
    [
        ("BI", "BIO"),
        ("BIL", "BIOUL"),
        ("BES", "BMES"),
        ("BIES", "IOBES"),
        ("ES", "BMES"),
        ("BIM", None),
    ],
)
def test_the_encoding_is_inferred_from_the_prefixes(prefixes, encoding):
    assert infer_encoding(["O", *(f"{prefix}-PER" for prefix in prefixes)]) == encoding


def test_spans_need_neither_torch_nor_allennlp():
    # An empty module replaces `tagger`, because importing it imports both.
    code = f"""
import sys, types
sys.modules["tagger"] = types.ModuleType("tagger")
sys.modules["tagger"].__path__ = [{str(ROOT / "tagger")!r}]
import tagger.spans.matching
assert tagger.spans.tags_to_spans(["B-PER", "I-PER"], "BIO") == [("PER", (0, 1))]
assert not {{"torch", "allennlp"}} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", code], check=True)
